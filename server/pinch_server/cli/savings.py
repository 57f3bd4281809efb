"""`pinch savings`: what pruning saved."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import click

from pinch_server.cli.console import say
from pinch_server.cli.help import epilog, lines
from pinch_server.cli.stored import database, own_only, reached, settings_of, stored_options, told
from pinch_server.core.insight import SavingsQuery
from pinch_server.core.moments import unix_micros
from pinch_server.core.nouns import counted
from pinch_server.core.savings import savings
from pinch_server.policy import objective_of
from pinch_server.settings import Settings

_EPILOG: Final = epilog(
    lines(
        "Examples",
        "pinch savings",
        "pinch savings --days 7 --json",
        "pinch savings --server 127.0.0.1:50051",
        "pinch savings --database-url postgresql://pinch@db/pinch",
    ),
    lines("Exit status", "0 done", "1 the database or the service cannot be read", "2 an option is wrong"),
)
_OFF: Final = "Pruning is switched off: there are no savings to show."
_NONE_YET: Final = "; one counts once its outcome is reported, else after outcome_grace_seconds"


@click.command("savings", epilog=_EPILOG)
@click.option(
    "--days",
    type=click.IntRange(1, 3_650),
    default=30,
    show_default=True,
    help="Length of the window that ends now.",
)
@stored_options
def savings_command(
    *,
    days: int,
    as_json: bool,
    server: str | None,
    database_url: str | None,
    state_dir: str | None,
    timeout: float,
    config_path: Path | None,
    token_file: Path | None,
    **tls: Any,
) -> None:
    """Show what pruning saved over the last days: calls, tokens, and money.

    Dispatched calls count, and unreported ones once the grace period is over; dry runs do not. A saved token
    is priced at the blend of full and cached price that the router ranks models by, or at the real share of
    cached tokens where usage was reported, less the cache writes that trims brought about.
    """
    own_only(server, token_file, tls)
    with told():
        if server:
            with reached(server, timeout, token_file, tls) as service:
                shown = service.savings(days)
        else:
            shown = _read(settings_of(config_path, database_url, state_dir), days)
    if as_json:
        click.echo(json.dumps(shown or {}))
    elif shown is None:
        say(_OFF)
    else:
        click.echo("\n".join(_account(shown)))


def _read(settings: Settings, days: int) -> dict[str, Any] | None:
    if not settings.enabled:
        return None
    now = datetime.now(UTC)
    with database(settings) as insight:
        found = insight.savings(SavingsQuery(unix_micros(now), days))
    priced = savings(found.sums, found.median, objective_of(settings), window_days=days, today=now.date())
    return priced.fields()


def _account(shown: dict[str, Any]) -> Iterator[str]:
    yield f"Last {counted(shown['window_days'], 'day')}"
    yield _line("calls", f"{shown['calls_30d']:,}{'' if shown['calls_30d'] else _NONE_YET}")
    yield _line("pruned", f"{shown['pruned_calls_30d']:,} ({shown['share_pruned']:.2%})")
    yield _line("tokens saved", f"{shown['total_tokens_saved']:,}")
    if "median_tokens_saved" in shown:
        yield _line("median per pruned call", counted(round(shown["median_tokens_saved"]), "token"))
    if "dollars_saved_usd_30d" in shown:
        dollars = Decimal(shown["dollars_saved_usd_30d"])
        yield _line("dollars saved", f"{'-' if dollars < 0 else ''}${abs(dollars):,.6f}")
    if shown["unpriced_calls"]:
        yield _line(
            "without a known price", f"{counted(shown['unpriced_calls'], 'pruned call')}, in tokens alone"
        )
    if "reset_date" in shown:
        yield _line("billing", f"since {shown['reset_date']}, until {shown['next_reset_date']}")


def _line(name: str, value: str) -> str:
    return f"  {name:<24}{value}"
