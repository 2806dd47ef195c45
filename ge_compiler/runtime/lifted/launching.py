"""One launch of a lifted kernel on regions of global memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from xdsl.dialects.func import FuncOp

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.target import NpuTarget
from ge_compiler.runtime.lifted.history import keep_book
from ge_compiler.runtime.lifted.indices import NotLifted
from ge_compiler.runtime.lifted.program import Lifted
from ge_compiler.runtime.memory import Region


def launch(lifted: Lifted, function: FuncOp, target: NpuTarget, regions: Sequence[Region], constant: Sequence[bool]) -> Counter[str]:
    """
    Executes `function`; which instructions it executed, by name. `constant` says which regions are weights.

    Raises `NotLifted` where the checked executor has to do it: nothing is written then, or the checked executor reports an error.
    """
    arrays = [region.data for region in regions]
    if not all(array.flags.c_contiguous for array in arrays):
        raise NotLifted("an argument is not contiguous")
    kernel = lifted.kernel(function, target, arrays)
    for number in kernel.written():
        if regions[number].owner is None:
            raise NotLifted(f"writes to {regions[number].label}, which may only be read")
    keep_book(function, kernel.followed.phases, regions)
    try:
        lifted.run(kernel, arrays, constant)
    except CompileError as error:
        raise NotLifted(error.message) from error
    return kernel.instructions
