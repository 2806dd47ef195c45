"""Tests of operators of `ge` that move elements, by place and by index, as operators and as the kernels that they are turned into."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.ge import GE, GeOp
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.execute import execute

Array = npt.NDArray[Any]
RunOperator = Callable[..., list[list[Array]]]
ELEMENTS = {"f16": np.float16, "f32": np.float32, "i64": np.int64, "i8": np.int8, "i1": np.bool_}


def numbers(shape: tuple[int, ...], element: str = "f16") -> Array:
    count = int(np.prod(shape, dtype=int))
    return (np.arange(count) % 101).reshape(shape).astype(ELEMENTS[element])


def assert_equal(outcomes: list[list[Array]], expected: Array) -> None:
    assert all(np.array_equal(y, expected) for (y,) in outcomes)


def integers(name: str, values: Iterable[int]) -> str:
    listed = [str(value) for value in values]
    return f"{name} = array<i64{': ' if listed else ''}{', '.join(listed)}>"


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("before", "after"), [((4, 6), (2, 12)), ((), (1, 1)), ((1,), ()), ((0, 3), (5, 0)), ((4, 6), (4, 6))])
def test_reshape(run_operator: RunOperator, element: str, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    x = numbers(before, element)
    assert_equal(run_operator("Reshape", [x], [(after, element)]), x.reshape(after))


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("shape", "perm"), [((4, 6), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 1, 0), (0, 2, 1)), ((), ()), ((3,), (0,))])
def test_transpose(run_operator: RunOperator, element: str, shape: tuple[int, ...], perm: tuple[int, ...]) -> None:
    x = numbers(shape, element)
    expected = x.transpose(perm)
    assert_equal(run_operator("TransposeD", [x], [(expected.shape, element)], f"{{{integers('perm', perm)}}}"), expected)


SLICES = [
    ((4, 6), (slice(1, 3, 1), slice(0, 6, 2))),
    ((4, 6), (slice(0, 4, 1), slice(5, 6, 3))),
    ((4, 6), (slice(0, 4, 1), slice(0, 6, 1))),
    ((4, 6), (slice(4, 4, 1), slice(0, 6, 1))),
    ((), ()),
    ((7,), (slice(1, 7, 4),)),
]


def window(cuts: tuple[slice, ...], *, has_end: bool) -> str:
    lists = {"begin": [c.start for c in cuts], "end": [c.stop for c in cuts], "strides": [c.step for c in cuts]}
    return "{" + ", ".join(integers(name, values) for name, values in lists.items() if has_end or name != "end") + "}"


@pytest.mark.parametrize(("shape", "cuts"), SLICES)
def test_slices_and_their_replacement(run_operator: RunOperator, shape: tuple[int, ...], cuts: tuple[slice, ...]) -> None:
    x = numbers(shape)
    part = x[cuts]
    assert_equal(run_operator("StridedSliceD", [x], [(part.shape, "f16")], window(cuts, has_end=True)), part)
    updated = x.copy()
    updated[cuts] = -part
    assert_equal(run_operator("StridedSliceAssignD", [x, np.asarray(-part)], [(shape, "f16")], window(cuts, has_end=False)), updated)


@pytest.mark.parametrize(("before", "after"), [((1, 6), (4, 6)), ((6,), (3, 4, 6)), ((), (2, 3)), ((1,), (0,)), ((4, 6), (4, 6)), ((), ())])
@pytest.mark.parametrize("element", ELEMENTS)
def test_broadcast_to(run_operator: RunOperator, element: str, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    x = numbers(before, element)
    assert_equal(run_operator("BroadcastToD", [x], [(after, element)]), np.broadcast_to(x, after))


@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        ([(2, 3), (2, 1), (2, 4)], 1),
        ([(2, 3), (5, 3)], -2),
        ([(2, 3)], 0),
        ([(2, 0), (2, 3), (2, 0)], 1),
        ([(2, 0), (2, 0)], 1),
        ([(0, 3), (0, 2)], 1),
    ],
)
@pytest.mark.parametrize("element", ["f16", "i1"])
def test_concat(run_operator: RunOperator, element: str, shapes: list[tuple[int, ...]], axis: int) -> None:
    xs = [numbers(shape, element) for shape in shapes]
    expected = np.concatenate(xs, axis)
    assert_equal(run_operator("ConcatD", xs, [(expected.shape, element)], f"{{concat_dim = {axis} : i64}}"), expected)


# ---- indices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("element", ["i32", "i64"])
@pytest.mark.parametrize(
    ("table", "indices", "axis"), [((5, 3), (4,), 0), ((5, 3), (2, 2), 1), ((2, 5, 3), (), -2), ((5, 3), (0,), 0), ((5,), (2, 3), 0)]
)
def test_gather(run_operator: RunOperator, element: str, table: tuple[int, ...], indices: tuple[int, ...], axis: int) -> None:
    x = numbers(table)
    places = np.asarray(np.random.default_rng(1).integers(0, table[axis], indices)).astype(f"int{element[1:]}")
    expected = np.take(x, places, axis)
    assert_equal(run_operator("GatherV2", [x, places], [(expected.shape, "f16")], f"{{axis = {axis} : i64}}"), expected)


@pytest.mark.parametrize(("shape", "axis", "indices"), [((5, 3), 0, [4, 0]), ((2, 5, 3), 1, [3]), ((5, 3), -1, [2, 0, 1]), ((5, 3), 0, [])])
def test_scatter_update(run_operator: RunOperator, shape: tuple[int, ...], axis: int, indices: list[int]) -> None:
    var, places = numbers(shape), np.array(indices, np.int64)
    updates = -np.take(var, places, axis) - np.float16(1)
    expected = var.copy()
    np.moveaxis(expected, axis, 0)[places] = np.moveaxis(updates, axis, 0)
    assert_equal(run_operator("ScatterUpdate", [var, places, updates], [(shape, "f16")], f"{{axis = {axis} : i64}}"), expected)


OUT_OF_BOUNDS = [
    ("GatherV2", 0, [[4, 0], [5, -1]], "indices has 5 at [1, 0], which is out of bounds: there are 5 rows"),
    ("GatherV2", 1, [0, -1], "indices has -1 at [1], which is out of bounds: there are 3 rows"),
    ("GatherV2", 1, 3, "indices has 3, which is out of bounds: there are 3 rows"),
    ("ScatterUpdate", 0, [7], "indices has 7 at [0], which is out of bounds: there are 5 rows"),
]


@pytest.mark.parametrize(("op", "axis", "indices", "message"), OUT_OF_BOUNDS)
def test_indices_out_of_bounds_are_named(run_operator: RunOperator, op: str, axis: int, indices: list[int], message: str) -> None:
    x, places = numbers((5, 3)), np.array(indices, np.int64)
    chosen = np.take(x, np.zeros_like(places), axis)
    inputs, shape = ([x, places], chosen.shape) if op == "GatherV2" else ([x, places, chosen], x.shape)
    with pytest.raises(CompileError) as raised:
        run_operator(op, inputs, [(shape, "f16")], f"{{axis = {axis} : i64}}")
    assert message in str(raised.value)
    assert "op.mlir:2" in str(raised.value)


@pytest.mark.parametrize(("shape", "index", "dim"), [((5, 3), (2, 3), 0), ((5, 3), (4, 7), 1), ((2, 3, 4), (1, 2, 9), -1)])
def test_gather_elements(run_operator: RunOperator, shape: tuple[int, ...], index: tuple[int, ...], dim: int) -> None:
    x, places = numbers(shape), np.random.default_rng(1).integers(0, shape[dim], index)
    lead = tuple(slice(None) if i == dim % len(shape) else slice(size) for i, size in enumerate(index))
    expected = np.take_along_axis(x[lead], places, dim)
    assert_equal(run_operator("GatherElements", [x, places], [(index, "f16")], f"{{dim = {dim} : i64}}", engine="aicpu"), expected)


@pytest.mark.parametrize("reduction", ["", ', reduction = "add"'])
def test_scatter_elements(run_operator: RunOperator, reduction: str) -> None:
    x, updates = numbers((5, 3), "f32"), -numbers((2, 3), "f32") - 1
    places = np.array([[0, 1, 2], [4, 4, 2]], np.int64)
    expected = x.copy()
    for i, j in np.ndindex(2, 3):
        expected[places[i, j], j] = updates[i, j] + (expected[places[i, j], j] if reduction else 0)
    outcomes = run_operator("ScatterElements", [x, places, updates], [((5, 3), "f32")], f"{{axis = 0 : i64{reduction}}}", engine="aicpu")
    assert_equal(outcomes, expected)


# ---- random views -----------------------------------------------------------------------------------------------------

SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_shape_rules_agree_with_numpy(data: st.DataObject) -> None:
    shape: tuple[int, ...] = data.draw(SHAPES)
    x = numbers(shape)
    perm = data.draw(st.permutations(range(len(shape))))
    cuts: list[slice] = []
    for size in shape:
        begin = data.draw(st.integers(0, size))
        cuts.append(slice(begin, data.draw(st.integers(begin, size)), data.draw(st.integers(1, 3))))
    cases = {
        f"ge.TransposeD %x {{{integers('perm', perm)}}}": x.transpose(perm),
        f"ge.StridedSliceD %x {window(tuple(cuts), has_end=True)}": x[tuple(cuts)],
    }
    for op, expected in cases.items():
        before, after = (f"tensor<{''.join(f'{d}x' for d in s)}f16>" for s in (shape, expected.shape))
        text = f"func.func @main(%x: {before}) -> {after} {{\n%y = {op} : ({before}) -> {after}\nfunc.return %y : {after}\n}}"
        module = parse_module(text)
        (operator,) = [o for o in module.walk() if isinstance(o, GeOp)]
        assert operator.infer_types()[0].get_shape() == expected.shape
        (y,) = execute(module, [x], {})
        assert np.array_equal(y, expected)


def test_every_operator_has_a_meaning() -> None:
    from importlib import import_module

    for op in GE.operations:
        if issubclass(op, GeOp):
            file, function = op.MEANING.split(".")
            assert callable(getattr(import_module(f"ge_compiler.dialects.ge.semantics.{file}"), function))
