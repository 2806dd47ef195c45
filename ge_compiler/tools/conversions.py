"""Conversions between floats by PyTorch, which is an order of magnitude faster at them than numpy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from ge_compiler.runtime.lifted.arithmetic import use_converter

_FLOATS = (np.dtype(np.float16), np.dtype(np.float32))


def convert_by_torch(out: npt.NDArray[Any], x: npt.NDArray[Any]) -> None:
    """The elements of `x` in the type of `out`, with the bits of numpy; only payloads of NaNs may differ."""
    if out.dtype in _FLOATS and x.dtype in _FLOATS and out.size > 64:
        import torch

        torch.from_numpy(out).copy_(_tensor(x))  # pyright: ignore[reportUnknownMemberType]
    else:
        np.copyto(out, x, casting="unsafe")


def _tensor(x: npt.NDArray[Any]) -> Any:
    import torch

    # torch warns of memory that may not be written to, which nothing here does.
    array = x if x.flags.writeable else np.asarray(_Writable(x))
    return torch.from_numpy(array)  # pyright: ignore[reportUnknownMemberType]


class _Writable:
    """An array's memory, whatever its flags say."""

    def __init__(self, x: npt.NDArray[Any]) -> None:
        interface = x.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}
        self._owner = x


def use_torch_if_loaded() -> None:
    """Lifted execution converts by PyTorch from now on, if somebody has imported it."""
    if "torch" in sys.modules:
        use_converter(convert_by_torch)
