"""What `@main` takes and gives: tensors, or memrefs of global memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.traits import SymbolTable

from ge_compiler.dialects.buf import RESULTS_ATTRIBUTE
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.ge.shapes import shape_and_element, show
from ge_compiler.dialects.memory import GLOBAL, mem_of
from ge_compiler.dialects.semantics import Array, dtype_of
from ge_compiler.dialects.states import states
from ge_compiler.dialects.types import buffer_type


def main_of(module: ModuleOp) -> FuncOp:
    """The function `@main`. Raises `CompileError` without one."""
    main = SymbolTable.lookup_symbol(module, "main")
    if not isinstance(main, FuncOp):
        raise CompileError.at(module, "has no function @main to execute")
    return main


def result_count(main: FuncOp) -> int:
    """How many of the last arguments of `@main` are results: none while its values are tensors."""
    count = main.attributes.get(RESULTS_ATTRIBUTE)
    return count.value.data if isinstance(count, IntegerAttr) else 0


def input_types(main: FuncOp) -> list[Attribute]:
    """The types of the arguments that are no results."""
    types = list(main.function_type.inputs)
    return types[: len(types) - result_count(main)]


def is_on_memory(main: FuncOp) -> bool:
    """Whether the values of `@main` have addresses. Raises `CompileError` where its border is neither the one nor the other."""
    count, types = result_count(main), list(main.function_type.inputs)
    on_memory = [isinstance(t, MemRefType) for t in types]
    if not any(on_memory) and count == 0:
        return False
    if not all(on_memory) or any(mem_of(t) != GLOBAL for t in types) or main.function_type.outputs.data:
        raise CompileError.at(main, "@main takes and gives tensors, or memrefs of global memory as arguments only, never both")
    written = [*types[len(types) - count :], *(types[i] for i in states(main))] if 0 <= count <= len(types) else []
    if not 0 <= count <= len(types) or any(not buffer_type(t).has_static_shape() for t in written):
        raise CompileError.at(main, f"the last {count} arguments are to be results of a static shape, but @main takes {main.function_type}")
    numbers = sorted(states(main).values())
    if len(set(numbers)) < len(numbers) or (numbers and not 0 <= numbers[0] <= numbers[-1] < count + len(numbers)):
        raise CompileError.at(main, f"has {count + len(numbers)} results, states included, but states are updated by results {numbers}")
    return True


def check_inputs(main: FuncOp, inputs: Sequence[Array]) -> list[Array]:
    """The inputs of `@main` in row-major order. Raises `CompileError` for those that do not fit."""
    types = input_types(main)
    if len(inputs) != len(types):
        raise CompileError.at(main, f"@main takes {len(types)} inputs, got {len(inputs)}")
    for i, (type_, array) in enumerate(zip(types, inputs, strict=True)):
        shape, element = shape_and_element(type_)
        fits = len(shape) == array.ndim and all(size in (got, -1) or size < 0 for size, got in zip(shape, array.shape, strict=True))
        if not fits or array.dtype != dtype_of(element):
            name = main.body.block.args[i].name_hint
            which = f"input #{i} (%{name})" if name else f"input #{i}"
            raise CompileError.at(main, f"{which} must be {type_}, got {show(array.shape)} of {array.dtype}")
    return [np.ascontiguousarray(array).reshape(array.shape) for array in inputs]
