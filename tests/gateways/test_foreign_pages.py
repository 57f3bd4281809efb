"""What a page may have its visitor's browser send to the endpoints for gateways is refused."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pinch_server.doors.browsers import is_own_name, is_same_origin, is_sent_for_a_page
from pinch_server.doors.tokens import watched_tokens
from tests.gateways.ports import Port, opened
from tests.gateways.test_mouths import UNCHANGED
from tests.rpc.conversations import body
from tests.web.browser import browsing, needs_browser

TOKEN = "page-page-page-page-token"


@pytest.fixture(scope="module")
def port() -> Iterator[Port]:
    with opened(hosts=("pinch.internal",)) as made:
        yield made


@pytest.mark.parametrize("path", UNCHANGED)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:9465"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Host": "evil.example:9465"}, 403),
        ({"Host": "localhost.evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": ""}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=application/json"}, 415),
        ({"Content-Type": ""}, 415),
    ],
)
def test_what_a_page_could_send_is_refused(
    port: Port, path: str, headers: dict[str, str], status: int
) -> None:
    """Without tokens nothing is decided for whatever a browser could be made to send, and it is counted."""
    before = len(port.kept.decisions), len(port.refused)
    reply = port.post(path, UNCHANGED[path], headers)
    assert reply.status == status
    assert (len(port.kept.decisions), port.refused[before[1] :]) == (before[0], ["foreign"])
    assert not [name for name in reply.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "localhost"},
        {"Host": "LOCALHOST:9465"},
        {"Host": "pinch.localhost:9465"},
        {"Host": "127.0.0.1:9465"},
        {"Host": "[::1]:9465"},
        {"Host": "Pinch.Internal:9465"},
        {"Content-Type": "Application/JSON; charset=utf-8"},
        # As Node sends it, and Portkey's gateway with it.
        {"Sec-Fetch-Mode": "cors"},
    ],
)
def test_a_gateway_is_served(port: Port, headers: dict[str, str]) -> None:
    """Whoever asks by a name of this machine, or one of gateways.hosts, with JSON, has its body pruned."""
    assert port.post("/compact", body(), headers).status == 200


def test_no_page_is_given_leave(port: Port) -> None:
    """A browser's question before it sends JSON of another site is never answered with leave."""
    asked = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    with closing(http.client.HTTPConnection(port.address, timeout=30)) as connection:
        connection.request("OPTIONS", "/compact", headers=asked)
        answer = connection.getresponse()
        assert answer.status == 405
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


def test_a_port_of_the_network_goes_by_any_name() -> None:
    """Where other machines may ask, a name is no sign of a page; the other signs still count."""
    with opened(listen="0.0.0.0:0") as made:
        made.address = f"127.0.0.1:{made.address.rpartition(':')[2]}"
        assert made.post("/compact", body(), {"Host": "pinch:9465"}).status == 200
        assert (
            made.post("/compact", body(), {"Host": "pinch:9465", "Origin": "http://pinch:9465"}).status == 403
        )
        assert made.post("/compact", body(), {"Content-Type": "text/plain"}).status == 415


def test_a_token_is_enough(tmp_path: Path) -> None:
    """With tokens no page can ask, so a gateway may pass on what its own callers' browsers said."""
    file = tmp_path / "tokens"
    file.write_text(f"router prune plain:{TOKEN}\n")
    file.chmod(0o600)
    with opened(tokens=watched_tokens(file, time.monotonic)) as made:
        passed_on = {"Origin": "https://chat.example", "Host": "pinch:9465", "Content-Type": "text/plain"}
        assert made.post("/compact", body(), passed_on).status == 401
        assert made.post("/compact", body(), {**passed_on, "Authorization": f"Bearer {TOKEN}"}).status == 200
        assert made.refused == ["no_token"]


PAGE = b"<!doctype html><title>elsewhere</title><form method=post enctype=text/plain><input name=a></form>"


@contextmanager
def elsewhere() -> Iterator[str]:
    """A page of somebody else; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, format: str, *args: object) -> None:
            """Writes nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


SEND = """
const [address, body, done] = arguments;
const ways = [
  {mode: "no-cors", body},
  {mode: "no-cors", body: new Blob([body])},
  {mode: "no-cors", body: new Blob([body], {type: "application/json"})},
  {mode: "cors", body, headers: {"Content-Type": "application/json"}},
  {mode: "no-cors", body, referrerPolicy: "no-referrer"},
];
Promise.allSettled(ways.map(way => fetch(address, {method: "POST", ...way})))
  .then(all => done(all.map(one => one.status === "rejected" ? "rejected" : one.value.type)));
"""


@needs_browser
def test_a_page_in_a_real_browser_has_nothing_decided(port: Port) -> None:
    """However a page of another site posts a conversation, nothing is decided and it reads no answer."""
    before = len(port.kept.decisions), len(port.refused)
    with elsewhere() as address, browsing() as browser:
        browser.driver.get(address)
        target = f"http://{port.address}/compact"
        came = browser.driver.execute_async_script(SEND, target, body().decode())
        assert set(came) <= {"rejected", "opaque"}
        assert came[3] == "rejected"
        # A form needs no script of the page's own.
        browser.run("document.forms[0].action = arguments[0]; document.forms[0].submit()", target)
        browser.until("document.title !== 'elsewhere'")
    assert len(port.kept.decisions) == before[0]
    # Only the one that needs leave is not even sent.
    assert set(port.refused[before[1] :]) == {"foreign"}
    assert len(port.refused) >= before[1] + 4


@pytest.mark.parametrize(
    ("headers", "is_page", "is_same"),
    [
        ({}, False, True),
        ({"host": "a"}, False, True),
        ({"host": "a", "origin": "http://a"}, True, True),
        ({"host": "a", "origin": "http://b"}, True, False),
        ({"host": "a", "origin": "null"}, True, False),
        ({"host": "a", "origin": "http://[b"}, True, False),
        ({"host": "a", "sec-fetch-site": "same-origin", "origin": "http://b"}, True, True),
        ({"host": "a", "sec-fetch-site": "none"}, True, False),
    ],
)
def test_signs_of_a_page(headers: dict[str, str], is_page: bool, is_same: bool) -> None:
    """What a browser says tells whether a page sent a request, and whether the page was of this port."""
    assert is_sent_for_a_page(headers) == is_page
    assert is_same_origin(headers) == is_same


@pytest.mark.parametrize("host", ["localhost.", "a.localhost", "10.0.0.1:80", "[::1]", "mine.example"])
def test_own_names(host: str) -> None:
    """Loopback names, addresses and further names given are this machine's own."""
    assert is_own_name(host, ("mine.example",))


@pytest.mark.parametrize("host", ["", "example", "xlocalhost", "mine.example.evil", "[::1", "1.2.3.4.5"])
def test_names_of_others(host: str) -> None:
    """Any other name may be somebody else's."""
    assert not is_own_name(host, ("mine.example",))
