"""Taking a module through the levels with a user's options, keeping what it is at each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.printer import Printer

from ge_compiler import dialects
from ge_compiler.dialects import LEVELS
from ge_compiler.dialects.diagnostics import CompileError, Remark, collect_remarks
from ge_compiler.dialects.garbage import garbage_uncollected
from ge_compiler.dialects.target import DEFAULT_TARGET, TARGET_ATTRIBUTE, load_target
from ge_compiler.dialects.verifier import verify_module
from ge_compiler.lowering.pipelines import checks, module_level
from ge_compiler.runtime.engines import engine_rows, refuse
from ge_compiler.tools.opt.pass_manager import PassManager

PRECISION_MODES = ("must_keep_origin_dtype", "allow_fp32_to_fp16")
FALLBACKS = ("allow", "error")


@dataclass(frozen=True)
class Options:
    """What a user may set about a compilation."""

    target: str = DEFAULT_TARGET
    precision_mode: str = PRECISION_MODES[0]
    tiling: tuple[str, ...] = ()
    """Tile sizes of kernels, each as `KERNEL=key:size,...`."""
    fallback: str = FALLBACKS[0]
    """Whether operators may run elsewhere than on the AI Cores; `error` refuses them."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"tiling": list(self.tiling)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Options:
        return Options(data["target"], data["precision_mode"], tuple(data["tiling"]), data.get("fallback", FALLBACKS[0]))


def compile_levels(module: ModuleOp, options: Options, stop: str = LEVELS[-1]) -> tuple[dict[str, ModuleOp], tuple[Remark, ...]]:
    """
    The module, which is changed, at its own level and at each below down to `stop`, and what passes had to say.

    Raises `CompileError` for a fault of the module or the options, and for what runs elsewhere than on the AI Cores if that is forbidden.
    """
    modules: dict[str, ModuleOp] = {}
    with collect_remarks() as remarks, garbage_uncollected():
        for level, lowered in lower(module, options, stop):
            if options.fallback == "error" and (level == "fused" or not modules):
                refuse(engine_rows(lowered, remarks))
            modules[level] = lowered
    return modules, tuple(remarks)


def lower(module: ModuleOp, options: Options, stop: str = LEVELS[-1]) -> Iterator[tuple[str, ModuleOp]]:
    """
    The module at its own level and at each below, down to `stop`, as modules of their own; the given one is changed and becomes the last.

    Raises `CompileError` for a fault of the module or the options.
    """
    load_target(options.target)
    context = dialects.context()
    module.attributes[TARGET_ATTRIBUTE] = StringAttr(options.target)
    start = module_level(module)
    _check_choices(start, options)
    if start != LEVELS[0]:
        verify_module(module)  # which pipes and memories there are depends on the target
        PassManager(checks(start)).run(context, module)
    _apply_choices(context, module, start, options)
    yield start, module.clone()
    for level in LEVELS[LEVELS.index(start) + 1 : LEVELS.index(stop) + 1]:
        # Verifying after each pass, as ge-opt does, would cost more than the passes: each stage ends in gates of its own.
        PassManager(f"to-{level}", verify_each=False).run(context, module)
        _apply_choices(context, module, level, options)
        if level == stop:
            verify_module(module)
        yield level, module if level == stop else module.clone()


def _check_choices(start: str, options: Options) -> None:
    """Raises `CompileError` for a choice that a module at the level `start` has behind it."""
    if options.precision_mode != PRECISION_MODES[0] and start != LEVELS[0]:
        raise CompileError(f"the precision mode has no effect on a module at level '{start}', whose element types are chosen; leave it out")
    if options.tiling and LEVELS.index(start) > LEVELS.index("fused"):
        raise CompileError(f"tile sizes have no effect on a module at level '{start}', whose tiles are chosen; leave the tiling out")


def _apply_choices(context: Context, module: ModuleOp, level: str, options: Options) -> None:
    """Writes what the user chose into the module at `level`, so that the pipelines below find it there."""
    if level == "ge" and options.precision_mode != PRECISION_MODES[0]:
        PassManager(f"legalize{{precision-mode={options.precision_mode}}}").run(context, module)
    if level == "fused" and options.tiling:
        from ge_compiler.lowering.select_schedule import SelectSchedulePass

        SelectSchedulePass(tiling=options.tiling).apply(context, module)


def tiling_text(tiling: Mapping[str, Mapping[str, int]] | Sequence[str] | None) -> tuple[str, ...]:
    """Tile sizes as `KERNEL=key:size,...`, from that form or from `{"KERNEL": {"key": size}}`."""
    if not isinstance(tiling, Mapping | Sequence | None) or isinstance(tiling, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompileError(f"tiling must be a list of KERNEL=key:size,... or a mapping from kernels to sizes, got {tiling!r}")
    if not isinstance(tiling, Mapping):
        return tuple(tiling or ())
    return tuple(f"{kernel}={','.join(f'{key}:{size}' for key, size in sizes.items())}" for kernel, sizes in tiling.items())


def text_of(module: ModuleOp, locations: bool = False) -> str:
    """The text of a module, ending in a newline."""
    stream = StringIO()
    Printer(stream, print_debuginfo=locations).print_op(module)
    return stream.getvalue() + "\n"
