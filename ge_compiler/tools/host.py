"""What programs execute on the host: operators of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.runtime.signature import Array


def run_on_host(overload: str, arguments: str, operands: Sequence[Array]) -> Sequence[Array]:
    """The results of an operator of PyTorch, as `ge.AtenFallback` names it. Raises `CompileError` where PyTorch is missing or fails."""
    try:
        from ge_compiler.lowering.from_torch import host_operators
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise CompileError(f"{overload} runs on the host, which needs PyTorch: pip install 'ge-compiler[torch]'") from None
    return host_operators.run_on_host(overload, arguments, operands)
