"""Launches of kernels.

A destination is a `tensor.empty`, or a value that nobody uses after: a state of `@main` or the result of an earlier launch. From `buf` on
the result lies in the bytes of that value. A destination that is an input too is *tied* to it: the kernel updates its contents. What the
kernel leaves alone stays as it was: where loops exist it need not write all of a tied destination. While values are tensors the input keeps
its old contents; a kernel may read an element of it before it writes that element, but not after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ArrayAttr, FlatSymbolRefAttrConstr, MemRefType, StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.diagnostics import Note
from ge_compiler.dialects.fused.destinations import updated_argument, verify_destinations
from ge_compiler.dialects.fused.kernels import Engine, EngineAttr, Values, engine_of, is_kernel, show_types
from ge_compiler.dialects.symbols import symbols_of
from ge_compiler.dialects.types import shaped_type, verify_element_types


class _Launch(IRDLOperation):
    """What is known of a `fused.launch`."""

    callee = prop_def(FlatSymbolRefAttrConstr)
    inputs = var_operand_def(TensorType | MemRefType)
    destinations = var_operand_def(TensorType | MemRefType)

    @property
    def kernel_name(self) -> str:
        return self.callee.root_reference.data

    def kernel(self) -> FuncOp | None:
        """The function that is launched."""
        around: Operation = self
        while (parent := around.parent_op()) is not None and not around.has_trait(SymbolOpInterface):
            around = parent
        if (symbols := symbols_of(around.parent_op())) is not None:
            found = symbols.get(self.kernel_name)
            return found if isinstance(found, FuncOp) else None
        return next((op for op in _nearest_first(around) if isinstance(op, FuncOp) and op.sym_name.data == self.kernel_name), None)

    @property
    def tied(self) -> dict[int, int]:
        """The destinations that are inputs too -> the first input that each is, both by number."""
        inputs = list(self.inputs)
        return {i: inputs.index(value) for i, value in enumerate(self.destinations) if value in inputs}


def _nearest_first(op: Operation) -> Iterator[Operation]:
    """The other ops of a block, those before `op` first: kernels stand between weights, of which there may be hundreds, and `@main`."""
    before, after = op.prev_op, op.next_op
    while before is not None:
        yield before
        before = before.prev_op
    while after is not None:
        yield after
        after = after.next_op


@irdl_op_definition
class LaunchOp(_Launch):
    """Run a kernel once: it reads `inputs` and writes `destinations`, which the results then are.

    On tensors each destination has a result of its type; once `@main`'s values have addresses, inputs and destinations are memrefs and
    there are no results. Until loops exist the kernel returns tensors; from `tile` on it takes its destinations as last arguments.
    """

    name = "fused.launch"

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


def _verify_call(launch: LaunchOp, kernel: FuncOp) -> None:
    """
    A kernel returns its results as long as it is made of tensors; afterwards it takes its destinations as last arguments.

    One of another engine than the AI Cores keeps its tensors: shapes and element types must match, also where the launch has addresses.
    """
    expected = _tensor_types(launch.destinations)
    if _types_of(launch.outputs) != expected:
        raise VerifyException(f"results ({show_types(launch.outputs)}) must be the tensor destinations ({show_types(expected)})")
    inputs, results = list(kernel.function_type.inputs), list(kernel.function_type.outputs)
    given_in, given_out = _types_of(launch.inputs), _types_of(launch.destinations)
    if launch.engine.data is not (engine := engine_of(kernel)):
        raise VerifyException(f"@{launch.kernel_name} is a kernel for {engine.value}, but is launched on {launch.engine.data.value}")
    if engine is not Engine.AICORE:
        given_in, given_out = ([_without_address(t) for t in types] for types in (given_in, given_out))
    matches = (inputs, results) == (given_in, given_out) if results else inputs == given_in + given_out
    if not matches:
        takes, given = f"({show_types(inputs)}) -> ({show_types(results)})", f"({show_types(given_in)}) into ({show_types(given_out)})"
        raise VerifyException(f"@{launch.kernel_name} takes {takes}, got {given}")


def _without_address(type_: Attribute) -> Attribute:
    shaped = shaped_type(type_)
    return TensorType(shaped.get_element_type(), shaped.get_shape())


def launches(module: Operation) -> list[LaunchOp]:
    """The launches of a module, in the order of the text."""
    functions = (f for f in module.regions[0].block.ops if isinstance(f, FuncOp) and not is_kernel(f))
    return [op for function in functions for block in function.body.blocks for op in block.ops if isinstance(op, LaunchOp)]


def launches_of(kernel: FuncOp) -> list[LaunchOp]:
    """The launches of a kernel, in the order of the text."""
    module = kernel.parent_op()
    return [op for op in launches(module) if op.kernel_name == kernel.sym_name.data] if module is not None else []


def starts_anew(op: Operation, buffer: SSAValue) -> bool:
    """Whether `op` is a launch that gives a buffer new contents without reading its old ones under any shape."""
    return isinstance(op, LaunchOp) and buffer in op.destinations and all(_whole(value) is not buffer for value in op.inputs)


def lives(buffer: SSAValue, users: Sequence[Operation]) -> list[list[Operation]]:
    """The ops that use a buffer, in the order given, cut where one gives it new contents."""
    found: list[list[Operation]] = []
    for op in users:
        if not found or starts_anew(op, buffer):
            found.append([])
        found[-1].append(op)
    return found


def _whole(value: SSAValue) -> SSAValue:
    """The buffer that a value shows under another shape."""
    # By name: importing memref takes a tenth of the time in which ge-opt starts.
    while isinstance(op := value.owner, Operation) and op.name == "memref.reinterpret_cast":
        value = op.operands[0]
    return value


def updated_inputs(kernel: FuncOp) -> set[int]:
    """The inputs, by number, that some launch of a kernel writes over."""
    return {number for op in launches_of(kernel) for number in op.tied.values()}


def launched_here(kernel: FuncOp) -> tuple[Note, ...]:
    """Where a kernel is launched first, and how often else; nothing where it is not."""
    found = launches_of(kernel)
    if not found:
        return ()
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (Note(f"launched here as {found[0].op_name.data}{more}", found[0].location),)
