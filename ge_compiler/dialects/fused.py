"""The `fused` dialect: which operators share one kernel, with every rounding written down.

It decides how operators are grouped, which engine runs each launch and where results go; it leaves loops and the order of arithmetic open.
Values are tensors. `@main` is a straight list of launches; a kernel is a private function (a `fused.kernel` region until it is outlined) of
a small closed set of primitives: `matmul`, the functions of the table, `cast`, `broadcast` and `full`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SymbolTable
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa
from xdsl.utils.str_enum import StrEnum

from ge_compiler.dialects.elementwise import ElementwiseOp, define, operand_names, string_array
from ge_compiler.dialects.functions import FUNCTIONS, Function
from ge_compiler.dialects.ge.shapes import broadcast, show
from ge_compiler.dialects.types import Tensor, tensor_type, verify_element_types, verify_product_elements

Values: TypeAlias = Sequence[SSAValue]


class FusedElementwiseOp(ElementwiseOp):
    """A function of the table on tensors of one shape; broadcasting is a `fused.broadcast` before it."""

    T: ClassVar[VarConstraint[Tensor]] = VarConstraint("T", base(TensorType))
    result = result_def(T)

    def verify_(self) -> None:
        self.verify_element(tensor_type(self.result).get_element_type())


def _fields(function: Function) -> dict[str, Any]:
    names = operand_names(function)
    return {
        **{name: operand_def(FusedElementwiseOp.T) for name in names},
        "traits": traits_def(Pure()),
        "assembly_format": " `,` ".join(f"${name}" for name in names) + " attr-dict `:` type($result)",
    }


ELEMENTWISE: dict[str, type[FusedElementwiseOp]] = define("fused", "", FusedElementwiseOp, FUNCTIONS.values(), _fields)
"""The elementwise primitives, by name in the table of functions."""


@irdl_op_definition
class MatmulOp(IRDLOperation):
    """Product of stacks of matrices, accumulated in f32 (i32 for 8-bit integers): the anchor of a cube kernel.

    `a` is (batch…, M, K), or (batch…, K, M) with `transpose_a`; `b` is (batch…, K, N), or (batch…, N, K) with `transpose_b`. Batch
    dimensions broadcast; an operand of rank 2 serves every batch.
    """

    name = "fused.matmul"

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    transpose_a = opt_prop_def(UnitAttr)
    transpose_b = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b attr-dict `:` functional-type(operands, results)"

    def __init__(self, a: SSAValue, b: SSAValue, transpose_a: bool, transpose_b: bool, result: Tensor):
        flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
        super().__init__(operands=[a, b], properties={k: UnitAttr() for k, v in flags.items() if v}, result_types=[result])

    def verify_(self) -> None:
        verify_element_types(self)
        a, b, result = map(tensor_type, (self.a, self.b, self.result))
        if min(len(a.get_shape()), len(b.get_shape())) < 2:
            raise VerifyException(f"a and b must have at least two dimensions, got {a} and {b}")
        verify_product_elements(a.get_element_type(), b.get_element_type(), result.get_element_type())
        m, n, k_a, k_b = self.extents()
        if k_a != k_b:
            raise VerifyException(f"contracting dimensions differ: a {show(a.get_shape())} has {k_a}, b {show(b.get_shape())} has {k_b}")
        batch = broadcast([a.get_shape()[:-2], b.get_shape()[:-2]])
        if batch is None or (*batch, m, n) != result.get_shape():
            raise VerifyException(f"result is {result}, which a {show(a.get_shape())} and b {show(b.get_shape())} do not give")

    def extents(self) -> tuple[int, int, int, int]:
        """M, N, K as `a` has it, K as `b` has it."""
        (m, k_a), (k_b, n) = _matrix(self.a, self.transpose_a), _matrix(self.b, self.transpose_b)
        return m, n, k_a, k_b


def _matrix(value: SSAValue, transposed: UnitAttr | None) -> tuple[int, int]:
    """Rows and columns that a product takes `value` for."""
    rows, columns = tensor_type(value).get_shape()[-2:]
    return (columns, rows) if transposed is not None else (rows, columns)


@irdl_op_definition
class CastOp(IRDLOperation):
    """Convert the element type: the only place where values are rounded.

    `required` marks a conversion that the model itself asks for: `elide-roundings` keeps it.
    """

    name = "fused.cast"

    x = operand_def(TensorType)
    required = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$x attr-dict `:` type($x) `to` type($result)"

    def __init__(self, x: SSAValue, element: Attribute, *, required: bool = False):
        result = TensorType(element, tensor_type(x).get_shape())
        super().__init__(operands=[x], properties={"required": UnitAttr()} if required else {}, result_types=[result])

    def verify_(self) -> None:
        verify_element_types(self)
        if tensor_type(self.x).get_shape() != tensor_type(self.result).get_shape():
            raise VerifyException(f"keeps the shape, but goes from {self.x.type} to {self.result.type}")


@irdl_op_definition
class BroadcastOp(IRDLOperation):
    """Repeat a tensor: dimension i of `x` is dimension `dimensions[i]` of the result, and is 1 or of equal size."""

    name = "fused.broadcast"

    x = operand_def(TensorType)
    dimensions = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$x `along` $dimensions attr-dict `:` type($x) `to` type($result)"

    def __init__(self, x: SSAValue, dimensions: Sequence[int], result: Tensor):
        super().__init__(operands=[x], properties={"dimensions": DenseArrayBase.from_list(i64, dimensions)}, result_types=[result])

    def verify_(self) -> None:
        verify_element_types(self)
        source, result = tensor_type(self.x), tensor_type(self.result)
        dimensions = self.dimensions.get_values()
        if source.get_element_type() != result.get_element_type():
            raise VerifyException(f"keeps the element type, but goes from {source} to {result}")
        if len(dimensions) != len(source.get_shape()) or list(dimensions) != sorted(set(dimensions)):
            raise VerifyException(f"needs one increasing dimension of the result for each dimension of {source}, got {list(dimensions)}")
        for d, size in zip(dimensions, source.get_shape(), strict=True):
            if not 0 <= d < len(result.get_shape()) or size not in (1, result.get_shape()[d]):
                raise VerifyException(f"{source} cannot be repeated along {list(dimensions)} to {result}: size {size} must be 1 or equal")


@irdl_op_definition
class FullOp(IRDLOperation):
    """A tensor of one value."""

    name = "fused.full"

    value = prop_def(FloatAttr | IntegerAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `to` type($result)"

    def __init__(self, value: FloatAttr[Any] | IntegerAttr[Any], result: Tensor):
        super().__init__(properties={"value": value}, result_types=[result])

    def verify_(self) -> None:
        verify_element_types(self)
        if self.value.type != tensor_type(self.result).get_element_type():
            raise VerifyException(f"value is {self.value.type}, but the result is {self.result.type}")


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

    `ops` lists the operators' CANN types in order, `op_name` the place in the model (for example `fc1`).
    """

    name = "fused.kernel"

    inputs = var_operand_def(TensorType)
    ops = prop_def(ArrayAttr[StringAttr])
    op_name = prop_def(StringAttr)
    outputs = var_result_def(TensorType)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body"

    def __init__(self, inputs: Sequence[SSAValue], outputs: Sequence[Attribute], body: Block, ops: Sequence[str], op_name: str):
        properties = {"ops": ArrayAttr(string_array(ops)), "op_name": StringAttr(op_name)}
        super().__init__(operands=[inputs], result_types=[outputs], regions=[Region(body)], properties=properties)

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
        _verify_same_types("argument", self.body.block.args, self.inputs)
        _verify_same_types("fused.yield operand", last.values, self.outputs)


