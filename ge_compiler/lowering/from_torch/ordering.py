"""Operators that order elements, add them up along a dimension or find their places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ge_compiler.lowering.from_torch.conversion import Conversion, converts, element_type, shape_of
from ge_compiler.lowering.from_torch.reductions import reduced


@converts("aten.argmax.default")
def argmax(c: Conversion, x: SSAValue, dim: int | None, keep: bool) -> SSAValue:
    return _place(c, "ArgMaxD", x, dim, keep)


@converts("aten.argmin.default")
def argmin(c: Conversion, x: SSAValue, dim: int | None, keep: bool) -> SSAValue:
    return _place(c, "ArgMinD", x, dim, keep)


@converts("aten.max.dim")
def max_dim(c: Conversion, x: SSAValue, dim: int, keep: bool) -> list[SSAValue]:
    return [reduced(c, "ReduceMaxD", x, dim, keep), _along(c, "ArgMaxD", x, dim, keep)]


@converts("aten.min.dim")
def min_dim(c: Conversion, x: SSAValue, dim: int, keep: bool) -> list[SSAValue]:
    return [reduced(c, "ReduceMinD", x, dim, keep), _along(c, "ArgMinD", x, dim, keep)]


@converts("aten.topk.default")
def topk(c: Conversion, x: SSAValue, k: int, dim: int, largest: bool, _: bool) -> Sequence[SSAValue]:
    return _ordered(c, "TopKD", x, dim, k=k, smallest=not largest)


@converts("aten.sort.default")
def sort(c: Conversion, x: SSAValue, dim: int, descending: bool) -> Sequence[SSAValue]:
    return _ordered(c, "SortD", x, dim, descending=descending)


@converts("aten.sort.stable")
def stable_sort(c: Conversion, x: SSAValue, _: bool | None, dim: int, descending: bool) -> Sequence[SSAValue]:
    return sort(c, x, dim, descending)


@converts("aten.argsort.default")
def argsort(c: Conversion, x: SSAValue, dim: int, descending: bool) -> SSAValue:
    flat = x if c.shape else c.reshape(x, (1,))
    types = [TensorType(element, shape_of(flat)) for element in (element_type(x), c.element)]
    return c.reshape(c.ops("SortD", flat, like=types, axis=dim, descending=descending)[1], c.shape)


@converts("aten.cumsum.default")
def cumsum(c: Conversion, x: SSAValue, dim: int, *_: Any) -> SSAValue:
    return c.op("CumsumD", c.promoted(x), axis=dim) if c.shape else c.promoted(x)


@converts("aten.cumprod.default")
def cumprod(c: Conversion, x: SSAValue, dim: int, *_: Any) -> SSAValue:
    return c.op("CumprodD", c.promoted(x), axis=dim) if c.shape else c.promoted(x)


@converts("aten.prod.default")
def prod(c: Conversion, x: SSAValue, *_: Any) -> SSAValue:
    return reduced(c, "ReduceProdD", c.promoted(x), None, False)


@converts("aten.prod.dim_int")
def prod_dim(c: Conversion, x: SSAValue, dim: int, keep: bool, *_: Any) -> SSAValue:
    return reduced(c, "ReduceProdD", c.promoted(x), dim, keep)


def _place(c: Conversion, mnemonic: str, x: SSAValue, dim: int | None, keep: bool) -> SSAValue:
    if dim is None:
        x, dim, keep = c.reshape(x, (math.prod(shape_of(x)),)), 0, False
    return c.reshape(_along(c, mnemonic, x, dim, keep), c.shape)


def _along(c: Conversion, mnemonic: str, x: SSAValue, dim: int, keep: bool) -> SSAValue:
    flat = x if shape_of(x) else c.reshape(x, (1,))
    place = c.op(mnemonic, flat, like=c.results[-1:], axis=dim, keep_dims=keep)
    return c.reshape(place, c.results[-1].get_shape())


def _ordered(c: Conversion, mnemonic: str, x: SSAValue, dim: int, **attributes: Any) -> Sequence[SSAValue]:
    flat = x if c.shape else c.reshape(x, (1,))
    results = c.ops(mnemonic, flat, like=c.results, axis=dim, **attributes)
    return [c.reshape(result, c.shape) for result in results]
