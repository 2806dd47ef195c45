"""Lists that mix constants and index values, as ops store them: the values, and all entries with a mark where a value stands.

Indices that are data are a tile of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType, i32, i64
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.types import shaped_type

Mixed = Sequence[SSAValue | int]
"""Constants and index values."""

DYNAMIC = DYNAMIC_INDEX
"""How a static index list marks an SSA value."""


def show_list(values: Sequence[int]) -> str:
    return f"[{', '.join('?' if v == DYNAMIC else str(v) for v in values)}]"


def index_list_format(name: str) -> str:
    return f"custom<DynamicIndexList>(${name}, $static_{name})"


def split_index_list(values: Sequence[SSAValue | int]) -> tuple[list[SSAValue], DenseArrayBase[IntegerType]]:
    """A mixed list of constants and index values as an op stores it: the values, and the list with `DYNAMIC` in their place."""
    static = [DYNAMIC if isinstance(v, SSAValue) else v for v in values]
    return [v for v in values if isinstance(v, SSAValue)], DenseArrayBase.from_list(i64, static)


def join_index_list(dynamic: Sequence[SSAValue], static: DenseArrayBase[IntegerType]) -> list[SSAValue | int]:
    """The inverse of `split_index_list`."""
    values = iter(dynamic)
    return [next(values) if v == DYNAMIC else v for v in static.get_values()]


def verify_index_list(name: str, dynamic: Sequence[SSAValue], static: DenseArrayBase[IntegerType], length: int) -> None:
    """Raises `VerifyException` unless the list has `length` entries, none of them negative, and a value for each mark."""
    values = static.get_values()
    if len(values) != length:
        raise VerifyException(f"needs {length} {name}, got {len(values)}")
    if sum(v == DYNAMIC for v in values) != len(dynamic):
        raise VerifyException(f"has {len(dynamic)} values for the dynamic {name} of {show_list(values)}")
    if any(v < 0 for v in values if v != DYNAMIC):
        raise VerifyException(f"has negative {name}: {show_list(values)}")


def verify_indices(indices: SSAValue, tile: SSAValue) -> None:
    """Raises `VerifyException` unless `indices` has one i32 or i64 for each row of `tile`."""
    type_, rows = shaped_type(indices), shaped_type(tile).get_shape()[0]
    if type_.get_element_type() not in (i32, i64):
        raise VerifyException(f"indices are i32 or i64, got {type_}")
    count, width = type_.get_shape()
    if width not in (1, DYNAMIC) or (DYNAMIC not in (count, rows) and count != rows):
        raise VerifyException(f"needs one index for each of the tile's {rows} rows, as a column, got {type_}")
