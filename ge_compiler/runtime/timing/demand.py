"""Which index values of a kernel its time depends on, and how closely.

Time depends on extents, numbers of flags, counts of loops and branches, never on addresses. A value that only chooses between two slots
is needed *modulo* 2: iterations that agree in it there are the same to time. That is what keeps long loops short to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import lcm

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects import npu
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.index_list import join_index_list
from ge_compiler.dialects.types import buffer_type

EXACT = 0
"""A value is needed as it is; any other number: modulo that."""

Extent = SSAValue | int


def extents_of(value: SSAValue) -> tuple[Extent, ...]:
    """The extents of a memref, by its type where that says them, else by the op that made it. Raises `CompileError` where nothing does."""
    shape = buffer_type(value).get_shape()
    if DYNAMIC_INDEX not in shape:
        return tuple(shape)
    match value.owner:
        case memref.SubviewOp() as op:
            sizes = join_index_list(op.sizes, op.static_sizes)
            return tuple(sizes[len(sizes) - len(shape) :])
        case memref.ReinterpretCastOp() as op:
            return tuple(join_index_list(op.sizes, op.static_sizes))
        case memref.CastOp() as op:
            return extents_of(op.source)
        case Operation() as op:
            raise CompileError.at(op, f"gives {value.type}, whose extents cannot be followed without executing it")
        case block:
            message = f"an argument {value.type} has extents that are not known without executing what is around it"
            parent = block.parent_op()
            raise CompileError(message) if parent is None else CompileError.at(parent, message)


def number_of(value: Extent) -> int | None:
    """The number that a value is in every execution, if the text says so."""
    if isinstance(value, int):
        return value
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


@dataclass(frozen=True)
class Head:
    """What a block does first: arithmetic on its arguments and on what is outside of it."""

    ops: tuple[Operation, ...]
    values: tuple[tuple[SSAValue, int], ...]
    """Of these values, each with its modulus, the time of the rest of the block depends."""


@dataclass
class Demands:
    """The values of a kernel that its time depends on."""

    kernel: FuncOp
    moduli: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    _heads: dict[Block, Head] = field(default_factory=dict[Block, "Head"])

    def __post_init__(self) -> None:
        self._changed = True
        while self._changed:  # a loop's yield may ask more of what stands before it
            self._changed = False
            for op in reversed(list(self.kernel.walk())):
                self._visit(op)

    def wants(self, value: SSAValue) -> bool:
        return value in self.moduli

    def head(self, block: Block) -> Head:
        """The head of a block: many blocks that begin with different numbers are alike behind it."""
        if block not in self._heads:
            ops: dict[Operation, None] = {}
            for op in block.ops:
                sources = [value.owner for value in op.operands]
                known = all(source in ops for source in sources if isinstance(source, Operation) and source.parent is block)
                if known and op.name.startswith("arith.") and op.results[0] in self.moduli:
                    ops[op] = None
            rest = [op for op in block.walk() if op not in ops]
            inside = {value for op in rest for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args))}
            used = {value: None for op in rest for value in self.operands(op) if value not in inside}
            self._heads[block] = Head(tuple(ops), tuple((value, self.moduli[value]) for value in used))
        return self._heads[block]

    def operands(self, op: Operation) -> list[SSAValue]:
        """The operands of an op that time depends on, and the extents of its memrefs. Where a memref lies does not matter."""
        values: list[SSAValue] = [] if any(map(_is_memref, op.results)) or isinstance(op, npu.InstructionOp) else list(op.operands)
        extents = [e for value in op.operands if _is_memref(value) for e in _extents(op, value) if not isinstance(e, int)]
        return [value for value in (*values, *extents) if value in self.moduli]

    def _visit(self, op: Operation) -> None:
        match op:
            case npu.InstructionOp():
                for value in (*op.reads(), op.writes()):
                    self._want(extents_of(value), EXACT)
            case npu.FlagOp() | npu.CrossCoreFlagOp():
                self._want([op.mixed_number], EXACT)
            case scf.ForOp():
                self._visit_loop(op)
            case scf.IfOp():
                self._want([op.cond], EXACT)
                for region in op.regions:
                    self._tie(list(op.results), _yielded(region.blocks))
            case memref.DimOp():
                if op.result in self.moduli:
                    index = number_of(op.index)
                    self._want([extents_of(op.source)[index]] if index is not None else [op.index, *extents_of(op.source)], EXACT)
            case _ if op.results and op.results[0] in self.moduli:
                self._visit_index(op, self.moduli[op.results[0]])
            case _:
                pass

    def _visit_loop(self, op: scf.ForOp) -> None:
        self._want([op.lb, op.ub, op.step], EXACT)
        carried = list(op.body.block.args[1:])
        self._tie(list(op.results), carried)
        self._tie(carried, list(op.iter_args))
        self._tie(carried, _yielded([op.body.block]))

    def _tie(self, results: Sequence[SSAValue], sources: Sequence[SSAValue]) -> None:
        for result, source in zip(results, sources, strict=False):
            if result in self.moduli:
                self._want([source], self.moduli[result])

    def _visit_index(self, op: Operation, modulus: int) -> None:
        match op:
            case arith.AddiOp() | arith.SubiOp() | arith.MuliOp() | arith.IndexCastOp():
                self._want(op.operands, modulus)
            case arith.RemUIOp() if number_of(op.rhs):
                self._want([op.lhs], number_of(op.rhs) or EXACT)
            case arith.DivUIOp() if modulus and number_of(op.rhs):
                self._want([op.lhs], modulus * (number_of(op.rhs) or 1))
            case arith.SelectOp():
                self._want([op.cond], EXACT)
                self._want([op.lhs, op.rhs], modulus)
            case _:
                self._want([value for value in op.operands if not _is_memref(value)], EXACT)

    def _want(self, values: Sequence[Extent], modulus: int) -> None:
        for value in values:
            if isinstance(value, int) or number_of(value) is not None:
                continue
            before = self.moduli.get(value)
            after = modulus if before is None else EXACT if EXACT in (before, modulus) else lcm(before, modulus)
            if after != before:
                self.moduli[value] = after
                self._changed = True


def _is_memref(value: SSAValue) -> bool:
    return hasattr(value.type, "memory_space")


def _extents(op: Operation, value: SSAValue) -> tuple[Extent, ...]:
    return extents_of(value) if isinstance(op, npu.InstructionOp | memref.DimOp) else ()


def _yielded(blocks: Sequence[Block]) -> list[SSAValue]:
    last = blocks[0].last_op if blocks else None
    return list(last.operands) if isinstance(last, scf.YieldOp) else []
