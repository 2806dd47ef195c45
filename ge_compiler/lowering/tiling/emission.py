"""Walks a kernel's primitives and writes their tiles out, to IR or to whatever else measures them.

This is the one description of a tile's life between its loads and its stores; the lowering and the footprint both follow it.

A kernel without reductions, or whose tiles hold all that is reduced, is a straight line. Else it runs in *phases*: each loops over chunks
of the reduced dimensions, loads and computes again what it needs, and carries the reductions along; the last one stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.functions import REDUCTIONS
from ge_compiler.dialects.types import integer_bits, tensor_type
from ge_compiler.lowering.tiling.shapes import TileShape
from ge_compiler.lowering.tiling.sink import COLUMNS, ROWS, Follows, Scalar, TileSink
from ge_compiler.transforms.iteration.accesses import Needed, Output, yielded
from ge_compiler.transforms.iteration.affine import Access
from ge_compiler.transforms.iteration.domain import Domain, Window

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


@dataclass(frozen=True)
class _Tile:
    """A handle of the sink's, and along which axes the tile has room: along the others, all rows or columns are one."""

    handle: Any
    follows: Follows


@dataclass
class _Emission:
    domain: Domain
    shape: TileShape
    sink: TileSink
    scopes: list[dict[Needed, _Tile]] = field(default_factory=lambda: [dict[Needed, _Tile]()])
    """The tiles made so far, the innermost loop's last."""

    def straight(self) -> None:
        """Everything in one go."""
        self._emit_all(self.in_order(self._closure(self._roots(self.domain.outputs))))
        for output in self.domain.outputs:
            self._store(output)

    def phases(self) -> None:
        """Reductions over chunks, each after those that it depends on, then the results."""
        steps = self.in_order(self._closure(self._roots(self.domain.outputs)))
        last = max((self._level[step] for step in steps), default=0)
        for level in range(last + 1):
            self._emit_outside(steps, level)
            reductions = [(op, access) for op, access in steps if isinstance(op, fused.ReduceOp) and self._level[op, access] == level + 1]
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
        self._emit_all([s for s in steps if self._level[s] == level and not self._varies(s[1]) and not isinstance(s[0], fused.ReduceOp)])

    def _reduce_chunks(self, reductions: Sequence[tuple[fused.ReduceOp, Access]]) -> None:
        """One loop over all chunks for reductions that do not depend on each other."""
        over = [self.domain.operands(*step)[0] for step in reductions]
        initial: list[_Tile] = []
        for op, access in reductions:
            self.sink.at(op)
            initial.append(self._initial(op, self._axes(access)))
        steps = self.in_order(self._closure(over, self._varies))
        self._load_outside(steps, over)

        def body(carried: list[Any]) -> list[Any]:
            self._emit_all(steps)
            combined: list[Any] = []
            for (op, access), accumulated in zip(reductions, carried, strict=True):
                self.sink.at(op)
                partial = self._reduced(op, access)
                combined.append(self.sink.function(REDUCTIONS[op.kind.kind.data], [accumulated, partial.handle], None))
            return combined

        results = self._loops([tile.handle for tile in initial], body)
        for (op, access), start, result in zip(reductions, initial, results, strict=True):
            self.scopes[-1][op.result, access] = _Tile(result, start.follows)

    def _store_chunks(self, outputs: Sequence[Output]) -> None:
        roots = self._roots(outputs)
        steps = self.in_order(self._closure(roots, self._varies))
        self._load_outside(steps, roots)

        def body(carried: list[Any]) -> list[Any]:
            self._emit_all(steps)
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
                self._tile(value, access)

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
        if isinstance(op, fused.Anchor):
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

    # ---- tiles

    def _axes(self, access: Access) -> Follows:
        """Along which axes of a tile an access varies."""
        rows, columns = self.domain.follows(access)[-2:]
        return rows, columns

    def _tile(self, value: SSAValue, access: Access) -> _Tile:
        for scope in reversed(self.scopes):
            if (value, access) in scope:
                return scope[value, access]
        if isinstance(value, BlockArgument):
            made = self._loaded(value, self.domain.window(value, access))
        else:
            assert isinstance(value.owner, fused.FullOp), value
            made = _Tile(self.sink.full(value.owner.value), (False, False))
        self.scopes[-1][value, access] = made
        return made

    def _loaded(self, argument: BlockArgument, window: Window) -> _Tile:
        # Of what is written in place, no lane reads an element that another one writes.
        follows = self._stored(window) if argument in self.domain.updated else (window.follows(-2), window.follows(-1))
        return _Tile(self.sink.load(argument, window, follows), follows)

    def _emit_all(self, steps: Sequence[Step]) -> None:
        for op, access in steps:
            self.sink.at(op)
            self.scopes[-1][op.results[0], access] = self._made(op, access)

    def _made(self, op: Operation, access: Access) -> _Tile:
        match op:
            case fused.MatmulOp() | fused.AttentionOp():
                return _Tile(self._accumulator(), (True, True))
            case fused.IotaOp():
                index = access[op.dimension.value.data]
                element, strides = tensor_type(op.result).get_element_type(), self.domain.strides(index)
                follows = strides[-2] != 0, strides[-1] != 0
                return _Tile(self.sink.iota(element, index.offset, strides, follows), follows)
            case fused.ReduceOp():
                return self._reduced(op, access)
            case fused.GatherOp():
                return self._gathered(op, access)
            case fused.CastOp():
                x = self._operand(op, access)
                return _Tile(self.sink.cast(x.handle, tensor_type(op.result).get_element_type()), x.follows)
            case fused.FusedElementwiseOp():
                return self._function(op, access)
            case _:
                return self._operand(op, access)

    def _accumulator(self) -> Any:
        """The tile of the anchor; the parts' products are added up in the order of the parts, whatever order they were computed in."""
        if self.shape.splits == 1:
            return self.sink.accumulator()
        total = self.sink.partial(0)
        for part in range(1, self.shape.splits):
            total = self.sink.function("add", [total, self.sink.partial(part)], None)
        return total

    def _operand(self, op: Operation, access: Access) -> _Tile:
        """The only operand, where a view or a broadcast does nothing else to it."""
        (need,) = self.domain.operands(op, access)
        return self._tile(*need)

    def _function(self, op: fused.FusedElementwiseOp, access: Access) -> _Tile:
        operands = [self._tile(*need) for need in self._operands((op, access))]
        name, _, scalar = _scalar_form(op) or (op.FUNCTION, 0, op.scalar_property())
        rows, columns = (any(x.follows[axis] for x in operands) for axis in (ROWS, COLUMNS))
        return _Tile(self.sink.function(name, [x.handle for x in operands], scalar), (rows, columns))

    def _initial(self, op: fused.ReduceOp, follows: Follows) -> _Tile:
        return _Tile(self.sink.initial(op.kind.kind.data, tensor_type(op.result).get_element_type(), follows), follows)

    def _reduced(self, op: fused.ReduceOp, access: Access) -> _Tile:
        """The reduction of the tile, or of the chunk, that is at hand."""
        needs = self.domain.operands(op, access)
        if not needs:
            return self._initial(op, (False, False))
        x = self._tile(*needs[0])
        for axis in (COLUMNS, ROWS):
            if self.domain.groups[axis - 2].reduced:
                x = self._repeated(x, (axis == ROWS, axis == COLUMNS))
                rows, columns = (follows and axis != other for other, follows in enumerate(x.follows))
                x = _Tile(self.sink.reduce(op.kind.kind.data, x.handle, axis), (rows, columns))
        return x

    def _gathered(self, op: fused.GatherOp, access: Access) -> _Tile:
        table, indices = self.domain.operands(op, access)
        argument, window = self.domain.argument(*table)
        follows = self._axes(indices[1])[ROWS], window.follows(-1)
        return _Tile(self.sink.load_rows(argument, window, self._tile(*indices).handle, follows), follows)

    # ---- results

    def _store(self, output: Output) -> None:
        last = yielded(self.domain.kernel)
        self.sink.at(last)
        window = self.domain.window(last.operands[output.result], output.place)
        x, (rows, columns) = self._tile(output.value, output.access), self._stored(window)
        if output.rows is None:
            self.sink.store(self._repeated(x, (rows, columns)).handle, output.result, window)
        else:
            indices = self._repeated(self._tile(*output.rows), (True, False))
            self.sink.store_rows(self._repeated(x, (True, columns)).handle, indices.handle, output.result, window)

    def _stored(self, window: Window) -> Follows:
        """Along which axes the lane's part is stored: also those of one element, which other lanes do not have."""
        rows, columns = (window.follows(axis) or self.domain.sizes[axis] == 1 for axis in (-2, -1))
        return rows, columns

    def _repeated(self, x: _Tile, along: Follows) -> _Tile:
        """A tile that has room along the given axes too."""
        rows, columns = (a or b for a, b in zip(x.follows, along, strict=True))
        if not self.shape.is_more(x.follows, (rows, columns)):
            return x
        return _Tile(self.sink.broadcast(x.handle, (rows, columns)), (rows, columns))


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
