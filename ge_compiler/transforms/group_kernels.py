"""
Merge a kernel into the only kernel that uses its result, where both run over the same elements.

    %0 = fused.kernel(%x, %w) {op_name = "fc1", ops = ["MatMulV2"]} ...
    %1 = fused.kernel(%0) {op_name = "act", ops = ["GeluV2"]} ...
    // becomes
    %1 = fused.kernel(%x, %w) {op_name = "fc1", ops = ["MatMulV2", "GeluV2"]} ...

The consumer must be elementwise (a matmul reads its operands from memory) and must not repeat the producer's result. A pair that stays
apart leaves a remark with the first condition that fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused
from ge_compiler.dialects.diagnostics import remark
from ge_compiler.dialects.locations import fuse_locations, located
from ge_compiler.dialects.types import tensor_type


def _has_anchor(kernel: fused.KernelOp) -> bool:
    return any(isinstance(op, fused.MatmulOp) for op in kernel.body.block.ops)


def _is_repeated(kernel: fused.KernelOp, value: SSAValue) -> bool:
    """Whether `kernel` uses the argument for `value` through a broadcast."""
    pending: list[SSAValue] = [kernel.body.block.args[i] for i, x in enumerate(kernel.inputs) if x is value]
    seen: set[SSAValue] = set()
    while pending:
        used = pending.pop()
        for use in used.uses:
            if isinstance(use.operation, fused.BroadcastOp):
                return True
            for result in use.operation.results:
                if result not in seen and tensor_type(result).get_shape() == tensor_type(used).get_shape():
                    seen.add(result)
                    pending.append(result)
    return False


def _refusal(producer: fused.KernelOp, consumer: fused.KernelOp, max_ops: int) -> tuple[str, str] | None:
    """The code and the reason why `producer` cannot be merged into `consumer`, or `None` if it can."""
    if other := next((kernel for kernel in (producer, consumer) if kernel.runs_on is not fused.Engine.AICORE), None):
        return "engine", f"{_name(other)} runs on {other.runs_on.value}"
    if any(use.operation is not consumer for result in producer.results for use in result.uses):
        return "multi-use", f"the result of {_name(producer)} is also used elsewhere"
    if _has_anchor(consumer):
        return "anchor", f"{_name(consumer)} is a matmul, which reads its operands from memory"
    if any(tensor_type(r).get_shape() != tensor_type(consumer.results[0]).get_shape() for r in producer.results):
        return "domain", f"{_name(producer)} makes {producer.results[0].type}, {_name(consumer)} {consumer.results[0].type}"
    if any(_is_repeated(consumer, result) for result in producer.results):
        return "broadcast", f"{_name(consumer)} repeats the result of {_name(producer)}"
    if len(producer.ops) + len(consumer.ops) > max_ops:
        return "max-ops", f"the kernel would have {len(producer.ops) + len(consumer.ops)} operators, the limit is {max_ops}"
    return None


def _name(kernel: fused.KernelOp) -> str:
    return f"{kernel.op_name.data} ({', '.join(op.data for op in kernel.ops)})"


def _merge(producer: fused.KernelOp, consumer: fused.KernelOp) -> fused.KernelOp:
    """A kernel that does both; it replaces `consumer` where that stands."""
    inputs = list(dict.fromkeys([*producer.inputs, *(x for x in consumer.inputs if x.owner is not producer)]))
    block = Block(arg_types=[x.type for x in inputs])
    for arg, x in zip(block.args, inputs, strict=True):
        arg.name_hint = x.name_hint
    inside: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for kernel in (producer, consumer):
        mapper: dict[SSAValue, SSAValue] = {arg: inside[x] for arg, x in zip(kernel.body.block.args, kernel.inputs, strict=True)}
        for op in kernel.body.block.ops:
            if op is not kernel.yielded or kernel is consumer:
                block.add_op(op.clone(mapper))
        inside |= {result: mapper.get(v, v) for result, v in zip(kernel.results, kernel.yielded.values, strict=True)}
    ops = ArrayAttr([*producer.ops, *consumer.ops])
    merged = fused.KernelOp(inputs, [y.type for y in consumer.results], block, [op.data for op in ops], producer.op_name.data)
    return located(merged, fuse_locations([producer.location, consumer.location]))


def _replace(old: fused.KernelOp, new: fused.KernelOp) -> None:
    assert old.parent is not None
    old.parent.insert_op_before(new, old)
    for before, after in zip(old.results, new.results, strict=True):
        after.name_hint = before.name_hint
        before.replace_all_uses_with(after)
    _erase(old)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


@dataclass(frozen=True)
class GroupKernelsPass(ModulePass):
    """Merges elementwise kernels into the kernels that feed them."""

    name = "group-kernels"

    max_ops: int = 64
    """The most operators that one kernel may hold."""

    def __post_init__(self) -> None:
        if self.max_ops < 1:
            raise ValueError(f"max-ops must be at least 1, got {self.max_ops}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # Consumers first: one that takes over all users of a value can then take over what makes it, too.
        for kernel in reversed(_kernels(op)):
            if kernel.parent is not None:
                self._absorb_producers(kernel)
        for kernel in _kernels(op):
            self._explain(kernel)

    def _absorb_producers(self, kernel: fused.KernelOp) -> None:
        while producer := next((p for p in _producers(kernel) if _refusal(p, kernel, self.max_ops) is None), None):
            merged = _merge(producer, kernel)
            _replace(kernel, merged)
            _erase(producer)
            kernel = merged

    def _explain(self, kernel: fused.KernelOp) -> None:
        """Say why the kernels that feed `kernel` have stayed apart from it."""
        for producer in _producers(kernel):
            refusal = _refusal(producer, kernel, self.max_ops)
            assert refusal is not None, "what can be merged has been"
            remark(self.name, kernel, refusal[0], f"{_name(producer)} stays apart: {refusal[1]}")


def _kernels(module: ModuleOp) -> list[fused.KernelOp]:
    return [op for op in module.walk() if isinstance(op, fused.KernelOp)]


def _producers(kernel: fused.KernelOp) -> list[fused.KernelOp]:
    """The kernels that make inputs of `kernel`, each once."""
    return list(dict.fromkeys(x.owner for x in kernel.inputs if isinstance(x.owner, fused.KernelOp)))
