"""Modules that are damaged at random, as text and as IR: each is valid, or refused with one located error, and never anything else."""

from __future__ import annotations

import random
import re
from io import StringIO
from pathlib import Path

import pytest
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    Signedness,
    StridedLayoutAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    UnrankedTensorType,
    VectorType,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.printer import Printer

from ge_compiler.dialects.diagnostics import CompileError, source_location
from ge_compiler.dialects.memory import MemAttr, Space
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.verifier import verify_module

SAMPLES = {path.parent.name: path.read_text() for path in sorted(Path(__file__).parent.glob("*/ops.mlir"))}
"""Modules that hold every op of each level."""


def printed(module: ModuleOp, generic: bool = False) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def read(text: str) -> ModuleOp | None:
    """The module of a text, `None` where it is refused as it should be."""
    try:
        return parse_module(text, "damaged.mlir")
    except CompileError as error:
        refusal = error
    assert refusal.message, text
    assert source_location(refusal.location) is not None, f"{refusal.message}\nhas no place in\n{text}"
    return None


# ---- text -------------------------------------------------------------------------------------------------------------

TOKEN = re.compile(r"//[^\n]*|\"[^\"\n]*\"|[%@#!^]?[A-Za-z_0-9$.]+|->|\S")
REPLACEMENTS = (
    *("", "-1", "0", "7", "1.5", "99999999999999999999", "-9223372036854775808", "0x7FC00000", "true", "?", "*", "x", "unit", "none"),
    *("f64", "index", "i1", "ui8", "complex<f32>", "tensor<4xf32>", "tensor<f32>", "tensor<*xf32>", "memref<4x8xf32>", "vector<4xf32>"),
    *("%x", "@main", "@nothing", '"word"', "dense<1.0>", "#npu.mem<ub>", "#npu.mem<foo>", "#tile.schedule<m = 0>", "loc(unknown)"),
    *("[", "]", "<", ">", "{", "}", "(", ")", ",", "=", ":", "->"),
)


def damaged(text: str, rng: random.Random) -> str:
    """`text` with one to three tokens replaced, repeated or dropped."""
    tokens = [m for m in TOKEN.finditer(text) if not m[0].startswith("//")]
    chosen = sorted(rng.sample(tokens, rng.choice((1, 1, 2, 3))), key=lambda m: -m.start())
    for token in chosen:
        new = rng.choice((rng.choice(REPLACEMENTS), rng.choice(tokens)[0], f"{token[0]} {token[0]}"))
        text = text[: token.start()] + new + text[token.end() :]
    return text


@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("level", SAMPLES)
def test_damaged_text(level: str, generic: bool) -> None:
    rng = random.Random(f"{level} {generic}")
    # One function at a time: the reader then reaches the damage soon.
    pieces = re.split(r"(?m)^(?=func\.func)", SAMPLES[level])
    header, functions = "".join(line for line in pieces[0].splitlines(keepends=True) if line.startswith("!")), pieces[1:]
    modules = [m for f in functions if (m := read(header + f)) is not None]
    assert modules
    for _ in range(60):
        module = rng.choice(modules)
        kept = read(damaged(printed(module, generic), rng))
        if kept is not None:
            text = printed(kept)
            assert printed(parse_module(text)) == text


# ---- IR ---------------------------------------------------------------------------------------------------------------

