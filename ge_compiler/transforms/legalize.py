"""
Check that the target can compute every operator in its element types, and bend those that may be bent.

    %1 = ge.MatMulV2 %x, %w : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    // with precision-mode=allow_fp32_to_fp16, on a cube without f32, becomes
    %a = ge.Cast %x : (tensor<4x8xf32>) -> tensor<4x8xf16>            // and %b of %w
    %c = ge.MatMulV2 %a, %b : (tensor<4x8xf16>, tensor<8x4xf16>) -> tensor<4x4xf16>
    %1 = ge.Cast %c : (tensor<4x4xf16>) -> tensor<4x4xf32>

Without that mode such an operator is an error; all of them are listed at once. What is in types that no model is in, such as f64, is not
refused here: `convert-ge-to-fused` gives it to another engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f16
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects import ge
from ge_compiler.dialects.diagnostics import CompileError, Note
from ge_compiler.dialects.locations import located
from ge_compiler.dialects.target import NpuTarget, target_of
from ge_compiler.dialects.types import tensor_type
from ge_compiler.transforms.legality.operators import MODEL_FLOATS

FP32_TO_FP16 = "allow_fp32_to_fp16"


def _element(value: SSAValue) -> str:
    return str(tensor_type(value).get_element_type())


def _refusal(op: ge.GeOp, target: NpuTarget) -> str | None:
    """Why the target cannot compute `op` in the type that the model is in, or `None` if it can."""
    if isinstance(op, _CUBE) and (element := _element(op.operands[0])) in MODEL_FLOATS and element not in target.cube_dtypes:
        advice = f"; compile with --precision-mode={FP32_TO_FP16}, or in f16" if element == "f32" else "; compile in f16"
        names = {"i8": "int8"}
        cube = ", ".join(names.get(e, e) for e in target.cube_dtypes)
        return f"multiplies {element}, but the cube of {target.name} takes {cube}{advice}"
    elements = [_element(v) for v in (*op.operands, *op.results)]
    missing = next((e for e in elements if e in MODEL_FLOATS and e not in target.vector_dtypes), None)
    if missing is not None:
        return f"computes in {missing}, but the vector unit of {target.name} takes {', '.join(target.vector_dtypes)}"
    return None


_CUBE = (ge.MatMulBase, ge.FlashAttentionScoreOp)
"""The operators that the cube multiplies for."""


def _in_fp16(op: ge.GeOp) -> None:
    """Compute `op` in f16 between casts; what is added to scores of attention stays as it is."""
    block = op.parent
    assert block is not None

    def cast(value: SSAValue, element: Attribute, before: Operation) -> SSAValue:
        new = located(ge.CastOp.create(operands=[value], result_types=[TensorType(element, tensor_type(value).get_shape())]), op.location)
        block.insert_op_before(new, before)
        return new.y

    factors = op.operands[:3]
    for i, operand in enumerate(factors):
        op.operands[i] = cast(operand, f16, op)
    (result,) = op.results
    narrow = located(type(op).create(operands=op.operands, result_types=[TensorType(f16, tensor_type(result).get_shape())]), op.location)
    narrow.properties = dict(op.properties)
    block.insert_op_before(narrow, op)
    wide = cast(narrow.results[0], tensor_type(result).get_element_type(), op)
    wide.name_hint = result.name_hint
    result.replace_all_uses_with(wide)
    op.detach()
    op.erase()


@dataclass(frozen=True)
class LegalizePass(ModulePass):
    """Checks element types against the target, and computes f32 matmuls and attention in f16 if that is allowed."""

    name = "legalize"

    precision_mode: Literal["must_keep_origin_dtype", "allow_fp32_to_fp16"] = "must_keep_origin_dtype"
    """What may happen to an operator whose element type the cube does not take."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        operators = [o for o in op.walk() if isinstance(o, ge.GeOp) and not isinstance(o, ge.ConstOp)]
        if self.precision_mode == FP32_TO_FP16 and "f32" not in target.cube_dtypes:
            for product in [o for o in operators if isinstance(o, _CUBE) and _element(o.operands[0]) == "f32"]:
                operators.remove(product)
                _in_fp16(product)
        refused = [(o, reason) for o in operators if (reason := _refusal(o, target)) is not None]
        if refused:
            notes = [Note(f"'{o.name}' op {reason}", o.location) for o, reason in refused[1:]]
            raise CompileError.at(refused[0][0], refused[0][1], *notes)
