"""Decides whether two kernels become one, and does it.

Verdicts are remembered by what the two kernels are, so that the layers of a model are analysed once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.fused.destinations import updated_argument
from ge_compiler.dialects.types import tensor_type
from ge_compiler.transforms.grouping.cost import LAUNCH, bytes_of_tensor, cost_of
from ge_compiler.transforms.grouping.equality import body_key
from ge_compiler.transforms.grouping.merging import Merged, build, erase, merge, name_of
from ge_compiler.transforms.grouping.order import Order
from ge_compiler.transforms.grouping.origins import Origin, names, origin_of
from ge_compiler.transforms.iteration.accesses import NoDomain
from ge_compiler.transforms.iteration.domain import domain_of


@dataclass(frozen=True)
class Refusal:
    """Why two kernels stay apart: a code, and the condition with its values."""

    code: str
    reason: str


@dataclass(frozen=True)
class Option:
    """A way to merge a producer into consumers."""

    consumers: tuple[fused.KernelOp, ...]
    gain: int
    """Bytes that it saves."""
    kept: tuple[SSAValue, ...] = ()
    """Results of the producer that the merged kernel gives, too."""


@dataclass(frozen=True)
class _Traits:
    """What tells at once which kernels do not go together."""

    has_anchor: bool
    has_reduction: bool
    elements: int | None
    """Of its result, if it has one and computes all of it."""


def _traits_of(kernel: fused.KernelOp) -> _Traits:
    ops = list(kernel.body.block.ops)
    values = kernel.yielded.values
    is_whole = len(values) == 1 and not isinstance(values[0].owner, fused.ConcatOp | fused.InsertOp | fused.ScatterOp)
    return _Traits(
        any(isinstance(op, fused.MatmulOp | fused.AttentionOp) for op in ops),
        any(isinstance(op, fused.ReduceOp) for op in ops),
        tensor_type(values[0]).element_count() if is_whole else None,
    )


@dataclass
class Grouping:
    """The kernels of one function, while some of them become one."""

    function: FuncOp
    max_ops: int
    order: Order = field(init=False)
    numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """For each body, a number."""
    known: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """The numbers of kernels' bodies."""
    costs: dict[int, int | Refusal] = field(default_factory=dict[int, "int | Refusal"])
    traits: dict[int, _Traits] = field(default_factory=dict[int, "_Traits"])
    verdicts: dict[Hashable, int | Refusal] = field(default_factory=dict[Hashable, "int | Refusal"])

    origins: dict[Operation, frozenset[Origin]] = field(default_factory=dict[Operation, "frozenset[Origin]"])

    def __post_init__(self) -> None:
        self.order = Order(self.function.body.block)
        self.origins = {kernel: frozenset([origin_of(kernel, self.order.places[kernel])]) for kernel in self.kernels()}

    def kernels(self) -> list[fused.KernelOp]:
        return [op for op in self.function.body.block.ops if isinstance(op, fused.KernelOp)]

    def users(self, kernel: fused.KernelOp) -> list[Operation]:
        """The ops that use results of a kernel, in order."""
        return self.order.users(kernel)

    # ---- verdicts

    def cost(self, kernel: fused.KernelOp) -> int | Refusal:
        """What a kernel costs, or why it has no domain."""
        number = self._number(kernel)
        if number not in self.costs:
            self.costs[number] = _judge(kernel)
        return self.costs[number]

    def together(self, producer: fused.KernelOp, consumer: fused.KernelOp, kept: Sequence[SSAValue] = ()) -> int | Refusal:
        """What the two cost as one kernel that keeps some results of the producer, or why they are no kernel."""
        other = next((kernel for kernel in (producer, consumer) if kernel.runs_on is not fused.Engine.AICORE), None)
        if other is not None:
            return Refusal("engine", f"{name_of(other)} runs on {other.runs_on.value}")
        count = len(producer.ops) + len(consumer.ops)
        if count > self.max_ops and (count := len(names(self._origins(producer, consumer))[0])) > self.max_ops:
            return Refusal("max-ops", f"the kernel would have {count} operators, the limit is {self.max_ops}")
        refusal = self._obvious(producer, consumer, kept)
        if refusal is not None:
            return refusal
        key = self._pair(producer, consumer, kept)
        if key not in self.verdicts:
            self.verdicts[key] = _judge_merged(merge(producer, consumer, kept))
        return self.verdicts[key]

    def _traits(self, kernel: fused.KernelOp) -> _Traits:
        number = self._number(kernel)
        if number not in self.traits:
            self.traits[number] = _traits_of(kernel)
        return self.traits[number]

    def _obvious(self, producer: fused.KernelOp, consumer: fused.KernelOp, kept: Sequence[SSAValue]) -> Refusal | None:
        """What can be told without making the merged kernel."""
        p, c = self._traits(producer), self._traits(consumer)
        if p.has_anchor and c.has_anchor:
            return Refusal("anchor", f"{name_of(producer)} and {name_of(consumer)} both have an anchor, of which a kernel has one")
        if (p.has_anchor and c.has_reduction) or (c.has_anchor and p.has_reduction):
            anchor, other = (producer, consumer) if p.has_anchor else (consumer, producer)
            return Refusal(
                "reduction", f"a tile of {name_of(anchor)} holds a part of each row only, but {name_of(other)} reduces whole ones"
            )
        if kept and c.elements is not None:
            differing = next((y for y in kept if tensor_type(y).element_count() != c.elements), None)
            if differing is not None:
                one, other = differing.type, consumer.outputs[0].type
                return Refusal("domain", f"it would have results of {one} and of {other}, which do not run over the same elements")
        return None

    def _origins(self, *kernels: fused.KernelOp) -> frozenset[Origin]:
        own = (self.origins.get(k) or (origin_of(k, self.order.places.get(k, len(self.order.places))),) for k in kernels)
        return frozenset(origin for origins in own for origin in origins)

    def _number(self, kernel: fused.KernelOp) -> int:
        if kernel not in self.known:
            self.known[kernel] = self.numbers.setdefault((body_key(kernel.body.block), kernel.runs_on), len(self.numbers))
        return self.known[kernel]

    def _pair(self, producer: fused.KernelOp, consumer: fused.KernelOp, kept: Sequence[SSAValue]) -> Hashable:
        values: dict[SSAValue, int] = {result: -1 - i for i, result in enumerate(producer.results)}
        wiring = tuple(values.setdefault(x, len(values)) for x in (*producer.inputs, *consumer.inputs))
        return self._number(producer), self._number(consumer), wiring, tuple(values[x] for x in kept)

    # ---- options

    def into_one(self, producer: fused.KernelOp, consumer: fused.KernelOp) -> Option | Refusal:
        """Merge a producer into one of its users, so that it is gone; or why not."""
        kept = tuple(y for y in producer.results if any(use.operation is not consumer for use in y.uses))
        verdict = self.together(producer, consumer, kept)
        refusal = verdict if isinstance(verdict, Refusal) else self.can_move(producer, consumer, True)
        if refusal is not None:
            return refusal
        assert isinstance(verdict, int)
        return Option((consumer,), self.price(producer) + self.price(consumer) - verdict, kept)

    def into_all(self, producer: fused.KernelOp, consumers: Sequence[fused.KernelOp]) -> Option | Refusal:
        """Let each of all users of a producer do for itself what it does, so that it is gone; or why not."""
        gain = self.price(producer)
        for consumer in consumers:
            copied = self.copied(producer, consumer)
            if isinstance(copied, Refusal):
                return copied
            gain += copied.gain
        return Option(tuple(consumers), gain)

    def copied(self, producer: fused.KernelOp, consumer: fused.KernelOp) -> Option | Refusal:
        """Let a user of a producer do for itself what that does, which stays for others; or why not."""
        verdict = self.together(producer, consumer)
        refusal = verdict if isinstance(verdict, Refusal) else self.can_move(producer, consumer, False)
        if refusal is not None:
            return refusal
        assert isinstance(verdict, int)
        return Option((consumer,), self.price(consumer) - verdict)

    def price(self, kernel: fused.KernelOp) -> int:
        """What a kernel costs; about, if it has no domain."""
        cost = self.cost(kernel)
        return cost if isinstance(cost, int) else LAUNCH + sum(map(bytes_of_tensor, (*kernel.inputs, *kernel.results)))

    def is_possible(self, producer: fused.KernelOp, option: Option) -> bool:
        """Whether an option that was found earlier still is one."""
        moves_results = len(option.consumers) == 1
        return all(
            c.parent is not None and self.can_move(producer, c, moves_results and bool(option.kept)) is None for c in option.consumers
        )

    # ---- changes

    def apply(self, producer: fused.KernelOp, option: Option) -> list[fused.KernelOp]:
        """The kernels that come of it."""
        made: list[fused.KernelOp] = []
        for consumer in option.consumers:
            # What moves for one consumer may be in the way of the next.
            if not made or self.can_move(producer, consumer, False) is None:
                made.append(self._merge(producer, consumer, option.kept))
        return made

    def _merge(self, producer: fused.KernelOp, consumer: fused.KernelOp, kept: Sequence[SSAValue]) -> fused.KernelOp:
        """The two as one kernel where `consumer` stands; uses of `kept` move to it. The producer is erased once nobody uses it."""
        is_gone = all(use.operation is consumer for result in producer.results if result not in kept for use in result.uses)
        behind = self.order.in_the_way(producer, consumer, is_gone) or []
        merged = merge(producer, consumer, kept)
        origins = self._origins(producer, consumer)
        new = build(merged, *names(origins), [producer.location, consumer.location])
        self.origins[new] = origins
        self.replace(consumer, new, merged.replaced)
        self.order.move_behind(behind, new)
        if not any(result.uses for result in producer.results):
            self.erase(producer)
        return new

    def replace(self, old: fused.KernelOp, new: fused.KernelOp, replaced: Sequence[SSAValue]) -> None:
        """Put `new`, whose results stand for `replaced`, in the place of `old`."""
        self.function.body.block.insert_op_before(new, old)
        self.order.replaced(old, new)
        for before, after in zip(replaced, new.results, strict=True):
            before.replace_all_uses_with(after)
        self.forget(old)
        erase(old)

    def erase(self, kernel: fused.KernelOp) -> None:
        self.forget(kernel)
        erase(kernel)

    def forget(self, kernel: fused.KernelOp) -> None:
        self.order.places.pop(kernel, None)
        self.known.pop(kernel, None)
        self.origins.pop(kernel, None)

    def can_move(self, producer: fused.KernelOp, consumer: fused.KernelOp, moves_results: bool) -> Refusal | None:
        """Why the order of the kernels does not allow to merge them where the consumer stands."""
        if self.order.in_the_way(producer, consumer, moves_results) is not None:
            return None
        if moves_results and self.order.in_the_way(producer, consumer, False) is not None:
            return Refusal("cycle", f"{name_of(consumer)} also needs what others make of its result")
        return Refusal("order", f"what {name_of(producer)} reads is overwritten before {name_of(consumer)} starts")


def _judge(kernel: FuncOp | fused.KernelOp) -> int | Refusal:
    try:
        return cost_of(domain_of(kernel))
    except NoDomain as reason:
        return Refusal(reason.code, reason.message.removeprefix("'func.func' op @merged: "))


def _judge_merged(merged: Merged) -> int | Refusal:
    return _aliasing(merged.function) or _judge(merged.function)


def _aliasing(function: FuncOp) -> Refusal | None:
    """An argument that is updated in place may be used for that alone, and its new contents are a result once."""
    last = function.body.block.last_op
    assert last is not None
    for value in last.operands:
        argument = updated_argument(value)
        if argument is not None and _is_read(value, argument):
            name = f"%{argument.name_hint or argument.index}"
            return Refusal("aliasing", f"the kernel would also read {name}, which it updates in place")
    return None


def _is_read(value: SSAValue, argument: BlockArgument) -> bool:
    """Whether anything else is done with an argument, or with what it is on its way to being `value`."""
    while True:
        if len(list(value.uses)) != 1:
            return True
        if value is argument:
            return False
        assert isinstance(value.owner, fused.InsertOp | fused.ScatterOp)
        value = value.owner.dest
