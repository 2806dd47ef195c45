"""The profile as a picture: the launches on top, then what the pipes do in the kernels that take longest."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from ge_compiler.dialects.diagnostics import CompileError
from ge_compiler.runtime.files import write_beside
from ge_compiler.runtime.timing.timeline import Kind, Row, Timeline, timeline
from ge_compiler.tools.commands.profiling.profile import Profile, Use, source_of

KERNELS = 4
"""So many kernels are drawn."""

_MOVE, _STORE, _CUBE, _VECTOR, _WAIT = "#4e79a7", "#76b7b2", "#e15759", "#59a14f", "#d8d8d8"
_LAUNCH, _KERNEL = "#d7c3ae", "#8c6d4f"
_COLORS = {"mte2": _MOVE, "mte1": "#a0cbe8", "m": _CUBE, "v": _VECTOR, "fix": _STORE, "mte3": _STORE}
_DATAFLOW = {unit: i for i, unit in enumerate(("mte2", "mte1", "m", "fix", "v", "mte3"))}
_MOST_ROWS = 12


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
        axis.broken_barh([(start, middle - start)], (0.1, 0.8), facecolor=_LAUNCH, edgecolor="white", linewidth=0.4)
        axis.broken_barh([(middle, end - middle)], (0.1, 0.8), facecolor=_KERNEL, edgecolor="white", linewidth=0.4)
        if task.end - task.ready > profile.ticks / 14:
            axis.text((start + end) / 2, 0.06, task.time.name.rpartition(".")[2], ha="center", va="bottom", fontsize=7)
    how = f"{profile.launch} mode, {us(profile.ticks):.1f} µs"
    axis.set_title(f"{profile.name} on {profile.time.target}: {len(profile.tasks)} launches, {how}", loc="left", fontsize=10, pad=16)
    _style(axis, us(profile.ticks), ["launches"])


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
            axis.broken_barh(spans, (y + 0.12, 0.76), facecolor=color, edgecolor="white", linewidth=0.3, hatch=hatch)
        for part in row.slices:
            if part.kind is Kind.STEADY and part.end - part.start > use.kernel.ticks / 12:
                text = f"{part.trips[1] - part.trips[0] + 1} trips, {part.busy / part.period:.0%} busy"
                axis.text(us(part.start + part.end) / 2, y + 0.5, text, ha="center", va="center", fontsize=7, backgroundcolor="#ffffffd0")
    where = ", ".join(source_of(use.tasks[0])[:2])
    count = f"{len(use.tasks)} × " if len(use.tasks) > 1 else ""
    title = f"{use.kernel.name}, {where}: {count}{use.kernel.microseconds:.2f} µs, {use.kernel.bound}"
    axis.set_title(title if len(title) < 170 else title[:167] + "...", loc="left", fontsize=9)
    _style(axis, use.kernel.microseconds, [row.pipe for row in rows])


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
