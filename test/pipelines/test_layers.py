"""Layers of equal sizes are lowered once, however many there are; each launch keeps its name and its place in the model."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ge_compiler.dialects.fused import kernels, launches
from ge_compiler.dialects.parser import parse_module
from ge_compiler.runtime.execute import execute
from ge_compiler.runtime.report import report, sources
from ge_compiler.tools.compilation import Options, lower

LAYER = """
    %w{i} = ge.load_weight @w{i} : tensor<32x32xf32>
    %b{i} = ge.load_weight @b{i} : tensor<32xf32>
    %m{i} = ge.MatMulV2 %x{i}, %w{i} : (!x, tensor<32x32xf32>) -> !x loc("layers.{i}.fc"("model.py":{line}:5))
    %a{i} = ge.Add %m{i}, %b{i} : (!x, tensor<32xf32>) -> !x loc("layers.{i}.fc"("model.py":{line}:5))
    %g{i} = ge.Relu %a{i} : (!x) -> !x loc("layers.{i}.act"("model.py":{line}:9))
    %s{i} = ge.SoftmaxV2 %g{i} {{axes = array<i64: 1>}} : (!x) -> !x loc("layers.{i}.softmax"("model.py":{line}:5))
    %x{next} = ge.Add %s{i}, %x{i} : (!x, !x) -> !x loc("layers.{i}.add"("model.py":{line}:5))"""


def _text(layers: int) -> str:
    weights = "".join(f"\n  ge.weight @w{i} : tensor<32x32xf32>\n  ge.weight @b{i} : tensor<32xf32>" for i in range(layers))
    body = "".join(LAYER.format(i=i, next=i + 1, line=i + 10) for i in range(layers))
    return f"""!x = tensor<16x32xf32>
builtin.module {{{weights}
  func.func @main(%x0: tensor<16x32xf32>) -> tensor<16x32xf32> {{{body}
    func.return %x{layers} : tensor<16x32xf32>
  }}
}}"""


def _lowest(layers: int, target: str) -> ModuleOp:
    text = _text(layers) if target == "Ascend910B2" else _text(layers).replace("xf32", "xf16")  # its cube has no f32
    *_, (_, module) = lower(parse_module(text), Options(target))
    return module


@pytest.mark.parametrize("target", ["Ascend910A", "Ascend910B2"])
def test_twelve_layers_have_the_kernels_of_two(target: str) -> None:
    two, twelve = (_lowest(layers, target) for layers in (2, 12))
    assert [str(kernel) for kernel in kernels(two)] == [str(kernel) for kernel in kernels(twelve)]
    assert len(launches(twelve)) == 6 * len(launches(two))


def test_each_launch_keeps_its_name_and_lines() -> None:
    module = _lowest(12, "Ascend910B2")
    found = launches(module)
    names = [launch.op_name.data for launch in found]
    assert len(set(names)) == len(names)
    for i in range(12):
        of_layer = [launch for launch in found if launch.op_name.data.startswith(f"layers.{i}.")]
        assert len(of_layer) == len(found) // 12
        assert {line for launch in of_layer for _, line in sources(launch.location)} == {f"model.py:{i + 10}"}


def test_memory_grows_with_weights_only() -> None:
    few, many = (report({"npu": _lowest(layers, "Ascend910B2")}).hbm for layers in (3, 12))
    assert many["weights"] == 4 * few["weights"]
    assert {name: size for name, size in many.items() if name != "weights"} == {n: s for n, s in few.items() if n != "weights"}


def test_twelve_layers_compute_what_operators_do() -> None:
    random = np.random.default_rng(0)
    weights = {f"w{i}": random.standard_normal((32, 32)).astype(np.float32) / 8 for i in range(12)}
    weights |= {f"b{i}": random.standard_normal(32).astype(np.float32) for i in range(12)}
    x = random.standard_normal((16, 32)).astype(np.float32)
    expected = x.astype(np.float64)
    for i in range(12):
        relu = np.maximum(expected @ weights[f"w{i}"] + weights[f"b{i}"], 0)
        powers = np.exp(relu - relu.max(axis=1, keepdims=True))
        expected = powers / powers.sum(axis=1, keepdims=True) + expected
    results = execute(_lowest(12, "Ascend910B2"), [x], weights)
    np.testing.assert_allclose(results[0], expected, rtol=1e-5, atol=1e-5)
