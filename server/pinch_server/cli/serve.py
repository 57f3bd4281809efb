"""`pinch serve`: the service, from its start to a signal."""

import json
import os
import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from pinch_server import __version__
from pinch_server.app import App, StartError
from pinch_server.cli.console import EXIT_FAILED, EXIT_REFUSED, stop
from pinch_server.cli.help import epilog, lines
from pinch_server.cli.settings import config_option, settings_or_stop, sources_of
from pinch_server.cli.testing import FREE, settings_for_tests
from pinch_server.loading import loaded
from pinch_server.observe import logs
from pinch_server.observe.line_queue import LineQueue
from pinch_server.settings import ServerSettings
from pinch_server.signals import stop_signals
from pinch_server.store.errors import StoreError, UnsupportedDatabase
from pinch_server.workers.malloc import tune_malloc
from pinch_server.workers.pages import settle_in_large_pages

_FLUSH_SECONDS: Final = 1.0
"""How long the end of the process waits for lines on their way to standard error (seconds)."""

_EPILOG: Final = epilog(
    lines(
        "Examples",
        "pinch serve",
        "pinch serve --listen unix:/run/pinch/pinch.sock",
        "pinch serve --config pinch.toml --database-url postgresql://pinch@db/pinch --migrate",
        "pinch serve --workers 4 --listen 127.0.0.1:50051",
        "pinch serve --listen 0.0.0.0:50051 --tls-cert cert.pem --tls-key key.pem --tokens tokens.txt",
        "pinch serve --listen 127.0.0.1:0 --http 127.0.0.1:0 --ready-json",
        "pinch serve --testing",
    ),
    lines(
        "Exit status",
        "0 it was stopped",
        "1 it could not start",
        "2 the settings or options are wrong; every problem is named",
    ),
)


@click.command("serve", epilog=_EPILOG)
@config_option
@click.option("--listen", metavar="ADDRESS", help="Address of the gRPC port: HOST:PORT or unix:PATH.")
@click.option("--workers", metavar="N|auto", help="Processes that take calls; auto: one for each core.")
@click.option("--http", metavar="HOST:PORT", help="Address of /metrics and /healthz.")
@click.option("--state-dir", metavar="DIR", help="Directory of the journal, the SQLite file and the key.")
@click.option("--database-url", metavar="URL", help="Database of the decisions, SQLite or PostgreSQL.")
@click.option("--migrate", is_flag=True, help="Bring a PostgreSQL schema up to date first.")
@click.option("--tls-cert", metavar="FILE", help="Certificate of the gRPC port, PEM.")
@click.option("--tls-key", metavar="FILE", help="Private key of the certificate, PEM.")
@click.option("--tls-client-ca", metavar="FILE", help="Roots that clients' certificates must lead to, PEM.")
@click.option("--tokens", metavar="FILE", help="Tokens of the callers; pinch token makes them.")
@click.option("--insecure", is_flag=True, help="Allow plain text beyond this machine.")
@click.option(
    "--ready-json", is_flag=True, help="Once ready, print one JSON line: grpc, http, database, workers."
)
@click.option(
    "--testing",
    is_flag=True,
    help="A server for tests: state in memory, fixed clock and ids, faults on request.",
)
def serve_command(
    *,
    config_path: Path | None,
    listen: str | None,
    workers: str | None,
    http: str | None,
    state_dir: str | None,
    database_url: str | None,
    migrate: bool,
    tls_cert: str | None,
    tls_key: str | None,
    tls_client_ca: str | None,
    tokens: str | None,
    insecure: bool,
    ready_json: bool,
    testing: bool,
) -> None:
    """Run the service until SIGTERM or SIGINT.

    Options stand over PINCH_ variables, those over the settings file, that over the defaults; `pinch config
    show` prints what is in force. Port 0 takes a free one.

    With several workers, this process takes no calls itself: it starts them, starts anew those that end, and
    has the one page of metrics over all of them. They share the gRPC port, among which the system spreads
    connections, not calls; each has a port of its own as well, for clients that spread their calls.

    An SQLite file is brought up to date by itself; a PostgreSQL schema that is behind stops the start with
    the command to run. A PostgreSQL server that is out of reach does not: decisions wait in the journal.

    At the first signal, health checks answer NOT_SERVING, calls in flight finish, the journal goes to the
    database, and the exit status is 0. A second signal ends the process at once; acknowledged decisions are
    then in the journal and reach the database after the next start.

    With --testing, it is a server for the tests of a client: it listens on free ports of this machine unless
    told otherwise, prints the line of --ready-json, keeps decisions in a directory that goes away with it,
    runs in one process, stands still at 2026-01-01, counts ids from 1, ranks by the embedded model alone, and
    has the faults that metadata named pinch-test-... ask for (clients/README.md lists them). It refuses a
    database or a state directory.
    """
    options = {
        "--listen": ("PINCH_SERVER__LISTEN", listen or (FREE if testing else None)),
        "--http": ("PINCH_SERVER__HTTP_LISTEN", http or (FREE if testing else None)),
        "--workers": ("PINCH_SERVER__WORKERS", workers),
        "--state-dir": ("PINCH_STORE__STATE_DIR", state_dir),
        "--database-url": ("PINCH_STORE__DATABASE_URL", database_url),
        "--migrate": ("PINCH_STORE__MIGRATE", "true" if migrate else None),
        "--tls-cert": ("PINCH_SERVER__TLS__CERT", tls_cert),
        "--tls-key": ("PINCH_SERVER__TLS__KEY", tls_key),
        "--tls-client-ca": ("PINCH_SERVER__TLS__CLIENT_CA", tls_client_ca),
        "--tokens": ("PINCH_SERVER__TOKENS", tokens),
        "--insecure": ("PINCH_SERVER__INSECURE", "true" if insecure else None),
    }
    _occupy_standard_files()
    settings = settings_or_stop(config_path, options)
    sources = sources_of(config_path, options)
    words = logs.configure(settings.log.level, settings.log.format)
    if settings.server.malloc == "tuned":
        tune_malloc()
    is_whole = True
    try:
        with settings_for_tests(settings, os.environ) if testing else nullcontext(settings) as used:
            app = App(used, sources, testing=testing)
            is_whole = _run(app, words, used.server, ready_json=ready_json or testing)
    finally:
        words.flush(_FLUSH_SECONDS)
    if not is_whole:
        # A thread that is still at a call would be waited for at the interpreter's end, perhaps for ever;
        # what was acknowledged is in the database or the journal.
        sys.stdout.flush()
        os._exit(0)


