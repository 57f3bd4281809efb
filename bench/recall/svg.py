"""Line charts as SVG text, without a plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

WIDTH: Final = 900
HEIGHT: Final = 520
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 230, 50, 60
# Okabe and Ito's palette: told apart with any colour vision.
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d1f")
_DASHES: Final = ("", "6 3", "2 3")


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a chart.

    Attributes:
        name: Its name in the legend.
        points: Its points, x and y.
        marked: Whether each point gets a dot.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    marked: bool = True


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    Attributes:
        title: What it measures, with its unit.
        low: Its least value.
        high: Its greatest value; above `low`.
        format: The format specification of its tick labels.
    """

    title: str
    low: float
    high: float
    format: str


def line_chart(title: str, x: Axis, y: Axis, curves: Sequence[Curve]) -> str:
    """A chart of curves with axes, grid and legend."""
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM

    def across(value: float) -> float:
        return _LEFT + (value - x.low) / (x.high - x.low) * (right - _LEFT)

    def down(value: float) -> float:
        return bottom - (value - y.low) / (y.high - y.low) * (bottom - _TOP)

    size = f'width="{WIDTH}" height="{HEIGHT}"'
    font = 'font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {size} {font} role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="28" font-size="16">{escape(title)}</text>',
    ]
    for value in _ticks(x):
        at = f"{across(value):.1f}"
        parts.append(f'<line x1="{at}" y1="{_TOP}" x2="{at}" y2="{bottom}" stroke="#e0e0e0"/>')
        parts.append(f'<text x="{at}" y="{bottom + 18}" text-anchor="middle">{value:{x.format}}</text>')
    for value in _ticks(y):
        at = f"{down(value):.1f}"
        parts.append(f'<line x1="{_LEFT}" y1="{at}" x2="{right}" y2="{at}" stroke="#e0e0e0"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{at}" dy="4" text-anchor="end">{value:{y.format}}</text>')
    middle = (_LEFT + right) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 16}" text-anchor="middle">{escape(x.title)}</text>')
    turned = f"rotate(-90 18 {(_TOP + bottom) / 2})"
    parts.append(
        f'<text x="18" y="{(_TOP + bottom) / 2}" text-anchor="middle" transform="{turned}">'
        f"{escape(y.title)}</text>"
    )
    for number, curve in enumerate(curves):
        parts.extend(_curve(number, [(across(a), down(b)) for a, b in curve.points], curve))
        parts.extend(_legend(number, curve.name, right + 16))
    return "\n".join((*parts, "</svg>", ""))


def _ticks(axis: Axis) -> list[float]:
    return [axis.low + (axis.high - axis.low) * step / 5 for step in range(6)]


def _stroke(number: int) -> str:
    colour = _COLOURS[number % len(_COLOURS)]
    dash = _DASHES[number // len(_COLOURS) % len(_DASHES)]
    return f'stroke="{colour}" stroke-width="2" fill="none" stroke-dasharray="{dash}"'


def _curve(number: int, places: Sequence[tuple[float, float]], curve: Curve) -> list[str]:
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    drawn = [f'<polyline points="{line}" {_stroke(number)}/>']
    if curve.marked:
        colour = _COLOURS[number % len(_COLOURS)]
        drawn += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{colour}"/>' for a, b in places]
    return drawn


def _legend(number: int, name: str, left: float) -> list[str]:
    top = _TOP + 10 + 20 * number
    return [
        f'<line x1="{left}" y1="{top}" x2="{left + 24}" y2="{top}" {_stroke(number)}/>',
        f'<text x="{left + 30}" y="{top}" dy="4">{escape(name)}</text>',
    ]
