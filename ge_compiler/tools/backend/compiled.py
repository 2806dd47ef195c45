"""A graph of PyTorch as a program of ours, which is called with tensors."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule
from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.verifier import verify_module
from ge_compiler.lowering.from_torch.dtypes import to_numpy, to_torch, with_strides
from ge_compiler.lowering.from_torch.parameters import value_of
from ge_compiler.runtime.engines import engine_rows
from ge_compiler.runtime.execute import execute
from ge_compiler.tools.backend.options import BackendOptions
from ge_compiler.tools.backend.tracing import FunctionalGraph, Placeholders, Traced, trace
from ge_compiler.tools.commands.summary import engines_text
from ge_compiler.tools.compilation import compile_levels
from ge_compiler.tools.host import run_on_host

LOG = logging.getLogger("ge_compiler")


@dataclass(frozen=True)
class CompiledGraph:
    """Call it with the arguments of the graph, for its results."""

    graph: FunctionalGraph
    traced: Traced | None
    """`None` where nothing has to be computed."""
    module: ModuleOp
    """At the level that is executed."""
    check: bool

    @staticmethod
    def of(graph: GraphModule, placeholders: Placeholders, options: BackendOptions) -> CompiledGraph:
        """Compiles `graph`. Raises `CompileError` with the model's lines where that is not possible."""
        functional = FunctionalGraph(graph, placeholders)
        if not functional.computed:
            return CompiledGraph(functional, None, ModuleOp([]), options.check)
        _check_devices(functional)
        traced = trace(functional)
        verify_module(traced.module)
        levels, remarks = compile_levels(traced.module, options.compilation, options.level)
        if elsewhere := engines_text(engine_rows(levels[options.level], remarks)):
            LOG.warning("%s", elsewhere)
        return CompiledGraph(functional, traced, levels[options.level], options.check)

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """Raises `CompileError` for an execution at fault."""
        if self.traced is None:
            return self.graph.values(arguments, ())
        inputs = [to_numpy(arguments[i]) for i in self.traced.inputs]
        tensors: Mapping[str, torch.Tensor] = {symbol: arguments[i] for symbol, i in self.traced.weights.items()} | dict(
            self.traced.constants
        )
        weights = {symbol: to_numpy(tensor) for symbol, tensor in tensors.items()}
        results = execute(self.module, inputs, weights, check=self.check, host=run_on_host)
        tensors_and_likes = zip(map(to_torch, results), map(value_of, self.graph.computed), strict=True)
        computed = [y if like is None else with_strides(y, like.stride()) for y, like in tensors_and_likes]
        return self.graph.values(arguments, computed)


def _check_devices(graph: FunctionalGraph) -> None:
    for node, name in zip(graph.placeholders, graph.facts.names, strict=True):
        tensor = value_of(node)
        if tensor is not None and tensor.device.type != "cpu":
            raise CompileError(f"'{name}' is on device '{tensor.device}'; move the model and its inputs to the CPU first")
