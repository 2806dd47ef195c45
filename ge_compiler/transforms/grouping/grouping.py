"""Decides whether two kernels become one, and does it.

Verdicts are remembered by what the two kernels are, so that the layers of a model are analysed once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.locations import fuse_locations, located
from ge_compiler.dialects.types import tensor_type
from ge_compiler.transforms.grouping.bodies import Bodies, Body, Refusal
from ge_compiler.transforms.grouping.cost import LAUNCH, bytes_of_tensor
from ge_compiler.transforms.grouping.merging import Merged, erase, inputs_of, merge, name_of
from ge_compiler.transforms.grouping.order import Order
from ge_compiler.transforms.grouping.origins import Origin, names, origin_of


@dataclass(frozen=True)
class Option:
    """A way to merge a producer into consumers."""

    consumers: tuple[fused.KernelOp, ...]
    gain: int
    """Bytes that it saves."""
    kept: tuple[SSAValue, ...] = ()
    """Results of the producer that the merged kernel gives, too."""


@dataclass
class Grouping:
    """The kernels of one function, while some of them become one."""

    function: FuncOp
    max_ops: int
    order: Order = field(init=False)
    bodies: Bodies = field(default_factory=Bodies)
    pairs: dict[Hashable, Merged] = field(default_factory=dict[Hashable, Merged])
    """What comes of two bodies, by how their values are connected."""
    origins: dict[Operation, frozenset[Origin]] = field(default_factory=dict[Operation, "frozenset[Origin]"])

    def __post_init__(self) -> None:
        self.order = Order(self.function.body.block)
        self.origins = {kernel: frozenset([origin_of(kernel, self.order.places[kernel])]) for kernel in self.kernels()}

    def kernels(self) -> list[fused.KernelOp]:
        return [op for op in self.function.body.block.ops if isinstance(op, fused.KernelOp)]

    def users(self, kernel: fused.KernelOp) -> list[Operation]:
        """The ops that use results of a kernel, in order."""
        return self.order.users(kernel)

    def body(self, kernel: fused.KernelOp) -> Body:
        """What a kernel does."""
        return self.bodies.of(kernel)

    # ---- verdicts

    def cost(self, kernel: fused.KernelOp) -> int | Refusal:
        """What a kernel costs, or why it has no domain."""
        return self.body(kernel).cost

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
        return self._merged(producer, consumer, kept).verdict

    def _obvious(self, producer: fused.KernelOp, consumer: fused.KernelOp, kept: Sequence[SSAValue]) -> Refusal | None:
        """What can be told without making the merged kernel."""
        p, c = self.body(producer), self.body(consumer)
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
        return frozenset[Origin]().union(*own)

    def _merged(self, producer: fused.KernelOp, consumer: fused.KernelOp, kept: Sequence[SSAValue]) -> Merged:
        values: dict[SSAValue, int] = {result: -1 - i for i, result in enumerate(producer.results)}
        wiring = tuple(values.setdefault(x, len(values)) for x in (*producer.operands, *consumer.operands))
        key = self.body(producer), self.body(consumer), wiring, tuple(values[x] for x in kept)
        if key not in self.pairs:
            self.pairs[key] = merge(self.bodies, producer, consumer, kept)
        return self.pairs[key]

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
        new = self._kernel(producer, consumer, kept)
        self.replace(consumer, new, (*consumer.results, *kept))
        self.order.move_behind(behind, new)
        if not any(result.uses for result in producer.results):
            self.erase(producer)
        return new

    def _kernel(self, producer: fused.KernelOp, consumer: fused.KernelOp, kept: Sequence[SSAValue]) -> fused.KernelOp:
        """The kernel that does what both do; its body is written at the end, since most kernels become parts of larger ones."""
        merged, inputs = self._merged(producer, consumer, kept), inputs_of(producer, consumer)
        origins = self._origins(producer, consumer)
        types = [value.type for value in (*consumer.results, *kept)]
        new = fused.KernelOp([inputs[i] for i in merged.used], types, Block(), *names(origins))
        for result, old in zip(new.results, (*consumer.results, *kept), strict=True):
            result.name_hint = old.name_hint
        places = (*self.bodies.locations_of(producer), *self.bodies.locations_of(consumer), consumer.location)
        self.bodies.by_kernel[new], self.bodies.locations[new] = merged.body, tuple(places[i] for i in merged.sources)
        self.origins[new] = origins
        return located(new, fuse_locations([producer.location, consumer.location]))

    def write_bodies(self) -> None:
        """Write the bodies of the kernels that have come of others."""
        for kernel in self.kernels():
            if kernel.body.block.is_empty:
                self.bodies.write(kernel)

    def replace(self, old: fused.KernelOp, new: fused.KernelOp, replaced: Sequence[SSAValue]) -> None:
        """Put `new`, whose results stand for `replaced`, in the place of `old`."""
        self.function.body.block.insert_op_before(new, old)
        self.order.replaced(old, new, [new.inputs[i] for i in self.body(new).updated])
        for before, after in zip(replaced, new.results, strict=True):
            before.replace_all_uses_with(after)
        self.forget(old)
        erase(old)

    def erase(self, kernel: fused.KernelOp) -> None:
        self.forget(kernel)
        erase(kernel)

    def forget(self, kernel: fused.KernelOp) -> None:
        self.order.places.pop(kernel, None)
        self.bodies.forget(kernel)
        self.origins.pop(kernel, None)

    def can_move(self, producer: fused.KernelOp, consumer: fused.KernelOp, moves_results: bool) -> Refusal | None:
        """Why the order of the kernels does not allow to merge them where the consumer stands."""
        if self.order.in_the_way(producer, consumer, moves_results) is not None:
            return None
        if moves_results and self.order.in_the_way(producer, consumer, False) is not None:
            return Refusal("cycle", f"{name_of(consumer)} also needs what others make of its result")
        return Refusal("order", f"what {name_of(producer)} reads is overwritten before {name_of(consumer)} starts")
