"""Tests that a folded constant has the bits that the operator gives, in every element type, also when printed and read again."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from ge_compiler.dialects import context
from ge_compiler.dialects.ge import CastOp, ConstOp
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.execute import execute
from ge_compiler.transforms.fold_constants import FoldConstantsPass


def text_of(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue()


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64", "i1", "i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("count", [1, 3, 100, 150, 1000])
def test_bits_survive_folding_and_the_text(element: str, count: int) -> None:
    type_ = f"tensor<{count}x{element}>"
    module = parse_module(f"""func.func @main() -> {type_} {{
  %i = ge.Range {{start = -1.5 : f32, delta = 0.5 : f32}} : tensor<{count}xf32>
  %y = ge.Cast %i : (tensor<{count}xf32>) -> {type_}
  func.return %y : {type_}
}}""")
    (expected,) = execute(module, [], {})
    FoldConstantsPass().apply(context(), module)
    assert not any(isinstance(op, CastOp) for op in module.walk())
    for folded in (module, parse_module(text_of(module))):
        assert any(isinstance(op, ConstOp) for op in folded.walk())
        (actual,) = execute(folded, [], {})
        assert actual.dtype == expected.dtype
        assert actual.tobytes() == expected.tobytes()
        assert np.array_equal(actual, expected)
