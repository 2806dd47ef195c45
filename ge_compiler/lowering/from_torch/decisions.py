"""
Which elements of a model's results hang on decisions that f64 takes by less than the tolerance.

A comparison of computed floats, a rounding to whole numbers or the place of a maximum may fall either way within the error that a dtype
is allowed. The graph is run again in f64 with the operands of such operators, and of nothing else, moved by the tolerance, this way and
that: what comes out differently hangs on a decision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree  # pyright: ignore[reportPrivateUsage]

from ge_compiler.lowering.from_torch.dtypes import name_of
from ge_compiler.lowering.from_torch.parameters import value_of
from ge_compiler.runtime.accuracy import FACTOR, ULPS, ulp
from ge_compiler.runtime.signature import FLOATS

Mask = npt.NDArray[np.bool_]

_STEPS = ("ceil", "div", "floor", "floor_divide", "round", "sgn", "sign", "trunc")
"""Operators whose float results are whole numbers (of `div`, where it has a rounding mode)."""
_DIRECTIONS = 6
"""Operands move apart, towards each other, and at random."""


def decisions(graph: GraphModule) -> list[Node]:
    """The nodes that make of floats what is no float, or whole numbers."""
    return [node for node in graph.graph.nodes if isinstance(node.target, OpOverload) and _floats(node) and _decides(node)]


def tolerances(nodes: Sequence[Node], own: Mapping[Node, Any], wide: Mapping[Node, Any]) -> dict[Node, float]:
    """How far each float operand of `nodes` may be off, by what the graph gives in its own dtypes and in f64; 0 where it is exact."""
    found: dict[Node, float] = {}
    for operand in (operand for node in nodes for operand in _floats(node)):
        narrow, reference = own[operand].double(), wide[operand]
        error = _largest(narrow - reference)
        name = name_of(own[operand].dtype)
        unit = ulp(_largest(reference), name) if name in FLOATS else 0.0
        found[operand] = FACTOR * error + ULPS * unit if error else 0.0
    return found


def undecided(results: Sequence[Sequence[Any]]) -> list[Mask]:
    """For each result of the first run, which elements another run gives otherwise."""
    first, *others = ([np.asarray(result) for result in run] for run in results)
    masks: list[Mask] = [np.zeros(result.shape, np.bool_) for result in first]
    for run in others:
        for mask, result, other in zip(masks, first, run, strict=True):
            mask |= (result != other) & ((result == result) | (other == other))  # NaN is as NaN
    return masks


class Moving:
    """Moves the operands of decisions: what `reference` adds to its interpreter for f64."""

    def __init__(self, tolerance: Mapping[Node, float], direction: int) -> None:
        self.tolerance = tolerance
        self.direction = direction
        self.random = torch.Generator().manual_seed(direction)

    @staticmethod
    def all(tolerance: Mapping[Node, float]) -> list[Moving]:
        return [Moving(tolerance, direction) for direction in range(_DIRECTIONS)]

    def decided(self, node: Node, value: Any, env: Mapping[Node, Any], run: Callable[[Any, Any], Any]) -> Any:
        """`value`, which `node` gives, as far as it is continuous; else what `run` gives on moved operands."""
        numbers = {operand: i for i, operand in enumerate(_floats(node))}

        def moved(operand: Node) -> Any:
            return env[operand] + self._offset(numbers[operand], operand, env[operand]) if operand in numbers else env[operand]

        args, kwargs = map_arg((node.args, node.kwargs), moved)
        is_step = _packet(node) in _STEPS

        def merged(old: Any, new: Any) -> Any:
            return new if is_step or not old.is_floating_point() else old

        return pytree.tree_map(merged, value, run(args, kwargs))

    def _offset(self, number: int, operand: Node, value: torch.Tensor) -> Any:
        if self.direction < 2:
            return self.tolerance[operand] * (1 if number % 2 == self.direction else -1)
        signs = torch.randint(0, 2, value.shape, generator=self.random) * 2 - 1
        return self.tolerance[operand] * signs.double()


def _floats(node: Node) -> list[Node]:
    return [operand for operand in node.all_input_nodes if (value := value_of(operand)) is not None and value.is_floating_point()]


def _decides(node: Node) -> bool:
    given = [value for value in pytree.tree_leaves(node.meta.get("val")) if isinstance(value, torch.Tensor)]
    is_step = _packet(node) in _STEPS and (_packet(node) != "div" or node.kwargs.get("rounding_mode") is not None)
    return is_step or any(not value.is_floating_point() for value in given)


def _packet(node: Node) -> str:
    return str(node.target).split(".")[1]


def _largest(values: torch.Tensor) -> float:
    finite = values[torch.isfinite(values)].abs()
    return float(finite.max()) if finite.numel() else 0.0
