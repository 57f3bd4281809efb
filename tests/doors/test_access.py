"""Who may call what: every method and page, every kind of caller, as docs/security.md says."""

import http.client
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import grpc
import pytest
from google.protobuf import descriptor_pool

from pinch_server.doors.access import GRPC, HTTP, HTTP_BELOW, MOUTHS, Role
from pinch_server.doors.tokens import Tokens, watched_tokens
from pinch_server.doors.watched import Watched
from pinch_server.rpc.server import METHODS
from pinch_server.web.api import Api
from pinch_server.web.http import HttpPort
from pinch_server.web.site import Dashboard
from tests.gateways.ports import opened
from tests.rpc.service import Service, refusal, running
from tests.web.standing import NoQuestions, NoService

PAGE = Path(__file__).resolve().parents[2] / "docs" / "security.md"
CALLERS = ("no token", "unknown token", *(role.value for role in Role))
_ROW = re.compile(r"^\| `(/?[\w./]+)` \|(.*)\|$", re.MULTILINE)
TOKENS = {role.value: f"{role.value}-{role.value}-{role.value}-token" for role in Role}


def documented() -> dict[str, dict[str, str]]:
    """What the page says: for each method and page, what becomes of each kind of caller."""
    found = {}
    for name, cells in _ROW.findall(PAGE.read_text(encoding="utf-8")):
        answers = [cell.strip() for cell in cells.split("|")]
        found[name if name.startswith("/") else f"/{name}"] = dict(zip(CALLERS, answers, strict=True))
    return found


MATRIX = documented()


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Watched[Tokens]:
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    path.write_text("".join(f"{name} {name} plain:{token}\n" for name, token in TOKENS.items()))
    path.chmod(0o600)
    return watched_tokens(path, lambda: 0.0)


@pytest.fixture(scope="module")
def guarded(tokens: Watched[Tokens]) -> Iterator[Service]:
    with running(tokens=tokens, shows_itself=True, has_channelz=True) as service:
        yield service


def header(caller: str) -> str | None:
    if caller == "no token":
        return None
    return f"Bearer {TOKENS.get(caller, 'nobody-knows-this-token')}"


def asked(service: Service, method: str, caller: str) -> str:
    """What a call ends with, by the words of the page."""
    sent = header(caller)
    metadata = [] if sent is None else [("authorization", sent)]
    call = service.channel.stream_stream(method)(iter([b""]), metadata=metadata, timeout=30)
    try:
        next(call, None)
        # Watch would go on for ever.
        call.cancel()
    except grpc.RpcError as error:
        code = error.code()
        assert code is not grpc.StatusCode.DEADLINE_EXCEEDED
        return code.name if code.name in ("UNAUTHENTICATED", "PERMISSION_DENIED") else "yes"
    return "yes"


def test_the_page_has_every_method_and_page() -> None:
    """The table of the page on security names what the table of the code names, and nothing else."""
    assert MATRIX.keys() == GRPC.keys() | HTTP.keys() | MOUTHS.keys() | HTTP_BELOW.keys()


def test_the_table_has_every_method_that_is_served() -> None:
    """No method of any service that the server registers is missing from the table."""
    pool = descriptor_pool.Default()
    services = (
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
        "grpc.channelz.v1.Channelz",
    )
    served = {
        f"/{name}/{method.name}" for name in services for method in pool.FindServiceByName(name).methods
    }
    assert served | set(METHODS) == GRPC.keys()


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("method", GRPC)
def test_each_caller_of_each_method_gets_what_the_page_says(
    guarded: Service, method: str, caller: str
) -> None:
    """Over gRPC, each method answers each kind of caller as documented."""
    assert asked(guarded, method, caller) == MATRIX[method][caller]


@pytest.fixture(scope="module")
def counted() -> list[str]:
    """What the HTTP port refused."""
    return []


