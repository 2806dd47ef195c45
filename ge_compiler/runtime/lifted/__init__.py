"""Lifted execution: every instruction of a kernel runs once for a rectangle of blocks, with the bits of the checked executor.

A kernel is followed once for each class of blocks that have the same extents and loop counts (`tracing`): index arithmetic works on all
blocks of the class, moves become views, and what remains is a flat list of steps on arrays whose leading axes are the grid's. While it
is followed, everything that the checked executor reports but indices in data is checked for every block; what cannot be shown, or not
be expressed, is left to the checked executor with the reason (`NotLifted`). What launches leave to each other is looked at in the first
execution of a program (`history`). The order of pipes is not: `verify-sync` has shown that programs of instructions keep theirs.
"""

from __future__ import annotations

from ge_compiler.runtime.lifted.indices import NotLifted
from ge_compiler.runtime.lifted.launching import launch
from ge_compiler.runtime.lifted.program import Lifted

__all__ = ["Lifted", "NotLifted", "launch"]