ON_CHIP = MemAttr.of(Space.UB)
DYNAMIC = -9223372036854775808
TYPES: tuple[Attribute, ...] = (
    *(f16, f32, f64, i1, i8, i32, i64, IndexType(), UnrankedTensorType(f32), VectorType(f32, [4])),
    *(TensorType(element, [4, 8]) for element in (f16, f32, f64, IndexType(), ComplexType(f32), IntegerType(8, Signedness.UNSIGNED))),
    *(TensorType(f32, shape) for shape in ([], [4], [DYNAMIC, 8])),
    *(TensorType(f32, shape, ON_CHIP) for shape in ([], [4], [4, 8], [2, 4, 8], [0, 8], [DYNAMIC, 8])),
    *(TensorType(element, [4, 8], ON_CHIP) for element in (i1, IndexType())),
    *(TensorType(f16, [4, 8], MemAttr.of(space)) for space in (Space.L1, Space.L0A, Space.L0C)),
    TensorType(f32, [4, 8], StringAttr("x")),
    *(MemRefType(f32, shape, memory_space=ON_CHIP) for shape in ([], [4], [4, 8], [DYNAMIC, 8])),
    *(MemRefType(element, [4, 8]) for element in (f32, IndexType())),
    MemRefType(f32, [4, 8], StridedLayoutAttr([16, 1], 0), ON_CHIP),
    MemRefType(f32, [4, 8], memory_space=IntegerAttr(1, i32)),
)
ATTRIBUTES: tuple[Attribute, ...] = (
    *(UnitAttr(), StringAttr(""), StringAttr("x"), IntegerAttr(0, i64), IntegerAttr(-5, i64), IntegerAttr(3, i32), f32, ON_CHIP),
    *(FloatAttr(value, f32) for value in (1.5, float("nan"), float("inf"))),
    *(ArrayAttr(values) for values in ((), (StringAttr("q"),), (IntegerAttr(1, i64),))),
    *(SymbolRefAttr("main"), SymbolRefAttr("nothing"), SymbolRefAttr("a", ["b"])),
    *(DenseArrayBase.from_list(i64, values) for values in ([], [0], [-1, 3], [0, 0], [99, 99], [DYNAMIC, DYNAMIC])),
    *(DenseArrayBase.from_list(i32, values) for values in ([1, 1, 1], [1, 2, 2, 1])),
    *(DenseIntOrFPElementsAttr.from_list(type_, [1.0, 2.0]) for type_ in (TensorType(f32, [2]), VectorType(f32, [2]))),
)


def damage(module: ModuleOp, rng: random.Random) -> None:
    """Replace an operand, a type, a property or an attribute, or give an op an operand more or less."""
    ops = [op for op in module.walk() if op is not module]
    values: list[SSAValue] = [v for op in ops for v in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args))]
    op = rng.choice(ops)
    match rng.choice(("operand", "count", "result", "value", "property", "property", "attribute")):
        case "operand" if op.operands:
            op.operands[rng.randrange(len(op.operands))] = rng.choice(values)
        case "count":
            op.operands = [*op.operands, rng.choice(values)] if rng.random() < 0.5 else op.operands[:-1]
        case "result" if op.results:
            set_type(rng.choice(op.results), rng)
        case "value":
            set_type(rng.choice(values), rng)
        case "property" if op.properties:
            damage_entry(op.properties, rng.choice(sorted(op.properties)), rng)
        case _:
            damage_entry(op.attributes, rng.choice(("schedule", "scalar", "slot", *op.attributes)), rng)


def set_type(value: SSAValue, rng: random.Random) -> None:
    value._type = rng.choice(TYPES)  # pyright: ignore[reportPrivateUsage]


def damage_entry(entries: dict[str, Attribute], name: str, rng: random.Random) -> None:
    if rng.random() < 0.3:
        entries.pop(name, None)
    else:
        entries[name] = rng.choice(ATTRIBUTES)


def is_valid(module: Operation) -> bool:
    assert isinstance(module, ModuleOp)
    try:
        verify_module(module)
    except CompileError:
        return False
    return True


@pytest.mark.parametrize("level", SAMPLES)
def test_damaged_ir(level: str) -> None:
    rng = random.Random(level)
    original = parse_module(SAMPLES[level])
    for _ in range(80):
        module = original.clone()
        for _ in range(rng.choice((1, 1, 2))):
            damage(module, rng)
        if is_valid(module):
            generic = read(printed(module, generic=True))
            assert generic is not None, "a valid module reads back"
            assert printed(generic) == printed(module)
