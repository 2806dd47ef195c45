"""Tests of grouping: random graphs of kernels mean the same through every pass, and no copy is left where none is needed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ge_compiler import dialects
from ge_compiler.dialects import fused
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.types import tensor_type
from ge_compiler.runtime.execute import execute
from ge_compiler.tools.compilation import text_of
from ge_compiler.tools.opt.pass_manager import PassManager
from ge_compiler.transforms.iteration.domain import domain_of

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
PASSES = ("elide-views", "group-kernels", "elide-roundings", "insert-copies", "outline-kernels")


@dataclass
class Graph:
    """The text of `@main` on i64 tensors, which computes exactly."""

    draw: Any
    shapes: dict[str, Shape] = field(default_factory=dict[str, Shape])
    arguments: list[str] = field(default_factory=list[str])
    states: dict[str, str] = field(default_factory=dict[str, str])
    """The latest contents of each state."""
    lines: list[str] = field(default_factory=list[str])

    def type(self, shape: Shape, element: str = "i64") -> str:
        return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"

    def argument(self, shape: Shape) -> str:
        name = f"%in{len(self.arguments)}"
        self.arguments.append(name)
        self.shapes[name] = shape
        return name

    def kernel(self, op: str, operands: list[str], shape: Shape, into: str = "to") -> str:
        """A kernel of one primitive, in whose text `{0}`, `{1}` ... are its operands."""
        name = f"%v{len(self.lines)}"
        given_ = list(dict.fromkeys(operands))
        types = [self.type(self.shapes[x]) for x in given_]
        result = self.type(shape)
        inside = op.format(*(f"%a{given_.index(x)}" for x in operands))
        arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
        self.lines.append(
            f'  {name} = fused.kernel({", ".join(given_)}) {{ops = ["Op"], op_name = "{name[1:]}"}} : ({", ".join(types)}) -> {result} {{\n'
            f"  ^bb0({arguments}):\n    %r = {inside}{' to ' + result if into else ''}\n    fused.yield %r : {result}\n  }}"
        )
        self.shapes[name] = shape
        return name

    def text(self, results: list[str]) -> str:
        returned = [*results, *self.states.values()]
        numbers = {state: len(results) + i for i, state in enumerate(self.states)}
        arguments = ", ".join(
            f"{x}: {self.type(self.shapes[x])}" + (f" {{ge.updated_by = {numbers[x]} : i64}}" if x in numbers else "")
            for x in self.arguments
        )
        types = ", ".join(self.type(self.shapes[x]) for x in returned)
        body = "\n".join(self.lines)
        return f"func.func @main({arguments}) -> ({types}) {{\n{body}\n  func.return {', '.join(returned)} : {types}\n}}"

    # ---- kernels

    def pick(self, shape: Shape | None = None) -> str:
        return self.draw(st.sampled_from([x for x, s in self.shapes.items() if s and shape in (None, s)]))

    def of(self, x: str) -> str:
        return self.type(self.shapes[x])

    def elementwise(self) -> str:
        x = self.pick()
        y, name = self.pick(self.shapes[x]), self.draw(st.sampled_from(["add", "sub", "mul", "max"]))
        return self.kernel(f"fused.{name} {{0}}, {{1}} : {self.of(x)}", [x, y], self.shapes[x], into="")

    def reduction(self) -> str:
        x = self.pick()
        shape = self.shapes[x]
        along = sorted(self.draw(st.sets(st.sampled_from(range(len(shape))), min_size=1)))
        kept = tuple(size for d, size in enumerate(shape) if d not in along)
        kind = self.draw(st.sampled_from(["sum", "max"]))
        total = self.kernel(f"fused.reduce <{kind}> {{0}} along {along} : {self.of(x)}", [x], kept)
        dimensions = [d for d in range(len(shape)) if d not in along]
        wide = self.kernel(f"fused.broadcast {{0}} along {dimensions} : {self.of(total)}", [total], shape)
        return self.kernel(f"fused.sub {{0}}, {{1}} : {self.of(x)}", [x, wide], shape, into="")

    def reshape(self) -> str:
        x = self.pick()
        shape = self.shapes[x]
        d: int = self.draw(st.integers(0, len(shape) - 1))
        if d + 1 < len(shape) and self.draw(st.booleans()):
            new = (*shape[:d], shape[d] * shape[d + 1], *shape[d + 2 :])
        else:
            inner: int = self.draw(st.sampled_from([n for n in range(1, shape[d] + 1) if shape[d] % n == 0]))
            new = (*shape[:d], shape[d] // inner, inner, *shape[d + 1 :])
        return self.kernel(f"fused.reshape {{0}} : {self.of(x)}", [x], new)

    def transpose(self) -> str:
        x = self.pick()
        order: list[int] = self.draw(st.permutations(range(len(self.shapes[x]))))
        return self.kernel(f"fused.transpose {{0}} permutation {list(order)} : {self.of(x)}", [x], tuple(self.shapes[x][d] for d in order))

    def slice(self) -> str:
        x = self.pick()
        windows = [(self.draw(st.integers(0, size - 1)), self.draw(st.integers(1, 2))) for size in self.shapes[x]]
        new = tuple(len(range(o, size, s)) for (o, s), size in zip(windows, self.shapes[x], strict=True))
        return self.kernel(
            f"fused.slice {{0}} offsets {[o for o, _ in windows]} strides {[s for _, s in windows]} : {self.of(x)}", [x], new
        )

    def concat(self) -> str:
        x = self.pick()
        shape = self.shapes[x]
        d: int = self.draw(st.integers(0, len(shape) - 1))
        fitting = [
            y
            for y, s in self.shapes.items()
            if len(s) == len(shape) and all(a == b or i == d for i, (a, b) in enumerate(zip(s, shape, strict=False)))
        ]
        others: list[str] = self.draw(st.lists(st.sampled_from(fitting), min_size=1, max_size=2))
        pieces = [x, *others]
        new: Shape = (*shape[:d], sum(self.shapes[p][d] for p in pieces), *shape[d + 1 :])
        names, types = ", ".join(f"{{{i}}}" for i in range(len(pieces))), ", ".join(map(self.of, pieces))
        return self.kernel(f"fused.concat {names} along {d} : {types}", pieces, new)

    def update(self) -> str:
        """A part of a value is replaced, perhaps of a state, of which that is the new contents then."""
        dest = self.draw(st.sampled_from([*self.shapes, *self.states.values()]))
        shape = self.shapes[dest]
        parts = [x for x, s in self.shapes.items() if len(s) == len(shape) and all(a <= b for a, b in zip(s, shape, strict=True))]
        x = self.draw(st.sampled_from(parts))
        offsets = [self.draw(st.integers(0, b - a)) for a, b in zip(self.shapes[x], shape, strict=True)]
        assume(x != dest)
        op = f"fused.insert {{0}} into {{1}} offsets {offsets} strides {[1] * len(shape)} : {self.of(x)} into {self.of(dest)}"
        made = self.kernel(op, [x, dest], shape)
        state = next((state for state, latest in self.states.items() if latest == dest), None)
        if state is not None:
            self.states[state] = made
        return made


KINDS = ("elementwise", "elementwise", "elementwise", "reduction", "reshape", "transpose", "slice", "concat", "update")
SIZES = st.sampled_from([1, 2, 3, 4])


@st.composite
def graphs(draw: Any) -> str:
    graph = Graph(draw)
    shape = tuple(draw(st.lists(SIZES, min_size=1, max_size=3)))
    for _ in range(draw(st.integers(1, 2))):
        graph.argument(shape)
    for _ in range(draw(st.integers(0, 2))):
        state = graph.argument(shape)
        graph.states[state] = state
    for _ in range(draw(st.integers(1, 9))):
        made = getattr(graph, draw(st.sampled_from(KINDS)))()
        assume(math.prod(graph.shapes[made]) <= 500)
    return graph.text(draw(st.lists(st.sampled_from(list(graph.shapes)), min_size=1, max_size=3)))


def arrays_for(module: ModuleOp) -> list[Array]:
    main = module.body.block.first_op
    assert isinstance(main, FuncOp)
    shapes = [tensor_type(argument).get_shape() for argument in main.body.block.args]
    return [(np.arange(math.prod(shape), dtype=np.int64) * 7 % 23 - 9 + i).reshape(shape) for i, shape in enumerate(shapes)]


def settled(examples: int) -> settings:
    return settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@settled(50)
@given(graphs())
def test_a_graph_means_the_same_after_every_pass(text: str) -> None:
    module = parse_module(text, "random.mlir")
    inputs = arrays_for(module)
    expected = execute(module, inputs, {})
    context = dialects.context()
    for name in PASSES:
        PassManager(name).run(context, module)
        module.verify()
        for got, wanted in zip(execute(module, inputs, {}), expected, strict=True):
            np.testing.assert_array_equal(got, wanted, f"after {name}: {module}")
    assert text_of(module) == text_of(parse_module(text_of(module), "again.mlir"))
    for kernel in fused.kernels(module):
        domain_of(kernel)


@settled(15)
@given(graphs())
def test_grouped_kernels_mean_the_same_on_the_chip(text: str) -> None:
    module = parse_module(text, "random.mlir")
    inputs = arrays_for(module)
    expected = execute(module, inputs, {})
    PassManager(",".join(PASSES)).run(dialects.context(), module)
    for level in ("to-tile", "to-npu"):
        PassManager(level).run(dialects.context(), module)
        for got, wanted in zip(execute(module, inputs, {}), expected, strict=True):
            np.testing.assert_array_equal(got, wanted, f"{level}: {text}")
