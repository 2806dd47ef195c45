"""The ops generated from the table of functions: each, at each level, prints as it was written and reads back, in both forms."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from ge_compiler.dialects import fused, ge, npu, tile
from ge_compiler.dialects.functions import FUNCTIONS, NATIVE, Function
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.verifier import verify_module

TENSOR, TILE, BUFFER = "tensor<4x8xf32>", "tensor<4x8xf32, #npu.mem<ub>>", "memref<4x8xf32, #npu.mem<ub>>"


def types(function: Function, whole: str) -> tuple[list[str], str]:
    """The types of the operands and of the result, where tensors of f32 are `whole`."""
    element = whole.replace("f32", function.dtypes[0])
    operands = [whole.replace("f32", "i1")] * function.conditions + [element] * (function.operands - function.conditions)
    return operands, whole.replace("f32", "i1") if function.is_predicate else element


def operands(function: Function) -> str:
    return ", ".join(f"%{name}" for name in NAMES[: function.operands])


NAMES = "xyz"


def scalar(function: Function) -> str:
    return " {scalar = 5.000000e-01 : f32}" if function.has_scalar else ""


Case = tuple[list[str], str, str]
"""The types of the arguments and of the destination, and the op as it is written."""


def at_fused(name: str) -> Case:
    function = FUNCTIONS[name]
    taken, made = types(function, TENSOR)
    shown = f"{taken[0]} to {made}" if function.is_predicate else ", ".join([*taken[: function.conditions], made])
    return taken, made, f"%r = fused.{name} {operands(function)}{scalar(function)} : {shown}"


def at_tile(name: str) -> Case:
    function = FUNCTIONS[name]
    taken, made = types(function, TILE)
    return taken, made, f"%r = tile.{name} {operands(function)}{scalar(function)} : {', '.join(taken)} -> {made}"


def at_npu(name: str) -> Case:
    function = FUNCTIONS[name]
    taken, made = types(function, BUFFER)
    return taken, made, f"npu.v{name} ins({operands(function)} : {', '.join(taken)}) outs(%out : {made}){scalar(function)}"


def at_ge(mnemonic: str) -> Case:
    fields = ge.ELEMENTWISE[mnemonic].get_irdl_definition()
    taken = [TENSOR] * len(fields.operands)
    names = ", ".join(f"%{name}" for name in NAMES[: len(taken)])
    value = " {value = 5.000000e-01 : f32}" if fields.properties else ""
    return taken, TENSOR, f"%r = ge.{mnemonic} {names}{value} : ({', '.join(taken)}) -> {TENSOR}"


CASES: dict[str, tuple[Callable[[str], Case], str]] = {
    **{f"ge.{name}": (at_ge, name) for name in ge.ELEMENTWISE},
    **{f"fused.{name}": (at_fused, name) for name in fused.ELEMENTWISE},
    **{f"tile.{name}": (at_tile, name) for name in tile.ELEMENTWISE},
    **{f"npu.v{name}": (at_npu, name) for name in npu.VECTOR},
}


def text_of(module: ModuleOp, is_generic: bool) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=is_generic).print_op(module)
    return stream.getvalue()


@pytest.mark.parametrize("op", CASES)
def test_prints_as_written_and_reads_back(op: str) -> None:
    at_level, name = CASES[op]
    taken, made, line = at_level(name)
    arguments = ", ".join(f"%{name}: {type_}" for name, type_ in zip(NAMES, taken, strict=False))
    module = parse_module(f"func.func @f({arguments}, %out: {made}) {{\n  {line}\n  func.return\n}}", "op.mlir")
    verify_module(module)
    assert line in text_of(module, is_generic=False)
    for is_generic in (False, True):
        text = text_of(module, is_generic)
        again = parse_module(text, "again.mlir")
        verify_module(again)
        assert text_of(again, is_generic) == text


def test_every_function_has_its_op_at_every_level_that_computes_it() -> None:
    assert fused.ELEMENTWISE.keys() == tile.ELEMENTWISE.keys() == FUNCTIONS.keys()
    assert npu.VECTOR.keys() == NATIVE.keys()
