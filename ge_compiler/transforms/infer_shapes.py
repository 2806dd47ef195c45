"""
Fills in the dimensions that a text leaves open, where an operator's operands give them.

    %0 = ge.MatMulV2 %x, %w : (tensor<32x768xf16>, tensor<768x64xf16>) -> tensor<?x?xf16>

becomes

    %0 = ge.MatMulV2 %x, %w : (tensor<32x768xf16>, tensor<768x64xf16>) -> tensor<32x64xf16>
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.ge import GeOp
from ge_compiler.dialects.ge.shapes import is_compatible
from ge_compiler.dialects.types import Tensor, tensor_type


@dataclass(frozen=True)
class InferShapesPass(ModulePass):
    """Gives results with open dimensions the sizes that follow from their operands."""

    name = "infer-shapes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp):
                _infer(function)


def _infer(function: FuncOp) -> None:
    for op in list(function.walk()):
        if isinstance(op, GeOp):
            for result, known in zip(list(op.results), _rule(op), strict=True):
                _refine(op, result, known)
        elif isinstance(op, ReturnOp) and op.parent_op() is function:
            outputs = [value.type for value in op.operands]
            function.function_type = FunctionType.from_lists(list(function.function_type.inputs), outputs)


def _rule(op: GeOp) -> list[Tensor]:
    try:
        return list(op.infer_types())
    except VerifyException as error:
        raise CompileError.at(op, str(error)) from error


def _refine(op: GeOp, result: SSAValue, known: Tensor) -> None:
    written = tensor_type(result)
    if not is_compatible(written, known):
        raise CompileError.at(op, f"gives {known}, but its result is written as {written}")
    shape = [k if w == DYNAMIC_INDEX else w for w, k in zip(written.get_shape(), known.get_shape(), strict=True)]
    if tuple(shape) != written.get_shape():
        Rewriter.replace_value_with_new_type(result, TensorType(written.get_element_type(), shape, written.encoding))
