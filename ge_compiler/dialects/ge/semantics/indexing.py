"""The meaning of operators with indices. An index out of bounds is an error that names the value and the row of indices that it is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.semantics import Array

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import GatherElementsOp, GatherV2Op, GeOp, ScatterElementsOp, ScatterUpdateOp


def check_bounds(op: GeOp, name: str, indices: Array, size: int) -> None:
    """Raises `CompileError` at the first of `indices`, row-major, that is not in [0, size)."""
    wrong = (indices < 0) | (indices >= size)
    if wrong.any():
        row = tuple(int(i) for i in np.argwhere(wrong)[0])
        place = f" at [{', '.join(map(str, row))}]" if row else ""
        raise CompileError.at(op, f"{name} has {int(indices[row])}{place}, which is out of bounds: there are {size} rows")


def gather(op: GatherV2Op, operands: Sequence[Array]) -> list[Array]:
    table, indices = operands
    check_bounds(op, "indices", indices, table.shape[op.dimension()])
    return [np.take(table, indices, op.dimension())]


def scatter_update(op: ScatterUpdateOp, operands: Sequence[Array]) -> list[Array]:
    var, indices, updates = operands
    axis = op.dimension()
    check_bounds(op, "indices", indices, var.shape[axis])
    result = var.copy()
    np.moveaxis(result, axis, 0)[indices] = np.moveaxis(updates, axis, 0)
    return [result]


def gather_elements(op: GatherElementsOp, operands: Sequence[Array]) -> list[Array]:
    x, index = operands
    check_bounds(op, "index", index, x.shape[op.dimension()])
    return [x[_places(index, op.dimension())]]


def scatter_elements(op: ScatterElementsOp, operands: Sequence[Array]) -> list[Array]:
    data, indices, updates = operands
    check_bounds(op, "indices", indices, data.shape[op.dimension()])
    result = data.copy()
    places = _places(indices, op.dimension())
    if op.reduction is None:
        result[places] = updates
    else:
        np.add.at(result, places, updates)
    return [result]


def _places(index: Array, dim: int) -> tuple[Array, ...]:
    """A coordinate for each dimension: the place itself, but `index` in dimension `dim`."""
    places: list[Array] = list(np.ogrid[tuple(slice(d) for d in index.shape)])
    places[dim] = index
    return tuple(places)
