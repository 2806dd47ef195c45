"""What `torch.compile(..., options={...})` may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError, did_you_mean
from ge_compiler.dialects.target import load_target
from ge_compiler.tools.api import make_options
from ge_compiler.tools.compilation import Options

KEYS = ("check", "fallback", "level", "precision_mode", "target", "tiling")


@dataclass(frozen=True)
class BackendOptions:
    """How graphs are compiled and executed."""

    compilation: Options
    level: str = LEVELS[-1]
    check: bool = False

    @staticmethod
    def of(options: Mapping[str, Any] | None) -> BackendOptions:
        """Raises `CompileError` for an unknown option or value, with what it may be."""
        given = dict(options or {})
        if unknown := [key for key in given if key not in KEYS]:
            raise CompileError(f"unknown option '{unknown[0]}'{did_you_mean(unknown[0], KEYS)}; options: {', '.join(KEYS)}")
        level, check = given.pop("level", LEVELS[-1]), given.pop("check", False)
        if level not in LEVELS:
            raise CompileError(f"unknown level '{level}'{did_you_mean(str(level), LEVELS)}; levels: {', '.join(LEVELS)}")
        if not isinstance(check, bool):
            raise CompileError(f"option 'check' must be True or False, got {check!r}")
        compilation = make_options(**{name: given.get(name) for name in ("target", "precision_mode", "tiling", "fallback")})
        load_target(compilation.target)
        return BackendOptions(compilation, level, check)
