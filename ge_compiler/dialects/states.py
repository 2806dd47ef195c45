"""States of a program: arguments of `@main` that a run updates, such as a cache of keys and values."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

UPDATED_BY = "ge.updated_by"
"""On an argument of `@main`: the number of the result that is its new contents."""


def states(function: FuncOp) -> dict[int, int]:
    """The arguments that `function` updates -> the result that is the new contents of each, both by number."""
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    found = {i: entry.data[UPDATED_BY] for i, entry in enumerate(attributes) if UPDATED_BY in entry.data}
    return {i: number.value.data for i, number in found.items() if isinstance(number, IntegerAttr)}


def is_state(value: SSAValue) -> bool:
    """Whether a value is an argument that its function updates."""
    if not isinstance(value, BlockArgument):
        return False
    function = value.block.parent_op()
    return isinstance(function, FuncOp) and value.index in states(function)
