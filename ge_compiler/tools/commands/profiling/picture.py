"""The profile as a picture: the launches on top, then what the pipes do in the kernels that take longest."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.dialects.target import VECTOR
from ge_compiler.runtime.files import write_beside
from ge_compiler.runtime.timing.timeline import Kind, Row, Timeline, timeline
from ge_compiler.tools.commands.profiling.profile import Profile, Use, source_of
from ge_compiler.tools.commands.profiling.text import untimed_text
from ge_compiler.tools.commands.table import plural

KERNELS = 4
"""So many kernels are drawn."""

_MOVE, _STORE, _CUBE, _VECTOR, _WAIT = "#4e79a7", "#76b7b2", "#e15759", "#59a14f", "#d8d8d8"
_LAUNCH, _KERNEL = "#d7c3ae", "#8c6d4f"
_COLORS = {"mte2": _MOVE, "mte1": "#a0cbe8", "m": _CUBE, "v": _VECTOR, "fix": _STORE, "mte3": _STORE}
_DATAFLOW = {unit: i for i, unit in enumerate(("mte2", "mte1", "m", "fix", "v", "mte3"))}
_MOST_ROWS = 12
_LETTER = 0.005
"""The part of the picture's width that a letter of a launch's name takes."""
_NARROW = 0.002
"""What is narrower than this part gets no white edge, which would be all that is seen of it."""
_TITLE = 170


def check_matplotlib() -> None:
    """Raises `CompileError` if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise CompileError("drawing needs matplotlib: pip install 'ge-compiler[viz]'") from None


def write_picture(path: Path, profile: Profile) -> None:
    """Draws the profile into a PNG file. Raises `CompileError` where that cannot be written."""
    check_matplotlib()
    image = BytesIO()
    _figure(profile).savefig(image, format="png", dpi=110, metadata={"Software": None})
    with write_beside(path) as file:
        file.write(image.getvalue())


def _figure(profile: Profile) -> Any:
    from matplotlib.figure import Figure

    uses = profile.uses()[:KERNELS]
    shown = [max(timeline(use.kernel, profile.kernels[use.kernel.name]), key=lambda one: one.end) for use in uses]
    heights = [1.2, *(0.3 * len(_rows(one)) + 0.35 for one in shown)]
    figure: Any = Figure(figsize=(13, sum(heights) + 0.75 * len(heights) + 0.5), layout="constrained")
    axes = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    _launches(axes[0], profile)
    for axis, use, one in zip(axes[1:], uses, shown, strict=True):
        _kernel(axis, profile, use, one)
    _legend(figure)
    return figure


def _launches(axis: Any, profile: Profile) -> None:
    us = profile.microseconds
    for task in profile.tasks:
        start, middle, end = (us(ticks) for ticks in (task.ready, task.cores, task.end))
        _bars(axis, [(start, middle - start)], (0.1, 0.8), _LAUNCH, us(profile.ticks))
        _bars(axis, [(middle, end - middle)], (0.1, 0.8), _KERNEL, us(profile.ticks))
        if name := _fitting(task.time.name.rpartition(".")[2], (task.end - task.ready) / profile.ticks):
            axis.text((start + end) / 2, 0.06, name, ha="center", va="bottom", fontsize=7)
    how = f"{profile.launch} mode, {us(profile.ticks):.1f} µs"
    elsewhere = untimed_text(profile)
    title = f"on {profile.time.target}: {plural(len(profile.tasks), 'launch')}, {how}" + (f"; not shown: {elsewhere}" if elsewhere else "")
    room = max(_TITLE - 30 - len(title), 20)
    name = profile.name if len(profile.name) <= room else f"...{profile.name[3 - room :]}"
    axis.set_title(f"{name} {title}", loc="left", fontsize=10, pad=16)
    _style(axis, us(profile.ticks), ["launches"])


def _fitting(name: str, part: float) -> str:
    """As much of a name as fits over its part of the width, without touching the next; nothing if that says too little."""
    letters = int(part / _LETTER) - 1
    return name if len(name) <= letters else f"{name[: letters - 1]}…" if letters >= 4 else ""


