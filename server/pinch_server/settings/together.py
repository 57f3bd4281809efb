"""What is wrong with settings that are each legal: rules over several of them."""

from collections.abc import Iterator

from pinch_server.listen import parse_listen
from pinch_server.settings.checks import shown
from pinch_server.settings.model import Settings


def wrong_together(settings: Settings) -> Iterator[str]:
    """A line for each problem: the key, the value, what mends it."""
    yield from _plain_text(settings)
    yield from _one_socket(settings)
    yield from _tls(settings)
    yield from _extraction(settings)


def _plain_text(settings: Settings) -> Iterator[str]:
    """Plain text serves this machine alone unless the operator says otherwise."""
    server = settings.server
    ports = (
        ("server.listen (PINCH_SERVER__LISTEN)", server.listen, server.tls.cert is not None, "cert and key"),
        ("server.http_listen (PINCH_SERVER__HTTP_LISTEN)", server.http_listen, server.tls.http, "http"),
        *(
            [("gateways.listen (PINCH_GATEWAYS__LISTEN)", settings.gateways.listen, server.tls.http, "http")]
            if settings.gateways.mouths
            else []
        ),
    )
    for place, address, is_encrypted, mend in ports:
        if not (is_encrypted or server.insecure or parse_listen(address).is_local):
            yield (
                f"{place}: {shown(address)} lets other machines in, in plain text;"
                f" give a loopback address, or server.tls.{mend}, or allow it: --insecure, or server.insecure"
                " (PINCH_SERVER__INSECURE) = true"
            )


def _one_socket(settings: Settings) -> Iterator[str]:
    """A unix socket belongs to one process."""
    server = settings.server
    if server.workers not in ("auto", 1) and parse_listen(server.listen).path:
        yield (
            f"server.workers (PINCH_SERVER__WORKERS): {server.workers} processes cannot share"
            f" {shown(server.listen)}; give 1 or auto, or HOST:PORT as server.listen (PINCH_SERVER__LISTEN)"
        )


def _tls(settings: Settings) -> Iterator[str]:
    """A certificate comes with its key, and what builds on TLS with both."""
    server, tls = settings.server, settings.server.tls
    if (tls.cert is None) != (tls.key is None):
        there, missing = ("key", "cert") if tls.cert is None else ("cert", "key")
        yield (
            f"server.tls.{there} (PINCH_SERVER__TLS__{there.upper()}): needs server.tls.{missing}"
            f" (PINCH_SERVER__TLS__{missing.upper()}) as well; give both or neither"
        )
    if tls.cert is None and tls.key is None:
        for name, is_set in (("client_ca", tls.client_ca is not None), ("http", tls.http)):
            if is_set:
                yield (
                    f"server.tls.{name} (PINCH_SERVER__TLS__{name.upper()}): there is no TLS without"
                    " server.tls.cert and server.tls.key; give both, or leave it out"
                )
    if tls.cert is not None and parse_listen(server.listen).path and (tls.client_ca or not tls.http):
        name = "client_ca" if tls.client_ca else "cert"
        yield (
            f"server.tls.{name} (PINCH_SERVER__TLS__{name.upper()}): {shown(server.listen)} has no TLS, the"
            " socket file's own permissions guard it; leave it out, or give HOST:PORT as server.listen"
        )


def _extraction(settings: Settings) -> Iterator[str]:
    """Extraction has something to do and a key to do it with, and originals have a key to be hidden by."""
    given, originals = settings.extract, settings.originals
    if not (given.per_output or given.cold_cache.enabled):
        yield (
            "extract.per_output (PINCH_EXTRACT__PER_OUTPUT): false leaves nothing to extract without cold"
            " sweeps; give true, or extract.cold_cache.enabled (PINCH_EXTRACT__COLD_CACHE__ENABLED) = true"
        )
    asks = given.enabled and given.strategy != "deterministic"
    if asks and not (given.model.api_key or given.model.base_url):
        yield (
            "extract.enabled (PINCH_EXTRACT__ENABLED): nobody can be asked for filters; give"
            " extract.model.api_key (PINCH_EXTRACT__MODEL__API_KEY), or an endpoint that needs none as"
            " extract.model.base_url (PINCH_EXTRACT__MODEL__BASE_URL)"
        )
    if originals.enabled and not originals.key:
        yield (
            "originals.enabled (PINCH_ORIGINALS__ENABLED): originals are kept encrypted alone; give"
            " originals.key (PINCH_ORIGINALS__KEY), the same for every replica"
        )
