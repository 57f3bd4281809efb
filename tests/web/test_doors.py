"""Signing in at the dashboard, and what other people's pages may not do."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pinch_server.doors.tokens import watched_tokens
from pinch_server.web.api import Api
from pinch_server.web.http import HttpPort
from pinch_server.web.sessions import HOURS, Sessions, cookie_name, set_cookie
from pinch_server.web.site import Dashboard
from tests.web.standing import NoQuestions, NoService

INSIGHT, ADMIN = "insight-insight-insight", "admin-admin-admin-admin"
KNOB = json.dumps({"knobs": {"enabled": False}})


@dataclass
class Door:
    port: HttpPort
    service: NoService
    tokens: Path
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> http.client.HTTPResponse:
        sent = {name.replace("_", "-"): value for name, value in (self.headers | headers).items()}
        if body is not None:
            sent = {"Content-Type": "application/json"} | sent
        with closing(http.client.HTTPConnection(self.port.address, timeout=10)) as connection:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            answer.text = answer.read().decode()  # type: ignore[attr-defined]
            return answer

    def sign_in(self, token: str) -> http.client.HTTPResponse:
        answer = self.ask("POST", "/login", json.dumps({"token": token}))
        cookie = answer.headers["Set-Cookie"]
        if cookie:
            self.headers["Cookie"] = cookie.partition(";")[0]
        return answer


@contextmanager
def door(tmp_path: Path, *, guarded: bool, listen: str = "127.0.0.1:0") -> Iterator[Door]:
    path = tmp_path / "tokens"
    path.write_text(f"reader insight plain:{INSIGHT}\nboss admin,insight plain:{ADMIN}\n")
    path.chmod(0o600)
    service = NoService()
    # Time goes on with each look at the file, so that a change is noticed at once.
    times = iter(range(10_000))
    port = HttpPort(
        listen,
        lambda: b"",
        lambda: True,
        metrics_type="text/plain",
        tokens=watched_tokens(path, lambda: float(next(times)) * 2) if guarded else None,
        site=Dashboard(Api(NoQuestions(), service)),
    )
    port.start()
    try:
        yield Door(port, service, path)
    finally:
        port.close()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Door]:
    with door(tmp_path, guarded=True) as one:
        yield one


@pytest.fixture
def unguarded(tmp_path: Path) -> Iterator[Door]:
    with door(tmp_path, guarded=False) as one:
        yield one


def test_who_has_not_signed_in_gets_a_page_that_asks_for_a_token(guarded: Door) -> None:
    """Each page for people answers 401 and the form, at the address that was asked for."""
    for path in ("/", "/decisions/0197"):
        answer = guarded.ask("GET", path)
        assert answer.status == 401
        assert 'name="token"' in answer.text  # type: ignore[attr-defined]
        assert answer.headers["Content-Type"].startswith("text/html")


def test_a_cookie_stands_for_the_token(guarded: Door) -> None:
    """After signing in, all is answered, and the cookie is out of reach for scripts and other sites."""
    answer = guarded.sign_in(INSIGHT)
    assert answer.status == 200
    cookie = answer.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert INSIGHT not in cookie
    assert guarded.ask("GET", "/").status == 200
    state = guarded.ask("GET", "/api/v1/state")
    assert json.loads(state.text)["caller"] == {"name": "reader", "roles": ["insight"]}  # type: ignore[attr-defined]


def test_over_tls_the_cookie_never_goes_in_plain_text() -> None:
    """Secure is set exactly where the connection is encrypted."""
    assert "Secure" in set_cookie({}, "value", is_encrypted=True)[1]
    assert "Secure" not in set_cookie({}, "value", is_encrypted=False)[1]


@pytest.mark.parametrize("body", ["", "{}", '{"token": 1}', '{"token": "nobody-knows-this-one"}', "\xff"])
def test_no_token_no_cookie(guarded: Door, body: str) -> None:
    """A sign-in without a known token is refused, and sets no cookie."""
    answer = guarded.ask("POST", "/login", body.encode("latin-1"))
    assert answer.status in (400, 401)
    assert answer.headers["Set-Cookie"] is None


def test_a_made_up_cookie_is_none(guarded: Door) -> None:
    """A cookie that was not given out opens nothing, whatever it holds."""
    name = cookie_name({"host": guarded.port.address})
    for value in (f"{name}=guess", f"{name}=", "=;;=", f"{name}={INSIGHT}", f"{name}={'A' * 43}"):
        assert guarded.ask("GET", "/api/v1/state", Cookie=value).status == 401


@pytest.mark.parametrize("other", ["a[b]={}", "theme", 'x="', "NAME=short", "my_NAME=x", "pinch_session=x"])
def test_cookies_of_others_do_not_sign_out(guarded: Door, other: str) -> None:
    """Whatever other services of the host have the browser send, the session is found."""
    guarded.sign_in(INSIGHT)
    own = guarded.headers["Cookie"]
    other = other.replace("NAME", cookie_name({"host": guarded.port.address}))
    for sent in (f"{other}; {own}", f"{own}; {other}", f"{own};{other}"):
        assert guarded.ask("GET", "/api/v1/state", Cookie=sent).status == 200


@pytest.mark.parametrize("sent", ['NAME="' + '\\"' * 30_000 + '"', "NAME=", "; " * 30_000, "=\xff"])
def test_a_monstrous_cookie_is_none(guarded: Door, sent: str) -> None:
    """No cookie of any size or shape is an error, or has the port work long for it."""
    sent = sent.replace("NAME", cookie_name({"host": guarded.port.address}))
    assert guarded.ask("GET", "/api/v1/state", Cookie=sent).status == 401


def test_two_services_of_a_host_have_a_cookie_each(tmp_path: Path) -> None:
    """A browser sends both cookies to both ports; whoever is signed in to both stays so until signing out."""
    (tmp_path / "two").mkdir()
    with door(tmp_path, guarded=True) as one, door(tmp_path / "two", guarded=True) as two:
        jar: dict[str, str] = {}
        for each in (one, two):
            said = each.sign_in(INSIGHT).headers["Set-Cookie"].partition(";")[0]
            jar |= [said.split("=")]
        sent = "; ".join(map("=".join, jar.items()))
        assert [each.ask("GET", "/", Cookie=sent).status for each in (one, two)] == [200, 200]
        assert one.ask("POST", "/logout", "{}", Cookie=sent).status == 200
        assert [each.ask("GET", "/", Cookie=sent).status for each in (one, two)] == [401, 200]


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost:9464", "pinch_session_9464"),
        ("[::1]:80", "pinch_session_80"),
        ("pinch.example", "pinch_session"),
        ("pinch.example:", "pinch_session"),
        ("pinch.example:abc", "pinch_session"),
        ("pinch.example:99999", "pinch_session"),
        ("[::1", "pinch_session"),
        ("", "pinch_session"),
    ],
)
def test_the_cookie_is_named_by_the_port_of_the_address(host: str, name: str) -> None:
    """What follows the name is a port's number or nothing, whatever a request says."""
    assert cookie_name({"host": host}) == name
    assert set_cookie({"host": host}, "v", is_encrypted=False)[1].startswith(f"{name}=v;")


