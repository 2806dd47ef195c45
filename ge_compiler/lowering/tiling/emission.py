"""Walks a kernel's primitives and writes their tiles out, to IR or to whatever else measures them.

This is the one description of a tile's life between its loads and its store; the lowering and the footprint both follow it.
"""

from __future__ import annotations

from typing import Any, Protocol

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ge_compiler.dialects import fused
from ge_compiler.dialects.types import integer_bits, tensor_type
from ge_compiler.lowering.tiling.domain import Access, Domain, canonical

Scalar = FloatAttr[Any] | IntegerAttr[Any]


class TileSink(Protocol):
    """Where the tiles of a kernel go. A handle stands for a tile in the unified buffer."""

    def at(self, op: Operation) -> None:
        """What follows stems from `op`."""
        ...

    def load(self, argument: BlockArgument, follows: tuple[bool, ...]) -> Any:
        """The tile of an argument that varies along the given groups."""
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

    def store(self, x: Any, result: int) -> None:
        """Write a tile to the kernel's result number `result`, repeated where it is smaller than the tile of the domain."""
        ...


_WITH_SCALAR = {"add": "adds", "mul": "muls", "max": "maxs", "min": "mins", "sub": "adds"}
"""Binary functions that have a form with a scalar, which then needs no tile; `sub` adds the negated one."""


def emit(domain: Domain, sink: TileSink) -> None:
    """Write every needed tile of the kernel to `sink`, in the order of its primitives, then store the results."""
    handles: dict[tuple[SSAValue, Access], Any] = {}
    block = domain.kernel.body.block

    def handle(value: SSAValue, access: Access) -> Any:
        access = canonical(value, access)
        if (value, access) not in handles:
            if isinstance(value, BlockArgument):
                handles[value, access] = sink.load(value, domain.follows(access))
            else:
                assert isinstance(value.owner, fused.FullOp), value
                handles[value, access] = sink.full(value.owner.value)
        return handles[value, access]

    for op in block.ops:
        sink.at(op)
        if isinstance(op, ReturnOp):
            for i, value in enumerate(op.operands):
                sink.store(handle(value, tuple(range(len(domain.shape)))), i)
        elif not isinstance(op, fused.FullOp):
            for access in domain.demands.get(op.results[0], ()):
                handles[op.results[0], access] = _emit_op(op, access, handle, sink)


def _emit_op(op: Operation, access: Access, handle: Any, sink: TileSink) -> Any:
    if isinstance(op, fused.MatmulOp):
        return sink.accumulator()
    if isinstance(op, fused.BroadcastOp):
        return handle(op.x, tuple(access[d] for d in op.dimensions.get_values()))
    if isinstance(op, fused.CastOp):
        return sink.cast(handle(op.x, access), tensor_type(op.result).get_element_type())
    assert isinstance(op, fused.FusedElementwiseOp), op
    simplified = _scalar_form(op)
    if simplified is not None:
        return sink.function(simplified[0], [handle(simplified[1], access)], simplified[2])
    return sink.function(op.FUNCTION, [handle(x, access) for x in op.operands], op.scalar_property())


def _scalar_form(op: fused.FusedElementwiseOp) -> tuple[str, SSAValue, Scalar] | None:
    """A binary function of a tile and a constant as a function with a scalar."""
    if op.FUNCTION not in _WITH_SCALAR:
        return None
    lhs, rhs = op.operands
    value = _constant(rhs)
    if value is None and op.FUNCTION != "sub":
        lhs, value = rhs, _constant(lhs)
    if value is None or _constant(lhs) is not None:
        return None
    if op.FUNCTION == "sub":
        value = _negated(value)
    return None if value is None else (_WITH_SCALAR[op.FUNCTION], lhs, value)


def _constant(value: SSAValue) -> Scalar | None:
    """The value of a splat in the element type of `value`, seen through broadcasts and casts from narrower floats."""
    while isinstance(value.owner, fused.BroadcastOp):
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
