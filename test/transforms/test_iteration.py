"""Tests of iteration domains: a kernel that is computed over its domain, through its windows, gives what its primitives give in order."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f16, f32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ge_compiler.dialects import fused, semantics
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.types import tensor_type
from ge_compiler.runtime.execute import execute
from ge_compiler.transforms.iteration.accesses import NoDomain
from ge_compiler.transforms.iteration.affine import Access
from ge_compiler.transforms.iteration.domain import Domain, Window, domain_of

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


# ---- a kernel over its domain -----------------------------------------------------------------------------------------


@dataclass
class Grid:
    """Computes a kernel at all points of its domain at once: an axis for each group, then one for each of the anchor's own."""

    domain: Domain
    arguments: dict[SSAValue, Array]
    known: dict[tuple[SSAValue, Access], Array] = field(default_factory=dict[tuple[SSAValue, Access], Array])

    def __post_init__(self) -> None:
        self.sizes = (*self.domain.sizes, *(group.size for group in self.domain.inner))

    def axes(self, strides: tuple[int, ...]) -> Array:
        """Σ stride · index, at all points."""
        total = np.zeros(self.sizes, np.int64)
        for axis, stride in enumerate(strides):
            shape = [-1 if d == axis else 1 for d in range(len(self.sizes))]
            total += stride * np.arange(self.sizes[axis]).reshape(shape)
        return total

    def numbers(self, window: Window) -> Array:
        inner = window.inner or (0,) * len(self.domain.inner)
        return window.offset + self.axes((*window.strides, *inner))

    def value(self, value: SSAValue, access: Access) -> Array:
        key = value, access
        if key not in self.known:
            self.known[key] = self.compute(value, access)
        return self.known[key]

    def compute(self, value: SSAValue, access: Access) -> Array:
        if isinstance(value, BlockArgument):
            return self.arguments[value].reshape(-1)[self.numbers(self.domain.window(value, access))]
        op = value.owner
        assert isinstance(op, Operation)
        needs = self.domain.operands(op, access)
        match op:
            case fused.GatherOp():
                (table, where), rows = needs[0], self.value(*needs[1])
                window = self.domain.window(table, where)
                assert window.entries is not None
                return self.arguments[table].reshape(-1)[self.numbers(window) + rows * window.entries[0]]
            case fused.IotaOp():
                index = access[op.dimension.value.data]
                return index.offset + self.axes((*self.domain.strides(index), *(0,) * len(self.domain.inner)))
            case fused.FullOp():
                return np.full(self.sizes, op.value.value.data)
            case fused.ReduceOp():
                if not needs:  # of no elements
                    return np.zeros(self.sizes, np.int64)
                whole = self.value(*needs[0])
                return np.sum(whole, axis=self.domain.reduced, keepdims=True) + np.zeros(self.sizes, whole.dtype)
            case fused.MatmulOp():
                a, b = (self.operand(number) for number in range(2))
                return np.sum(a * b, axis=len(self.sizes) - 1, keepdims=True) + np.zeros(self.sizes)
            case fused.FusedElementwiseOp():
                return semantics.apply(op.FUNCTION, *[self.value(*need) for need in needs], scalar=op.scalar)
            case _:
                return self.value(*needs[0])

    def operand(self, number: int) -> Array:
        argument, window = self.domain.operand(number)
        return self.arguments[argument].reshape(-1)[self.numbers(window)]

    def results(self, shapes: list[Shape], dtype: Any) -> list[Array]:
        found = [np.full(math.prod(shape), -77, dtype) for shape in shapes]
        last = self.domain.kernel.body.block.last_op
        assert last is not None
        for output in self.domain.outputs:
            if output.tied is not None:
                found[output.result][:] = self.arguments[output.tied].reshape(-1)
        for output in self.domain.outputs:
            window = self.domain.window(last.operands[output.result], output.place)
            places = self.numbers(window)
            if output.rows is not None:
                assert window.entries is not None
                places = places + self.value(*output.rows) * window.entries[0]
            found[output.result][places] = self.value(output.value, output.access)
        return [x.reshape(shape) for x, shape in zip(found, shapes, strict=True)]


def check(function: FuncOp, arrays: list[Array]) -> Domain:
    """Compare both ways to compute `function`. Raises `NoDomain` where it has none."""
    domain = domain_of(function)
    module = ModuleOp([function.clone()])
    expected = execute(module, arrays, {})
    grid = Grid(domain, dict(zip(function.body.block.args, arrays, strict=True)))
    got = grid.results([x.shape for x in expected], expected[0].dtype if expected else np.int64)
    for mine, wanted in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine, wanted, str(function))
    return domain


# ---- random kernels ---------------------------------------------------------------------------------------------------


