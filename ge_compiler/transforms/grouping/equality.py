"""Which bodies of kernels are equal."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Block, Operation, SSAValue


def body_key(block: Block) -> Hashable:
    """
    What a body does, as a key of a dictionary: equal for bodies that differ in names and locations only.

    Values from outside the body must not be used in it.
    """
    numbers: dict[SSAValue, int] = {}

    def define(values: tuple[SSAValue, ...]) -> Hashable:
        for value in values:
            numbers[value] = len(numbers)
        return tuple(value.type for value in values)

    def of_op(op: Operation) -> Hashable:
        operands = tuple(numbers[operand] for operand in op.operands)
        results = define(tuple(op.results))
        regions = tuple(tuple(of_block(inner) for inner in region.blocks) for region in op.regions)
        return op.name, operands, results, frozenset(op.properties.items()), frozenset(op.attributes.items()), regions

    def of_block(block: Block) -> Hashable:
        return define(tuple(block.args)), tuple(of_op(op) for op in block.ops)

    return of_block(block)
