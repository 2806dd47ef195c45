"""
The Python API: compile a model, call it, look at any level of it, save and load it.

    import ge_compiler as ge

    program = ge.compile(model, args=(x,), target="Ascend910A")
    y = program(x)
    print(program.text("tile"))
    program.save("model.om")
    ge.load("model.om")(x)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ge_compiler import __version__
from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError, Remark, did_you_mean
from ge_compiler.dialects.target import table_digest
from ge_compiler.runtime.om import Artifact, malformed
from ge_compiler.runtime.signature import DTYPES, FLOATS, Array, Signature, State, TensorSpec, dtype_name, nest
from ge_compiler.runtime.weights import WeightStore
from ge_compiler.tools.compilation import FALLBACKS, PRECISION_MODES, Options, compile_levels, text_of, tiling_text

# What executes a program is imported when one is: it takes as long to load as the whole of a small compilation.
if TYPE_CHECKING:
    import torch

    from ge_compiler.runtime.execute import Statistics
    from ge_compiler.runtime.lifted import Lifted
    from ge_compiler.runtime.report import Report


@dataclass
class Program:
    """A compiled model: its modules at every level, its weights, and what it takes and gives."""

    signature: Signature
    weights: WeightStore
    options: Options
    dtype: str | None
    """What the model's floats were converted to, if asked; floating inputs of a call are converted likewise."""
    origin: Mapping[str, Any] | None = None
    """The factory of the model, its file's SHA-256 and the seed, if it came from one."""
    target_digest: str | None = None
    """The SHA-256 of the table file of its chip, if that is a user's."""
    remarks: Sequence[Remark] = ()
    """What passes had to say; not kept in a file."""
    _modules: dict[str, ModuleOp] = field(default_factory=dict[str, ModuleOp], repr=False)
    _texts: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    _source: str = "<program>"
    _states: dict[str, Array] = field(default_factory=dict[str, Array], repr=False)
    _lifted: Lifted | None = field(default=None, repr=False)

    @property
    def states(self) -> dict[str, Array]:
        """What the buffers that the model changes hold now, by their names in the model. Calls go on from what is written here."""
        for state in self.signature.buffers:
            if state.initial is not None and state.tensor.name not in self._states:
                self._states[state.tensor.name] = self.weights[state.initial].copy()
        return self._states

    def reset(self) -> None:
        """Gives the buffers that the model changes their first contents back."""
        self._states.clear()

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that the program is kept at, from the top."""
        return tuple(level for level in LEVELS if level in self._modules or level in self._texts)

    def module(self, level: str = LEVELS[-1]) -> ModuleOp:
        """The module at `level`. Raises `CompileError` for a level that there is not."""
        if level not in self.levels:
            raise CompileError(f"the program has no level '{level}'{did_you_mean(level, self.levels)}; levels: {', '.join(self.levels)}")
        if level not in self._modules:
            from ge_compiler.dialects.parser import parse_module

            self._modules[level] = parse_module(self._texts[level], f"{self._source}:{level}")
        return self._modules[level]

    def text(self, level: str = LEVELS[-1], *, locations: bool = False) -> str:
        """The text of the module at `level`."""
        return text_of(self.module(level), locations)

    def report(self) -> Report:
        """Operators, kernels, bytes and instructions."""
        from ge_compiler.runtime.report import report

        return report({level: self.module(level) for level in self.levels}, self.remarks)

    def memory(self) -> list[dict[str, Any]]:
        """Who holds how many bytes of which memory: a row for each kernel and on-chip memory, and for each kind of tensor in HBM."""
        found = self.report()
        on_chip = [(kernel.name, memory, held) for kernel in found.kernels for memory, held in kernel.bytes.items()]
        rows = [*on_chip, *((what, "gm", held) for what, held in found.hbm.items())]
        return [{"holder": who, "memory": memory, "bytes": held, "capacity": found.capacities[memory]} for who, memory, held in rows]

    def run(
        self,
        inputs: Sequence[Array],
        level: str | None = None,
        statistics: Statistics | None = None,
        *,
        check: bool = False,
        shadow_limit: int | None = None,
    ) -> list[Array]:
        """
        The outputs on arrays in the order of the signature, then the new contents of the states; at `level` (the lowest by default).

        Buffers start from `states`. Nothing is changed: it is a call that keeps the new contents. At `npu` many blocks of a kernel run at
        once, with the same bits; with `check` every instruction runs by itself, and what it reads is checked. `shadow_limit` is how many
        bytes of weights may be kept in f32 as well (until another limit is given).
        """
        from ge_compiler.runtime.execute import execute
        from ge_compiler.tools.host import run_on_host

        self.signature.check(inputs)
        arrays = [*inputs, *map(self._contents, self.signature.buffers)]
        level = level or self.levels[-1]
        lifted = None if check or level != LEVELS[-1] else self._lifted_with(shadow_limit)
        return execute(self.module(level), arrays, self.weights, statistics=statistics, host=run_on_host, lifted=lifted)

    def _lifted_with(self, shadow_limit: int | None) -> Lifted:
        from ge_compiler.runtime.lifted import Lifted
        from ge_compiler.tools.conversions import use_torch_if_loaded

        use_torch_if_loaded()
        if self._lifted is None or (shadow_limit is not None and shadow_limit != self._lifted.shadows.limit):
            self._lifted = Lifted(shadow_limit=shadow_limit)
        return self._lifted

    def _contents(self, state: State) -> Array:
        array = self.states[state.tensor.name]
        if array.shape != state.tensor.shape or dtype_name(array.dtype) != state.tensor.dtype:
            got = TensorSpec(state.tensor.name, array.shape, dtype_name(array.dtype))
            raise TypeError(f"state '{state.tensor.name}' must be {state.tensor}, got {got}")
        return array

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """
        The model's results, nested as in the model: arrays if the inputs are arrays, else torch tensors, strided as eager's.

        Buffers that the model changes keep their new contents for the next call; inputs that it changes are changed. Raises `TypeError`
        for inputs with other names, shapes or dtypes than the program was compiled for.
        """
        leaves = self.signature.bind(args, kwargs)
        wants_torch = any(map(_is_torch, leaves)) or (not leaves and "torch" in sys.modules)
        inputs = [_as_array(leaf, spec, self.dtype) for leaf, spec in zip(leaves, self.signature.inputs, strict=True)]
        results = self.run(inputs)
        for state in self.signature.states:
            if state.initial is not None:
                self.states[state.tensor.name] = results[state.result].copy()  # which an output may be as well
            else:
                _overwrite(leaves[state.argument], results[state.result])
        outputs: Sequence[Any] = results[: len(self.signature.outputs)]
        if wants_torch:
            outputs = [_as_tensor(array, spec) for array, spec in zip(outputs, self.signature.outputs, strict=True)]
        return nest(self.signature.structure, outputs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the program to an `.om` file. Raises `CompileError` where that is not possible."""
        header = {
            "compiler": __version__,
            "dtype": self.dtype,
            "options": self.options.to_json(),
            "origin": None if self.origin is None else dict(self.origin),
            "signature": self.signature.to_json(),
            "target_sha256": self.target_digest,
        }
        texts = {level: self._texts.get(level) or self.text(level, locations=True) for level in self.levels}
        Artifact(header, texts, self.weights).save(path)


