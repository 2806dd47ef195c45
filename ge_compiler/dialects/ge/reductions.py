"""Reductions, and the operators that are made of them: softmax and norms. Axes may count from the last dimension."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, TensorType, UnitAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.base import GeOp, ShapeRule
from ge_compiler.dialects.ge.shapes import axes_of
from ge_compiler.dialects.ge.shapes import reductions as rules
from ge_compiler.dialects.types import tensor_type


class ReductionOp(GeOp):
    """Combines the elements along `axes`, which vanish or, with `keep_dims`, have size 1; without axes nothing is combined."""

    KIND: ClassVar[str]
    """`sum`, `mean`, `max`, `min` or `prod`."""

    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.reduction)
    MEANING: ClassVar[str] = "reductions.reduce"

    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase.constr(i64))
    keep_dims = opt_prop_def(UnitAttr)
    y = result_def(TensorType)

    traits = traits_def(Pure())

    def dimensions(self) -> tuple[int, ...]:
        """`axes` counted from the first dimension, ascending. Raises `VerifyException` if there are no such dimensions."""
        return axes_of("axes", self.axes.get_values(), len(tensor_type(self.x).get_shape()))


@irdl_op_definition
class ReduceSumDOp(ReductionOp):
    """The sum; floats add up in f32 and are rounded once, integers wrap around in their type."""

    name = "ge.ReduceSumD"
    KIND: ClassVar[str] = "sum"


@irdl_op_definition
class ReduceMeanDOp(ReductionOp):
    """The mean of floats, in f32 and rounded once; NaN where there are none."""

    name = "ge.ReduceMeanD"
    KIND: ClassVar[str] = "mean"


@irdl_op_definition
class ReduceMaxDOp(ReductionOp):
    """The largest element, NaN if there is one; the lowest value of the type where there are none. Of booleans: whether any holds."""

    name = "ge.ReduceMaxD"
    KIND: ClassVar[str] = "max"


@irdl_op_definition
class ReduceMinDOp(ReductionOp):
    """The smallest element, NaN if there is one; the highest value of the type where there are none. Of booleans: whether all hold."""

    name = "ge.ReduceMinD"
    KIND: ClassVar[str] = "min"


@irdl_op_definition
class ReduceProdDOp(ReductionOp):
    """The product; floats multiply in f32 and are rounded once, integers wrap around in their type."""

    name = "ge.ReduceProdD"
    KIND: ClassVar[str] = "prod"


class SoftmaxBase(GeOp):
    """exp(x - m) / sum(exp(x - m)) along `axes`, m being the largest element there; in f32, rounded once."""

    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.softmax)

    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase.constr(i64))
    y = result_def(TensorType)

    traits = traits_def(Pure())

    def dimensions(self) -> tuple[int, ...]:
        """`axes` counted from the first dimension, ascending. Raises `VerifyException` if there are no such dimensions."""
        return axes_of("axes", self.axes.get_values(), len(tensor_type(self.x).get_shape()))


@irdl_op_definition
class SoftmaxV2Op(SoftmaxBase):
    """The exponentials along `axes`, divided by their sum."""

    name = "ge.SoftmaxV2"
    MEANING: ClassVar[str] = "reductions.softmax"


@irdl_op_definition
class LogSoftmaxV2Op(SoftmaxBase):
    """The logarithm of the softmax along `axes`."""

    name = "ge.LogSoftmaxV2"
    MEANING: ClassVar[str] = "reductions.log_softmax"


class NormOp(GeOp):
    """Normalizes the last `normalized_dims` dimensions together; scales and offsets have their shape, and floats of any type."""

    normalized_dims = prop_def(IntegerAttr)
    epsilon = prop_def(FloatAttr)
    traits = traits_def(Pure())

    def dimensions(self) -> tuple[int, ...]:
        """The dimensions that are normalized."""
        rank = len(tensor_type(self.operands[0]).get_shape())
        return tuple(range(rank - self.normalized_dims.value.data, rank))

    def parameters(self) -> list[tuple[str, SSAValue]]:
        """The scale and the offset, by name, where they are given."""
        raise NotImplementedError


@irdl_op_definition
class LayerNormV4Op(NormOp):
    """
    (x - mean) / sqrt(variance + epsilon) * gamma + beta, the variance being the mean of (x - mean)²; in f32, rounded once.

    `scale_and_offset` is nothing, gamma, or gamma and beta.
    """

    name = "ge.LayerNormV4"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.norm)
    MEANING: ClassVar[str] = "reductions.layer_norm"

    x = operand_def(TensorType)
    scale_and_offset = var_operand_def(TensorType)
    y = result_def(TensorType)

    def parameters(self) -> list[tuple[str, SSAValue]]:
        return list(zip(("gamma", "beta"), self.scale_and_offset, strict=False))

    def verify_(self) -> None:
        if len(self.scale_and_offset) > 2:
            raise VerifyException(f"takes x, gamma and beta, got {len(self.operands)} operands")
        super().verify_()


@irdl_op_definition
class RmsNormOp(NormOp):
    """x / sqrt(mean(x²) + epsilon) * gamma; in f32, rounded once."""

    name = "ge.RmsNorm"
    SHAPE_RULE: ClassVar[ShapeRule] = staticmethod(rules.norm)
    MEANING: ClassVar[str] = "reductions.rms_norm"

    x = operand_def(TensorType)
    gamma = opt_operand_def(TensorType)
    y = result_def(TensorType)

    def parameters(self) -> list[tuple[str, SSAValue]]:
        return [] if self.gamma is None else [("gamma", self.gamma)]
