"""What steps call: functions of the semantics table that write to where they are told, and copies."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ge_compiler.dialects import semantics
from ge_compiler.dialects.semantics import Array
from ge_compiler.runtime.bounds import check_rows

Copy = Callable[[Array, Array], None]


def _convert(out: Array, x: Array) -> None:
    np.copyto(out, x, casting="unsafe")


_converters: list[Copy] = [_convert]


def use_converter(function: Copy | None) -> None:
    """Convert floats by `function(out, x)`, which gives the bits of numpy; `None` is numpy itself."""
    _converters[0] = function or _convert


def convert(out: Array, x: Array) -> None:
    """The elements of `x` as `semantics.cast` converts them."""
    if out.dtype == x.dtype:
        np.copyto(out, x)
    else:
        _converters[0](out, x)


def copy(out: Array, x: Array) -> None:
    np.copyto(out, x)


def turn(out: Array, x: Array) -> None:
    np.copyto(out, x.swapaxes(-1, -2))


def fill(value: Any) -> Callable[[Array], None]:
    def run(out: Array) -> None:
        out[...] = value

    return run


def elementwise(name: str, scalar: float | None, dtype: np.dtype[Any]) -> Callable[..., None]:
    """The native function `name`, into its first argument."""
    function = semantics.native(name, scalar is not None)
    if scalar is None:

        def run(out: Array, *operands: Array) -> None:
            function(*operands, out=out)

        return run
    value = dtype.type(scalar)

    def run_with_scalar(out: Array, x: Array) -> None:
        function(x, value, out=out)

    return run_with_scalar


def product(out: Array, a: Array, b: Array) -> None:
    """One cube instruction without an accumulator."""
    np.matmul(a, b, out=out)


def add(out: Array, accumulator: Array, x: Array) -> None:
    np.add(accumulator, x, out=out)


def reduction(kind: str, axis: int) -> Callable[[Array, Array], None]:
    def run(out: Array, x: Array) -> None:
        out[...] = semantics.reduce(kind, x, axis - 2)

    return run


NUMBERS = range(-(2**16), 2**20)
"""The whole numbers that indices in tiles may be."""


@functools.cache
def numbers() -> Array:
    """`NUMBERS`, so that a strided view of them is any tile of `iota`."""
    return np.arange(NUMBERS.start, NUMBERS.stop, dtype=np.int64)


def load_rows(op: Operation) -> Callable[[Array, Array, Array], None]:
    def run(out: Array, table: Array, indices: Array) -> None:
        grid = out.shape[:-2]
        tables, numbers = np.broadcast_to(table, (*grid, *table.shape[-2:])), np.broadcast_to(indices, (*grid, *indices.shape[-2:]))
        check_rows(op, "the table", numbers.reshape(-1, 1), table.shape[-2])
        for block in np.ndindex(grid):
            out[block] = tables[block][numbers[block][:, 0]]

    return run


def store_rows(op: Operation) -> Callable[[Array, Array, Array], None]:
    def run(out: Array, x: Array, indices: Array) -> None:
        # Blocks of rows store into one table: along their axis it has one entry.
        grid = np.broadcast_shapes(out.shape[:-2], x.shape[:-2], indices.shape[:-2])
        values, numbers = np.broadcast_to(x, (*grid, *x.shape[-2:])), np.broadcast_to(indices, (*grid, *indices.shape[-2:]))
        check_rows(op, "the table", numbers.reshape(-1, 1), out.shape[-2])
        tables = out.reshape((1,) * (len(grid) + 2 - out.ndim) + out.shape)
        for block in np.ndindex(grid):
            place = tuple(0 if size == 1 else i for i, size in zip(block, tables.shape[:-2], strict=True))
            tables[place][numbers[block][:, 0]] = values[block]

    return run
