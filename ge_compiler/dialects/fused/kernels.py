"""Kernels and their launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Operation, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ge_compiler.dialects.elementwise import string_array
from ge_compiler.dialects.types import verify_element_types

Values: TypeAlias = Sequence[SSAValue]


class Engine(StrEnum):
    """Who executes a launch."""

    AICORE = "aicore"
    """A lowered kernel on the AI Cores."""
    AICPU = "aicpu"
    """Operators of `ge` by their numpy meaning, as a slow task on the device: its kernel keeps them at every level."""
    HOST = "host"
    """Operators that only the host can execute: its kernel keeps them at every level."""


@irdl_attr_definition
class EngineAttr(EnumAttribute[Engine], SpacedOpaqueSyntaxAttribute):
    """`aicore`, `aicpu` or `host`: who executes a launch."""

    name = "fused.engine"


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The results of a `fused.kernel`."""

    name = "fused.yield"

    values = var_operand_def(TensorType)

    traits = traits_def(IsTerminator())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])


class _Kernel(IRDLOperation):
    """What is known of a `fused.kernel`."""

    engine = opt_prop_def(EngineAttr)
    body = region_def("single_block")

    @property
    def runs_on(self) -> Engine:
        """Who executes the kernel."""
        return Engine.AICORE if self.engine is None else self.engine.data

    @property
    def yielded(self) -> YieldOp:
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last


@irdl_op_definition
class KernelOp(_Kernel):
    """Operators that will be one kernel, before `outline-kernels` makes it a function.

    `ops` lists the operators' CANN types in order, `op_name` the place in the model (for example `fc1`). Without an `engine` it is for
    the AI Cores and holds primitives; others hold operators of `ge`.
    """

    name = "fused.kernel"

    inputs = var_operand_def(TensorType)
    ops = prop_def(ArrayAttr[StringAttr])
    op_name = prop_def(StringAttr)
    outputs = var_result_def(TensorType)

    traits = traits_def(IsolatedFromAbove())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body"

    def __init__(
        self, inputs: Values, outputs: Sequence[Attribute], body: Block, ops: Sequence[str], op_name: str, engine: Engine = Engine.AICORE
    ):
        properties: dict[str, Attribute] = {"ops": ArrayAttr(string_array(ops)), "op_name": StringAttr(op_name)}
        if engine is not Engine.AICORE:
            properties["engine"] = EngineAttr(engine)
        super().__init__(operands=[inputs], result_types=[outputs], regions=[Region(body)], properties=properties)

    def verify_(self) -> None:
        verify_element_types(self)
        if not self.ops.data:
            raise VerifyException("ops must name at least one operator: the kernel is called after them")
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("the body must end with fused.yield")
        _verify_body(self, last)


def _verify_body(kernel: KernelOp, last: YieldOp) -> None:
    if kernel.runs_on is not (engine := engine_of(kernel)):
        raise VerifyException(f"is for {kernel.runs_on.value}, but what the body holds is for {engine.value}")
    _verify_same_types("argument", kernel.body.block.args, kernel.inputs)
    _verify_same_types("fused.yield operand", last.values, kernel.outputs)


def _verify_same_types(what: str, written: Values, expected: Values) -> None:
    if [x.type for x in written] != [x.type for x in expected]:
        raise VerifyException(f"{what} types ({show_types(written)}) differ from the op's ({show_types(expected)})")


def show_types(types: Values | Sequence[Attribute]) -> str:
    """Types, or those of values, as a list."""
    return ", ".join(str(t.type if isinstance(t, SSAValue) else t) for t in types)


def kernels(module: Operation) -> list[FuncOp]:
    """The kernels of a module: its private functions, in the order of the text."""
    return [f for f in module.regions[0].block.ops if isinstance(f, FuncOp) and is_kernel(f)]


def aicore_kernels(module: Operation) -> list[FuncOp]:
    """The kernels that are lowered; those of other engines stay as they are at every level."""
    return [kernel for kernel in kernels(module) if engine_of(kernel) is Engine.AICORE]


HOST_OPERATOR = "ge.AtenFallback"
"""The operator that only a host can execute."""


def engine_of(kernel: FuncOp | KernelOp) -> Engine:
    """Who executes a kernel: one that holds operators of `ge` is not for the AI Cores."""
    operators = [op.name for block in kernel.body.blocks for op in block.ops if op.dialect_name() == "ge"]
    if not operators:
        return Engine.AICORE
    return Engine.HOST if HOST_OPERATOR in operators else Engine.AICPU


def is_kernel(function: FuncOp) -> bool:
    """Whether a function is one that launches run: a private one."""
    return function.sym_visibility is not None and function.sym_visibility.data == "private"
