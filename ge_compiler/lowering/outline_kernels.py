"""
Make every `fused.kernel` a function and launch it; equal kernels become one function.

    %1 = fused.kernel(%0) {op_name = "act", ops = ["Relu"]} : (tensor<4xf16>) -> tensor<4xf16> { ... }
    // becomes
    func.func private @Relu(%x: tensor<4xf16>) -> tensor<4xf16> { ... }
    %d = tensor.empty() : tensor<4xf16>
    %1 = fused.launch @Relu(%0) into (%d) on aicore {op_name = "act", ops = ["Relu"]} : ...

Names, locations and places in the model stay with the launch; they do not keep kernels apart. A kernel that replaces parts of an argument
is launched into that argument, and one that computes the new contents of a state into the state, where that does no harm; else they are
copied there at the end.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused
from ge_compiler.dialects.locations import located
from ge_compiler.lowering.outlining.copies import copies_into_states
from ge_compiler.lowering.outlining.destinations import destination
from ge_compiler.transforms.grouping.equality import body_key

NAMED_OPS = 4
"""How many operators a kernel's name spells out."""


_VIEWS = frozenset({"Reshape", "TransposeD", "StridedSliceD", "BroadcastToD"})
"""Operators that a kernel is called after only if it has no others: they move nothing."""


def kernel_name(ops: list[str]) -> str:
    """A kernel's name from its operators: `MatMulV2`, `GeluV2` give `MatMulV2Gelu`; views are left out, long lists are cut."""
    named = [op for op in ops if op not in _VIEWS] or ops
    short = [named[0], *(re.sub(r"V\d+$", "", op) for op in named[1:NAMED_OPS])]
    more = len(named) - len(short)
    return "".join(short) + (f"And{more}More" if more > 0 else "")


@dataclass
class _Outliner:
    module: ModuleOp
    functions: dict[Hashable, str] = field(default_factory=dict[Hashable, str])
    """The name of the function that stands for all kernels of a key."""
    taken: set[str] = field(default_factory=set[str])
    """Symbols of the module: weights are among them."""
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    """How many functions have been given a name with a number."""

    def outline(self, kernel: fused.KernelOp, top: FuncOp) -> None:
        """Replace `kernel`, which stands in `top`, by a launch of its function."""
        destinations: list[SSAValue] = []
        for i in range(len(kernel.outputs)):
            destinations.append(destination(kernel, i, destinations) or _empty(kernel, i))
        name = self._function(kernel, destinations, top)
        launch = fused.LaunchOp(name, kernel.inputs, destinations, kernel.ops, kernel.op_name, kernel.runs_on)
        assert kernel.parent is not None
        kernel.parent.insert_op_before(located(launch, kernel.location), kernel)
        for old, new in zip(kernel.results, launch.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        kernel.detach()
        kernel.erase()
        fused.verify_destinations(launch, destinations)

    def _function(self, kernel: fused.KernelOp, destinations: Sequence[SSAValue], top: FuncOp) -> str:
        """The function with the kernel's body: an equal one that exists, or a new one."""
        base = kernel_name([name.data for name in kernel.ops])
        inputs = list(kernel.inputs)
        tied = tuple(inputs.index(value) if value in inputs else None for value in destinations)
        key = base, tied, kernel.runs_on, body_key(kernel.body.block)
        if key not in self.functions:
            self.functions[key] = self._unique(base)
            self.module.body.block.insert_op_before(self._build(kernel, self.functions[key]), top)
        return self.functions[key]

    def _build(self, kernel: fused.KernelOp, name: str) -> FuncOp:
        body = kernel.detach_region(kernel.body)
        last = body.block.last_op
        assert isinstance(last, fused.YieldOp)
        body.block.add_op(located(ReturnOp(*last.values), last.location))
        last.detach()
        last.erase()
        type_ = FunctionType.from_lists([x.type for x in kernel.inputs], [y.type for y in kernel.results])
        return located(FuncOp(name, type_, body, visibility="private"), kernel.location)

    def _unique(self, base: str) -> str:
        number = self.numbers.get(base, 0)
        while (name := f"{base}_{number}" if number else base) in self.taken:
            number += 1
        self.numbers[base] = number + 1
        self.taken.add(name)
        return name


def _empty(kernel: fused.KernelOp, number: int) -> SSAValue:
    """A place of its own for a result."""
    empty = located(EmptyOp([], kernel.outputs[number].type), kernel.location)
    assert kernel.parent is not None
    kernel.parent.insert_op_before(empty, kernel)
    return empty.tensor


def _symbols(module: ModuleOp) -> set[str]:
    return {name.data for op in module.body.block.ops if isinstance(name := op.properties.get("sym_name"), StringAttr)}


def _function_around(op: Operation) -> FuncOp:
    parent = op.parent_op()
    while not isinstance(parent, FuncOp):
        assert parent is not None, "a kernel stands in a function"
        parent = parent.parent_op()
    return parent


@dataclass(frozen=True)
class OutlineKernelsPass(ModulePass):
    """Makes every kernel a function that is launched; equal kernels become one."""

    name = "outline-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outliner = _Outliner(op, taken=_symbols(op))
        for kernel in [k for k in op.walk() if isinstance(k, fused.KernelOp)]:
            outliner.outline(kernel, _function_around(kernel))
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp) and not fused.is_kernel(f)]:
            for copy in copies_into_states(function, self.name):
                outliner.outline(copy, function)
