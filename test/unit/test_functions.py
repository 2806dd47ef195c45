"""The table of functions: complete in every dialect, expansions that end in native functions, and their symmetry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from ge_compiler.dialects import fused, npu, tile
from ge_compiler.dialects.functions import FUNCTIONS, NATIVE, Function, expand
from ge_compiler.dialects.semantics import apply


@dataclass
class Recorder:
    """Writes down what is applied; handles are numbers in order."""

    lines: list[tuple[str, tuple[int, ...], float | None]] = field(default_factory=list[tuple[str, tuple[int, ...], float | None]])

    def apply(self, name: str, *operands: Any, scalar: float | None = None) -> int:
        self.lines.append((name, operands, scalar))
        return len(self.lines)


def straight_line(name: str) -> Recorder:
    recorder = Recorder()
    function = FUNCTIONS[name]
    expand(recorder, name, list(range(-function.operands, 0)), 0.5 if function.has_scalar else None)
    return recorder


def test_every_dialect_has_its_functions() -> None:
    assert fused.ELEMENTWISE.keys() == tile.ELEMENTWISE.keys() == FUNCTIONS.keys()
    assert npu.VECTOR.keys() == NATIVE.keys()
    assert all(op.name == f"npu.v{name}" for name, op in npu.VECTOR.items())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_expansion_is_a_straight_line_of_native_functions(name: str) -> None:
    lines = straight_line(name).lines
    assert lines
    for position, (step, operands, scalar) in enumerate(lines, 1):
        assert step in NATIVE
        assert len(operands) == NATIVE[step].operands
        assert (scalar is not None) == NATIVE[step].has_scalar
        assert all(operand < position for operand in operands), "defined before it is used"
    used = {operand for _, operands, _ in lines for operand in operands} | {len(lines)}
    assert used >= set(range(1, len(lines) + 1)), "nothing is computed in vain"


@pytest.mark.parametrize("name", [name for name, f in FUNCTIONS.items() if f.expansion is not None])
def test_an_expansion_computes_in_types_that_its_parts_know(name: str) -> None:
    assert (FUNCTIONS[name].is_predicate, FUNCTIONS[name].conditions) == (False, 0)
    for step, _, _ in straight_line(name).lines:
        assert set(FUNCTIONS[name].dtypes) <= set(NATIVE[step].dtypes)
        assert (NATIVE[step].is_predicate, NATIVE[step].conditions) == (False, 0), "all of it has one type"


@pytest.mark.parametrize("name", ["erf", "tanh"])
def test_odd_functions_are_odd_to_the_bit(name: str) -> None:
    x = np.concatenate([np.geomspace(1e-38, 1e38, 20001), [np.inf]]).astype(np.float32)
    positive, negative = apply(name, x), apply(name, -x)
    assert np.array_equal(positive.view(np.uint32) ^ np.uint32(0x80000000), negative.view(np.uint32))
    assert positive[-1] == 1
    assert np.isnan(apply(name, np.array([np.nan], np.float32)))[0]


def _carries_nan(function: Function) -> bool:
    combines = (function.expansion is None and function.operands == 2) or function.has_scalar
    return combines and "f32" in function.dtypes and not function.is_predicate


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if _carries_nan(function)])
def test_nan_comes_through(name: str) -> None:
    x = np.array([np.nan, 1.0], np.float32)
    others = [np.ones(2, np.float32)] * (FUNCTIONS[name].operands - 1)
    result = apply(name, x, *others, scalar=0.5 if FUNCTIONS[name].has_scalar else None)
    assert np.isnan(result).tolist() == [True, False]
