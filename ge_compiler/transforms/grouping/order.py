"""The order of the kernels of a function, and what must move when two become one.

A kernel that updates an argument in place (`fused.insert`, `fused.scatter`) comes after all that read the old contents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.fused.destinations import updated_argument


def updated_inputs(kernel: Operation) -> tuple[SSAValue, ...]:
    """The inputs of which a kernel replaces parts."""
    if not isinstance(kernel, fused.KernelOp):
        return ()
    arguments = (updated_argument(value) for value in kernel.yielded.values)
    return tuple(kernel.inputs[argument.index] for argument in arguments if argument is not None)


@dataclass
class Order:
    """Where the ops of a block stand. Whoever inserts, moves or erases ops tells."""

    block: Block
    places: dict[Operation, int] = field(default_factory=dict[Operation, int])
    updates: dict[SSAValue, list[Operation]] = field(default_factory=dict[SSAValue, list[Operation]])
    """The kernels that update a value, which all others read before; those that have been erased may be among them."""

    def __post_init__(self) -> None:
        self.number()
        for op in self.block.ops:
            self._note(op, updated_inputs(op))

    def number(self) -> None:
        self.places = {op: i for i, op in enumerate(self.block.ops)}

    def _note(self, op: Operation, updated: Iterable[SSAValue]) -> None:
        for value in updated:
            self.updates.setdefault(value, []).append(op)

    def replaced(self, old: Operation, new: Operation, updated: Iterable[SSAValue]) -> None:
        """`new`, which replaces parts of the values `updated`, stands where `old` stood."""
        self.places[new] = self.places.pop(old)
        self._note(new, updated)

    def insert_before(self, ops: list[Operation], place: Operation) -> None:
        """Put new ops before another one."""
        self.block.insert_ops_before(ops, place)
        for op in ops:
            self._note(op, updated_inputs(op))
        self.number()

    def users(self, op: Operation) -> list[Operation]:
        """The ops that use results of `op`, in order."""
        found = {use.operation for result in op.results for use in result.uses}
        return sorted(found, key=self.places.__getitem__)

    def overwriters(self, op: Operation, values: Iterable[SSAValue]) -> Iterator[Operation]:
        """Later ops that overwrite what `op` reads of `values`."""
        for value in values:
            for update in self.updates.get(value, ()):
                if update is not op and update in self.places and self.places[update] > self.places[op] and value in update.operands:
                    yield update

    def in_the_way(self, producer: Operation, consumer: Operation, moves_results: bool) -> list[Operation] | None:
        """
        The ops between two kernels that must follow their merged kernel, which stands where the consumer stands; `None` if that needs one.

        Those are the ops that overwrite what the producer reads and, if the producer's results come from the merged kernel
        (`moves_results`), those that use them; and all that depends on them.
        """
        last = self.places[consumer]
        pending = list(self.overwriters(producer, producer.operands))
        pending += self.users(producer) if moves_results else []
        found: set[Operation] = set()
        while pending:
            op = pending.pop()
            if op in found or op is consumer or self.places[op] > last:
                continue
            followers = [*self.users(op), *self.overwriters(op, op.operands)]
            if consumer in followers:
                return None
            found.add(op)
            pending += followers
        return sorted(found, key=self.places.__getitem__)

    def move_behind(self, ops: list[Operation], place: Operation) -> None:
        """Move ops, in their order, to right behind another one."""
        for op in reversed(ops):
            op.detach()
            self.block.insert_op_after(op, place)
        if ops:
            self.number()
