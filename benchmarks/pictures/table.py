"""What is written into pages: the table of docs/performance.md, the pictures of README.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .averages import table_lines
from .runs import DTYPES, PASSES, Row, caption, grouped, most_threads, of_pass, versions

NOTE = "(benchmarks/plot writes what follows)"
TABLE = f"<!-- table: begin {NOTE} -->", "<!-- table: end -->"
PICTURES = f"<!-- pictures: begin {NOTE} -->", "<!-- pictures: end -->"


def cell(row: Row | None) -> str:
    if row is None:
        return ""
    text = f"{row['fraction']:.2f}"
    if row.get("two_pass_limit_us"):
        text += f" ({row['two_pass_limit_us'] / row['ours_us']:.2f})"
    if row.get("speedup"):
        mark = "!" if row["fastest_peer"] in row.get("wrong_peers", {}) else ""
        text += f", {row['speedup']:.2f}x {row['fastest_peer']}{mark}"
    return text + (" ~" if row["disturbed"] else "")


def table_of(rows: list[Row]) -> list[str]:
    lines = ["| | " + " | ".join(DTYPES) + " |", "|---" * (len(DTYPES) + 1) + "|"]
    for heading, shapes in grouped(rows).items():
        lines.append(f"| **{heading}** |" + " |" * len(DTYPES))
        for shape, by_dtype in shapes.items():
            cells = [cell(by_dtype.get(dtype)) for dtype in DTYPES]
            lines.append(f"| {shape} | " + " | ".join(cells) + " |")
    return lines


def section(run: dict[str, Any]) -> list[str]:
    lines = []
    for threads in sorted({row["threads"] for row in run["rows"]}, reverse=True):
        rows = [row for row in run["rows"] if row["threads"] == threads]
        lines += [f"{threads} thread{'s' if threads > 1 else ''}. {caption(run)}", ""]
        lines += [f"Versions: {versions(run)}.", ""] if run.get("versions") else []
        lines += [*table_lines(rows), ""]
        for which in PASSES:
            if mine := of_pass(rows, which):
                lines += [f"### {which.capitalize()}", "", *table_of(mine), ""]
    return lines


def replace_between(text: str, marks: tuple[str, str], lines: list[str]) -> str:
    """The text with these lines between the two marks."""
    before, begin, rest = text.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise ValueError(f"the marks are missing: {' ... '.join(marks)}")
    return "\n".join([before + begin, "", *lines, end]) + after


def write_table(path: Path, runs: list[dict[str, Any]]) -> None:
    lines = [line for run in runs for line in section(run)]
    path.write_text(replace_between(path.read_text(), TABLE, lines))


def write_pictures(
    path: Path, run: dict[str, Any], texts: dict[str, str], *, with_averages: bool = False
) -> None:
    """texts: file of a picture, from the page: what it shows."""
    lines = [f"{caption(run)} ({versions(run)})" if run.get("versions") else caption(run), ""]
    if with_averages:
        lines += [*table_lines(most_threads(run["rows"])), ""]
    for file, text in texts.items():
        lines += [f"![{text}]({file})", ""]
    path.write_text(replace_between(path.read_text(), PICTURES, lines))