def test_a_length_of_many_digits_is_refused(guarded: Door) -> None:
    """A body that says it is longer than any number is answered as any that is too long."""
    assert guarded.ask("POST", "/login", "{}", Content_Length="1" * 5_000).status == 413


def test_signing_out_ends_the_session_and_not_only_the_cookie(guarded: Door) -> None:
    """Whoever kept the cookie cannot use it after its owner signed out."""
    guarded.sign_in(INSIGHT)
    assert guarded.ask("POST", "/logout", "{}").status == 200
    assert guarded.ask("GET", "/api/v1/state").status == 401


def test_a_token_that_is_taken_out_of_the_file_ends_its_sessions(guarded: Door) -> None:
    """A session is worth what its token is worth now."""
    guarded.sign_in(INSIGHT)
    guarded.tokens.write_text(f"boss admin plain:{ADMIN}\n")
    assert guarded.ask("GET", "/api/v1/state").status == 401


def test_a_session_ends_by_itself() -> None:
    """Half a day after signing in, the cookie stands for nothing."""
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    headers = {"cookie": f"pinch_session={sessions.begin(b'digest')}"}
    assert sessions.digest_of(headers) == b"digest"
    now[0] = HOURS * 3600.0
    assert sessions.digest_of(headers) is None


def test_crowds_of_sessions_are_bounded() -> None:
    """However often somebody signs in, the newest thousand sessions are kept and no more."""
    sessions = Sessions(lambda: 0.0)
    made = [{"cookie": f"pinch_session={sessions.begin(b'd')}"} for _ in range(1_001)]
    assert sessions.digest_of(made[0]) is None
    assert sessions.digest_of(made[1]) == sessions.digest_of(made[-1]) == b"d"


