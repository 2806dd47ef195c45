"""What a program means must not depend on whether its chip has one kind of core or two, nor on who runs an operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects import context
from ge_compiler.dialects.fused import KernelOp
from ge_compiler.dialects.parser import parse_module
from ge_compiler.dialects.target import NpuTarget, complete_targets, load_target
from ge_compiler.dialects.verifier import verify_module
from ge_compiler.lowering.convert_ge_to_fused import ConvertGeToFusedPass
from ge_compiler.runtime.execute import execute

Array = npt.NDArray[Any]


@pytest.fixture(params=complete_targets())
def target(request: pytest.FixtureRequest) -> NpuTarget:
    """Every chip that ships with a table of its own."""
    return load_target(request.param)


DTYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "i1": np.dtype(np.bool_),
}
Type = tuple[Sequence[int], str]
"""The shape and the element type of a result."""


def _tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"


def _module(op: str, inputs: Sequence[Array], results: Sequence[Type], attributes: str) -> ModuleOp:
    element = {dtype: name for name, dtype in DTYPES.items()}
    types = [_tensor(x.shape, element[x.dtype]) for x in inputs]
    outs = [_tensor(*result) for result in results]
    names, values = [f"%x{i}" for i in range(len(inputs))], [f"%y{i}" for i in range(len(outs))]
    signature = ", ".join(outs) if op == "Range" else f"({', '.join(types)}) -> ({', '.join(outs)})"
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))
    return parse_module(
        f"""func.func @main({arguments}) -> ({", ".join(outs)}) {{
  {", ".join(values)} = ge.{op} {", ".join(names)} {attributes} : {signature}
  func.return {", ".join(values)} : {", ".join(outs)}
}}""",
        "op.mlir",
    )


Outcomes = list[list[Array]]
RunOperator = Callable[..., Outcomes]


@pytest.fixture
def run_operator() -> RunOperator:
    """
    `run_operator("ReduceSumD", [x], [((2,), "f16")], "{axes = array<i64: 0>}")`: what the operator gives by its meaning, and what the
    kernel that it is turned into gives. The kernel must be for `engine`.
    """

    def run(op: str, inputs: Sequence[Array], results: Sequence[Type], attributes: str = "", engine: str = "aicore") -> Outcomes:
        module = _module(op, inputs, results, attributes)
        verify_module(module)
        outcomes = [execute(module, inputs, {})]
        ConvertGeToFusedPass().apply(context(), module)
        verify_module(module)
        kernel = next(o for o in module.walk() if isinstance(o, KernelOp))
        assert kernel.runs_on.value == engine
        outcomes.append(execute(module, inputs, {}))
        for outcome in outcomes:
            assert [(y.shape, y.dtype) for y in outcome] == [(tuple(shape), DTYPES[element]) for shape, element in results]
        return outcomes

    return run
