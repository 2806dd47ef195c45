"""Affine indices over the dimensions of a domain, and how views of a tensor change them.

A domain starts with a dimension for each dimension of a kernel's results. A reshape may show that one of them is really two (768 = 12
heads of 64): then it is *split*, and every index that uses it is rewritten in terms of its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod


class Role(Enum):
    """What a dimension of the domain is for."""

    POINT = "point"
    """A dimension of the results."""
    REDUCED = "reduced"
    """Only reductions run over it."""
    CONTRACTED = "contracted"
    """K of a matmul, D of an attention."""
    KEYS = "keys"
    """The keys of an attention."""
    GATHERED = "gathered"
    """A dimension of a table whose entries data choose."""


@dataclass(eq=False)
class Dimension:
    """A dimension of the domain, of at least two elements or none."""

    size: int
    role: Role = Role.POINT
    parts: tuple[Dimension, Dimension] | None = None
    """The outer and the inner dimension that it has been split into."""

    def split(self, inner: int) -> None:
        """Make it two dimensions, the inner one of `inner` elements, which divides its size."""
        assert self.parts is None
        assert self.size % inner == 0
        self.parts = Dimension(self.size // inner, self.role), Dimension(inner, self.role)

    def leaves(self) -> tuple[Dimension, ...]:
        """What it has been split into, outermost first; itself if it has not."""
        return (self,) if self.parts is None else tuple(leaf for part in self.parts for leaf in part.leaves())


@dataclass(frozen=True)
class AffineIndex:
    """offset + Σ coefficient · dimension."""

    offset: int = 0
    terms: tuple[tuple[Dimension, int], ...] = field(default=())

    @staticmethod
    def of(dimension: Dimension) -> AffineIndex:
        return AffineIndex(0, ((dimension, 1),))

    @staticmethod
    def total(parts: Iterable[tuple[AffineIndex, int]]) -> AffineIndex:
        """Σ factor · index."""
        pairs = list(parts)
        terms = [(d, c * factor) for index, factor in pairs for d, c in index.terms]
        return AffineIndex(sum(index.offset * factor for index, factor in pairs), tuple(terms))

    def resolved(self) -> AffineIndex:
        """In terms of what the dimensions have been split into, largest coefficient first."""
        terms: list[tuple[Dimension, int]] = []
        for dimension, coefficient in self.terms:
            leaves = dimension.leaves()
            for i, leaf in enumerate(leaves):
                terms.append((leaf, coefficient * prod(inner.size for inner in leaves[i + 1 :])))
        return AffineIndex(self.offset, tuple(sorted(terms, key=lambda term: -term[1])))

    def covers(self, size: int) -> bool:
        """Whether it takes each value from 0 to `size` once, in the order of its dimensions."""
        index = self.resolved()
        reach = 1
        for dimension, coefficient in reversed(index.terms):
            if coefficient != reach:
                return False
            reach *= dimension.size
        return index.offset == 0 and reach == size

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        return tuple(dimension for dimension, _ in self.terms)


Access = tuple[AffineIndex, ...]
"""Which element of a value is meant at a point of the domain: an index for each dimension of the value.

Of an argument or a result, which lie in one piece, it may also be one index: the number of the element, counted row-major.
"""


def resolve(access: Access) -> Access:
    return tuple(index.resolved() for index in access)


def linear(access: Access, shape: Sequence[int]) -> AffineIndex:
    """The number of the element that `access` names in a tensor of `shape`, counted row-major."""
    if len(access) != len(shape):
        return access[0].resolved()
    return AffineIndex.total((index, prod(shape[d + 1 :])) for d, index in enumerate(access)).resolved()


def unlinear(index: AffineIndex, shape: Sequence[int]) -> Access | None:
    """The access to a tensor of `shape` that names element number `index`; `None` if it is not affine.

    Splits dimensions where a part of them runs along one dimension of the tensor, and the rest along another.
    """
    if not prod(shape):
        return tuple(AffineIndex() for _ in shape)
    strides = [prod(shape[d + 1 :]) for d in range(len(shape))]
    pending = list(index.terms)
    found: list[list[tuple[Dimension, int]]] = [[] for _ in shape]
    while pending:
        dimension, coefficient = pending.pop()
        if dimension.parts is not None:
            pending.extend(AffineIndex(0, ((dimension, coefficient),)).resolved().terms)
            continue
        place = next((d for d in range(len(shape)) if shape[d] > 1 and strides[d] <= coefficient < strides[d] * shape[d]), None)
        if place is None or coefficient % strides[place]:
            return None
        end = strides[place] * shape[place]
        if coefficient * dimension.size > end and coefficient * (dimension.size - 1) >= end:
            if end % coefficient or dimension.size % (end // coefficient):
                return None
            dimension.split(end // coefficient)
            pending.append((dimension, coefficient))
            continue
        found[place].append((dimension, coefficient // strides[place]))
    access = tuple(
        AffineIndex(index.offset // stride % size, tuple(terms)) for stride, size, terms in zip(strides, shape, found, strict=True)
    )
    within = all(x.offset + sum(c * (d.size - 1) for d, c in x.terms) < size for x, size in zip(access, shape, strict=True))
    return resolve(access) if within else None
