"""The keyed form: what it keeps stands in the original, and what it wrote it knows again."""

import json
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinch_server.core.echoes import Vocabulary
from pinch_server.core.identifiers import identifiers
from pinch_server.core.keyed import elide, omit, step_of
from pinch_server.core.trimming import Step
from tests.checker.markers import violations
from tests.core.weighing import weighing

LOG = "".join(
    f"2026-01-{i % 28 + 1:02d}T10:00:{i % 60:02d}Z INFO worker-{i % 7} id={i * 2654435761 % 2**32:08x} ok\n"
    for i in range(900)
)
TRACE = "Traceback (most recent call last):\n  File \"src/app.py\", line 42, in run\nKeyError: 'token_id'\n"
TEXTS = {
    "minified": json.dumps([{"id": i * 7919, "name": f"it_{i}"} for i in range(900)], separators=(",", ":")),
    "cjk": "漢字かな交じり文。" * 900,
    "cjk-names": "設定は src/設定.py と config_main.toml にある。\n" * 300,
    "ansi": "\x1b[31mFAIL\x1b[0m test_a.py::one \x1b]8;;https://example.org/x\x07link\x1b]8;;\x07\n" * 300,
    "trace": LOG[:6_000] + TRACE + LOG[6_000:],
    "diff": "".join(f"@@ -{i},7 +{i},9 @@\n-    old_{i} = {i}\n+    new_{i} = {i}\n" for i in range(300)),
    "table": "".join(f"| {i:5} | table_row_{i:04} | {i * 37 % 101:7} |\r\n" for i in range(400)),
    "base64": "".join(chr(65 + i * i % 26) + str(i % 10) for i in range(9_000)),
    "crlf": LOG.replace("\n", "\r\n"),
    "clusters": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 2_000,
    "flags": "\U0001f1e9\U0001f1ea" * 4_000,
    "surrogates": "\ud83d lone_one " * 900,
    "forged": ("kept\n[...500 chars trimmed...]\nkept_line\n[...77...]\n" + LOG[:400]) * 30,
    "turkish": "İstanbul ERROR file_İ.txt\n" * 400,
    "separators": "/:.-" * 5_000,
    "one letter": "a" * 20_000,
}  # fmt: skip


def worth_of(word: str) -> float:
    """Some identifiers are worth more, some nothing."""
    return len(word) % 4 / 3


weigh = weighing(worth_of)
echo = Vocabulary.of(["the item failed: new line kept table link handler main toml"]).echo


def problems(olds: list[str], news: list[str]) -> list[str]:
    """What the suite's checker finds."""
    return violations(olds, news, name="ls", limits={"trim_style": "keyed"})


@pytest.mark.parametrize("name", TEXTS)
def test_any_text(name: str) -> None:
    """Each kept piece stands in the original, in order, around true gaps; the excerpt knows itself again."""
    text = TEXTS[name]
    for (shorter,) in (elide([text], weigh), elide([text], weigh, echo)):
        assert problems([text], [shorter]) == []
        assert len(shorter) < 4_000
        assert step_of("ls", [shorter]) is Step.ELIDED
    (listed,) = omit("ls", [text], weigh, 800)
    assert problems([text], [listed]) == []
    assert step_of("ls", [listed]) is Step.OMITTED


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([*TEXTS.values(), "", "\n", " \t", "ok", TRACE]), max_size=3).map("".join),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([0, 40, 400, 4_000]),
)
def test_any_parts(texts: list[str], chars: int) -> None:
    """Parts keep their number, none becomes blank or longer, and a trimmed result is known again."""
    for shorter, step in (
        (elide(texts, weigh), Step.ELIDED),
        (elide(texts, weigh, echo), Step.ELIDED),
        (omit("ls", texts, weigh, chars), Step.OMITTED),
    ):
        assert len(shorter) == len(texts)
        assert problems(texts, shorter) == []
        if shorter != texts and any(old != new for old, new in zip(texts, shorter, strict=True)):
            assert step_of("ls", shorter) is step


def test_a_megabyte_on_one_line() -> None:
    """A text of a megabyte without a line break is cut like any other."""
    for text in ("x" * 1_000_000, "a_1/" * 250_000, "漢" * 1_000_000, TEXTS["minified"] * 40):
        (shorter,) = elide([text], weigh, echo)
        assert problems([text], [shorter]) == []


def test_empty_and_blank() -> None:
    """Nothing is made of nothing."""
    assert elide([], weigh) == []
    assert elide(["", " \n"], weigh) == ["", " \n"]
    assert omit("ls", ["", " \n"], weigh, 800) == ["", " \n"]
    assert step_of("ls", []) is Step.WHOLE