def _run(app: App, words: LineQueue, server: ServerSettings, *, ready_json: bool) -> bool:
    """Serves until a signal comes; False when a thread is still at a call that it was to cut short."""
    with stop_signals() as stop_request:
        try:
            app.start()
        except (StartError, StoreError) as error:
            words.flush(_FLUSH_SECONDS)
            stop([str(error)], EXIT_REFUSED if isinstance(error, UnsupportedDatabase) else EXIT_FAILED)
        loaded()
        if server.malloc == "tuned":
            settle_in_large_pages()
        try:
            _tell(app, words, server, ready_json=ready_json)
            stop_request.wait()
            _say(words, "Pinch stops: calls in flight finish, the journal goes to the database.")
        finally:
            is_whole = app.stop()
    return is_whole


def _occupy_standard_files() -> None:
    """Opens nothing under each number that was closed: libraries write to 2, which must not be a database."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)


def _tell(app: App, words: LineQueue, server: ServerSettings, *, ready_json: bool) -> None:
    at = app.addresses
    scheme = "https" if server.tls.http else "http"
    pages = f"{scheme}://{at.http}/"
    watched = f"dashboard on {pages}" if server.dashboard else f"metrics on {pages}metrics"
    by = f", by {len(at.workers)} workers (also on {', '.join(at.workers)})" if at.workers else ""
    _say(
        words,
        f"Pinch {__version__} takes calls on {at.grpc}{by}; {watched};"
        f"{f' gateways on {scheme}://{at.mouths};' if at.mouths else ''} decisions in {at.database}.",
    )
    if ready_json:
        click.echo(json.dumps(asdict(at)))


def _say(words: LineQueue, line: str) -> None:
    """Says a line on standard error, by the way of the log's lines: it may be full or stuck like theirs."""
    words.put(f"{line}\n".encode("utf-8", "backslashreplace"))
