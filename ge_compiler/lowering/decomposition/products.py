"""Matrix products: an accumulator in f32 or i32, a bias in the same, one rounding."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, i8
from xdsl.ir import SSAValue

from ge_compiler.dialects import fused, ge
from ge_compiler.dialects.types import Tensor, accumulator_of, is_integer, tensor_type
from ge_compiler.lowering.decomposition.region import NoLowering, Region, element_of, number


def matmul(op: ge.MatMulBase, region: Region) -> SSAValue:
    element, result = element_of(op.x1), tensor_type(op.y)
    if is_integer(element) and element != i8:
        raise NoLowering(f"no cube multiplies {element}")
    a, b = region.argument(op.x1), region.argument(op.x2)
    wide: Tensor = TensorType(accumulator_of(element), result.get_shape())
    product = fused.MatmulOp(a, b, op.transpose_x1 is not None, op.transpose_x2 is not None, wide)
    contraction = product.extents()[2]
    # A loop over an empty contraction would leave its accumulator undefined.
    value = region.add(product if contraction else fused.FullOp(number(0, wide.get_element_type()), wide))
    if op.bias is None:
        return value
    return region.apply("add", value, region.broadcast(region.wide(region.operand(op.bias)), result.get_shape()))