def test_knobs_are_for_the_admin(guarded: Door) -> None:
    """The role insight neither sees nor turns knobs; the role admin does, and its token's name is told."""
    guarded.sign_in(INSIGHT)
    assert guarded.ask("GET", "/api/v1/knobs").status == 403
    assert guarded.ask("PUT", "/api/v1/knobs", KNOB).status == 403
    guarded.sign_in(ADMIN)
    assert guarded.ask("PUT", "/api/v1/knobs", KNOB).status == 200
    assert guarded.service.turned == [({"enabled": False}, False, "boss")]


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
    ],
)
@pytest.mark.parametrize("with_cookie", [True, False])
def test_a_page_of_somebody_else_turns_nothing(
    tmp_path: Path, headers: dict[str, str], with_cookie: bool
) -> None:
    """A browser driven by another site's page is refused, with the admin's cookie and without tokens."""
    with door(tmp_path, guarded=with_cookie) as one:
        if with_cookie:
            one.sign_in(ADMIN)
        assert one.ask("PUT", "/api/v1/knobs", KNOB, **headers).status in (403, 415)
        assert one.service.turned == []


def test_its_own_page_may(unguarded: Door) -> None:
    """What a browser sends for this port's own page is taken."""
    own = {"Origin": f"http://{unguarded.port.address}", "Sec_Fetch_Site": "same-origin"}
    assert unguarded.ask("PUT", "/api/v1/knobs", KNOB, **own).status == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 403),
        ("localhost", 200),
        ("127.0.0.1:9464", 200),
        ("[::1]:9464", 200),
        ("[", 403),
        ("", 403),
    ],
)
def test_without_tokens_no_other_name_leads_here(unguarded: Door, host: str, status: int) -> None:
    """A name of the network that was made to lead to this machine reads nothing; metrics are for any name."""
    assert unguarded.ask("GET", "/api/v1/state", Host=host).status == status
    assert unguarded.ask("GET", "/metrics", Host="pinch").status == 200


def test_without_tokens_an_open_port_turns_nothing(tmp_path: Path) -> None:
    """Beyond this machine, savings are shown without a token and knobs are not turned."""
    with door(tmp_path, guarded=False, listen="0.0.0.0:0") as one:
        one.headers["Host"] = "pinch.example"
        assert one.ask("GET", "/api/v1/state").status == 200
        answer = one.ask("PUT", "/api/v1/knobs", KNOB)
        assert answer.status == 403
        assert "server.tokens" in answer.text  # type: ignore[attr-defined]
        assert one.service.turned == []


@pytest.mark.parametrize(
    "body",
    ["", "{}", '{"knobs": {}}', '{"knobs": {"threads": true}}', '{"knobs": {"enabled": 1}}', '{"more": 1}'],
)
def test_a_change_that_is_not_understood_changes_nothing(unguarded: Door, body: str) -> None:
    """A body of another shape, or a knob that there is none of, is a 400."""
    assert unguarded.ask("PUT", "/api/v1/knobs", body).status == 400
    assert unguarded.service.turned == []


def test_a_body_without_a_bound_is_not_read(unguarded: Door) -> None:
    """A body of more than 64 KiB, or of no told length, is refused unread."""
    for told in ({"Content_Length": "65537"}, {"Content_Length": "-1"}, {"Content_Length": "²"}, {}):
        with closing(http.client.HTTPConnection(unguarded.port.address, timeout=10)) as connection:
            connection.putrequest("PUT", "/api/v1/knobs")
            for name, value in told.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            assert connection.getresponse().status == 413


def test_every_page_says_what_it_may_load(unguarded: Door) -> None:
    """Pages, their files and JSON forbid scripts of others, frames and sniffing, and name no other host."""
    for path in ("/", "/decisions/1", "/assets/main.js", "/api/v1/state", "/openapi.json"):
        headers = unguarded.ask("GET", path).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_a_file_the_browser_has_is_not_sent_again(unguarded: Door) -> None:
    """With the ETag of a file its body stays away; a file that changed has another."""
    first = unguarded.ask("GET", "/assets/main.js")
    again = unguarded.ask("GET", "/assets/main.js", If_None_Match=first.headers["ETag"])
    assert (again.status, again.text) == (304, "")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../api.py",
        "/assets/nothing.js",
        "/assets/",
        "/api/v1/",
        "/api/v1/x",
        "/static/main.js",
        "/login",
    ],
)
def test_what_is_no_page_is_not_served(unguarded: Door, path: str) -> None:
    """Nothing but the listed files and endpoints is served."""
    assert unguarded.ask("GET", path).status in (404, 405)
