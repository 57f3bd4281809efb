"""``python -m bench.economics``: input dollars of whole sessions under each policy."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench.economics.dollars import Pauses
from bench.economics.losses import losses
from bench.economics.measure import BUDGET_TOKENS, CLASSES, class_of, replay_all, tally
from bench.economics.page import page
from bench.economics.policies import POLICIES
from bench.economics.rates import RATES
from bench.economics.report import as_json, plot, show
from bench.recall.fan_out import progress
from bench.recall.policies import PolicyError, find_policy
from bench.recall.sessions import CorpusError, Session, load_sessions

_QUICK_EVERY = 3
_LONG = CLASSES[-1][2]
_PLOTTED = "none,per-call-cosine,oldest-first,pinch"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the yardstick.

    Returns:
        0; 2 when there is no such policy, corpus, session or class of models, or a file is not writable.
    """
    options = _parser().parse_args(argv)
    began = time.perf_counter()
    pauses = Pauses(options.idle_share, options.idle_minutes, options.seed)
    try:
        names = [name for name in options.policies.split(",") + options.policy if name]
        policies = [find_policy(name, POLICIES) for name in names]
        sessions = load_sessions(options.corpus)
        if options.quick:
            sessions = _every_third(sessions)
        shown = _session_to_plot(sessions, options.plot_session)
        with progress("sessions", len(sessions)) as tick:
            replayed = replay_all(policies, sessions, options.budget, jobs=options.jobs, tick=tick)
        classes = [RATES[name] for name in options.rates]
        rows = [row for rates in classes for row in tally(replayed, rates, pauses)]
        seconds = time.perf_counter() - began
        if options.json:
            options.json.write_text(
                json.dumps(as_json(rows, options.budget, pauses, seconds), indent=2) + "\n"
            )
        if options.plot:
            chosen = [one for one in replayed if one.policy in options.plot_policies.split(",")]
            options.plot.write_text(plot(chosen or replayed, shown, classes[0], pauses))
        if options.page:
            source = str(options.corpus) if options.corpus else f"{len(sessions)} sessions of real agents"
            expiry = (
                f"{options.idle_share:.0%} of user turns after a pause"
                if options.idle_share
                else "no cache expires"
            )
            command = shlex.join(
                ["python", "-m", "bench.economics", *(sys.argv[1:] if argv is None else argv)]
            )
            found = losses(replayed, "pinch", classes[0], pauses)
            options.page.write_text(page(rows, found, source, options.budget, expiry, command))
    except (PolicyError, CorpusError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    # A file or a pipe has no width of its own; the tables need this much.
    width = None if sys.stdout.isatty() else 110
    show(Console(highlight=False, width=width), rows, options.budget, seconds)
    return 0


def _every_third(sessions: Sequence[Session]) -> list[Session]:
    """A third of the sessions, of all sizes alike."""
    return sorted(sessions, key=lambda session: -session.tokens)[1::_QUICK_EVERY]


def _session_to_plot(sessions: Sequence[Session], name: str | None) -> str:
    if name is None:
        long = sorted((one for one in sessions if class_of(one.tokens) == _LONG), key=lambda one: one.tokens)
        return (long[len(long) // 2] if long else max(sessions, key=lambda one: one.tokens)).name
    if name not in {session.name for session in sessions}:
        raise CorpusError(f"there is no session {name!r}")
    return name


def _rates(text: str) -> list[str]:
    names = text.split(",")
    if not set(names) <= RATES.keys():
        raise argparse.ArgumentTypeError(f"give some of {', '.join(RATES)}")
    return names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.economics",
        description=(
            "Replay real agent conversations call by call through a provider's prompt cache, under several "
            "ways of pruning, and compare input dollars with no pruning."
        ),
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="DIR",
        help="request bodies, *.json (default: the real ones, else made)",
    )
    parser.add_argument(
        "--policies",
        default=",".join(POLICIES),
        metavar="A,B",
        # argparse formats help with %, which names of policies hold.
        help=f"of {', '.join(POLICIES)} (default all)".replace("%", "%%"),
    )
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="MODULE:FUNCTION",
        help="a pruner of your own as well, or pinch?min_gain=0.1&target=0.5; may be repeated",
    )
    parser.add_argument("--budget", type=int, default=BUDGET_TOKENS, help=f"tokens ({BUDGET_TOKENS})")
    parser.add_argument(
        "--rates", type=_rates, default=list(RATES), metavar="A,B", help=f"of {', '.join(RATES)} (all)"
    )
    parser.add_argument("--idle-share", type=float, default=0.0, help="share of user turns after a pause (0)")
    parser.add_argument("--idle-minutes", type=float, default=60.0, help="how long it is (60)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of pauses (0)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--quick", action="store_true", help="a third of the sessions")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the price of each call here")
    parser.add_argument(
        "--plot-session", metavar="NAME", help="of this session (default: the middle one of the long ones)"
    )
    parser.add_argument(
        "--plot-policies", default=_PLOTTED, metavar="A,B", help=f"draw these, where measured ({_PLOTTED})"
    )
    parser.add_argument("--page", type=Path, metavar="FILE.md", help="write the page of the docs here")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
