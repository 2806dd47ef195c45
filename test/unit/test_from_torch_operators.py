"""The operator table of the importer: every entry computes what PyTorch computes, on inputs that are not only benign."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._ops import OpOverload
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree  # pyright: ignore[reportPrivateUsage]

from ge_compiler.dialects import ge
from ge_compiler.lowering.from_torch.conversion import CONVERTERS
from ge_compiler.lowering.from_torch.dtypes import to_numpy, type_of
from ge_compiler.lowering.from_torch.golden import golden_of
from ge_compiler.lowering.from_torch.graph import GraphConverter
from ge_compiler.lowering.from_torch.host_operators import run_on_host
from ge_compiler.lowering.from_torch.importer import Imported, import_model
from ge_compiler.runtime.accuracy import measure
from ge_compiler.runtime.execute import execute
from ge_compiler.runtime.signature import flatten, nest

GENERATOR = torch.Generator().manual_seed(0)
CASES: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {}


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=GENERATOR)


def integers(low: int, high: int, *shape: int) -> Tensor:
    return torch.randint(low, high, shape, generator=GENERATOR)


X, Y, IMAGE, VECTOR = normal(4, 6), normal(2, 3, 8), normal(2, 6, 5, 5), normal(6)
INTEGERS, MORE_INTEGERS, MASK, OTHER = integers(-5, 5, 3, 4), integers(-5, 5, 3, 4), normal(3, 4) > 0, normal(3, 4) > 0
SPECIAL = torch.tensor([1.0, -0.0, math.nan, math.inf, -math.inf])


def one(name: str, function: Callable[[Tensor], Any], x: Tensor = X) -> None:
    assert name not in CASES, name
    CASES[name] = function, (x,)


def two(name: str, function: Callable[[Tensor, Tensor], Any], x: Tensor = X, y: Tensor = VECTOR) -> None:
    assert name not in CASES, name
    CASES[name] = function, (x, y)


def three(name: str, function: Callable[[Tensor, Tensor, Tensor], Any], x: Tensor, y: Tensor, z: Tensor) -> None:
    assert name not in CASES, name
    CASES[name] = function, (x, y, z)


def four(name: str, function: Callable[[Tensor, Tensor, Tensor, Tensor], Any], *xs: Tensor) -> None:
    assert name not in CASES, name
    CASES[name] = function, xs


# ---- elementwise ------------------------------------------------------------------------------------------------------

UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "abs": torch.abs,
    "acos": lambda x: x.clamp(-1, 1).acos(),
    "acosh": lambda x: (x.abs() + 1).acosh(),
    "add scalar": lambda x: x + 3.7,
    "asin": lambda x: x.clamp(-1, 1).asin(),
    "asinh": torch.asinh,
    "atan": torch.atan,
    "atanh": lambda x: x.clamp(-0.9, 0.9).atanh(),
    "cast": lambda x: x.to(torch.float32) + x.to(torch.float16),
    "cast to booleans": lambda x: x.bool(),
    "cast to integers": lambda x: x.to(torch.int32),
    "ceil": torch.ceil,
    "clamp": lambda x: x.clamp(-0.5, 0.7),
    "clamp above": lambda x: x.clamp(max=0.1),
    "clamp below": lambda x: torch.clamp_min(x, -0.25),
    "clamp_max": lambda x: torch.clamp_max(x, 0.25),
    "cos": torch.cos,
    "cosh": torch.cosh,
    "div power of two": lambda x: x / -4,
    "div scalar": lambda x: x / 3,
    "dropout": lambda x: F.dropout(x, 0.5, training=False) + 1,
    "elu": F.elu,
    "erf": torch.erf,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "floor": torch.floor,
    "gelu": F.gelu,
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": lambda x: F.hardswish(4 * x),
    "hardtanh": F.hardtanh,
    "identities": lambda x: F.dropout(x.detach().clone().contiguous(), training=False) + 1,
    "leaky_relu": F.leaky_relu,
    "lifted constant": lambda x: x * torch.tensor(2.5),
    "log": lambda x: torch.log(x.abs() + 0.1),
    "log1p": lambda x: torch.log1p(x.abs()),
    "mul scalar": lambda x: 0.3 * x,
    "neg": lambda x: -x,
    "pow -0.5": lambda x: (x.abs() + 0.1) ** -0.5,
    "pow -1": lambda x: (x.abs() + 0.1) ** -1,
    "pow 0": lambda x: x**0,
    "pow 0.5": lambda x: x.abs() ** 0.5,
    "pow 1": lambda x: x**1,
    "pow 2": lambda x: x**2,
    "pow 2.5": lambda x: x.abs() ** 2.5,
    "pow 3": lambda x: x**3,
    "reciprocal": lambda x: 1 / (x.abs() + 0.1),
    "relu": torch.relu,
    "relu6": lambda x: F.relu6(4 * x),
    "round": lambda x: torch.round(2 * x),
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 0.1),
    "rsub": lambda x: 2.5 - x,
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "silu": F.silu,
    "sin": torch.sin,
    "sinh": torch.sinh,
    "softplus": lambda x: F.softplus(x, beta=2.0, threshold=3.0),
    "sqrt": lambda x: torch.sqrt(x.abs()),
    "square": torch.square,
    "sub scalar": lambda x: x - 0.4,
    "tan": lambda x: torch.tan(x.clamp(-1, 1)),
    "tanh": torch.tanh,
    "trunc": torch.trunc,
}
for _name, _function in UNARY.items():
    one(_name, _function, normal(7, 33))

BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "add alpha": lambda x, y: torch.add(x, y, alpha=0.5),
    "atan2": torch.atan2,
    "clamp between": lambda x, y: torch.clamp(x, y - 1, y + 1),
    "clamp_min of a tensor": lambda x, y: torch.clamp_min(x, y),
    "copy": lambda x, y: torch.ops.aten.copy(x, y),
    "div": lambda x, y: x / (y.abs() + 1),
    "div floor": lambda x, y: torch.div(x, y.abs() + 0.5, rounding_mode="floor"),
    "div trunc": lambda x, y: torch.div(x, y.abs() + 0.5, rounding_mode="trunc"),
    "div without mode": lambda x, y: torch.div(x, y.abs() + 0.5, rounding_mode=None),
    "fmod": lambda x, y: torch.fmod(x, y.abs() + 1),
    "max of two": lambda x, y: torch.max(x, y),
    "maximum": torch.maximum,
    "min of two": lambda x, y: torch.min(x, y),
    "minimum": torch.minimum,
    "mul": torch.mul,
    "pow": lambda x, y: (x.abs() + 0.1) ** y,
    "pow of a number": lambda x, y: 2.0**x * y,
    "remainder": lambda x, y: torch.remainder(x, y.abs() + 1),
    "rsub of a tensor": lambda x, y: torch.rsub(x, y, alpha=2),
    "sub": torch.sub,
    "sub alpha": lambda x, y: torch.sub(x, y, alpha=3),
}
for _name, _function in BINARY.items():
    two(_name, _function)
three("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.5), X, normal(4, 6), VECTOR)
three("addcdiv", lambda x, y, z: torch.addcdiv(x, y, z.abs() + 1, value=0.5), X, normal(4, 6), VECTOR)

# ---- integers, booleans, comparisons ----------------------------------------------------------------------------------

two("i8 wraps around", lambda x, y: x * y + 100, INTEGERS.to(torch.int8) * 20, MORE_INTEGERS.to(torch.int8))
two("i16", lambda x, y: x * y - 3, INTEGERS.to(torch.int16), MORE_INTEGERS.to(torch.int16))
one("i64 beyond f32", lambda x: (x + (1 << 40)) * 3 - (1 << 41), INTEGERS)
one("clamp integers", lambda x: x.clamp(-2, 3), INTEGERS)
one("pow of integers", lambda x: (x**3, x**5, x**40), INTEGERS)
one("div floor of integers", lambda x: torch.div(x, 3, rounding_mode="floor"), INTEGERS)
two("floor_divide", lambda x, y: x // (y.abs() + 1), INTEGERS, MORE_INTEGERS)
two("remainder of integers", lambda x, y: x % (y.abs() + 1), INTEGERS, MORE_INTEGERS)
one("remainder of a number", lambda x: x % 3, INTEGERS)
one("fmod of a number", lambda x: torch.fmod(x, 3), INTEGERS)
two("add booleans", lambda x, y: x + y, MASK, OTHER)
two("mul booleans", lambda x, y: x * y, MASK, OTHER)
two("maximum of booleans", torch.maximum, MASK, OTHER)
two("boolean and integer", lambda x, y: x + y, MASK, INTEGERS)
one("from booleans", lambda x: x.float() + 1, MASK)
one("integers to booleans", lambda x: x.bool(), INTEGERS)
one("not", torch.logical_not, INTEGERS)
one("bitwise not", torch.bitwise_not, INTEGERS)
one("bitwise not of booleans", torch.bitwise_not, MASK)
for _name in ("and", "or", "xor"):
    two(f"logical {_name}", getattr(torch, f"logical_{_name}"), INTEGERS, MASK)
    two(f"bitwise {_name}", getattr(torch, f"bitwise_{_name}"), INTEGERS, MORE_INTEGERS)
    two(f"bitwise {_name} of booleans", getattr(torch, f"bitwise_{_name}"), MASK, OTHER)
    _bitwise: Any = getattr(torch, f"bitwise_{_name}")
    one(f"bitwise {_name} scalar", lambda x, f=_bitwise: f(x, 3), INTEGERS)
two("& | ^", lambda x, y: (x & y, x | y, x ^ y), MASK, OTHER)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _compare: Any = getattr(torch, _name)
    two(_name, _compare, INTEGERS, MORE_INTEGERS)
    one(f"{_name} scalar", lambda x, f=_compare: f(x, 1), INTEGERS)
    one(f"{_name} of integer and float", lambda x, f=_compare: f(x, 0.5), INTEGERS)
    two(f"{_name} of specials", _compare, SPECIAL, torch.tensor([1.0, 0.0, math.nan, math.inf, 0.0]))
one("isnan", torch.isnan, SPECIAL)
one("isinf", torch.isinf, SPECIAL)
one("isfinite", torch.isfinite, SPECIAL)
one("is of integers", lambda x: (torch.isnan(x), torch.isinf(x), torch.isfinite(x)), INTEGERS)
one("sign of specials", torch.sign, SPECIAL)
one("specials to booleans", lambda x: x.bool(), SPECIAL)
three("where", torch.where, MASK, normal(3, 4), normal(4))
two("where scalar other", lambda c, x: torch.where(c, x, 0.0), MASK, normal(3, 4))
two("where scalar self", lambda c, x: torch.where(c, 1.0, x), MASK, normal(3, 4))
one("where scalars", lambda c: torch.where(c, 1.5, 0.0), MASK)
two("masked_fill", lambda x, m: x.masked_fill(m, -math.inf), normal(3, 4), MASK)
three("masked_fill of a tensor", lambda x, m, v: x.masked_fill(m, v), normal(3, 4), MASK, torch.tensor(2.5))

# ---- views ------------------------------------------------------------------------------------------------------------

VIEWS: dict[str, Callable[[Tensor], Any]] = {
    "broadcast": lambda x: x[:, None].broadcast_to(2, 2, 3, 8) + 1,
    "chunk": lambda x: x.chunk(3, 2),
    "empty": lambda x: x[:0] * 2,
    "expand": lambda x: x.expand(5, -1, -1, -1) + 1,
    "flatten": lambda x: x.flatten(1),
    "flip": lambda x: x.flip(0, -1),
    "movedim": lambda x: (x.movedim(0, 2), x.movedim((0, 1), (2, 0))),
    "narrow": lambda x: x.narrow(1, -2, 2),
    "pad": lambda x: F.pad(x, (1, 2, -1, 1), value=1.5),
    "permute": lambda x: x.permute(2, 0, 1),
    "repeat": lambda x: x.repeat(2, 1, 1, 3),
    "repeat_interleave": lambda x: (x.repeat_interleave(2, 1), x.repeat_interleave(2)),
    "reshape": lambda x: x.mT.reshape(3, -1),
    "roll": lambda x: (x.roll((1, -2), (0, 2)), x.roll(5)),
    "select": lambda x: x[:, -1],
    "slice": lambda x: x[:, 1:-1, 2::3],
    "slice of nothing": lambda x: x[:, 3:2],
    "split": lambda x: (torch.split(x, 3, 2), torch.split(x, [1, 7], -1)),
    "squeeze": lambda x: (x[:, None].squeeze(1), x[:1].squeeze(), x[:, None, None].squeeze((1, 2))),
    "t": lambda x: (x[0].t(), x[0].T, x[0, 0].t()),
    "tensor_split": lambda x: torch.tensor_split(x, 3, 2),
    "transpose": lambda x: (x.transpose(0, -1), x.swapaxes(0, 1), x.mT),
    "unbind": lambda x: x.unbind(1),
    "unsafe_view": lambda x: torch.ops.aten._unsafe_view(x, [48]),
    "unfold": lambda x: (x.unfold(2, 4, 4), x.unfold(1, 2, 1), x.unfold(2, 3, 2)),
    "diff": lambda x: (x.diff(), x.diff(2, 1), x.diff(dim=0, prepend=x[:1]), (x > 0).diff()),
    "type_as": lambda x: x.float().type_as(x),
    "view": lambda x: x.view(6, 8).unsqueeze(1),
}
for _name, _view in VIEWS.items():
    one(_name, _view, Y)
two("cat", lambda x, y: torch.cat((x, y, x)), X, normal(2, 6))
two("cat promotes", lambda x, y: torch.cat((x, y), -1), X, integers(0, 5, 4, 2))
one("cat with a legacy empty tensor", lambda x: torch.cat((torch.zeros(0), x)))
two("stack", lambda x, y: torch.stack((x, y), -1), X, normal(4, 6))
two("select_scatter", lambda x, y: torch.select_scatter(x, y, 1, 2), X, normal(4))
two("slice_scatter", lambda x, y: torch.slice_scatter(x, y, 1, 1, 6, 2), X, normal(4, 3))


def writes(x: Tensor, y: Tensor) -> Tensor:
    x = x.clone()
    x[:, 1:3] = y
    x[0] = 7
    x[1, ::2] = 1.0
    return x


two("writes into views", writes, X, normal(4, 2))

# ---- creation ---------------------------------------------------------------------------------------------------------

one("arange", lambda x: x + torch.arange(6) + torch.arange(2, 8) + torch.arange(1, 13, 2) + torch.arange(0, 3, 0.5))
one("full", lambda x: x + torch.full((4, 6), 0.5) + torch.full_like(x, 2) + x.new_full((6,), 3) + torch.scalar_tensor(2.0))
one("zeros", lambda x: x + torch.zeros(6) + torch.zeros_like(x) + x.new_zeros(6) + torch.ones(4, 1) + torch.ones_like(x) + x.new_ones(6))
one("fill", lambda x: torch.fill(x, 2.0) + torch.fill(x, torch.tensor(1.5)) + x.clone().zero_())
one("eye", lambda x: x + torch.eye(4, 6))
one("tril", lambda x: (x.tril(1), x.tril(-2)), Y)
one("triu", lambda x: (x.triu(1), x.triu(-2)), Y)
one("causal mask", lambda x: torch.full((4, 6), -math.inf).triu(1) + x)

# ---- reductions and norms ---------------------------------------------------------------------------------------------

for _name in ("sum", "mean", "var", "std", "any", "all", "prod"):
    one(f"{_name} of all", getattr(torch, _name))
for _name in ("sum", "mean", "amax", "amin", "var", "std", "any", "all", "prod"):
    _reduce: Any = getattr(torch, _name)
    one(_name, lambda x, f=_reduce: (f(x, 1), f(x, -1, keepdim=True)), Y)
REDUCTIONS: dict[str, Callable[[Tensor], Any]] = {
    "any of dims": lambda x: (torch.any(x > 2, (0, 1)), torch.all(x > -2, (0, 1))),
    "norm": lambda x: F.normalize(x, dim=-1),
    "log_softmax": lambda x: (30 * x).log_softmax(-1),
    "max and min of all": lambda x: x.max() - x.min(),
    "max of a dim": lambda x: (x.max(1), x.max(0, keepdim=True)),
    "mean of nothing": lambda x: x[:, :0].mean(1),
    "min of a dim": lambda x: (x.min(1), x.min(0, keepdim=True)),
    "rms_norm": lambda x: F.rms_norm(x / 100, (8,)),
    "softmax": lambda x: (x.softmax(-1), (300 * x).softmax(1), F.softmax(x, -1, dtype=torch.float32)),
    "sum in f32": lambda x: x.sum(-1, dtype=torch.float32),
    "sum of dims": lambda x: x.sum((0, 2)),
    "sum of rank 0": lambda x: x.sum().sum(0) + x.sum().softmax(0),
    "var of a correction": lambda x: (x.var((0, 1), correction=0), x.std(-1, correction=2), torch.var_mean(x, -1, correction=0)),
}
for _name, _view in REDUCTIONS.items():
    one(_name, _view, Y)
one("adaptive_avg_pool", lambda x: (F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (5, 1)), F.adaptive_avg_pool1d(x[0], 1)), IMAGE)
one("sum of booleans", lambda x: (x.sum(), x.sum(0)), MASK)
one("sum of integers", lambda x: x.sum(0), INTEGERS.to(torch.int32))
one("softmax of masked rows", lambda x: x.softmax(-1), torch.tensor([[0.0, -math.inf], [-math.inf, -math.inf]]))
three("layer_norm", lambda x, w, b: F.layer_norm(300 * x, (8,), w, b), Y, normal(8), normal(8))
one("layer_norm without weights", lambda x: (F.layer_norm(x, (3, 8)), F.layer_norm(torch.full_like(x, 300.0), (8,))), Y)
two("layer_norm with an offset alone", lambda x, b: F.layer_norm(x, (8,), None, b), Y, normal(8))
three("native_layer_norm", lambda x, w, b: torch.native_layer_norm(x, (8,), w, b, 1e-5), Y, normal(8), normal(8))
two("rms_norm with weights", lambda x, w: F.rms_norm(300 * x, (8,), w, 1e-5), Y, normal(8))
three("group_norm", lambda x, w, b: F.group_norm(x, 3, w, b), IMAGE, normal(6), normal(6))
four("batch_norm", lambda x, w, b, m: F.batch_norm(x, m, m.abs() + 0.1, w, b), IMAGE, normal(6), normal(6), normal(6))

# ---- indexing and ordering --------------------------------------------------------------------------------------------

two("embedding", F.embedding, integers(0, 10, 2, 3), normal(10, 6))
two("index_select", lambda x, i: x.index_select(1, i), Y, integers(0, 3, 5))
two("index", lambda x, i: x[i], normal(10, 6), integers(-10, 10, 2, 3))
two("index of a later dim", lambda x, i: x[:, i], Y, integers(-3, 3, 4))
three("index of two dims", lambda x, i, j: x[:, i, j], Y, integers(0, 3, 4, 1), integers(-8, 8, 5))
two("gather", lambda x, i: x.gather(1, i), X, integers(0, 6, 4, 2))
two("take_along_dim", lambda x, i: (torch.take_along_dim(x, i, 1), torch.take_along_dim(x, i)), X, integers(0, 6, 1, 2))
three("index_copy", lambda x, i, y: x.index_copy(1, i, y), normal(3, 5, 2), torch.tensor([4, 0]), normal(3, 2, 2))
three("index_put", lambda x, i, y: x.index_put((i,), y), normal(5, 3), torch.tensor([4, -5]), normal(2, 3))
four("index_put of dims", lambda x, i, j, y: x.index_put((i, j), y), normal(5, 3), integers(-5, 0, 2), integers(0, 3, 2), torch.tensor(1.5))
three("scatter", lambda x, i, y: (x.scatter(1, i, y), x.scatter(1, i, 2.5)), X, torch.tensor([[0, 2], [3, 1]]), normal(4, 6))
three("scatter_add", lambda x, i, y: x.scatter_add(1, i, y), X, torch.tensor([[0, 0], [3, 3]]), normal(4, 6))
ORDERING: dict[str, Callable[[Tensor], Any]] = {
    "argmax": lambda x: (x.argmax(-1), x.argmax()),
    "argmin": lambda x: x.argmin(1, keepdim=True),
    "argsort": lambda x: x.argsort(),
    "cumprod": lambda x: x.cumprod(1),
    "cumsum": lambda x: (x.cumsum(1), (x > 0).cumsum(-1)),
    "sort": lambda x: x.sort(),
    "sort descending": lambda x: torch.sort(x, dim=1, descending=True, stable=True),
    "topk": lambda x: (x.topk(3), x.topk(2, 1, largest=False)),
}
for _name, _view in ORDERING.items():
    one(_name, _view, Y)

# ---- products and attention -------------------------------------------------------------------------------------------

three("addmm", torch.addmm, normal(5), normal(4, 6), normal(6, 5))
three("addmm beta alpha", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), normal(4, 5), normal(4, 6), normal(6, 5))
three("addmm without addend", lambda c, a, b: torch.addmm(c, a, b, beta=0), normal(4, 5), normal(4, 6), normal(6, 5))
three("addmv", lambda c, a, b: torch.addmv(c, a, b, beta=0.5), normal(4), X, normal(6))
three("baddbmm", torch.baddbmm, normal(3, 4, 5), normal(3, 4, 6), normal(3, 6, 5))
two("bmm", torch.bmm, normal(3, 4, 6), normal(3, 6, 5))
two("bmm of transposes", lambda a, b: a.transpose(1, 2) @ b.mT, normal(3, 6, 4), normal(3, 5, 6))
two("empty sum", torch.mm, normal(4, 0), normal(0, 5))
three("linear", F.linear, normal(4, 6), normal(5, 6), normal(5))
three("linear of a stack", F.linear, normal(2, 3, 4, 6), normal(5, 6), normal(5))
three("linear of a vector", F.linear, normal(6), normal(5, 6), normal(5))
two("linear without bias", F.linear, normal(4, 6), normal(5, 6))
two("linear with a vector", F.linear, Y, normal(8))
two("matmul broadcasts", torch.matmul, normal(2, 1, 4, 6), normal(3, 6, 5))
two("matmul of an expanded operand", lambda a, b: a @ b.expand(2, 8, 5), Y, normal(8, 5))
two("matrix and vector", lambda a, b: (a @ b, torch.mv(a, b)), X, normal(6))
two("mm of a transpose", lambda a, b: a @ b.t(), normal(4, 6), normal(5, 6))
two("outer", torch.outer, normal(4), normal(5))
two("stack and vector", lambda a, b: a @ b, Y, normal(8))
two("vector and matrix", lambda a, b: a @ b, normal(4), X)
two("vectors", lambda a, b: (a @ b, torch.dot(a, b)), normal(7), normal(7))
for _equation, _shapes in {
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
    "bij,jk->bk": ((2, 3, 4), (4, 5)),
    "bqhd,bkhd->bhqk": ((2, 3, 4, 5), (2, 6, 4, 5)),
    "i,j->ij": ((3,), (4,)),
    "ij,ij->": ((3, 4), (3, 4)),
    "ij,jk->ki": ((3, 4), (4, 5)),
    "ijk,k->ij": ((2, 3, 4), (4,)),
}.items():
    two(f"einsum {_equation}", lambda x, y, e=_equation: torch.einsum(e, x, y), normal(*_shapes[0]), normal(*_shapes[1]))

attention = F.scaled_dot_product_attention
Q, K, V = normal(2, 4, 5, 8), normal(2, 4, 7, 8), normal(2, 4, 7, 6)
KEEP = normal(5, 7) > -0.5
three("attention", attention, Q, K, V)
three("attention, causal", lambda q, k, v: attention(q, k, v, is_causal=True), Q, K, V)
three("attention of grouped heads", lambda q, k, v: attention(q, k, v, enable_gqa=True), Q, K[:, :2], V[:, :2])
three("attention of shared heads", attention, Q, K[:, :1], V[:, :1])
three("attention of a shared batch", attention, Q, K[:1], V[:1])
three("attention of rank 3", attention, Q[0], K[0], V[0])
three("attention of rank 2", attention, Q[0, 0], K[0, 0], V[0, 0])
four("attention, boolean mask", attention, Q, K, V, KEEP)
four("attention, rows that see nothing", attention, Q, K, V, KEEP & (torch.arange(5) != 2)[:, None])
four("attention, added mask", lambda q, k, v, m: attention(q, k, v, m, scale=0.3), Q, K, V, normal(2, 1, 5, 7))

four("attention, mask in f32", lambda q, k, v, m: attention(q, k, v, m.float()), Q, K, V, normal(5, 7))

# ---- left to the host -------------------------------------------------------------------------------------------------

HOST: dict[str, str] = {
    "as_strided": "aten.as_strided.default",
    "convolution": "aten.conv2d.default",
    "doubles": "aten._to_copy.default",
    "index of dims apart": "aten.index.Tensor",
    "index_put that adds": "aten.index_put.default",
    "pad by reflection": "aten.pad.default",
}
one("as_strided", lambda x: x.as_strided((3, 4), (4, 1)))
two("convolution", F.conv2d, IMAGE, normal(3, 6, 3, 3))
one("doubles", lambda x: (x.double() * 2).float())
three("index of dims apart", lambda x, i, j: x[i, :, j], Y, integers(0, 2, 4), integers(0, 8, 4))
three("index_put that adds", lambda x, i, y: x.index_put((i,), y, accumulate=True), normal(5, 3), torch.tensor([4, 4]), normal(2, 3))
one("pad by reflection", lambda x: F.pad(x, (1, 2), mode="reflect"), Y)


# ---- the tests --------------------------------------------------------------------------------------------------------


NEVER_EXPORTED = {
    "aten.__and__.Scalar",
    "aten.__or__.Scalar",
    "aten.__xor__.Scalar",
    "aten._log_softmax.default",
    "aten._reshape_alias.default",
    "aten._softmax.default",
    "aten.alias.default",
    "aten.clamp_max.Tensor",
    "aten.constant_pad_nd.default",
    "aten.div.Scalar",
    "aten.dropout.default",
    "aten.empty.memory_format",
    "aten.empty_like.default",
    "aten.empty_permuted.default",
    "aten.empty_strided.default",
    "aten.eye.default",
    "aten.lift_fresh_copy.default",
    "aten.mul.Scalar",
    "aten.native_dropout.default",
    "aten.new_empty.default",
    "aten.new_empty_strided.default",
    "aten.unsafe_split.Tensor",
    "aten.unsafe_split_with_sizes.default",
}
"""What only `Direct` has."""
COMPOSITE = {"aten.__and__.Scalar", "aten.__or__.Scalar", "aten.__xor__.Scalar", "aten.dropout.default"}
"""Of these, what only graphs of torch.compile with composite operators kept have."""


class Cases(nn.Module):
    """All cases as one model: one export serves them all."""

    def forward(self, *inputs: tuple[Tensor, ...]) -> list[Any]:
        return [function(*xs) for (function, _), xs in zip(CASES.values(), inputs, strict=True)]


def imported(dtype: str) -> Imported:
    return import_model(Cases(), [inputs for _, inputs in CASES.values()], dtype=dtype)


def names_of_outputs(model: Imported) -> list[str]:
    """The case of each output."""
    outputs = nest(model.signature.structure, range(len(model.signature.outputs)))
    return [name for name, result in zip(CASES, outputs, strict=True) for _ in flatten(name, result)]


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_every_operator_computes_what_torch_computes(dtype: str) -> None:
    model = imported(dtype)
    golden = golden_of(model)
    outputs = execute(model.module, list(map(to_numpy, model.inputs)), model.weights, host=run_on_host)
    wrong: dict[str, Any] = {}
    for name, actual, reference, eager in zip(names_of_outputs(model), outputs, golden.reference, golden.eager, strict=True):
        metrics = measure(actual, reference, eager)
        if not metrics.within or actual.dtype != eager.dtype:
            wrong[name] = metrics.failures or (actual.dtype, eager.dtype)
    assert not wrong
    used = {str(node.target) for node in model.exported.graph.nodes}
    assert set(CONVERTERS) - used <= NEVER_EXPORTED
    left = {op.overload.data for op in model.module.walk() if isinstance(op, ge.AtenFallbackOp)}
    assert left - {"aten.mul.Tensor"} == set(HOST.values())


class Direct(nn.Module):
    """What `torch.export` writes in another way today, as the torch.compile path and other versions have it."""

    def forward(self, x: Tensor, mask: Tensor, integers: Tensor) -> list[Any]:
        aten: Any = torch.ops.aten
        return [
            aten.__and__.Scalar(integers, 3),
            aten.__or__.Scalar(integers, 3),
            aten.__xor__.Scalar(integers, 3),
            aten._log_softmax.default(x, 1, False),
            aten._softmax.default(x, 1, False),
            aten._reshape_alias.default(x, [3, 8], [8, 1]),
            aten.alias.default(x) + 1,
            aten.clamp_max.Tensor(x, x[0]),
            aten.constant_pad_nd.default(x, [1, 2], 0.5),
            aten.div.Scalar(x, 3),
            aten.dropout.default(x, 0.5, False) + 1,
            aten.empty.memory_format([2, 0]),
            aten.empty_like.default(x)[:0],
            aten.empty_permuted.default([2, 0], [0, 1]),
            aten.empty_strided.default([2, 0], [1, 1]),
            aten.eye.default(3),
            aten.lift_fresh_copy.default(x),
            aten.mul.Scalar(x, 0.3),
            aten.native_dropout.default(x, 0.5, False),
            aten.new_empty.default(x, [2, 0]),
            aten.new_empty_strided.default(x, [2, 0], [1, 1]),
            aten.sub.Tensor(x, 0.4),
            aten.unsafe_split.Tensor(x, 2, 1),
            aten.unsafe_split_with_sizes.default(x, [1, 5], 1),
            torch.where(mask, x[:3, :4], 0.0),
        ]


def test_a_graph_is_converted_without_export() -> None:
    inputs = (X, MASK, INTEGERS)
    graph = make_fx(Direct(), tracing_mode="fake")(*inputs).graph
    converter = GraphConverter()
    for node in graph.nodes:
        if node.op == "placeholder":
            type_ = type_of(node.meta["val"])
            assert type_ is not None
            converter.argument(node, type_, node.name)
        elif node.op == "call_function":
            converter.operator(node)
    converter.check()
    returned, _ = pytree.tree_flatten(graph.output_node().args[0])
    outputs = execute(converter.module(returned), list(map(to_numpy, inputs)), {})
    for node, actual, expected in zip(returned, outputs, pytree.tree_leaves(Direct()(*inputs)), strict=True):
        np.testing.assert_allclose(actual, to_numpy(expected), rtol=1e-6, atol=1e-6, err_msg=str(node.target))
    used = {str(node.target) for node in graph.nodes}
    assert used >= NEVER_EXPORTED - COMPOSITE


@pytest.mark.parametrize("overload", sorted(CONVERTERS))
def test_every_overload_exists(overload: str) -> None:
    found: Any = torch.ops
    for name in overload.split("."):
        found = getattr(found, name)
    assert isinstance(found, OpOverload)
