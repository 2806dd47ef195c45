"""Walks a kernel's primitives and writes their tiles out, to IR or to whatever else measures them.

This is the one description of a tile's life between its loads and its stores; the lowering and the footprint both follow it.

A kernel without reductions, or whose tiles hold all that is reduced, is a straight line. Else it runs in *phases*: each loops over chunks
of the reduced dimensions, loads and computes again what it needs, and carries the reductions along; the last one stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.functions import REDUCTIONS
from ge_compiler.dialects.types import integer_bits, tensor_type
from ge_compiler.lowering.tiling.shapes import TileShape
from ge_compiler.transforms.iteration.accesses import Needed, Output, yielded
from ge_compiler.transforms.iteration.affine import Access
from ge_compiler.transforms.iteration.domain import Domain, Window

Scalar = FloatAttr[Any] | IntegerAttr[Any]

ROWS, COLUMNS = 0, 1
"""The axes of a tile."""


Follows = tuple[bool, bool]
"""Whether a tile differs from row to row, and from column to column."""


def either(all_of: Sequence[Follows]) -> Follows:
    """Along which axes at least one of several tiles differs."""
    return any(f[ROWS] for f in all_of), any(f[COLUMNS] for f in all_of)


class TileSink(Protocol):
    """Where the tiles of a kernel go. A handle stands for a tile in the unified buffer."""

    def at(self, op: Operation) -> None:
        """What follows stems from `op`."""
        ...

    def load(self, argument: BlockArgument, window: Window) -> Any:
        """The tile of an argument."""
        ...

    def load_rows(self, argument: BlockArgument, window: Window, indices: Any, follows: bool) -> Any:
        """The rows of a table that a tile of indices names; whether the indices differ from row to row."""
        ...

    def iota(self, element: Attribute, offset: int, strides: tuple[int, ...]) -> Any:
        """Numbers that grow along each group of the domain."""
        ...

    def accumulator(self) -> Any:
        """The finished tile of the anchor."""
        ...

    def function(self, name: str, operands: list[Any], scalar: Scalar | None) -> Any:
        """A function of the table, on operands that repeat where they are single rows, columns or elements."""
        ...

    def cast(self, x: Any, element: Attribute) -> Any:
        """The tile in another element type."""
        ...

    def full(self, value: Scalar) -> Any:
        """A tile of one element."""
        ...

    def initial(self, kind: str, element: Attribute, follows: tuple[bool, bool]) -> Any:
        """What a reduction starts with, for each row and column that it is kept for."""
        ...

    def reduce(self, kind: str, x: Any, axis: int) -> Any:
        """Combine the rows (0) or the columns (1) of a tile that has all of them, repeated where it does not."""
        ...

    def loops(self, groups: Sequence[int], carried: list[Any], body: Callable[[list[Any]], list[Any]]) -> list[Any]:
        """Run `body` for each chunk of the groups; what it gives is what it gets the next time, and the result."""
        ...

    def store(self, x: Any, output: Output) -> None:
        """Write a tile to where an output is placed, repeated where it is smaller than that."""
        ...

    def store_rows(self, x: Any, indices: Any, output: Output) -> None:
        """Write the rows of a tile to the entries that a tile of indices names."""
        ...


_WITH_SCALAR = {"add": "adds", "mul": "muls", "max": "maxs", "min": "mins", "sub": "adds"}
"""Binary functions that have a form with a scalar, which then needs no tile; `sub` adds the negated one."""


def emit(domain: Domain, shape: TileShape, sink: TileSink) -> None:
    """Write every needed tile of the kernel to `sink`, in the order of its primitives, then store the results."""
    if domain.anchor is None and 0 in domain.sizes:
        return  # nobody runs it, and an empty tensor has no window
    emission = _Emission(domain, shape, sink)
    if chunked_groups(domain, shape):
        emission.phases()
    else:
        emission.straight()


Step = tuple[Operation, Access]
"""An op, and the access of its result that is computed."""


@dataclass
class _Emission:
    domain: Domain
    shape: TileShape
    sink: TileSink
    scopes: list[dict[Needed, Any]] = field(default_factory=lambda: [dict[Needed, Any]()])
    """The tiles made so far, the innermost loop's last."""

    def straight(self) -> None:
        """Everything in one go."""
        for op, access in self.in_order(self._closure(self._roots(self.domain.outputs))):
            self._emit(op, access)
        for output in self.domain.outputs:
            self._store(output)

    def phases(self) -> None:
        """Reductions over chunks, each after those that it depends on, then the results."""
        steps = self.in_order(self._closure(self._roots(self.domain.outputs)))
        last = max((self._level[step] for step in steps), default=0)
        for level in range(last + 1):
            self._emit_outside(steps, level)
            reductions = [s for s in steps if isinstance(s[0], fused.ReduceOp) and self._level[s] == level + 1]
            if reductions:
                self._reduce_chunks(reductions)
        inside = [output for output in self.domain.outputs if self._varies(output.access)]
        for output in self.domain.outputs:
            if output not in inside:
                self._store(output)
        if inside:
            self._store_chunks(inside)

    # ---- phases

    def _emit_outside(self, steps: Sequence[Step], level: int) -> None:
        """What is the same in all chunks, and depends on no later reduction."""
        for op, access in steps:
            if self._level[op, access] == level and not self._varies(access) and not isinstance(op, fused.ReduceOp):
                self._emit(op, access)

    def _reduce_chunks(self, reductions: Sequence[Step]) -> None:
        """One loop over all chunks for reductions that do not depend on each other."""
        over = [self.domain.operands(*step) for step in reductions]
        initial: list[Any] = []
        for (op, access), operands in zip(reductions, over, strict=True):
            assert isinstance(op, fused.ReduceOp)
            self.sink.at(op)
            follows = self.domain.follows(access)[-2:]
            initial.append(self.sink.initial(op.kind.kind.data, tensor_type(op.result).get_element_type(), (follows[0], follows[1])))
            assert operands, "a reduction over nothing is no step of a loop"
        steps = self.in_order(self._closure([needs[0] for needs in over], self._varies))
        self._load_outside(steps, [needs[0] for needs in over])

        def body(carried: list[Any]) -> list[Any]:
            for op, access in steps:
                self._emit(op, access)
            combined: list[Any] = []
            for (op, access), accumulated in zip(reductions, carried, strict=True):
                assert isinstance(op, fused.ReduceOp)
                self.sink.at(op)
                partial = self._reduced(op, access)
                combined.append(self.sink.function(REDUCTIONS[op.kind.kind.data], [accumulated, partial], None))
            return combined

        results = self._loops(initial, body)
        self.scopes[-1].update({(op.results[0], access): result for (op, access), result in zip(reductions, results, strict=True)})

    def _store_chunks(self, outputs: Sequence[Output]) -> None:
        roots = self._roots(outputs)
        steps = self.in_order(self._closure(roots, self._varies))
        self._load_outside(steps, roots)

        def body(carried: list[Any]) -> list[Any]:
            for op, access in steps:
                self._emit(op, access)
            for output in outputs:
                self._store(output)
            return []

        self._loops([], body)

    def _loops(self, carried: list[Any], body: Callable[[list[Any]], list[Any]]) -> list[Any]:
        self.scopes.append({})
        results = self.sink.loops(chunked_groups(self.domain, self.shape), carried, body)
        self.scopes.pop()
        return results

    def _load_outside(self, steps: Sequence[Step], roots: Sequence[Needed]) -> None:
        """Load before a loop what is the same in all of its trips."""
        needs = [*roots, *(need for step in steps for need in self._operands(step))]
        for value, access in dict.fromkeys(needs):
            if not self._varies(access) and not isinstance(value.owner, fused.FullOp):
                self._handle(value, access)

    def _varies(self, access: Access) -> bool:
        """Whether a value under `access` differs from chunk to chunk."""
        follows = self.domain.follows(access)
        return any(follows[group] for group in self.domain.reduced)

    @cached_property
    def _level(self) -> dict[Step, int]:
        """How many reductions each step depends on, itself included, one behind the other."""
        levels: dict[Step, int] = {}
        for op, access in self.in_order(self._closure(self._roots(self.domain.outputs))):
            below = [
                levels[x.owner, a] for x, a in self._operands((op, access)) if isinstance(x.owner, Operation) and (x.owner, a) in levels
            ]
            levels[op, access] = max(below, default=0) + (isinstance(op, fused.ReduceOp) and bool(self.domain.operands(op, access)))
        return levels

    # ---- steps

    def _roots(self, outputs: Sequence[Output]) -> list[Needed]:
        return [need for output in outputs for need in ((output.value, output.access), *((output.rows,) if output.rows else ()))]

    def _operands(self, step: Step) -> list[Needed]:
        """What a step reads from tiles: the anchor brings its own operands, a gather its table."""
        op = step[0]
        if isinstance(op, fused.MatmulOp | fused.AttentionOp):
            return []
        needs = self.domain.operands(*step)
        if isinstance(op, fused.FusedElementwiseOp) and (simplified := _scalar_form(op)) is not None:
            return [needs[simplified[1]]]
        return needs[1:] if isinstance(op, fused.GatherOp) else needs

    def _closure(self, roots: Sequence[Needed], within: Callable[[Access], bool] | None = None) -> set[Step]:
        """The steps that lead to `roots`; of those, only through accesses that are `within`."""
        found: set[Step] = set()
        pending = list(roots)
        while pending:
            value, access = pending.pop()
            if not isinstance(value.owner, Operation) or (value.owner, access) in found or (within is not None and not within(access)):
                continue
            if any((value, access) in scope for scope in self.scopes):
                continue
            found.add((value.owner, access))
            pending += self._operands((value.owner, access))
        return found

    def in_order(self, steps: set[Step]) -> list[Step]:
        """Steps in the order of the kernel's text."""
        ops = self.domain.kernel.body.block.ops
        ordered = [(op, access) for op in ops for result in op.results for access in self.domain.needed(result)]
        return [step for step in ordered if step in steps and not isinstance(step[0], fused.FullOp)]

    def _handle(self, value: SSAValue, access: Access) -> Any:
        for scope in reversed(self.scopes):
            if (value, access) in scope:
                return scope[value, access]
        if isinstance(value, BlockArgument):
            made = self.sink.load(value, self.domain.window(value, access))
        else:
            assert isinstance(value.owner, fused.FullOp), value
            made = self.sink.full(value.owner.value)
        self.scopes[-1][value, access] = made
        return made

    def _emit(self, op: Operation, access: Access) -> None:
        self.sink.at(op)
        self.scopes[-1][op.results[0], access] = self._made(op, access)

    def _made(self, op: Operation, access: Access) -> Any:
        match op:
            case fused.MatmulOp() | fused.AttentionOp():
                return self.sink.accumulator()
            case fused.IotaOp():
                index = access[op.dimension.value.data]
                return self.sink.iota(tensor_type(op.result).get_element_type(), index.offset, self.domain.strides(index))
            case fused.ReduceOp():
                return self._reduced(op, access)
            case fused.GatherOp():
                return self._gathered(op, access)
            case fused.CastOp():
                return self.sink.cast(self._operand(op, access), tensor_type(op.result).get_element_type())
            case fused.FusedElementwiseOp():
                return self._function(op, access)
            case _:
                return self._operand(op, access)

    def _operand(self, op: Operation, access: Access) -> Any:
        """The only operand, where a view or a broadcast does nothing else to it."""
        ((value, inner),) = self.domain.operands(op, access)
        return self._handle(value, inner)

    def _function(self, op: fused.FusedElementwiseOp, access: Access) -> Any:
        operands = [self._handle(*need) for need in self._operands((op, access))]
        simplified = _scalar_form(op)
        if simplified is not None:
            return self.sink.function(simplified[0], operands, simplified[2])
        return self.sink.function(op.FUNCTION, operands, op.scalar_property())

    def _reduced(self, op: fused.ReduceOp, access: Access) -> Any:
        """The reduction of the tile, or of the chunk, that is at hand."""
        kind, needs = op.kind.kind.data, self.domain.operands(op, access)
        if not needs:
            return self.sink.initial(kind, tensor_type(op.result).get_element_type(), (False, False))
        x = self._handle(*needs[0])
        for axis in (COLUMNS, ROWS):
            if self.domain.groups[axis - 2].reduced:
                x = self.sink.reduce(kind, x, axis)
        return x

    def _gathered(self, op: fused.GatherOp, access: Access) -> Any:
        table, (indices, at) = self.domain.operands(op, access)
        return self.sink.load_rows(*self.domain.argument(*table), self._handle(indices, at), self.domain.follows(at)[-2])

    def _store(self, output: Output) -> None:
        self.sink.at(yielded(self.domain.kernel))
        x = self._handle(output.value, output.access)
        if output.rows is None:
            self.sink.store(x, output)
        else:
            self.sink.store_rows(x, self._handle(*output.rows), output)


