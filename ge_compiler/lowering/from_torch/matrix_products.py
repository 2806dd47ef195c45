"""Matrix products, of vectors too, and sums of products that are written as an equation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from ge_compiler.lowering.from_torch.conversion import Conversion, converts, shape_of


@converts("aten.linear.default")
def linear(c: Conversion, x: SSAValue, weight: SSAValue, bias: SSAValue | None) -> SSAValue:
    if len(shape_of(weight)) < 2:
        product = matmul(c, x, weight)
        return product if bias is None else c.op("Add", product, c.promoted(bias))
    rows = x if len(shape_of(x)) > 1 else c.reshape(x, (1, *shape_of(x)))
    return c.reshape(c.matmul(rows, weight, bias, transpose_x2=True), c.shape)


@converts("aten.bmm.default", "aten.dot.default", "aten.matmul.default", "aten.mm.default", "aten.mv.default")
def matmul(c: Conversion, x1: SSAValue, x2: SSAValue) -> SSAValue:
    """A vector is a row on the left and a column on the right, and what it adds to the result's shape is taken off again."""
    if len(shape_of(x1)) == 1:
        x1 = c.reshape(x1, (1, *shape_of(x1)))
    if len(shape_of(x2)) == 1:
        x2 = c.reshape(x2, (*shape_of(x2), 1))
    return c.reshape(c.matmul(x1, x2), c.shape)


@converts("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default")
def addmm(c: Conversion, addend: SSAValue, x1: SSAValue, x2: SSAValue, beta: float, alpha: float) -> SSAValue:
    is_bias = len(shape_of(x2)) > 1 and shape_of(addend) == c.shape[-1:]
    if beta == 1 and alpha == 1 and is_bias:
        return c.matmul(x1, x2, addend)
    product = matmul(c, x1, x2)
    product = product if alpha == 1 else c.scalar("Muls", product, alpha)
    if beta == 0:
        return product
    addend = c.promoted(addend)
    return c.op("Add", product, addend if beta == 1 else c.scalar("Muls", addend, beta))


@converts("aten.outer.default")
def outer(c: Conversion, x1: SSAValue, x2: SSAValue) -> SSAValue:
    return c.op("Mul", c.reshape(c.promoted(x1), (*shape_of(x1), 1)), c.promoted(x2))


@converts("aten.einsum.default")
def einsum(c: Conversion, equation: str, operands: Sequence[SSAValue], *_: Any) -> SSAValue:
    """
    A product of two operands: both become (batches, rows, sum) and (batches, sum, columns), and the product the result.

    A letter that one operand alone has and the result has not is summed up first.
    """
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    letters = inputs.split(",")
    if not arrow or "." in equation or len(operands) != 2 or any(len(set(part)) < len(part) for part in letters):
        c.decline(f"the equation '{equation}'; supported are products of two operands with '->' and without '...'")
    (x, a), (y, b) = (_summed(c, operand, part, letters, result) for operand, part in zip(operands, letters, strict=True))
    sizes = dict(zip(a, shape_of(x), strict=True))
    for letter, size in zip(b, shape_of(y), strict=True):
        sizes[letter] = max(size, sizes.get(letter, size)) if size else 0
    batch = [letter for letter in a if letter in b and letter in result]
    inner = [letter for letter in a if letter in b and letter not in result]
    rows, columns = [letter for letter in a if letter not in b], [letter for letter in b if letter not in a]

    def arranged(value: SSAValue, own: str, *groups: list[str]) -> SSAValue:
        order = [letter for group in groups for letter in group]
        value = c.transpose(value, [own.index(letter) for letter in order])
        value = c.broadcast(value, [sizes[letter] for letter in order])
        return c.reshape(value, [math.prod(sizes[letter] for letter in group) for group in groups])

    left, right = arranged(x, a, batch, rows, inner), arranged(y, b, batch, inner, columns)
    order = [*batch, *rows, *columns]
    product = c.reshape(c.matmul(left, right), [sizes[letter] for letter in order])
    return c.transpose(product, [order.index(letter) for letter in result])


def _summed(c: Conversion, x: SSAValue, own: str, letters: Sequence[str], result: str) -> tuple[SSAValue, str]:
    """`x` without the dimensions that nothing else has, and the letters of those that are left."""
    alone = [i for i, letter in enumerate(own) if letter not in result and sum(letter in part for part in letters) == 1]
    if not alone:
        return x, own
    kept = "".join(letter for i, letter in enumerate(own) if i not in alone)
    return c.op("ReduceSumD", c.promoted(x), axes=alone), kept
