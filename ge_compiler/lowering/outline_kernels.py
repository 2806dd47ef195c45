"""
Make every `fused.kernel` a function and launch it; equal kernels become one function.

    %1 = fused.kernel(%0) {op_name = "act", ops = ["Relu"]} : (tensor<4xf16>) -> tensor<4xf16> { ... }
    // becomes
    func.func private @Relu(%x: tensor<4xf16>) -> tensor<4xf16> { ... }
    %d = tensor.empty() : tensor<4xf16>
    %1 = fused.launch @Relu(%0) into (%d) on aicore {op_name = "act", ops = ["Relu"]} : ...

Names, locations and places in the model stay with the launch; they do not keep kernels apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ge_compiler.dialects import fused
from ge_compiler.dialects.locations import located

NAMED_OPS = 4
"""How many operators a kernel's name spells out."""


def kernel_name(ops: list[str]) -> str:
    """A kernel's name from its operators: `MatMulV2`, `GeluV2` give `MatMulV2Gelu`; long lists are cut."""
    short = [ops[0], *(re.sub(r"V\d+$", "", op) for op in ops[1:NAMED_OPS])]
    more = len(ops) - len(short)
    return "".join(short) + (f"And{more}More" if more > 0 else "")


@dataclass
class _Outliner:
    module: ModuleOp
    functions: dict[str, list[FuncOp]] = field(default_factory=dict[str, list[FuncOp]])

    def outline(self, kernel: fused.KernelOp) -> None:
        """Replace `kernel` by a launch of its function."""
        base = kernel_name([name.data for name in kernel.ops])
        function = self._function(base, kernel)
        empties = [located(EmptyOp([], y.type), kernel.location) for y in kernel.results]
        destinations = [e.tensor for e in empties]
        made = fused.LaunchOp(function.sym_name.data, kernel.inputs, destinations, kernel.ops, kernel.op_name, kernel.runs_on)
        launch = located(made, kernel.location)
        assert kernel.parent is not None
        kernel.parent.insert_ops_before([*empties, launch], kernel)
        for old, new in zip(kernel.results, launch.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        kernel.detach()
        kernel.erase()

    def _function(self, base: str, kernel: fused.KernelOp) -> FuncOp:
        """The function with the kernel's body: an equal one that exists, or a new one."""
        function = self._build(kernel)
        existing = self.functions.setdefault(base, [])
        for known in existing:
            function.properties["sym_name"] = known.sym_name
            if known.is_structurally_equivalent(function):
                return known
        function.properties["sym_name"] = StringAttr(self._unique(base))
        existing.append(function)
        self._insert(function, kernel)
        return function

    def _build(self, kernel: fused.KernelOp) -> FuncOp:
        body = kernel.body.clone()
        last = body.block.last_op
        assert isinstance(last, fused.YieldOp)
        body.block.add_op(located(ReturnOp(*last.values), last.location))
        last.detach()
        last.erase()
        type_ = FunctionType.from_lists([x.type for x in kernel.inputs], [y.type for y in kernel.results])
        return located(FuncOp("kernel", type_, body, visibility="private"), kernel.location)

    def _insert(self, function: FuncOp, kernel: fused.KernelOp) -> None:
        top: Operation = kernel
        while top.parent_op() is not self.module:
            parent = top.parent_op()
            assert parent is not None
            top = parent
        self.module.body.block.insert_op_before(function, top)

    def _unique(self, base: str) -> str:
        # Weights are symbols of the same table.
        taken = {name.data for op in self.module.body.block.ops if isinstance(name := op.properties.get("sym_name"), StringAttr)}
        number = 0
        while (name := f"{base}_{number}" if number else base) in taken:
            number += 1
        return name


@dataclass(frozen=True)
class OutlineKernelsPass(ModulePass):
    """Makes every kernel a function that is launched; equal kernels become one."""

    name = "outline-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outliner = _Outliner(op)
        for kernel in [k for k in op.walk() if isinstance(k, fused.KernelOp)]:
            outliner.outline(kernel)