class Engine(StrEnum):
    """Who executes a launch."""

    AICORE = "aicore"
    """A lowered kernel on the AI Cores."""


@irdl_attr_definition
class EngineAttr(EnumAttribute[Engine], SpacedOpaqueSyntaxAttribute):
    """`aicore`: who executes a launch."""

    name = "fused.engine"


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """Run a kernel once: it reads `inputs` and writes `destinations`, which the results then are.

    On tensors each destination has a result of its type; once `@main`'s values have addresses, inputs and destinations are memrefs and
    there are no results. Until loops exist the kernel returns tensors; from `tile` on it takes its destinations as last arguments.
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

    def __init__(self, callee: str, inputs: Values, destinations: Values, ops: ArrayAttr[StringAttr], op_name: StringAttr):
        properties = {"callee": SymbolRefAttr(callee), "engine": EngineAttr(Engine.AICORE), "ops": ops, "op_name": op_name}
        super().__init__(operands=[inputs, destinations], result_types=[_tensor_types(destinations)], properties=properties)

    @property
    def kernel_name(self) -> str:
        return self.callee.root_reference.data

    def kernel(self) -> FuncOp | None:
        """The function that is launched."""
        found = SymbolTable.lookup_symbol(self, self.callee)
        return found if isinstance(found, FuncOp) else None

    def verify_(self) -> None:
        verify_element_types(self)
        _verify_call(self)


def _tensor_types(values: Sequence[SSAValue]) -> list[Attribute]:
    return [v.type for v in values if isa(v.type, Tensor)]


def _types_of(values: Sequence[SSAValue]) -> list[Attribute]:
    return [v.type for v in values]


def _show(types: Sequence[SSAValue] | Sequence[Attribute]) -> str:
    return ", ".join(str(t.type if isinstance(t, SSAValue) else t) for t in types)


def _verify_same_types(what: str, written: Sequence[SSAValue], expected: Sequence[SSAValue]) -> None:
    if _types_of(written) != _types_of(expected):
        raise VerifyException(f"{what} types ({_show(written)}) differ from the op's ({_show(expected)})")


def _verify_call(launch: LaunchOp) -> None:
    """A kernel returns its results as long as it is made of tensors; afterwards it takes its destinations as last arguments."""
    expected = _tensor_types(launch.destinations)
    if _types_of(launch.outputs) != expected:
        raise VerifyException(f"results ({_show(launch.outputs)}) must be the tensor destinations ({_show(expected)})")
    kernel = launch.kernel()
    if kernel is None or not is_kernel(kernel):
        raise VerifyException(f"@{launch.kernel_name} is not a kernel (a private function) of this module")
    inputs, results = list(kernel.function_type.inputs), list(kernel.function_type.outputs)
    given_in, given_out = _types_of(launch.inputs), _types_of(launch.destinations)
    matches = (inputs, results) == (given_in, given_out) if results else inputs == given_in + given_out
    if not matches:
        takes, given = f"({_show(inputs)}) -> ({_show(results)})", f"({_show(given_in)}) into ({_show(given_out)})"
        raise VerifyException(f"@{launch.kernel_name} takes {takes}, got {given}")


def kernels(module: Operation) -> list[FuncOp]:
    """The kernels of a module: its private functions, in the order of the text."""
    return [f for f in module.regions[0].block.ops if isinstance(f, FuncOp) and is_kernel(f)]


def is_kernel(function: FuncOp) -> bool:
    """Whether a function is one that launches run: a private one."""
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


FUSED = Dialect(
    "fused",
    [*ELEMENTWISE.values(), MatmulOp, CastOp, BroadcastOp, FullOp, KernelOp, YieldOp, LaunchOp],
    [EngineAttr],
)
