"""Where an operator stands in the user's Python: file and line of the innermost frame outside torch, under the module's name."""

from __future__ import annotations

import linecache
import os
import re
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch.fx import Node
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, LocationAttr, NameLoc, StringAttr

_FRAME = re.compile(r'File "(?P<file>.+?)", line (?P<line>\d+)')
_TORCH = str(Path(torch.__file__).parent)


def display_path(path: str) -> str:
    """`path` relative to the working directory where it lies below it, so that artifacts do not depend on where a checkout is."""
    return _relative(path, os.getcwd())


@lru_cache(maxsize=256)  # all operators of a model stand in a few files
def _relative(path: str, directory: str) -> str:
    try:
        return str(Path(path).resolve().relative_to(Path(directory).resolve()))
    except ValueError:
        return path


def line_of(node: Node) -> LocationAttr:
    """The innermost user line of `node`; unknown if torch recorded none."""
    frames = [(m["file"], int(m["line"])) for m in _FRAME.finditer(node.meta.get("stack_trace") or "")]
    user = [frame for frame in frames if not frame[0].startswith(_TORCH)]
    return _file_line(*user[-1]) if user else UNKNOWN_LOC


def name_of(node: Node) -> str:
    """The path of the module that `node` is the work of (`fc1`); for a function inside a user's module the node's name follows."""
    stack: dict[str, Any] = node.meta.get("nn_module_stack") or {}
    if not stack:
        return node.name
    path, kind = list(stack.values())[-1]
    kind = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    if path and kind.startswith("torch.nn."):
        return str(path)
    return f"{path}.{node.name}" if path else node.name


def location_of(node: Node) -> LocationAttr:
    """The name and the line of `node`."""
    return NameLoc(StringAttr(name_of(node)), line_of(node))


def line_of_traceback(traceback: TracebackType | None) -> LocationAttr:
    """The innermost line of a traceback that is neither torch's nor this package's."""
    ours = str(Path(__file__).parents[2])
    found: LocationAttr = UNKNOWN_LOC
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith((_TORCH, ours, "<")):
            found = _file_line(file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _file_line(file: str, line: int) -> LocationAttr:
    return FileLineColLoc(StringAttr(display_path(file)), IntAttr(line), IntAttr(_first_column(file, line)))


def _first_column(file: str, line: int) -> int:
    """Torch records lines without columns: the caret goes to the first character of the line."""
    text = linecache.getline(file, line)
    return len(text) - len(text.lstrip()) + 1 if text.strip() else 1
