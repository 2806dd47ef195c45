"""
How long programs of instructions take: read once from the IR, then timed by a model that docs/timing-model.md explains.

    time_module(module).microseconds
    time_kernel(kernel, target).bound
"""

from __future__ import annotations

from ge_compiler.runtime.timing.kernel import KernelTime, time_kernel
from ge_compiler.runtime.timing.module import LaunchTime, ModuleTime, time_module

__all__ = ["KernelTime", "LaunchTime", "ModuleTime", "time_kernel", "time_module"]
