"""The anchors of kernels that the cube computes: products of matrices, and attention."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr, TensorType, UnitAttr, f32, i1
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.ge.shapes import broadcast, show
from ge_compiler.dialects.types import Tensor, is_integer, tensor_type, verify_element_types, verify_product_elements


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
class AttentionOp(IRDLOperation):
    """softmax(scale · q kᵀ + mask) v over the keys, everything between the products in f32: the anchor of an attention kernel.

    `q` is (batch…, Sq, D), `k` (batch…, Sk, D), `v` (batch…, Sk, Dv), and the result (batch…, Sq, Dv) in f32. Batch dimensions broadcast:
    grouped queries have a batch dimension of their own, which is 1 in `k` and `v`. The `mask` broadcasts to (batch…, Sq, Sk): booleans
    keep a score where true, floats are added. `causal` keeps the keys up to the query's own number. A query without keys gives 0.
    """

    name = "fused.attention"

    q = operand_def(TensorType)
    k = operand_def(TensorType)
    v = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    scale = prop_def(FloatAttr)
    causal = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$q `,` $k `,` $v (`mask` $mask^)? attr-dict `:` functional-type(operands, results)"

    def __init__(
        self, q: SSAValue, k: SSAValue, v: SSAValue, mask: SSAValue | None, scale: float, causal: bool, result: Tensor | None = None
    ):
        shapes = [tensor_type(x).get_shape() for x in (q, k, v)]
        batch = broadcast([shape[:-2] for shape in shapes]) or ()
        super().__init__(
            operands=[q, k, v, mask],
            properties={"scale": FloatAttr(scale, f32)} | ({"causal": UnitAttr()} if causal else {}),
            result_types=[result or TensorType(f32, (*batch, shapes[0][-2], shapes[2][-1]))],
        )

    def verify_(self) -> None:
        verify_element_types(self)
        _verify_attention(self)


def _verify_attention(op: AttentionOp) -> None:
    """Raises `VerifyException` unless element types, sizes and the result of an attention agree."""
    q, k, v = (tensor_type(x) for x in (op.q, op.k, op.v))
    if not q.get_element_type() == k.get_element_type() == v.get_element_type() or is_integer(q.get_element_type()):
        raise VerifyException(f"q, k and v must have one floating element type, got {q}, {k} and {v}")
    if min(len(t.get_shape()) for t in (q, k, v)) < 2:
        raise VerifyException(f"q, k and v must have at least two dimensions, got {q}, {k} and {v}")
    if q.get_shape()[-1] != k.get_shape()[-1] or k.get_shape()[-2] != v.get_shape()[-2]:
        raise VerifyException(f"q {show(q.get_shape())}, k {show(k.get_shape())} and v {show(v.get_shape())} must agree in D and Sk")
    batch = broadcast([t.get_shape()[:-2] for t in (q, k, v)])
    expected = None if batch is None else TensorType(f32, (*batch, q.get_shape()[-2], v.get_shape()[-1]))
    if batch is None or op.result.type != expected:
        raise VerifyException(f"result is {op.result.type}, but the operands give {expected or 'batch dimensions that do not broadcast'}")
    _verify_mask(op, (*batch, q.get_shape()[-2], k.get_shape()[-2]))


def _verify_mask(op: AttentionOp, scores: tuple[int, ...]) -> None:
    """Raises `VerifyException` unless the mask, if there is one, repeats to the shape of the scores."""
    if op.mask is None:
        return
    mask = tensor_type(op.mask)
    if is_integer(mask.get_element_type()) and mask.get_element_type() != i1:
        raise VerifyException(f"mask must be boolean or floating, got {mask}")
    if broadcast([mask.get_shape(), scores]) != scores:
        raise VerifyException(f"mask {show(mask.get_shape())} does not broadcast to the scores {show(scores)}")


Anchor = MatmulOp | AttentionOp
"""What the cube computes: a kernel has at most one, around which its loops are made."""
