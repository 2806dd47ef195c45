"""The walk: a function body, compiled once into flat lists of closures on a list of registers.

A *step* is a closure that reads and writes registers; a *factory* makes the step of one op. Every level brings a table from op classes to
factories, and all levels share this walk. Steps cost about 0.3 µs each beside the work that they do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError, Note, source_location
from ge_compiler.runtime.lanes import KNOWS_LANES, LaneRegisters, in_lane, runs_once

Registers = list[Any]
Step = Callable[[Registers], None]
Factory = Callable[[Any, "Frame"], Step | None]
"""Makes the step of an op, or `None` if everything was done by setting constants."""

Table = Mapping[type[Operation], Factory]

NOT_INSTRUCTIONS = frozenset({"ge.load_weight", "tile.view", "tile.undef", "buf.at", "buf.alloc", "npu.block_idx", "npu.sub_block_idx"})
"""Ops of our dialects that execute nothing: they only name a value."""


@dataclass
class Code:
    """The steps of one block, and how often they ran."""

    steps: Sequence[Step]
    instructions: Counter[str]
    """How many instructions of each name one run executes."""
    runs: int = 0

    def run(self, registers: Registers) -> None:
        self.runs += 1
        for step in self.steps:
            step(registers)


@dataclass
class Frame:
    """Numbers the values of one function and compiles its blocks."""

    table: Table
    lanes: int = 1
    """Vector lanes of a cluster."""
    initial: Registers = field(default_factory=list[Any])
    """The registers of a call before it starts: constants stand in their places."""
    codes: list[Code] = field(default_factory=list[Code])
    _slots: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def slot(self, value: SSAValue | int) -> int:
        """The register of a value; an integer gets one of its own."""
        if isinstance(value, int):
            return self.constant(value)
        if value not in self._slots:
            self._slots[value] = self.constant(None)
        return self._slots[value]

    def slots(self, values: Sequence[SSAValue | int]) -> list[int]:
        return [self.slot(value) for value in values]

    def constant(self, value: Any) -> int:
        """A register that holds `value` when the function starts."""
        self.initial.append(value)
        return len(self.initial) - 1

    def set_constant(self, result: SSAValue, value: Any) -> None:
        self.initial[self.slot(result)] = value

    def code(self, block: Block) -> Code:
        """The steps of `block` but its terminator, whose meaning is its parent's."""
        body = [op for op in block.ops if not op.has_trait(IsTerminator)]
        code = Code(self.steps(body), Counter(op.name for op in body if _is_instruction(op)))
        self.codes.append(code)
        return code

    def steps(self, ops: Iterable[Operation]) -> list[Step]:
        """What these ops do, without those that do nothing."""
        return [step for op in ops if (step := self._step(op)) is not None]

    def _step(self, op: Operation) -> Step | None:
        factory = self.table.get(type(op))
        if factory is None:
            raise CompileError.at(op, "cannot be executed: it has no meaning in a function that runs")
        try:
            step = factory(op, self)
            if step is None or self.lanes == 1 or op.regions or op.name in KNOWS_LANES:
                return step
            return self._in_lanes(op, step)
        except CompileError as error:
            raise error if source_location(error.location) else CompileError.at(op, error.message, *error.notes) from error

    def _in_lanes(self, op: Operation, step: Step) -> Step:
        """The step of a cluster: once for all lanes, or in every lane."""
        results, once = self.slots(op.results), runs_once(op)

        def run(r: Registers) -> None:
            assert isinstance(r, LaneRegisters)
            if once:
                step(r.lanes[0])
                for slot in results:
                    r[slot] = r.lanes[0][slot]
            else:
                for lane, registers in enumerate(r.lanes):
                    try:
                        step(registers)
                    except CompileError as error:
                        raise in_lane(error, op, lane) from error

        return run


def _is_instruction(op: Operation) -> bool:
    return op.dialect_name() in LEVELS and not op.regions and op.name not in NOT_INSTRUCTIONS and op.name != "fused.launch"


@contextmanager
def noting(op: Operation, note: Callable[[], str]) -> Generator[None]:
    """Errors from inside say in which part of `op` they arose."""
    try:
        yield
    except CompileError as error:
        raise CompileError(error.message, error.location, (*error.notes, Note(note(), op.location))) from error


class Function:
    """A compiled function: call it with one value per argument; it gives one value per result.

    A kernel on a cluster runs in `lanes`; `@main`, which launches it, does not.
    """

    def __init__(self, op: FuncOp, table: Table, lanes: int = 1) -> None:
        if len(op.body.blocks) != 1:
            raise CompileError.at(
                op, f"@{op.sym_name.data} has no body to execute" if op.is_declaration else "only one block can be executed"
            )
        self.op = op
        self._lanes = lanes
        frame = Frame(table, lanes)
        block = op.body.block
        self._arguments = frame.slots(block.args)
        self._code = frame.code(block)
        assert block.last_op is not None
        self._results = frame.slots(block.last_op.operands)
        self._initial = frame.initial
        self._codes = frame.codes

    def __call__(self, *arguments: Any) -> list[Any]:
        registers: Registers = self._initial.copy() if self._lanes == 1 else LaneRegisters(self._initial, self._lanes)
        for slot, value in zip(self._arguments, arguments, strict=True):
            registers[slot] = value
        self._code.run(registers)
        return [registers[slot] for slot in self._results]

    def forget(self) -> None:
        """From here on nothing has been executed."""
        for code in self._codes:
            code.runs = 0

    def executed(self) -> Counter[str]:
        """How many instructions of each name all calls executed."""
        total: Counter[str] = Counter()
        for code in self._codes:
            for name, count in code.instructions.items():
                total[name] += count * code.runs
        return +total
