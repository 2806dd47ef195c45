"""Running passes: resolve names first, then run, verify and let an observer watch each one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import DiagnosticException

from ge_compiler.dialects.diagnostics import CompileError, did_you_mean
from ge_compiler.tools.opt.pipeline_text import PassCall, build_pass, parse_pipeline
from ge_compiler.tools.opt.registry import UsageError, available_passes

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from ge_compiler.lowering.pipelines import Pipeline


class PassObserver:
    """Sees every pass before and after it runs; does nothing by itself."""

    def before(self, spec: str, module: ModuleOp) -> None: ...

    def after(self, spec: str, module: ModuleOp, seconds: float) -> None: ...

    def failed(self, spec: str, module: ModuleOp) -> None: ...


class InternalError(Exception):
    """A pass broke on valid input: our own fault, with the cause attached."""

    def __init__(self, spec: str, cause: Exception) -> None:
        super().__init__(f"internal error in pass {spec}: {type(cause).__name__}: {' '.join(str(cause).split())}")


class PassManager:
    """
    A pipeline that is ready to run: every name and option in it is known to be right.

    Raises `UsageError` at once for an unknown pass, pipeline or option.
    """

    def __init__(self, pipeline: str | Sequence[PassCall], *, verify_each: bool = True, observer: PassObserver | None = None) -> None:
        self.calls = parse_pipeline(pipeline) if isinstance(pipeline, str) else list(pipeline)
        self.verify_each = verify_each
        self.observer = PassObserver() if observer is None else observer
        for call in self.calls:
            if _pipeline(call) is None:
                build_pass(call)

    def run(self, context: Context, module: ModuleOp) -> None:
        """
        Runs the passes in order on `module`, in place.

        Raises `CompileError` for a fault of the input or a module that a pass left invalid, `InternalError` where a pass breaks.
        """
        for call in self.calls:
            for step in _expand(call, module):
                self._run_pass(build_pass(step), str(step), context, module)

    def _run_pass(self, module_pass: ModulePass, spec: str, context: Context, module: ModuleOp) -> None:
        self.observer.before(spec, module)
        start = perf_counter()
        try:
            module_pass.apply(context, module)
            if self.verify_each:
                _verify(module, spec)
        except Exception as error:
            self.observer.failed(spec, module)
            if isinstance(error, CompileError):
                _note_launches(error)
                raise
            if isinstance(error, DiagnosticException):
                raise CompileError.at(module, f"{error} (in pass {spec})") from error
            raise InternalError(spec, error) from error
        self.observer.after(spec, module, perf_counter() - start)


def _note_launches(error: CompileError) -> None:
    """Of a kernel that is launched several times, an error has the lines of the first launch only: it says how many more there are."""
    from xdsl.dialects.func import FuncOp

    from ge_compiler.dialects.fused import is_kernel, launched_here

    function = error.op
    while function is not None and not isinstance(function, FuncOp):
        function = function.parent_op()
    if function is not None and is_kernel(function):
        error.notes += tuple(note for note in launched_here(function) if note.message.endswith(" more") and note not in error.notes)


def _verify(module: ModuleOp, spec: str) -> None:
    from ge_compiler.dialects.verifier import verify_module

    try:
        verify_module(module)
    except CompileError as error:
        raise CompileError(f"{error.message} (after pass {spec})", error.location, error.notes) from error


def _expand(call: PassCall, module: ModuleOp) -> Iterator[PassCall]:
    """A named pipeline becomes what is left of it at the level of the module; the level is read when its turn comes."""
    pipeline = _pipeline(call)
    if pipeline is None:
        yield call
        return
    from ge_compiler.lowering.pipelines import module_level

    for step in pipeline.steps(module_level(module)):
        yield from parse_pipeline(step.pass_spec)


def _pipeline(call: PassCall) -> Pipeline | None:
    """The pipeline that a call names, None where it names a pass. Raises `UsageError` where it names neither."""
    if call.name in available_passes():
        return None
    from ge_compiler.lowering.pipelines import PIPELINES

    if call.name not in PIPELINES:
        hint = did_you_mean(call.name, [*available_passes(), *PIPELINES])
        raise UsageError(f"unknown pass '{call.name}'{hint}; --show-passes lists passes and pipelines")
    if call.options:
        raise UsageError(f"pipeline '{call.name}' takes no options; give them to its passes (--show-pipeline {call.name} lists them)")
    return PIPELINES[call.name]
