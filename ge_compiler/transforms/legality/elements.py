"""Which element types the cube and the vector unit of a target compute with."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.dialects.types import is_shaped, shaped_type


def element_of(value: SSAValue) -> str:
    """The element type of a tensor or memref, as it is printed."""
    return str(shaped_type(value).get_element_type())


def require_cube(op: Operation, value: SSAValue, target: NpuTarget) -> None:
    """Raises `CompileError` at `op` if the cube of `target` does not multiply the elements of `value`."""
    if element_of(value) not in target.cube_dtypes:
        raise CompileError.at(op, f"{element_of(value)} is not a cube dtype of {target.name} ({', '.join(target.cube_dtypes)})")


def require_vector(op: Operation, values: Iterable[SSAValue], target: NpuTarget) -> None:
    """Raises `CompileError` at `op` if the vector unit of `target` does not compute with the elements of `values`."""
    for value in values:
        if is_shaped(value.type) and element_of(value) not in target.vector_dtypes:
            raise CompileError.at(op, f"{element_of(value)} is not a vector dtype of {target.name} ({', '.join(target.vector_dtypes)})")
