"""What `ge-opt --show-...` prints."""

from __future__ import annotations

from collections.abc import Iterator

from ge_compiler import dialects
from ge_compiler.dialects.diagnostics import did_you_mean
from ge_compiler.lowering.pipelines import PIPELINES
from ge_compiler.tools.opt.registry import UsageError, available_passes, load_pass, pass_options, pass_summary


def show_dialects() -> Iterator[str]:
    for name in dialects.DIALECTS:
        dialect = dialects.load_dialect(name)
        operations, attributes = len(list(dialect.operations)), len(list(dialect.attributes))
        yield f"{name:<10} {operations:>4} operations, {attributes:>3} attributes and types"


def show_passes() -> Iterator[str]:
    yield "passes:"
    for name in available_passes():
        pass_class = load_pass(name)
        yield f"  {name:<28} {pass_summary(pass_class)}"
        for option in pass_options(pass_class):
            default = "required" if option.default is None else f"default {option.default}"
            yield f"      {option.name + ': ' + option.type:<28} {option.summary} ({default})"
    yield "pipelines:"
    for pipeline in PIPELINES.values():
        yield f"  {pipeline.name:<28} {pipeline.summary}"


def show_pipeline(name: str) -> Iterator[str]:
    if name not in PIPELINES:
        raise UsageError(f"unknown pipeline '{name}'{did_you_mean(name, PIPELINES)}; pipelines: {', '.join(PIPELINES)}")
    steps = PIPELINES[name].steps()
    width = max((len(step.pass_spec) for step in steps), default=0)
    for step in steps:
        yield f"{step.pass_spec:<{width}}  {step.reason}"


def show_targets() -> Iterator[str]:
    from ge_compiler.dialects.target import available_targets, load_target

    for name in available_targets():
        yield f"{name:<14} {load_target(name).summary}"
