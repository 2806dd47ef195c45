"""What the sub-commands of gec share: options, progress, and getting from a command line to a program."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.ir import Attribute

from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.target import DEFAULT_TARGET, available_targets, load_target, target_name_of, target_of
from ge_compiler.dialects.types import shaped_type
from ge_compiler.runtime.signature import FLOATS, Array, Signature, State, TensorSpec
from ge_compiler.tools.api import Program, compile_module, make_options
from ge_compiler.tools.commands.factory import Factory, model_output
from ge_compiler.tools.commands.inputs import Input, call_of, float_dtype, parse_inputs
from ge_compiler.tools.compilation import FALLBACKS, PRECISION_MODES, Options
from ge_compiler.tools.opt.registry import UsageError

if TYPE_CHECKING:
    import torch
    from xdsl.dialects.func import FuncOp

    from ge_compiler.lowering.from_torch.importer import Imported


class Progress:
    """One line on standard error for each step that is done, with its time."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def done(self, what: str) -> None:
        now = time.perf_counter()
        sys.stderr.write(f"gec: {what} ({now - self._start:.1f} s)\n")
        self._start = now


@dataclass(frozen=True)
class Compiled:
    """A program with the model that it comes from."""

    program: Program
    imported: Imported


def add_compilation_options(parser: argparse.ArgumentParser) -> None:
    """The options of commands that compile."""
    add = parser.add_argument
    add(
        "--input",
        action="append",
        default=[],
        metavar="SPEC",
        help="an input: x=f16[32,768], x=f16[32,768]=rand:0, x=@x.npy (repeat)",
    )
    add("--target", metavar="NAME", help=f"{', '.join(available_targets())}, or a table file CHIP.toml (default: {DEFAULT_TARGET})")
    add("--dtype", choices=FLOATS, help="the dtype of the model's floats (default: that of the floating inputs)")
    add("--seed", type=_seed, default=0, metavar="N", help="the seed under which the model is made (default: 0)")
    add(
        "--tiling",
        action="append",
        default=[],
        metavar="KERNEL=m:16,n:128",
        help="tile sizes of a kernel; others are chosen (repeat)",
    )
    add(
        "--precision-mode",
        choices=PRECISION_MODES,
        metavar="MODE",
        help="allow_fp32_to_fp16: f32 products may run in f16",
    )
    add("--fallback", choices=FALLBACKS, help="error: refuse operators that would not run on the AI Cores (default: allow)")


def _seed(text: str) -> int:
    if not text.isdecimal() or len(text) > 20 or int(text) >= 1 << 64:  # Python refuses to read numbers of thousands of digits
        raise argparse.ArgumentTypeError(f"must be from 0 to 2^64 - 1, got '{text}'")
    return int(text)