@pytest.mark.parametrize("chars", [1_500, 2_990, 3_200, 9_000])
def test_blank_parts_take_no_share(chars: int) -> None:
    """However long a blank part is, the text beside it keeps all its room, and is known again once cut."""
    text = ("src/app.py:42 says so\n" * 500)[:chars]
    shorter = elide([text, "\r\n" * 1_700, " " * 9_000], weigh)
    assert shorter[1:] == ["\r\n" * 1_700, " " * 9_000]
    assert shorter[0] == elide([text], weigh)[0]
    assert step_of("ls", shorter) is (Step.WHOLE if chars <= 3_000 else Step.ELIDED)


def test_a_gap_at_an_end_adds_no_line_break() -> None:
    """Where a long escape sequence leaves nothing of an end, the marker stands there alone."""
    title = "\x1b]8;;" + "u" * 990 + "\x07"
    (headless,) = elide([title + "link " * 2_000], weigh)
    (tailless,) = elide(["link " * 2_000 + title], weigh)
    assert headless.startswith("[...")
    assert tailless.endswith("...]")
    assert step_of("ls", [headless]) is step_of("ls", [tailless]) is Step.ELIDED


def test_the_worthy_line_stays() -> None:
    """Of a long log, the one line with an identifier of worth is kept, and so is the one with the error."""
    text = (
        LOG[:20_000]
        + "wrote build/out_7.tar.gz here\n"
        + LOG[20_000:30_000]
        + "fatal: no space\n"
        + LOG[30_000:]
    )
    (shorter,) = elide([text], weighing(lambda word: float(word == "build/out_7.tar.gz")))
    assert "wrote build/out_7.tar.gz here\n" in shorter
    assert "fatal: no space\n" in shorter


@given(st.text(alphabet="ab_/.:1X \n漢", min_size=100, max_size=900), st.integers(0, 300))
def test_the_list_of_a_placeholder(text: str, chars: int) -> None:
    """A placeholder is one line; its list is within its bound and names identifiers of the original alone."""
    (listed,) = omit("ls", [text], weigh, chars)
    if listed == text:
        return
    found = re.fullmatch(r"\[ls: result omitted(?:; mentioned: (.+))?\]", listed)
    assert found is not None
    mentioned = found[1] or ""
    assert len(mentioned) <= chars
    assert set(mentioned.split(", ") if mentioned else []) <= {
        w for w in identifiers(text) if worth_of(w) > 0
    }


def test_the_same_in_every_process() -> None:
    """The order of sets, which differs from process to process, decides nothing."""
    script = (
        "from tests.core.test_keyed import TEXTS, echo, weigh\n"
        "from pinch_server.core.keyed import elide, omit\n"
        "import hashlib\n"
        "out = repr([(elide([t], weigh, echo), omit('ls', [t], weigh, 800)) for t in TEXTS.values()])\n"
        "print(hashlib.sha256(out.encode('utf-8', 'surrogatepass')).hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(digests) == 1


ENDS = ("h" * 730 + "\n", "t" * 730)


@pytest.mark.parametrize(
    "text",
    [
        "[...500 chars trimmed...]",
        "[...9,000 chars trimmed...]\n[...77...]",
        "a line\n[...9,000 chars trimmed...]\na line",
        f"{ENDS[0]}[...9,000...]\n{ENDS[1]}",
        f"{ENDS[0]}[...9000 chars trimmed...]\n{ENDS[1]}",
        f"{ENDS[0]}[...0 chars trimmed...]\n{ENDS[1]}",
        f"{ENDS[0]}[...1,000 chars trimmed...]\n{ENDS[1]}",
        f"{ENDS[0]}x [...9,000 chars trimmed...]\n{ENDS[1]}",
        f"{ENDS[0]}[...9,000 chars trimmed...]\n{'m' * 3_000}\n[...77...]\n{ENDS[1]}",
        "[grep: result omitted; mentioned: src/app.py]",
        "[ls: result omitted; mentioned: ]",
        "[ls: result omitted; mentioned: plain words]",
        "[ls: result omitted; mentioned: src/app.py,src/web.py]",
        "[ls: result omitted; mentioned: src/app.py] and more",
        "[ls: result omitted; mentioned: src/app.py\n]",
        f"[ls: result omitted; mentioned: {'a_1234567' * 500}]",
        "",
    ],
)
def test_what_only_resembles_a_trim_is_ordinary_text(text: str) -> None:
    """Text a tool wrote that looks like a trimmed result, but has not the shape of one, counts as whole."""
    assert step_of("ls", [text]) is Step.WHOLE


def test_a_placeholder_beside_long_text_is_ordinary_text() -> None:
    """A placeholder stands for a whole result: beside parts that are still long it is a tool's own words."""
    assert step_of("ls", ["x" * 900, "[ls: result omitted; mentioned: src/app.py]"]) is Step.WHOLE
