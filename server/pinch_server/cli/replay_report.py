"""The HTML report of a replay: one file that asks nobody for anything."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate
from math import floor, log10
from typing import Final

from pinch_server.cli.replayed import ReplayedCall, ReplayedSession, change, pooled
from pinch_server.core.limits import Limits
from pinch_server.core.nouns import counted

_WIDTH, _HEIGHT = 460, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 12, 30, 28
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""A report travels by mail: whoever opens it lets it fetch, run and send nothing."""
_ROUND: Final = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1d2430; --paper: #fff; --rule: #d5dae2; --without: #c4541a;
  --with: #0a66b5; --break: #8a8f98; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --paper: #14181f; --rule: #343b46;
  --without: #ff9a5c; --with: #6db8ff; --break: #8a93a1; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 980px;
  margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; } th, td { padding: .25rem .6rem;
  text-align: right; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; min-width: 9rem; }
a { color: var(--with); }
h2 { margin-top: 2.5rem; overflow-wrap: anywhere; } figure { display: inline-block; margin: 0 .5rem 0 0; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font-size: 12px; }
.grid { stroke: var(--rule); } .budget { stroke: var(--ink); opacity: .6; }
.break { stroke: var(--break); stroke-dasharray: 3 3; }
polyline { fill: none; stroke-width: 2; } .without { stroke: var(--without); color: var(--without); }
.with { stroke: var(--with); color: var(--with); } .key { font-weight: 600; }
""".strip()


def html_report(sessions: Sequence[ReplayedSession], limits: Limits, priced_as: str) -> str:
    """The report as one HTML text. It quotes no transcript: names of files and tools, and numbers.

    Args:
        sessions: What was replayed.
        limits: The limits it was replayed under.
        priced_as: Whose prices were taken, in words.
    """
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Pinch replay</title>\n<style>{_STYLE}</style>",
            *_summary(sessions, limits, priced_as),
            *(line for number, session in enumerate(sessions) for line in _session(number, session, limits)),
            "</html>\n",
        )
    )


def _summary(sessions: Sequence[ReplayedSession], limits: Limits, priced_as: str) -> Iterator[str]:
    whole, final = pooled(sessions)
    yield "<h1>Pinch replay</h1>"
    yield (
        f"<p>{counted(len(sessions), 'session')}, budget {counted(limits.budget_tokens, 'token')}, "
        f"{escape(priced_as)}. Input: "
        f"<strong>${whole:,.4f}</strong> without pruning, <strong>${final:,.4f}</strong> with it "
        f"(<strong>{change(whole, final):+.1%}</strong>). What a call shares with the one before is taken as "
        "read from the provider's cache, the rest as written to it; no cache expires.</p>"
    )
    names = ("calls", "last call", "pruned", "$ without", "$ with", "change", "prefix breaks")
    yield (
        '<div class="wide"><table><tr><th>session</th>'
        + "".join(f"<th>{name}</th>" for name in names)
        + "</tr>"
    )
    for number, session in enumerate(sessions):
        last = session.calls[-1]
        cells = (
            f"{len(session.calls):,}",
            f"{last.whole_tokens:,}",
            f"{last.final_tokens:,}",
            f"{session.whole_dollars:.4f}",
            f"{session.final_dollars:.4f}",
            f"{change(session.whole_dollars, session.final_dollars):+.1%}",
            str(session.breaks),
        )
        link = f'<a href="#s{number}">{escape(session.name)}</a>'
        yield f"<tr><td>{link}</td>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    yield "</table></div>"


def _session(number: int, session: ReplayedSession, limits: Limits) -> Iterator[str]:
    calls = session.calls
    yield f'<h2 id="s{number}">{escape(session.name)}</h2>'
    yield (
        '<p><span class="key without">without pruning</span>, <span class="key with">with pruning</span>; '
        "a broken line marks a call that changed what had been sent; the thin level line is the budget.</p>"
    )
    breaks = [index for index, call in enumerate(calls) if not call.extends]
    yield _chart(
        "Tokens of each call",
        [call.whole_tokens for call in calls],
        [call.final_tokens for call in calls],
        breaks,
        level=limits.budget_tokens,
    )
    yield _chart(
        "Dollars so far",
        list(accumulate(call.whole_dollars for call in calls)),
        list(accumulate(call.final_dollars for call in calls)),
        breaks,
    )
    if any(call.trimmed for call in calls):
        yield '<details><summary>Where it was trimmed</summary><div class="wide"><table><tr><th>tool</th>'
        yield "<th>call</th>"
        yield "<th>message</th><th>what</th><th>tokens before</th><th>after</th></tr>"
        for index, call in enumerate(calls, 1):
            yield from _trims(index, call)
        yield "</table></div></details>"


def _trims(index: int, call: ReplayedCall) -> Iterator[str]:
    for edit in call.trimmed:
        cells = (index, edit.message, edit.action.value, f"{edit.tokens_before:,}", f"{edit.tokens_after:,}")
        yield f"<tr><td>{escape(edit.tool)}</td>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _chart(
    title: str,
    without: Sequence[float],
    pruned: Sequence[float],
    breaks: Sequence[int],
    *,
    level: float | None = None,
) -> str:
    """Two lines over the calls of a session, as SVG; `level` is drawn where it lies within the chart."""
    top, last = _round_up(max(*without, *pruned)), max(len(without) - 1, 1)

    def across(call: int) -> float:
        return _LEFT + call / last * (_WIDTH - _LEFT - _RIGHT)

    def down(value: float) -> float:
        return _HEIGHT - _BOTTOM - value / top * (_HEIGHT - _TOP - _BOTTOM)

    def line(values: Sequence[float], kind: str) -> str:
        points = " ".join(f"{across(call):.1f},{down(value):.1f}" for call, value in enumerate(values))
        return f'<polyline class="{kind}" points="{points}"/>'

    parts = [
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img">',
        f'<title>{escape(title)}</title><text x="{_LEFT}" y="16">{escape(title)}</text>',
    ]
    for share in (0.0, 0.5, 1.0):
        at = f"{down(share * top):.1f}"
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at}" y2="{at}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at}" dy="4" text-anchor="end">{_figure(share * top)}</text>')
    if level is not None and level <= top:
        at = f"{down(level):.1f}"
        parts.append(f'<line class="budget" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at}" y2="{at}"/>')
    for call in breaks:
        at = f"{across(call):.1f}"
        parts.append(f'<line class="break" x1="{at}" x2="{at}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>')
    parts += [line(without, "without"), line(pruned, "with")]
    parts.append(f'<text x="{_LEFT}" y="{_HEIGHT - 8}">call 1</text>')
    end = f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 8}" text-anchor="end">call {len(without)}</text>'
    return "".join((*parts, end, "</svg></figure>"))


def _round_up(value: float) -> float:
    """The least round number that is not below a value: 1, 1.5, 2, 3, 4, 5, 6 or 8 of a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(step for step in _ROUND if step * power >= value * (1 - 1e-9)) * power


def _figure(value: float) -> str:
    """A number without zeros that say nothing."""
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return text or "0"