def chunked_groups(domain: Domain, shape: TileShape) -> tuple[int, ...]:
    """The reduced groups of which a tile holds only a part; all of them once one is not held whole."""
    rows, columns = (len(domain.groups) - 2, shape.rows), (len(domain.groups) - 1, shape.columns)
    is_partial = bool(domain.loops) or any(domain.groups[g].reduced and size < domain.sizes[g] for g, size in (rows, columns))
    return domain.reduced if is_partial else ()


def _scalar_form(op: fused.FusedElementwiseOp) -> tuple[str, int, Scalar] | None:
    """A binary function of a tile and a constant as a function with a scalar: its name, the number of the tile operand, the scalar."""
    if op.FUNCTION not in _WITH_SCALAR:
        return None
    lhs, rhs = (_constant(x) for x in op.operands)
    kept, value = (0, rhs) if rhs is not None or op.FUNCTION == "sub" else (1, lhs)
    if value is None or (lhs if kept == 0 else rhs) is not None:
        return None
    if op.FUNCTION == "sub":
        value = _negated(value)
    return None if value is None else (_WITH_SCALAR[op.FUNCTION], kept, value)


def _constant(value: SSAValue) -> Scalar | None:
    """The value of a splat in the element type of `value`, seen through broadcasts and casts from narrower floats."""
    while isinstance(value.owner, fused.BroadcastOp | fused.ReshapeOp):
        value = value.owner.x
    if isinstance(value.owner, fused.FullOp):
        return value.owner.value
    if isinstance(value.owner, fused.CastOp):
        inner = _constant(value.owner.x)
        element = tensor_type(value).get_element_type()
        if isinstance(inner, FloatAttr) and str(element) == "f32" and str(inner.type) in ("f16", "bf16"):
            return FloatAttr(inner.value.data, element)  # pyright: ignore
    return None


def _negated(value: Scalar) -> Scalar | None:
    """The negated value; `None` for the one integer whose negative its type does not hold."""
    if isinstance(value, FloatAttr):
        return FloatAttr(-value.value.data, value.type)
    integer = value.value.data
    return None if integer == -(2 ** (integer_bits(value.type) - 1)) else IntegerAttr(-integer, value.type)
