"""The settings of what guards the ports."""

import pytest

from pinch_server.settings import load_settings


@pytest.mark.parametrize("listen", ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "pinch.example:1"])
def test_a_port_with_tls_may_be_open(listen: str) -> None:
    """With a certificate the gRPC port is not plain, and with `http` neither is the HTTP port."""
    tls = {"PINCH_SERVER__TLS__CERT": "c", "PINCH_SERVER__TLS__KEY": "k", "PINCH_SERVER__TLS__HTTP": "on"}
    settings = load_settings(
        None, {"PINCH_SERVER__LISTEN": listen, "PINCH_SERVER__HTTP_LISTEN": listen, **tls}
    )
    assert (settings.server.listen, settings.server.http_listen) == (listen, listen)


def test_an_empty_path_is_none() -> None:
    """An empty variable takes a file's path away."""
    assert load_settings(None, {"PINCH_SERVER__TOKENS": ""}).server.tokens is None
