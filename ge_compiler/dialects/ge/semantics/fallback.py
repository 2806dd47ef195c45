"""The meaning of operators that are run elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.semantics import Array

if TYPE_CHECKING:
    from ge_compiler.dialects.ge import AtenFallbackOp


def refuse(op: AtenFallbackOp, operands: Sequence[Array]) -> NoReturn:
    raise CompileError.at(op, f"{op.overload.data} has no meaning here: a host that has PyTorch must execute it")