@dataclass
class Builder:
    """A kernel on i64 tensors under construction."""

    draw: Any
    block: Block = field(default_factory=Block)
    values: list[SSAValue] = field(default_factory=list[SSAValue])

    def argument(self, shape: Shape) -> SSAValue:
        made = self.block.insert_arg(TensorType(i64, shape), len(self.block.args))
        self.values.append(made)
        return made

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        self.values.append(op.results[0])
        return op.results[0]

    def binary(self, name: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.add(fused.ELEMENTWISE[name].create(operands=[a, b], result_types=[a.type]))

    def function(self, results: list[SSAValue]) -> FuncOp:
        self.block.add_op(ReturnOp(*results))
        type_ = FunctionType.from_lists([a.type for a in self.block.args], [x.type for x in results])
        return FuncOp("main", type_, Region(self.block))


def shape_of(value: SSAValue) -> Shape:
    return tensor_type(value).get_shape()


SIZES = st.sampled_from([1, 2, 3, 4, 6, 0])


def draw_reshape(draw: Any, shape: Shape) -> Shape:
    """Another shape of as many elements: dimensions merged, then split."""
    merged: list[int] = []
    for size in shape:
        if merged and draw(st.booleans()):
            merged[-1] *= size
        else:
            merged.append(size)
    split: list[int] = []
    for size in merged:
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        inner = draw(st.sampled_from(divisors)) if size else 1
        split += [size // inner, inner] if draw(st.booleans()) else [size]
    return tuple(split)


def draw_view(builder: Builder, value: SSAValue) -> SSAValue:
    draw, shape = builder.draw, shape_of(value)
    match draw(st.sampled_from(["reshape", "transpose", "slice", "broadcast"])):
        case "reshape":
            return builder.add(fused.ReshapeOp(value, draw_reshape(draw, shape)))
        case "transpose":
            return builder.add(fused.TransposeOp(value, draw(st.permutations(range(len(shape))))))
        case "slice":
            windows = [draw(st.tuples(st.integers(0, max(size - 1, 0)), st.integers(1, 3))) for size in shape]
            sizes = [len(range(offset, size, stride)) for (offset, stride), size in zip(windows, shape, strict=True)]
            return builder.add(fused.SliceOp(value, [w[0] for w in windows], [w[1] for w in windows], sizes))
        case _:
            grown = [draw(SIZES) if size == 1 else size for size in shape]
            place = draw(st.integers(0, len(shape)))
            result = (*grown[:place], draw(SIZES), *grown[place:])
            dimensions = [d + (d >= place) for d in range(len(shape))]
            return builder.add(fused.BroadcastOp(value, dimensions, TensorType(i64, result)))


def draw_sum(builder: Builder, value: SSAValue) -> SSAValue:
    """x - sum(x), as norms have it."""
    shape = shape_of(value)
    dimensions = sorted(builder.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    total = builder.add(fused.ReduceOp("sum", value, dimensions))
    if builder.draw(st.booleans()):
        return total
    kept = [d for d in range(len(shape)) if d not in dimensions]
    return builder.binary("sub", value, builder.add(fused.BroadcastOp(total, kept, tensor_type(value))))


@st.composite
def kernels(draw: Any, reductions: bool = True) -> str:
    """The text of a kernel: what hypothesis shows of a failure."""
    builder = Builder(draw)
    value = builder.argument(tuple(draw(st.lists(SIZES, min_size=1, max_size=3))))
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["view", "view", "own", "argument", *(["sum"] if reductions else [])]))
        if kind == "sum" and shape_of(value):
            value = draw_sum(builder, value)
        elif kind == "own":
            same = [x for x in builder.values if shape_of(x) == shape_of(value)]
            value = builder.binary(draw(st.sampled_from(["add", "mul", "max"])), value, draw(st.sampled_from(same)))
        elif kind == "argument":
            value = builder.binary("add", value, builder.argument(shape_of(value)))
        else:
            value = draw_view(builder, value)
        assume(math.prod(shape_of(value)) <= 2000)
    same = [x for x in builder.values if shape_of(x) == shape_of(value) and not isinstance(x, BlockArgument)]
    results = [value] if draw(st.booleans()) else [value, draw(st.sampled_from(same or [value]))]
    return str(builder.function(results))


def parsed(text: str) -> FuncOp:
    function = parse_module(text, "test.mlir").body.block.first_op
    assert isinstance(function, FuncOp)
    return function


def arrays_for(function: FuncOp) -> list[Array]:
    """Every element of every argument is another number."""
    found: list[Array] = []
    for argument in function.body.block.args:
        shape = shape_of(argument)
        found.append((np.arange(math.prod(shape), dtype=np.int64) * 1009 + len(found) * 31 + 5).reshape(shape))
    return found


UNHURRIED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@UNHURRIED
@given(kernels())
def test_a_kernel_over_its_domain_is_the_kernel(text: str) -> None:
    function = parsed(text)
    try:
        domain_of(function)
    except NoDomain as refusal:
        if refusal.code in ("reshape", "reduction"):
            reject()
        raise
    check(function, arrays_for(function))


@UNHURRIED
@given(kernels(reductions=False))
def test_views_without_reshapes_always_have_a_domain(text: str) -> None:
    function = parsed(text)
    assume("fused.reshape" not in text)
    check(function, arrays_for(function))


# ---- kernels that must have a domain ----------------------------------------------------------------------------------

CASES = {
    "heads": (
        """func.func @main(%x: tensor<2x6x12xi64>) -> tensor<2x3x6x4xi64> {
  %a = fused.reshape %x : tensor<2x6x12xi64> to tensor<2x6x3x4xi64>
  %b = fused.transpose %a permutation [0, 2, 1, 3] : tensor<2x6x3x4xi64> to tensor<2x3x6x4xi64>
  func.return %b : tensor<2x3x6x4xi64>
}""",
        (2, 3, 6, 4),
    ),
    "a part of packed heads": (
        """func.func @main(%x: tensor<2x6x36xi64>) -> tensor<2x3x6x4xi64> {
  %p = fused.slice %x offsets [0, 0, 12] strides [1, 1, 1] : tensor<2x6x36xi64> to tensor<2x6x12xi64>
  %a = fused.reshape %p : tensor<2x6x12xi64> to tensor<2x6x3x4xi64>
  %b = fused.transpose %a permutation [0, 2, 1, 3] : tensor<2x6x3x4xi64> to tensor<2x3x6x4xi64>
  func.return %b : tensor<2x3x6x4xi64>
}""",
        (2, 3, 6, 4),
    ),
    "sum of a matrix through one row": (
        """func.func @main(%x: tensor<4x6xi64>) -> tensor<i64> {
  %a = fused.reshape %x : tensor<4x6xi64> to tensor<24xi64>
  %b = fused.reduce <sum> %a along [0] : tensor<24xi64> to tensor<i64>
  func.return %b : tensor<i64>
}""",
        (1, 24),
    ),
    "a norm of merged rows": (
        """func.func @main(%x: tensor<2x3x8xi64>, %w: tensor<8xi64>) -> tensor<2x3x8xi64> {
  %s = fused.reduce <sum> %x along [2] : tensor<2x3x8xi64> to tensor<2x3xi64>
  %m = fused.broadcast %s along [0, 1] : tensor<2x3xi64> to tensor<2x3x8xi64>
  %d = fused.sub %x, %m : tensor<2x3x8xi64>
  %v = fused.broadcast %w along [2] : tensor<8xi64> to tensor<2x3x8xi64>
  %y = fused.mul %d, %v : tensor<2x3x8xi64>
  func.return %y : tensor<2x3x8xi64>
}""",
        (6, 8),
    ),
    "two halves": (
        """func.func @main(%x: tensor<2x3x8xi64>) -> tensor<2x3x8xi64> {
  %a = fused.slice %x offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x3x8xi64> to tensor<2x3x4xi64>
  %b = fused.slice %x offsets [0, 0, 4] strides [1, 1, 1] : tensor<2x3x8xi64> to tensor<2x3x4xi64>
  %s = fused.add %a, %b : tensor<2x3x4xi64>
  %d = fused.sub %a, %b : tensor<2x3x4xi64>
  %y = fused.concat %d, %s along 2 : tensor<2x3x4xi64>, tensor<2x3x4xi64> to tensor<2x3x8xi64>
  func.return %y : tensor<2x3x8xi64>
}""",
        (6, 4),
    ),
    "a part of a destination": (
        """func.func @main(%x: tensor<4x3xi64>, %d: tensor<2x8x3xi64>) -> tensor<2x8x3xi64> {
  %a = fused.reshape %x : tensor<4x3xi64> to tensor<2x2x3xi64>
  %y = fused.insert %a into %d offsets [0, 1, 0] strides [1, 3, 1] : tensor<2x2x3xi64> into tensor<2x8x3xi64> to tensor<2x8x3xi64>
  func.return %y : tensor<2x8x3xi64>
}""",
        (2, 2, 3),
    ),
    "rows of a table": (
        """func.func @main(%t: tensor<5x4xi64>, %i: tensor<2x3xi64>) -> tensor<2x3x4xi64> {
  %y = fused.gather %t, %i : tensor<5x4xi64>, tensor<2x3xi64> to tensor<2x3x4xi64>
  func.return %y : tensor<2x3x4xi64>
}""",
        (6, 4),
    ),
    "numbers of rows": (
        """func.func @main() -> tensor<3x4xi64> {
  %i = fused.iota along 0 : tensor<12xi64>
  %y = fused.reshape %i : tensor<12xi64> to tensor<3x4xi64>
  func.return %y : tensor<3x4xi64>
}""",
        (1, 12),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_groups_of(name: str) -> None:
    text, sizes = CASES[name]
    function = parsed(text)
    arrays = arrays_for(function)
    if name == "rows of a table":
        arrays[1] %= 5
    domain = check(function, arrays)
    assert tuple(size for size in domain.sizes if size > 1) == tuple(size for size in sizes if size > 1)


def test_rows_of_a_destination() -> None:
    function = parsed(
        """func.func @main(%x: tensor<2x3x4xi64>, %i: tensor<3xi64>, %d: tensor<2x7x4xi64>) -> tensor<2x7x4xi64> {
  %y = fused.scatter %x at %i into %d along 1 : tensor<2x3x4xi64>, tensor<3xi64> into tensor<2x7x4xi64> to tensor<2x7x4xi64>
  func.return %y : tensor<2x7x4xi64>
}"""
    )
    x, _, d = arrays_for(function)
    check(function, [x, np.array([6, 0, 3]), d])


def test_rows_of_a_destination_in_two_halves() -> None:
    function = parsed(
        """func.func @main(%x: tensor<2x3x4xi64>, %i: tensor<3xi64>, %d: tensor<2x7x8xi64>) -> tensor<2x7x8xi64> {
  %n = fused.add %x, %x : tensor<2x3x4xi64>
  %c = fused.concat %n, %x along 2 : tensor<2x3x4xi64>, tensor<2x3x4xi64> to tensor<2x3x8xi64>
  %y = fused.scatter %c at %i into %d along 1 : tensor<2x3x8xi64>, tensor<3xi64> into tensor<2x7x8xi64> to tensor<2x7x8xi64>
  func.return %y : tensor<2x7x8xi64>
}"""
    )
    x, _, d = arrays_for(function)
    check(function, [x, np.array([6, 0, 3]), d])


def test_a_product_of_views_with_a_view_of_its_result() -> None:
    function = parsed(
        """func.func @main(%x: tensor<6x8xf16>, %w: tensor<5x2x4xf16>, %b: tensor<5xf32>) -> tensor<2x5x3xf32> {
  %r = fused.reshape %w : tensor<5x2x4xf16> to tensor<5x8xf16>
  %m = fused.matmul %x, %r {transpose_b} : (tensor<6x8xf16>, tensor<5x8xf16>) -> tensor<6x5xf32>
  %c = fused.broadcast %b along [1] : tensor<5xf32> to tensor<6x5xf32>
  %s = fused.add %m, %c : tensor<6x5xf32>
  %h = fused.reshape %s : tensor<6x5xf32> to tensor<2x3x5xf32>
  %y = fused.transpose %h permutation [0, 2, 1] : tensor<2x3x5xf32> to tensor<2x5x3xf32>
  func.return %y : tensor<2x5x3xf32>
}"""
    )
    types = [tensor_type(a) for a in function.body.block.args]
    assert {t.get_element_type() for t in types} == {f16, f32}
    arrays = [np.random.default_rng(1).integers(-4, 5, t.get_shape()).astype(semantics.dtype_of(t.get_element_type())) for t in types]
    check(function, arrays)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            "reshape",
            """func.func @main(%x: tensor<4x6xi64>) -> tensor<4x6xi64> {
  %a = fused.neg %x : tensor<4x6xi64>
  %b = fused.reshape %a : tensor<4x6xi64> to tensor<6x4xi64>
  %c = fused.transpose %b permutation [1, 0] : tensor<6x4xi64> to tensor<4x6xi64>
  func.return %c : tensor<4x6xi64>
}""",
        ),
        (
            "reduction",
            """func.func @main(%x: tensor<4x6xi64>) -> tensor<4xi64> {
  %a = fused.reduce <sum> %x along [1] : tensor<4x6xi64> to tensor<4xi64>
  %b = fused.reduce <sum> %x along [0] : tensor<4x6xi64> to tensor<6xi64>
  %c = fused.slice %b offsets [1] strides [1] : tensor<6xi64> to tensor<4xi64>
  %d = fused.add %a, %c : tensor<4xi64>
  func.return %d : tensor<4xi64>
}""",
        ),
        (
            "domain",
            """func.func @main(%x: tensor<4x6xi64>) -> (tensor<4x6xi64>, tensor<5xi64>) {
  %a = fused.add %x, %x : tensor<4x6xi64>
  %i = fused.iota along 0 : tensor<5xi64>
  func.return %a, %i : tensor<4x6xi64>, tensor<5xi64>
}""",
        ),
    ],
)
def test_what_has_no_domain_says_why(code: str, text: str) -> None:
    with pytest.raises(NoDomain) as refused:
        domain_of(parsed(text))
    assert refused.value.code == code