def check_writable(path: Path) -> None:
    """Before the work, not after it. Raises `CompileError` where a file cannot be written."""
    folder = path.parent
    if path.is_dir():
        raise CompileError(f"cannot write {path}: Is a directory")
    if not folder.is_dir():
        raise CompileError(f"cannot write {path}: there is no folder {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise CompileError(f"cannot write {path}: Permission denied")


def program_of_factory(options: argparse.Namespace, progress: Progress, stop: str = LEVELS[-1]) -> Compiled:
    """Makes the model, imports it and compiles it down to the level `stop`."""
    factory = Factory.parse(options.model, options.seed)
    chosen = _options_of(options)
    inputs = parse_inputs(options.input)
    dtype = options.dtype or float_dtype(inputs)
    origin = factory.to_json()
    model = factory.build()
    progress.done(f"made {factory}")
    imported = import_with(model, inputs, dtype)
    progress.done(f"imported {factory}")
    program = compile_module(imported.module, imported.weights, chosen, imported.signature, dtype, stop)
    program.origin = origin
    progress.done(f"compiled for {chosen.target}")
    return Compiled(program, imported)


def import_with(model: torch.nn.Module, inputs: Sequence[Input], dtype: str | None) -> Imported:
    """Imports `model` for inputs that are named after the parameters of its `forward`."""
    from ge_compiler.lowering.from_torch.export import forward_parameters
    from ge_compiler.lowering.from_torch.importer import import_model

    kinds = {p.name: p.kind for p in inspect.signature(model.forward).parameters.values()}
    parameters, names = list(kinds), ", ".join(kinds)
    if not inputs and parameters:
        example = f"{parameters[0]}.0" if kinds[parameters[0]] is inspect.Parameter.VAR_POSITIONAL else parameters[0]
        raise UsageError(f"the inputs of forward({names}) are missing; give each its dtype and sizes: --input '{example}=f16[32,768]'")
    takes_any = inspect.Parameter.VAR_KEYWORD in kinds.values()
    if unknown := [i.name for i in inputs if i.parameter not in kinds and not takes_any]:
        raise UsageError(f"--input {unknown[0]}: forward has no parameter '{unknown[0]}'; its parameters: {names}")
    ordered = sorted(inputs, key=lambda i: parameters.index(i.parameter) if i.parameter in kinds else len(parameters))
    args, kwargs = call_of(forward_parameters(model), {i.name: tensor_of(i.array()) for i in ordered})
    with model_output():
        return import_model(model, args, kwargs, dtype=dtype)


def tensor_of(array: Array) -> torch.Tensor:
    """A tensor with the elements of `array`."""
    from ge_compiler.lowering.from_torch.dtypes import to_torch

    return to_torch(array)


def program_of_module(options: argparse.Namespace, progress: Progress, stop: str = LEVELS[-1], with_weights: bool = True) -> Program:
    """Reads a module, with the weights beside it unless they are not needed, and compiles it from its own level down to `stop`."""
    from ge_compiler.dialects.parser import parse_module
    from ge_compiler.runtime.weights import WeightStore, load_beside

    if options.input or options.dtype:
        raise UsageError(f"{options.model} has its inputs' shapes and dtypes in its text; leave --input and --dtype out")
    if options.seed:
        raise UsageError(f"{options.model} has its weights in a file beside it; leave --seed out")
    try:
        text = Path(options.model).read_bytes()
    except OSError as error:
        raise CompileError(f"cannot read {options.model}: {error.strerror}") from None
    module = parse_module(text, options.model)
    weights = load_beside(module, options.model) if with_weights else WeightStore({})
    chosen = _options_of(options)
    if options.target is None:
        target_of(module)  # a name that is wrong is reported with the module's line
        chosen = replace(chosen, target=target_name_of(module))
    program = compile_module(module, weights, chosen, _signature_of(module), stop=stop)
    progress.done(f"compiled {options.model} for {program.options.target}")
    return program


def _options_of(options: argparse.Namespace) -> Options:
    if options.target is not None and not options.target.endswith(".toml"):
        try:
            load_target(options.target)
        except CompileError as error:
            raise UsageError(error.message) from error
    return make_options(options.target, options.precision_mode, options.tiling, options.fallback)


def _signature_of(module: ModuleOp) -> Signature:
    from ge_compiler.dialects.states import states
    from ge_compiler.runtime.border import main_of, result_count

    main = main_of(module)
    arguments = list(main.body.block.args)
    count = result_count(main)
    inputs = arguments[: len(arguments) - count]
    names = [value.name_hint or f"arg{i}" for i, value in enumerate(inputs)]
    updates = {result: argument for argument, result in states(main).items()}
    returned = [type_ for i, type_ in enumerate(main.function_type.outputs) if i not in updates]
    results = [value.type for value in arguments[len(arguments) - count :]] or returned
    output_names = ["y"] if len(results) == 1 else [f"y{i}" for i in range(len(results))]
    return Signature(
        inputs=tuple(_spec(main, name, value.type) for name, value in zip(names, inputs, strict=True)),
        outputs=tuple(_spec(main, name, type_) for name, type_ in zip(output_names, results, strict=True)),
        parameters=tuple(names),
        arguments=tuple(names),
        states=tuple(State(_spec(main, names[i], inputs[i].type), i, result, None) for result, i in sorted(updates.items())),
    )


def _spec(main: FuncOp, name: str, type_: Attribute) -> TensorSpec:
    from ge_compiler.dialects.semantics import dtype_of
    from ge_compiler.runtime.signature import DTYPES, dtype_name

    shaped = shaped_type(cast("Attribute", type_)) if isinstance(type_, TensorType | MemRefType) else None
    if shaped is None or min((0, *shaped.get_shape())) < 0:
        raise CompileError.at(main, f"takes and gives tensors of static shape; '{name}' is {type_}")
    dtype = dtype_name(dtype_of(shaped.get_element_type()))
    if dtype not in DTYPES:
        raise CompileError.at(main, f"'{name}' is {type_}; a program takes and gives {', '.join(DTYPES)}")
    return TensorSpec(name, shaped.get_shape(), dtype)
