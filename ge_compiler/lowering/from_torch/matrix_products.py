"""Matrix products, and the transposes that they absorb."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_compiler.dialects.types import tensor_type
from ge_compiler.lowering.from_torch.conversion import Conversion, Transposed, converts

Operand = SSAValue | Transposed


@converts("aten.linear.default")
def linear(c: Conversion, x: Operand, weight: Operand, bias: SSAValue | None) -> SSAValue:
    return c.matmul(x, transposed(weight), bias)


@converts("aten.mm.default", "aten.bmm.default", "aten.matmul.default")
def matmul(c: Conversion, x1: Operand, x2: Operand) -> SSAValue:
    return c.matmul(x1, x2)


@converts("aten.addmm.default", "aten.baddbmm.default")
def addmm(c: Conversion, addend: SSAValue, x1: Operand, x2: Operand, beta: float, alpha: float) -> SSAValue:
    if beta == 1 and alpha == 1 and tensor_type(addend).get_shape() == c.result.get_shape()[-1:]:
        return c.matmul(x1, x2, addend)
    product = c.matmul(x1, x2)
    product = product if alpha == 1 else c.elementwise("Muls", product, value=alpha)
    if beta == 0:
        return product
    addend = c.promoted(addend)
    return c.elementwise("Add", product, addend if beta == 1 else c.elementwise("Muls", addend, value=beta))


@converts("aten.t.default")
def t(c: Conversion, x: Operand) -> Operand:
    return transposed(x) if len(c.result.get_shape()) == 2 else x


@converts("aten.transpose.int")
def transpose(c: Conversion, x: Operand, dim0: int, dim1: int) -> Operand:
    rank = max(len(c.result.get_shape()), 1)
    dims = {dim0 % rank, dim1 % rank}
    if len(dims) == 1:
        return x
    return transposed(x) if dims == {rank - 2, rank - 1} else c.decline("only the last two dimensions can be swapped yet")


def transposed(x: Operand) -> Operand:
    return x.value if isinstance(x, Transposed) else Transposed(x)
