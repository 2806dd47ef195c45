"""Plain-text tables and figures."""

from __future__ import annotations

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), indent: str = "  ") -> str:
    """Columns aligned by spaces under a header; those in `right` (numbers) at their right side. Columns without content are left out."""
    columns = [i for i in range(len(header)) if any(row[i] for row in rows)]
    lines = [header, *rows]
    widths = {i: max(len(line[i]) for line in lines) for i in columns}

    def cell(line: Sequence[str], i: int) -> str:
        return line[i].rjust(widths[i]) if i in right else line[i].ljust(widths[i])

    return "\n".join((indent + "  ".join(cell(line, i) for i in columns)).rstrip() for line in lines)


def bytes_text(count: int) -> str:
    """`512 B`, `8.0 KiB`, `9.01 MiB`."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}" if count < 100 * size else f"{count / size:.0f} {unit}"
    return f"{count} B"


def figure(value: float | None) -> str:
    """An error in three digits; `-` where there is none."""
    return "-" if value is None else "0" if value == 0 else f"{value:.2e}" if value < 1e-2 or value >= 1e4 else f"{value:.3g}"


def cosine(value: float | None) -> str:
    """Seven digits, of which the last tell f32 from exact; `-` where there is none."""
    return "-" if value is None else f"{value:.7f}"


def plural(count: int, noun: str) -> str:
    """`1 kernel`, `2 kernels`, `2 launches`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{'es' if noun.endswith('ch') else 's'}"
