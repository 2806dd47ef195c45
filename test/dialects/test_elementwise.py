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


def arguments(names: str, type_: str) -> str:
    return ", ".join(f"%{name}: {type_}" for name in names)


def operands(function: Function) -> str:
    return ", ".join(f"%{name}" for name in "xy"[: function.operands])


def scalar(function: Function) -> str:
    return " {scalar = 5.000000e-01 : f32}" if function.has_scalar else ""


def at_fused(name: str) -> tuple[str, str]:
    function = FUNCTIONS[name]
    return TENSOR, f"%z = fused.{name} {operands(function)}{scalar(function)} : {TENSOR}"


def at_tile(name: str) -> tuple[str, str]:
    function = FUNCTIONS[name]
    types = ", ".join([TILE] * function.operands)
    return TILE, f"%z = tile.{name} {operands(function)}{scalar(function)} : {types} -> {TILE}"


def at_npu(name: str) -> tuple[str, str]:
    function = FUNCTIONS[name]
    types = ", ".join([BUFFER] * function.operands)
    return BUFFER, f"npu.v{name} ins({operands(function)} : {types}) outs(%out : {BUFFER}){scalar(function)}"


def at_ge(mnemonic: str) -> tuple[str, str]:
    fields = ge.ELEMENTWISE[mnemonic].get_irdl_definition()
    names = ", ".join(f"%{name}" for name in "xy"[: len(fields.operands)])
    value = " {value = 5.000000e-01 : f32}" if fields.properties else ""
    return TENSOR, f"%z = ge.{mnemonic} {names}{value} : ({', '.join([TENSOR] * len(fields.operands))}) -> {TENSOR}"


CASES: dict[str, tuple[Callable[[str], tuple[str, str]], str]] = {
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
    type_, line = at_level(name)
    module = parse_module(f"func.func @f({arguments('xy', type_)}, %out: {type_}) {{\n  {line}\n  func.return\n}}", "op.mlir")
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
