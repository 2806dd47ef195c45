"""The memories that a program with addresses runs on: one of each kind on chip, and an arena of global memory.

Cores run one after the other, and none reads what another left on chip, so one core's memories serve all: they are forgotten where a
block of `tile.forall`, or the loop of a core, starts.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.memory import Space, bytes_of, element_bytes, mem_of, placement
from ge_compiler.dialects.semantics import dtype_of
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.runtime.memory import Buffer, Memory, Reference, Region


class Machine:
    """Memories by space, made when first used."""

    def __init__(self, target: NpuTarget, arena_bytes: int, checked: bool) -> None:
        self.target = target
        self.checked = checked
        self.core = 0
        """The core that the current block runs on."""
        self.arena = Memory(Space.GM, arena_bytes, checked)
        self._local: dict[tuple[Space, int], Memory] = {}
        self._private: list[Memory] = []
        self._references: dict[tuple[Space, int, str, MemRefType[Attribute], int], Reference] = {}

    def start(self, core: int) -> None:
        """From here on the program runs on `core`, and nothing on chip has been written."""
        self.core = core
        for memory in (*self._local.values(), *self._private):
            memory.forget()

    def lanes_of(self, type_: MemRefType[Attribute]) -> int:
        """How many memories hold a buffer of `type_`: the unified buffer exists once for each lane."""
        return self.target.vec_per_cube if mem_of(type_).space is Space.UB else 1

    def at(self, op: Operation, label: str, type_: MemRefType[Attribute], offset: int, lane: int = 0) -> Reference:
        """The buffer of a label and a type at a byte offset of its memory. Raises `CompileError` at `op` if it does not fit."""
        space = mem_of(type_).space
        memory = self._memory(space, lane)
        end = offset + bytes_of(type_)
        if end > memory.size:
            raise CompileError.at(op, f'"{label}" lies at bytes [{offset}, {end}) of {memory.space}, which has {memory.size}')
        key = space, lane, label, type_, offset
        if key not in self._references:
            self._references[key] = _reference(memory, label, type_, offset)
        return self._references[key]

    def private(self, label: str, type_: MemRefType[Attribute]) -> tuple[Reference, Memory]:
        """A buffer that has no address yet, in a memory of its own."""
        space = mem_of(type_).space
        memory = Memory(space, bytes_of(type_), self.checked)
        if space is not Space.GM:
            self._private.append(memory)
        return _reference(memory, label, type_, 0), memory

    def _memory(self, space: Space, lane: int) -> Memory:
        if space is Space.GM:
            return self.arena
        if (space, lane) not in self._local:
            self._local[space, lane] = Memory(space, self.target.capacity(space), self.checked)
        return self._local[space, lane]


def _reference(memory: Memory, label: str, type_: MemRefType[Attribute], offset: int) -> Reference:
    mem, shape, dtype = mem_of(type_), type_.get_shape(), dtype_of(type_.get_element_type())
    if mem.space is Space.GM:
        return Region.allocate(memory, label, shape, dtype, offset)
    rows, columns = shape
    where = placement(rows, columns, element_bytes(type_.get_element_type()), mem.space, mem.layout)
    return Buffer(memory, memory.owner(label), offset, rows, columns, dtype, where).whole()
