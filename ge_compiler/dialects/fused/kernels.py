"""Kernels and their launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, FlatSymbolRefAttrConstr, MemRefType, StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Operation, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
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
from xdsl.traits import IsolatedFromAbove, IsTerminator, SymbolTable
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ge_compiler.dialects.diagnostics import Note
from ge_compiler.dialects.elementwise import string_array
from ge_compiler.dialects.fused.destinations import updated_argument, verify_destinations
from ge_compiler.dialects.types import shaped_type, verify_element_types

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


@irdl_op_definition
class KernelOp(IRDLOperation):
    """Operators that will be one kernel, before `outline-kernels` makes it a function.

    `ops` lists the operators' CANN types in order, `op_name` the place in the model (for example `fc1`). Without an `engine` it is for
    the AI Cores and holds primitives; others hold operators of `ge`.
    """

    name = "fused.kernel"

    inputs = var_operand_def(TensorType)
    ops = prop_def(ArrayAttr[StringAttr])
    op_name = prop_def(StringAttr)
    engine = opt_prop_def(EngineAttr)
    outputs = var_result_def(TensorType)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body"

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        outputs: Sequence[Attribute],
        body: Block,
        ops: Sequence[str],
        op_name: str,
        engine: Engine = Engine.AICORE,
    ):
        properties: dict[str, Attribute] = {"ops": ArrayAttr(string_array(ops)), "op_name": StringAttr(op_name)}
        if engine is not Engine.AICORE:
            properties["engine"] = EngineAttr(engine)
        super().__init__(operands=[inputs], result_types=[outputs], regions=[Region(body)], properties=properties)

    @property
    def runs_on(self) -> Engine:
        """Who executes the kernel."""
        return Engine.AICORE if self.engine is None else self.engine.data

    @property
    def yielded(self) -> YieldOp:
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    def verify_(self) -> None:
        verify_element_types(self)
        if not self.ops.data:
            raise VerifyException("ops must name at least one operator: the kernel is called after them")
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("the body must end with fused.yield")
        if self.runs_on is not (engine := engine_of(self)):
            raise VerifyException(f"is for {self.runs_on.value}, but what the body holds is for {engine.value}")
        _verify_same_types("argument", self.body.block.args, self.inputs)
        _verify_same_types("fused.yield operand", last.values, self.outputs)


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """Run a kernel once: it reads `inputs` and writes `destinations`, which the results then are.

    On tensors each destination has a result of its type; once `@main`'s values have addresses, inputs and destinations are memrefs and
    there are no results. Until loops exist the kernel returns tensors; from `tile` on it takes its destinations as last arguments.

    A destination is a `tensor.empty`, or a value that nobody uses after: a state of `@main` or the result of an earlier launch. From `buf`
    on the result lies in the bytes of that value. A destination that is an input too is *tied* to it: the kernel updates its contents.
    What the kernel leaves alone stays as it was: where loops exist it need not write all of a tied destination. While values are tensors
    the input keeps its old contents; a kernel may read an element of it before it writes that element, but not after.
    """

    name = "fused.launch"

    callee = prop_def(FlatSymbolRefAttrConstr)
    inputs = var_operand_def(TensorType | MemRefType)
    destinations = var_operand_def(TensorType | MemRefType)
    engine = prop_def(EngineAttr)
    ops = prop_def(ArrayAttr[StringAttr])
    op_name = prop_def(StringAttr)
    outputs = var_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$callee `(` $inputs `)` `into` `(` $destinations `)` `on` $engine attr-dict "
        "`:` `(` type($inputs) `)` `into` `(` type($destinations) `)` (`->` type($outputs)^)?"
    )

    def __init__(
        self,
        callee: str,
        inputs: Values,
        destinations: Values,
        ops: ArrayAttr[StringAttr],
        op_name: StringAttr,
        engine: Engine = Engine.AICORE,
    ):
        properties = {"callee": SymbolRefAttr(callee), "engine": EngineAttr(engine), "ops": ops, "op_name": op_name}
        super().__init__(operands=[inputs, destinations], result_types=[_tensor_types(destinations)], properties=properties)

    @property
    def kernel_name(self) -> str:
        return self.callee.root_reference.data

    def kernel(self) -> FuncOp | None:
        """The function that is launched."""
        table = self.parent_op()
        while table is not None and not table.has_trait(SymbolTable):
            table = table.parent_op()
        functions = table.regions[0].block.ops if table is not None else ()
        return next((op for op in functions if isinstance(op, FuncOp) and op.sym_name.data == self.kernel_name), None)

    @property
    def tied(self) -> dict[int, int]:
        """The destinations that are inputs too -> the first input that each is, both by number."""
        inputs = list(self.inputs)
        return {i: inputs.index(value) for i, value in enumerate(self.destinations) if value in inputs}

    def verify_(self) -> None:
        verify_element_types(self)
        kernel = self.kernel()
        if kernel is None or not is_kernel(kernel):
            raise VerifyException(f"@{self.kernel_name} is not a kernel (a private function) of this module")
        _verify_call(self, kernel)
        _verify_updates(self, kernel)
        verify_destinations(self, self.destinations)


def _verify_updates(launch: LaunchOp, kernel: FuncOp) -> None:
    """A kernel that replaces parts of an argument is given that argument to write to; loops only write the parts."""
    last = kernel.body.blocks[0].last_op if kernel.body.blocks else None
    for i, value in enumerate(last.operands if last is not None else ()):
        argument = updated_argument(value)
        if argument is not None and launch.tied.get(i) != argument.index:
            name = f" (%{argument.name_hint})" if argument.name_hint else ""
            raise VerifyException(f"@{launch.kernel_name} updates argument #{argument.index}{name}, so destination #{i} must be that input")


def _tensor_types(values: Sequence[SSAValue]) -> list[Attribute]:
    return [v.type for v in values if not isinstance(v.type, MemRefType)]


def _types_of(values: Sequence[SSAValue]) -> list[Attribute]:
    return [v.type for v in values]


def _show(types: Sequence[SSAValue] | Sequence[Attribute]) -> str:
    return ", ".join(str(t.type if isinstance(t, SSAValue) else t) for t in types)


def _verify_same_types(what: str, written: Sequence[SSAValue], expected: Sequence[SSAValue]) -> None:
    if _types_of(written) != _types_of(expected):
        raise VerifyException(f"{what} types ({_show(written)}) differ from the op's ({_show(expected)})")


def _verify_call(launch: LaunchOp, kernel: FuncOp) -> None:
    """
    A kernel returns its results as long as it is made of tensors; afterwards it takes its destinations as last arguments.

    One of another engine than the AI Cores keeps its tensors: shapes and element types must match, also where the launch has addresses.
    """
    expected = _tensor_types(launch.destinations)
    if _types_of(launch.outputs) != expected:
        raise VerifyException(f"results ({_show(launch.outputs)}) must be the tensor destinations ({_show(expected)})")
    inputs, results = list(kernel.function_type.inputs), list(kernel.function_type.outputs)
    given_in, given_out = _types_of(launch.inputs), _types_of(launch.destinations)
    if launch.engine.data is not (engine := engine_of(kernel)):
        raise VerifyException(f"@{launch.kernel_name} is a kernel for {engine.value}, but is launched on {launch.engine.data.value}")
    if engine is not Engine.AICORE:
        given_in, given_out = ([_without_address(t) for t in types] for types in (given_in, given_out))
    matches = (inputs, results) == (given_in, given_out) if results else inputs == given_in + given_out
    if not matches:
        takes, given = f"({_show(inputs)}) -> ({_show(results)})", f"({_show(given_in)}) into ({_show(given_out)})"
        raise VerifyException(f"@{launch.kernel_name} takes {takes}, got {given}")


def _without_address(type_: Attribute) -> Attribute:
    shaped = shaped_type(type_)
    return TensorType(shaped.get_element_type(), shaped.get_shape())


def kernels(module: Operation) -> list[FuncOp]:
    """The kernels of a module: its private functions, in the order of the text."""
    return [f for f in module.regions[0].block.ops if isinstance(f, FuncOp) and is_kernel(f)]


def launches(module: Operation) -> list[LaunchOp]:
    """The launches of a module, in the order of the text."""
    functions = (f for f in module.regions[0].block.ops if isinstance(f, FuncOp) and not is_kernel(f))
    return [op for function in functions for block in function.body.blocks for op in block.ops if isinstance(op, LaunchOp)]


def updated_inputs(kernel: FuncOp) -> set[int]:
    """The inputs, by number, that some launch of a kernel writes over."""
    module = kernel.parent_op()
    found = [op for op in launches(module) if op.kernel_name == kernel.sym_name.data] if module is not None else []
    return {number for op in found for number in op.tied.values()}


def launched_here(kernel: FuncOp) -> tuple[Note, ...]:
    """Where a kernel is launched first, and how often else; nothing where it is not."""
    module = kernel.parent_op()
    found = [op for op in launches(module) if op.kernel_name == kernel.sym_name.data] if module is not None else []
    if not found:
        return ()
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (Note(f"launched here as {found[0].op_name.data}{more}", found[0].location),)


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
