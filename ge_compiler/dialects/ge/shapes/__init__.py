"""
Shape rules of the `ge` operators, one file for each theme: the result types that operands and attributes give, or the rule they break.

Here is what the rules share. Sizes that a text leaves open are `DYNAMIC_INDEX`, which fits any size.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, i1, i32, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.types import Tensor, is_integer, shaped_type

Shape = tuple[int, ...]


def show(shape: Shape) -> str:
    """A shape as MLIR writes it: `32x768`, `scalar` for rank 0."""
    return "x".join("?" if d == DYNAMIC_INDEX else str(d) for d in shape) or "scalar"


def shape_and_element(type_: Attribute) -> tuple[Shape, Attribute]:
    shaped = shaped_type(type_)
    return shaped.get_shape(), shaped.get_element_type()


def is_compatible(written: Attribute, expected: Tensor) -> bool:
    """Whether a written type equals the inferred one, where the written one is known."""
    shape, element = shape_and_element(written)
    return (
        element == expected.get_element_type()
        and len(shape) == len(expected.get_shape())
        and all(DYNAMIC_INDEX in (w, e) or w == e for w, e in zip(shape, expected.get_shape(), strict=True))
    )


def broadcast(shapes: Sequence[Shape]) -> Shape | None:
    """The shape that `shapes` broadcast to, aligned at the last dimension; `None` if they do not fit."""
    rank = max((len(s) for s in shapes), default=0)
    result: list[int] = []
    for dims in zip(*((1,) * (rank - len(s)) + tuple(s) for s in shapes), strict=True):
        wide = {d for d in dims if d != 1}
        known = wide - {DYNAMIC_INDEX}
        if len(known) > 1:
            return None
        result.append(known.pop() if known else DYNAMIC_INDEX if wide else 1)
    return tuple(result)


def axis_of(name: str, axis: int, rank: int) -> int:
    """`axis` counted from the first dimension: negative ones count from the last. Raises `VerifyException` beyond `rank` dimensions."""
    if not -rank <= axis < rank:
        raise VerifyException(f"{name} must be in [{-rank}, {rank}) for a tensor of rank {rank}, got {axis}")
    return axis % rank


def axes_of(name: str, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """The same for a list of axes, which must differ; ascending."""
    normal = sorted(axis_of(name, axis, rank) for axis in axes)
    if len(set(normal)) != len(normal):
        raise VerifyException(f"{name} must differ, got {list(axes)} for a tensor of rank {rank}")
    return tuple(normal)


def fits(a: int, b: int) -> bool:
    """Whether two sizes may be the same."""
    return DYNAMIC_INDEX in (a, b) or a == b


def unify(a: Shape, b: Shape) -> Shape | None:
    """What is known about a shape that is both `a` and `b`; `None` if it cannot be both."""
    if len(a) != len(b) or not all(map(fits, a, b)):
        return None
    return tuple(y if x == DYNAMIC_INDEX else x for x, y in zip(a, b, strict=True))


def require_float(name: str, type_: Tensor) -> None:
    """Raises `VerifyException` unless the elements of `type_` are floats."""
    if is_integer(type_.get_element_type()):
        raise VerifyException(f"{name} must have elements of a float type, got {type_}; insert a ge.Cast")


def require_boolean(name: str, type_: Tensor) -> None:
    """Raises `VerifyException` unless the elements of `type_` are booleans."""
    if type_.get_element_type() != i1:
        raise VerifyException(f"{name} must have elements of type i1, got {type_}; insert a ge.Cast")


def require_index(name: str, type_: Tensor) -> None:
    """Raises `VerifyException` unless the elements of `type_` are indices."""
    if type_.get_element_type() not in (i32, i64):
        raise VerifyException(f"{name} must have elements of type i32 or i64, got {type_}; insert a ge.Cast")


def require_same_element(named: Sequence[tuple[str, Tensor]]) -> None:
    """Raises `VerifyException` unless all of the named types have one element type."""
    first, type_ = named[0]
    for name, other in named[1:]:
        if other.get_element_type() != type_.get_element_type():
            pair = f"{first} is {type_.get_element_type()} but {name} is {other.get_element_type()}"
            raise VerifyException(pair + "; insert a ge.Cast")
