"""As much of SVG as the pictures need. Colours follow the reader's light or dark mode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

# Told apart by most colour-blind readers, and on white as on black.
COLOURS = ("#0a84d0", "#e07b00", "#009e73", "#cc5ea8", "#8a6fe8", "#b5a100")

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f }
.small { font-size: 11px } .title { font-size: 15px; font-weight: 600 } .head { font-weight: 600 }
.end { text-anchor: end } .middle { text-anchor: middle }
.grid { stroke: #d0d7de; stroke-width: 1 } .mark { stroke: #57606a; stroke-width: 1.5 }
.curve { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .grid { stroke: #30363d } .mark { stroke: #9198a1 }
}
"""


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


class Svg:
    def __init__(self, width: int) -> None:
        self.width = width
        self.parts: list[str] = []

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        style = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}"{style}>{escape(text)}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        ends = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
        self.parts.append(f'<line {ends} class="{kind}"/>')

    def dot(self, x: float, y: float, colour: str, title: str = "") -> None:
        hint = f"<title>{escape(title)}</title>" if title else ""
        place = f'cx="{number(x)}" cy="{number(y)}" r="3.5"'
        self.parts.append(f'<circle {place} fill="{colour}" fill-opacity=".85">{hint}</circle>')

    def curve(self, points: Sequence[tuple[float, float]], colour: str, dashed: bool) -> None:
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<polyline class="curve" stroke="{colour}"{dash} points="{path}"/>')

    def legend(self, x: float, y: float, names: Sequence[str]) -> None:
        for name, colour in zip(names, COLOURS, strict=False):
            self.dot(x + 4, y - 4, colour)
            self.text(x + 12, y, name)
            x += 30 + 7 * len(name)

    def render(self, height: float) -> str:
        box = f"0 0 {self.width} {number(height)}"
        size = f'width="{self.width}" height="{number(height)}" viewBox="{box}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}</style>\n'
        return head + "\n".join(self.parts) + "\n</svg>\n"


class Axis:
    """Values to places between two ends; those beyond stay at the end."""

    def __init__(
        self, begin: float, end: float, low: float, high: float, *, log: bool = False
    ) -> None:
        self.begin, self.end, self.log = begin, end, log
        self.low, self.high = (math.log10(low), math.log10(high)) if log else (low, high)

    def place(self, value: float) -> float:
        where = math.log10(value) if self.log else value
        share = (where - self.low) / (self.high - self.low)
        return self.begin + (self.end - self.begin) * min(max(share, 0), 1)


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten from low to high."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    return [tick for tick in ticks if low <= tick <= high]
