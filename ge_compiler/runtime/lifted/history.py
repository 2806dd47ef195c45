"""What launches leave to each other: every element that one reads was written before, through the same buffer.

Which elements those are does not depend on data, but for rows that data names. So it is looked at once, in the memory's own history.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.func import FuncOp

from ge_compiler.dialects.semantics import Array
from ge_compiler.runtime.lifted.indices import NotLifted
from ge_compiler.runtime.lifted.kernel import Phase
from ge_compiler.runtime.lifted.values import Access, Trace
from ge_compiler.runtime.memory import Region


def keep_book(function: FuncOp, phases: Sequence[Phase], regions: Sequence[Region]) -> None:
    """
    Enters what a launch of `function` writes into the history of its regions.

    Raises `NotLifted` where the launch reads an element that is not the buffer's own then. What it writes until there stays entered:
    the checked executor, which takes over, writes the same.
    """
    histories = {i: history for i, region in enumerate(regions) if (history := region.history()) is not None}
    if not histories:
        return
    accesses = [(trace, access) for phase in phases for trace in phase.traces for access in (*trace.tables, *trace.accesses)]
    for trace, access in accesses:
        if access.number not in histories or 0 in access.shape:
            continue
        region, entries = regions[access.number], _part(histories[access.number], trace, access)
        if access.writes:
            entries[...] = region.own_entry
            assert region.owner is not None
            region.owner.last_writer = function
        elif not (entries == region.own_entry).all():
            raise NotLifted(f"reads elements of {region.label} that nothing has written before")


def _part(history: Array, trace: Trace, access: Access) -> Array:
    """The entries of the elements that all blocks of a class touch, each once where blocks share them."""
    steps = zip((*trace.widths, *access.shape), (*access.at.strides, *access.strides), strict=True)
    extents = [(1 if step == 0 else extent, step) for extent, step in steps]
    row, entry = history.strides
    shape = (*(extent for extent, _ in extents), history.shape[1])
    return np.ndarray(shape, history.dtype, history.data, access.at.base * row, (*(step * row for _, step in extents), entry))