def compile(
    model: torch.nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    target: str | None = None,
    dtype: str | None = None,
    tiling: Mapping[str, Mapping[str, int]] | Sequence[str] | None = None,
    precision_mode: str | None = None,
    fallback: str | None = None,
) -> Program:
    """
    Compiles `model` for inputs with the shapes and dtypes of `args` and `kwargs`.

    `dtype` (`f16`, `bf16`, `f32`) converts the model's floats in a copy. `tiling` sets tile sizes: `{"MatMulV2Gelu": {"m": 16}}`.
    `fallback="error"` refuses operators that would not run on the AI Cores. Raises `CompileError` with the model's Python line for what
    cannot be compiled.
    """
    from ge_compiler.lowering.from_torch.importer import import_model

    if dtype is not None and dtype not in FLOATS:
        raise CompileError(f"dtype must be one of {', '.join(FLOATS)}, got '{dtype}'")
    options = make_options(target, precision_mode, tiling, fallback)
    imported = import_model(model, args, kwargs, dtype=dtype)
    return compile_module(imported.module, imported.weights, options, imported.signature, dtype)


def make_options(
    target: str | None,
    precision_mode: str | None,
    tiling: Mapping[str, Mapping[str, int]] | Sequence[str] | None,
    fallback: str | None = None,
) -> Options:
    """Options with what is not given at its default. Raises `CompileError` for what is unknown or not understood."""
    from ge_compiler.lowering.select_schedule import parse_tiling

    mode, elsewhere = precision_mode or PRECISION_MODES[0], fallback or FALLBACKS[0]
    if mode not in PRECISION_MODES:
        raise CompileError(f"unknown precision mode '{mode}'{did_you_mean(mode, PRECISION_MODES)}; modes: {', '.join(PRECISION_MODES)}")
    if elsewhere not in FALLBACKS:
        raise CompileError(f"fallback must be one of {', '.join(FALLBACKS)}, got '{elsewhere}'")
    tile_sizes = tiling_text(tiling)
    for text in tile_sizes:
        parse_tiling(text)
    return Options(target or Options.target, mode, tile_sizes, elsewhere)


