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


def cube_refusal(value: SSAValue, target: NpuTarget) -> str | None:
    """Why the cube of `target` does not multiply the elements of `value`, or `None` if it does."""
    if element_of(value) in target.cube_dtypes:
        return None
    return f"{element_of(value)} is not a cube dtype of {target.name} ({', '.join(target.cube_dtypes)})"


def vector_refusal(values: Iterable[SSAValue], target: NpuTarget) -> str | None:
    """Why the vector unit of `target` does not compute with the elements of `values`, or `None` if it does."""
    missing = next((element_of(v) for v in values if is_shaped(v.type) and element_of(v) not in target.vector_dtypes), None)
    return None if missing is None else f"{missing} is not a vector dtype of {target.name} ({', '.join(target.vector_dtypes)})"


def require_cube(op: Operation, value: SSAValue, target: NpuTarget) -> None:
    """Raises `CompileError` at `op` if the cube of `target` does not multiply the elements of `value`."""
    if (refusal := cube_refusal(value, target)) is not None:
        raise CompileError.at(op, refusal)


def require_vector(op: Operation, values: Iterable[SSAValue], target: NpuTarget) -> None:
    """Raises `CompileError` at `op` if the vector unit of `target` does not compute with the elements of `values`."""
    if (refusal := vector_refusal(values, target)) is not None:
        raise CompileError.at(op, refusal)