def _bars(
    axis: Any, spans: list[tuple[float, float]], place: tuple[float, float], color: str, end: float, hatch: str | None = None
) -> None:
    """Slices of one color on a row that ends at `end`."""
    edges = ["white" if width > _NARROW * end else color for _, width in spans]
    axis.broken_barh(spans, place, facecolor=color, edgecolor=edges, linewidth=0.4, hatch=hatch)


def _names(one: Timeline, rows: list[Row]) -> list[str]:
    """The pipe of each row, and the lane where lanes differ."""
    lanes = list(dict.fromkeys(row.stream for row in one.rows if row.stream.kind == VECTOR))
    return [f"{row.pipe}, lane {lanes.index(row.stream) + 1}" if len(lanes) > 1 and row.stream in lanes else row.pipe for row in rows]


def _rows(one: Timeline) -> list[Row]:
    """Pipes that do something, in the order in which data passes them."""
    used = [row for row in one.rows if any(part.kind is not Kind.WAIT for part in row.slices)]
    order = {stream: i for i, stream in enumerate(dict.fromkeys(row.stream for row in one.rows))}
    return sorted(used, key=lambda row: (order[row.stream], _DATAFLOW.get(row.pipe.rpartition(".")[2], 0)))[:_MOST_ROWS]


def _kernel(axis: Any, profile: Profile, use: Use, one: Timeline) -> None:
    us, rows = profile.microseconds, _rows(one)
    for y, row in enumerate(rows):
        for kind in Kind:
            spans = [(us(part.start), us(part.end - part.start)) for part in row.slices if part.kind is kind]
            color = _WAIT if kind is Kind.WAIT else _COLORS.get(row.pipe.rpartition(".")[2], _MOVE)
            hatch = "////" if kind is Kind.STEADY else None
            _bars(axis, spans, (y + 0.12, 0.76), color, use.kernel.microseconds, hatch)
        for part in row.slices:
            if part.kind is Kind.STEADY and part.end - part.start > use.kernel.ticks / 12:
                text = f"{part.trips[1] - part.trips[0] + 1} trips, {part.busy / part.period:.0%} busy"
                axis.text(us(part.start + part.end) / 2, y + 0.5, text, ha="center", va="center", fontsize=7, backgroundcolor="#ffffffd0")
    where = ", ".join(source_of(use.tasks[0])[:2])
    count = f"{len(use.tasks)} × " if len(use.tasks) > 1 else ""
    title = f"{use.kernel.name}, {where}: {count}{use.kernel.microseconds:.2f} µs, {use.kernel.bound}"
    axis.set_title(title if len(title) < _TITLE else title[: _TITLE - 3] + "...", loc="left", fontsize=9)
    _style(axis, use.kernel.microseconds, _names(one, rows))


def _style(axis: Any, end: float, labels: list[str]) -> None:
    axis.set_xlim(0, end or 1)
    axis.set_ylim(len(labels), 0)
    axis.set_yticks([y + 0.5 for y in range(len(labels))], labels, fontsize=8)
    axis.tick_params(axis="x", labelsize=8)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel("µs", fontsize=8, loc="right", labelpad=0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)


def _legend(figure: Any) -> None:
    from matplotlib.patches import Patch

    entries = [("into the core", _MOVE, None), ("L1 to L0", "#a0cbe8", None), ("cube", _CUBE, None), ("vector", _VECTOR, None)]
    entries += [
        ("out of the core", _STORE, None),
        ("waits for a flag", _WAIT, None),
        ("launching", _LAUNCH, None),
        ("kernel", _KERNEL, None),
    ]
    patches: list[Any] = [Patch(facecolor=color, label=label) for label, color, _ in entries]
    patches.append(Patch(facecolor="#ffffff", edgecolor="#888888", hatch="////", label="steady loop"))
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches), fontsize=8, frameon=False)
