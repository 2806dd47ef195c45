"""Checks of programs that share no code with the passes that make them."""

from __future__ import annotations

from ge_compiler.runtime.checks.faults import Coverage, Fault, Report
from ge_compiler.runtime.checks.sync import check_sync

__all__ = ["Coverage", "Fault", "Report", "check_sync"]