@pytest.fixture(scope="module")
def pages(tokens: Watched[Tokens], counted: list[str]) -> Iterator[str]:
    """The address of an HTTP port with the dashboard, which the tests of a page only ask things."""
    port = HttpPort(
        "127.0.0.1:0",
        lambda: b"",
        lambda: True,
        metrics_type="text/plain",
        tokens=tokens,
        refused=counted.append,
        site=Dashboard(Api(NoQuestions(), NoService())),
    )
    port.start()
    try:
        yield port.address
    finally:
        port.close()


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("page", [*HTTP, *HTTP_BELOW])
def test_each_reader_of_each_page_gets_what_the_page_says(
    pages: str, counted: list[str], page: str, caller: str
) -> None:
    """Over HTTP likewise: 401 without a known token, 403 with one for something else."""
    before = len(counted)
    with closing(http.client.HTTPConnection(pages, timeout=10)) as connection:
        sent = header(caller)
        connection.request("GET", page, headers={} if sent is None else {"Authorization": sent})
        answer = connection.getresponse()
        # Whoever is let in may find nothing there, or have to come by another method.
        words = {401: "401", 403: "403"}.get(answer.status, "yes")
        assert words == MATRIX[page][caller]
        assert (answer.headers["WWW-Authenticate"] == "Bearer") is (words == "401")
        assert len(counted) - before == (words != "yes")


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("path", MOUTHS)
def test_each_gateway_at_each_endpoint_gets_what_the_page_says(
    tokens: Watched[Tokens], path: str, caller: str
) -> None:
    """The endpoints for gateways likewise; who is refused leaves no decision."""
    sent = header(caller)
    with opened(tokens=tokens) as port:
        reply = port.post(path, b'{"messages": []}', {} if sent is None else {"Authorization": sent})
        words = {401: "401", 403: "403"}.get(reply.status, "yes")
        assert words == MATRIX[path][caller]
        assert (reply.headers.get("www-authenticate") == "Bearer") is (words == "401")
        assert len(port.refused) == (words != "yes")


def test_without_a_token_nobody_learns_what_there_is(guarded: Service) -> None:
    """An unknown method is UNAUTHENTICATED without a token, and UNIMPLEMENTED with any."""
    assert asked(guarded, "/no.Such/Method", "no token") == "UNAUTHENTICATED"
    with pytest.raises(grpc.RpcError) as caught:
        guarded.channel.unary_unary("/no.Such/Method")(
            b"", metadata=[("authorization", str(header("insight")))]
        )
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_refusal_has_its_reason_its_line_and_its_count(guarded: Service) -> None:
    """A refused call is logged under its id and counted, and carries a reason for machines but no token."""
    before = guarded.metric('pinch_calls_refused_total{door="grpc",problem="wrong_role"}')
    metadata = [("authorization", str(header("insight"))), ("x-request-id", "the-one")]
    with pytest.raises(grpc.RpcError) as caught:
        guarded.channel.unary_unary("/pinch.v1.PruneService/Prune")(b"", metadata=metadata)
    found = refusal(caught.value)
    assert (found.code, found.reason) == (grpc.StatusCode.PERMISSION_DENIED, "NO_SUCH_ROLE")
    assert found.message == "pinch.v1.PruneService/Prune needs a token of the role prune"
    assert found.request_id == "the-one"
    line = next(line for line in guarded.log if line["request_id"] == "the-one")
    assert line["code"] == "PERMISSION_DENIED"
    assert guarded.metric('pinch_calls_refused_total{door="grpc",problem="wrong_role"}') == before + 1


def test_a_refused_call_is_not_read(tokens: Watched[Tokens]) -> None:
    """Who has no token is refused before its message is there, and takes no thread of the calls."""
    over = threading.Event()

    def never() -> Iterator[bytes]:
        over.wait(60)
        yield b""

    with running(tokens=tokens, threads=1) as service:
        silent = service.channel.stream_stream("/pinch.v1.PruneService/Prune")(never(), timeout=60)
        assert silent.code() is grpc.StatusCode.UNAUTHENTICATED
        over.set()


def test_a_token_is_taken_the_moment_its_file_has_it(tmp_path: Path) -> None:
    """A rotated file lets the new token in and the old one no longer, without a restart."""
    now = 0.0
    path = tmp_path / "tokens"
    path.write_text(f"router prune plain:{TOKENS['prune']}")
    path.chmod(0o600)
    with running(tokens=watched_tokens(path, lambda: now)) as service:

        def code(token: str) -> grpc.StatusCode:
            method = service.channel.unary_unary("/pinch.v1.PruneService/Prune")
            with pytest.raises(grpc.RpcError) as caught:
                method(b"", metadata=[("authorization", f"Bearer {token}")])
            code: grpc.StatusCode = caught.value.code()
            return code

        assert code(TOKENS["prune"]) is grpc.StatusCode.INVALID_ARGUMENT
        path.write_text("router prune plain:the-next-token-of-all\n")
        now = 1.0
        assert code(TOKENS["prune"]) is grpc.StatusCode.UNAUTHENTICATED
        assert code("the-next-token-of-all") is grpc.StatusCode.INVALID_ARGUMENT
