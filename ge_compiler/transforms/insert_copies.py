"""
Give values memory of their own where they need it: results of `@main`, and old contents that are used after they are overwritten.

    %1 = fused.kernel(%0, %cache) {op_name = "update", ops = ["ScatterUpdate"]} ...     // replaces parts of %cache
    func.return %1, %cache                                                               // which is also a result
    // becomes
    %2 = fused.kernel(%cache) {op_name = "cache.copy", ops = ["TensorMove"]} ...
    %1 = fused.kernel(%0, %cache) {op_name = "update", ops = ["ScatterUpdate"]} ...
    func.return %1, %2

A result that a kernel computes for several purposes is written several times by that kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused
from ge_compiler.dialects.diagnostics import remark
from ge_compiler.dialects.fused.destinations import updated_argument
from ge_compiler.dialects.states import is_state, states
from ge_compiler.transforms.grouping.cost import bytes_of_tensor
from ge_compiler.transforms.grouping.merging import copy_of, kernel_of, name_of
from ge_compiler.transforms.grouping.order import Order, updated_inputs


@dataclass(frozen=True)
class InsertCopiesPass(ModulePass):
    """Copies what would lose its contents, and what has no memory of its own."""

    name = "insert-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp) and not f.is_declaration]:
            last = function.body.block.last_op
            if isinstance(last, ReturnOp):
                _Copies(function, last).insert()


@dataclass
class _Copies:
    function: FuncOp
    last: ReturnOp

    def __post_init__(self) -> None:
        self.order = Order(self.function.body.block)
        arguments = self.function.body.block.args
        self.new_contents: dict[SSAValue, int] = {arguments[i]: number for i, number in states(self.function).items()}

    def insert(self) -> None:
        for kernel in [op for op in self.function.body.block.ops if isinstance(op, fused.KernelOp)]:
            for value in updated_inputs(kernel):
                if not isinstance(value.owner, EmptyOp):
                    self._protect(kernel, value)
        self._own_results()

    # ---- old contents

    def _protect(self, kernel: fused.KernelOp, value: SSAValue) -> None:
        """Let `kernel` replace parts of `value`, or of a copy."""
        late = {use.operation for use in value.uses if self.order.places[use.operation] > self.order.places[kernel]}
        if not self._may_be_overwritten(kernel, value):
            self._use_copy(value, [kernel], kernel, f"{name_of(kernel)} replaces parts of it, but it may only be read")
        elif late:
            readers = sorted(late, key=self.order.places.__getitem__)
            self._use_copy(value, readers, kernel, f"{name_of(kernel)} replaces parts of it before it is used")

    def _may_be_overwritten(self, kernel: fused.KernelOp, value: SSAValue) -> bool:
        if not is_state(value):
            return isinstance(value.owner, Operation) and isinstance(value.owner, fused.KernelOp)
        following = _updated_results(kernel, value)
        while following:
            result = following.pop()
            if any(use.operation is self.last and use.index == self.new_contents.get(value) for use in result.uses):
                return True
            users = [use.operation for use in result.uses if result in updated_inputs(use.operation)]
            following += [y for user in users if isinstance(user, fused.KernelOp) for y in _updated_results(user, result)]
        return False

    def _use_copy(self, value: SSAValue, users: list[Operation], before: Operation, reason: str) -> None:
        copy = self._copy(value, before, reason)
        for user in users:
            for i, operand in enumerate(user.operands):
                if operand is value:
                    user.operands[i] = copy

    def _copy(self, value: SSAValue, before: Operation, reason: str) -> SSAValue:
        name = value.name_hint or "value"
        copy = copy_of(value, f"{name}.copy", before)
        self.order.insert_before([copy], before)
        remark(InsertCopiesPass.name, before, "copy", f"%{name} is copied, which moves {2 * bytes_of_tensor(value)} bytes: {reason}")
        return copy.results[0]

    # ---- results

    def _own_results(self) -> None:
        """Give each result memory of its own; the new contents of states have theirs."""
        for state, number in self.new_contents.items():
            value = self.last.operands[number]
            if value is not state and is_state(value):
                self.last.operands[number] = self._copy(
                    value, self.last, f"it is the new contents of %{state.name_hint}, and a state itself"
                )
        settled = list(self.new_contents.values())
        for i in [i for i in range(len(self.last.operands)) if i not in settled]:
            value = self.last.operands[i]
            memory = _memory(value)
            if memory in {_memory(self.last.operands[j]) for j in settled} or not isinstance(memory.owner, fused.KernelOp | EmptyOp):
                self.last.operands[i] = self._another(value, i)
            settled.append(i)

    def _another(self, value: SSAValue, number: int) -> SSAValue:
        """The same contents in other memory."""
        kernel = value.owner
        if not isinstance(kernel, fused.KernelOp) or kernel.runs_on is not fused.Engine.AICORE or _memory(value) is not value:
            return self._copy(value, self.last, f"result #{number} needs memory of its own")
        block = kernel.body.detach_block(0)
        old = block.last_op
        assert isinstance(old, fused.YieldOp)
        values = [*old.values, old.values[kernel.results.index(value)]]
        block.insert_op_after(fused.YieldOp(values), old)
        block.erase_op(old)
        new = kernel_of(block, kernel.inputs, kernel)
        self.order.insert_before([new], kernel)
        for before, after in zip(kernel.results, new.results, strict=False):
            after.name_hint = before.name_hint
            before.replace_all_uses_with(after)
        self.function.body.block.erase_op(kernel)
        self.order.number()
        return new.results[-1]


def _updated_results(kernel: fused.KernelOp, value: SSAValue) -> list[SSAValue]:
    """The results of a kernel that are `value` with parts replaced."""
    arguments = [updated_argument(y) for y in kernel.yielded.values]
    return [y for y, a in zip(kernel.results, arguments, strict=True) if a is not None and kernel.inputs[a.index] is value]


def _memory(value: SSAValue) -> SSAValue:
    """The value in whose memory another lies."""
    while not isinstance(value, BlockArgument) and isinstance(kernel := value.owner, fused.KernelOp):
        argument = updated_argument(kernel.yielded.values[kernel.results.index(value)])
        if argument is None:
            break
        value = kernel.inputs[argument.index]
    return value
