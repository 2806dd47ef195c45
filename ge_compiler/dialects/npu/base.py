"""What all instructions that read and write memory have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
)
from xdsl.utils.exceptions import VerifyException

from ge_compiler.dialects.memory import Space, mem_of
from ge_compiler.dialects.target import NpuTarget, Unit
from ge_compiler.dialects.types import buffer_type, verify_element_type


class InstructionOp(IRDLOperation):
    """An instruction that reads and writes memory."""

    OVERWRITES: ClassVar[bool] = False
    """Whether it may write exactly where it reads elements of the same type: each element is read before it is written."""

    def reads(self) -> Sequence[SSAValue]:
        """The memrefs that are read."""
        raise NotImplementedError

    def writes(self) -> SSAValue:
        """The memref that is written."""
        raise NotImplementedError

    def unit(self, target: NpuTarget) -> Unit | None:
        """The pipe that executes the instruction on `target`; `None` if it has none."""
        raise NotImplementedError


def space_of(value: SSAValue) -> Space:
    return mem_of(value.type).space


def verify_spaces(value: SSAValue, name: str, *spaces: Space) -> None:
    verify_element_type(buffer_type(value))
    if space_of(value) not in spaces:
        raise VerifyException(f"{name} must be in {' or '.join(spaces)}, got {value.type}")
    if len(buffer_type(value).get_shape()) != 2:
        raise VerifyException(f"{name} must have rank 2, got {value.type}")


def verify_same_element(x: SSAValue, y: SSAValue) -> None:
    if buffer_type(x).get_element_type() != buffer_type(y).get_element_type():
        raise VerifyException(f"moves elements unchanged, but goes from {x.type} to {y.type}")


def verify_same_shape(x: SSAValue, y: SSAValue, transposed: bool = False) -> None:
    a, b = buffer_type(x).get_shape(), buffer_type(y).get_shape()
    a = a[::-1] if transposed else a
    if any(DYNAMIC_INDEX not in (p, q) and p != q for p, q in zip(a, b, strict=True)):
        raise VerifyException(f"extents differ: {x.type} and {y.type}{' (transposed)' if transposed else ''}")