def compile_module(
    module: ModuleOp, weights: WeightStore, options: Options, signature: Signature, dtype: str | None = None, stop: str = LEVELS[-1]
) -> Program:
    """The program of a module, which is changed, from its own level down to `stop`."""
    modules, remarks = compile_levels(module, options, stop)
    digest = table_digest(options.target)
    return Program(signature, weights, options, dtype, target_digest=digest, remarks=remarks, _modules=modules)


def load(path: str | os.PathLike[str]) -> Program:
    """The program of an `.om` file; weights stay in the file until they are used. Raises `CompileError` for a file that is not right."""
    artifact = Artifact.load(path)
    header, name = artifact.header, os.fspath(path)
    try:
        program = Program(
            signature=Signature.from_json(header["signature"]),
            weights=artifact.weights,
            options=Options.from_json(header["options"]),
            dtype=header["dtype"],
            origin=header["origin"],
            target_digest=header.get("target_sha256"),
            _texts=dict(artifact.texts),
            _source=name,
        )
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise malformed(name, error) from error
    target = program.options.target
    if program.target_digest != table_digest(target):
        raise CompileError(f"{target} has changed since {name} was compiled for it: compile it again")
    return program


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _as_array(value: Any, spec: TensorSpec, dtype: str | None) -> Array:
    if _is_torch(value):
        from ge_compiler.lowering.from_torch.dtypes import to_numpy

        value = to_numpy(value)
    elif not isinstance(value, np.ndarray):
        raise TypeError(f"input '{spec.name}' must be a tensor or an array, got {type(value).__name__}")
    array = cast("Array", value)
    if dtype is not None and spec.dtype == dtype and (array.dtype.kind == "f" or array.dtype in (DTYPES[name] for name in FLOATS)):
        return array.astype(DTYPES[dtype], copy=False)
    return array


def _overwrite(target: Any, array: Array) -> None:
    """Gives a caller's tensor or array, which may have another float type, new contents."""
    if _is_torch(target):
        from ge_compiler.lowering.from_torch.dtypes import to_torch

        target.detach().copy_(to_torch(array))
    else:
        np.copyto(target, array, casting="unsafe")


def _as_tensor(array: Array, spec: TensorSpec) -> torch.Tensor:
    from ge_compiler.lowering.from_torch.dtypes import to_torch, with_strides

    return to_torch(array) if spec.strides is None else with_strides(to_torch(array), spec.strides)
