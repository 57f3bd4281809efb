"""`pinch prune` in process: what goes in, what comes out, and what is said about it."""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from pinch import Edit, Measured, PruneStats
from pinch.edits import apply_byte_edits
from pinch_server.cli.account import told as people_are_told
from pinch_server.cli.limits import NAMES
from pinch_server.formats.registry import DIALECTS
from tests.cli.commands import invoke, run
from tests.rpc.conversations import body, messages

SMALL = ("--limit", "budget_tokens=2000", "--limit", "keep_last_turns=1")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A body that the small limits prune."""
    path = tmp_path / "body.json"
    path.write_bytes(body())
    return path


def told(stats: Path) -> Any:
    return json.loads(stats.read_bytes())


def as_edits(account: dict[str, Any]) -> list[Edit]:
    return [
        Edit(
            offset=edit["offset"],
            length=edit["length"],
            replaced_sha256=bytes.fromhex(edit["sha256"]),
            replacement=edit["replacement"].encode(),
        )
        for edit in account["edits"]
    ]


def test_the_body_alone_is_on_standard_output(file: Path, tmp_path: Path) -> None:
    """Standard output has the body with the edits that the account names, and nothing more."""
    stats = tmp_path / "stats.json"
    done = run("prune", str(file), *SMALL, "--stats", str(stats), home=tmp_path)
    assert done.returncode == 0, done.stderr
    account = told(stats)
    assert account["edits"]
    assert done.stdout == apply_byte_edits(body(), as_edits(account))
    assert len(done.stdout) < len(body())
    assert done.stdout.endswith(b"}\n")


def test_the_account_has_the_field_names_of_the_api(file: Path, tmp_path: Path) -> None:
    """The JSON of --stats has every field of the API's messages, enumerations in small letters."""
    stats = tmp_path / "stats.json"
    assert invoke("prune", str(file), *SMALL, "--stats", str(stats)).exit_code == 0
    account = told(stats)
    assert list(account) == ["stats", "edits", "measured", "decision_id", "unchanged_reason"]
    assert set(account["stats"]) == set(PruneStats.DESCRIPTOR.fields_by_name)
    assert set(account["measured"]) == set(Measured.DESCRIPTOR.fields_by_name)
    renamed = {"replaced_sha256": "sha256"}
    fields = {renamed.get(name, name) for name in Edit.DESCRIPTOR.fields_by_name} - {"replacement_part"}
    assert all(set(edit) == fields for edit in account["edits"])
    assert account["stats"]["ranking"] == "not_needed"
    assert {edit["action"] for edit in account["edits"]} <= {"elided", "omitted", "capped"}
    assert account["unchanged_reason"] == ""
    assert account["stats"]["tokens_saved"] > 0
    first = account["edits"][0]
    replaced = body()[first["offset"] : first["offset"] + first["length"]]
    assert first["sha256"] == hashlib.sha256(replaced).hexdigest()
    assert first["block_index"] is None


def test_standard_error_has_the_account(file: Path) -> None:
    """People read the sizes and whether the budget is met, on lines that end in no blanks."""
    result = invoke("prune", str(file), *SMALL)
    for text in ("tokens before", "tokens after", "tokens saved", "budget           2,000: met", "measured"):
        assert text in result.stderr
    assert "line 0" not in result.stderr
    assert all(line == line.rstrip() for line in result.stderr.splitlines())


@pytest.mark.parametrize(
    ("trimmed", "new", "words"),
    [
        (61, 0, "61"),
        (0, 0, "0"),
        (61, 5, "61, 5 of them for the first time"),
        (2, 2, "2, all of them for the first time"),
        (1, 1, "1, for the first time"),
        (0, 3, "0; 3 would be, for the first time"),
    ],
)
def test_what_is_new_is_told_where_there_is_any(trimmed: int, new: int, words: str) -> None:
    """Trims that are told as new are at least one; a dry run, which makes none, says what would be."""
    edits = [{"message_index": index} for index in range(trimmed)]
    sizes = {"original_tokens": 2, "final_tokens": 1, "tokens_saved": 1, "summarized": new}
    stats = sizes | {"budget_met": True, "candidates": 1}
    account = {"stats": stats, "edits": edits, "measured": None, "unchanged_reason": ""}
    (line,) = (line for line in people_are_told(account) if "results trimmed" in line)
    assert line.endswith(f"  {words}")


def test_an_id_that_leads_nowhere_is_not_shown(file: Path, tmp_path: Path) -> None:
    """Without a service nothing keeps the decision: people see no id of it; programs still get the field."""
    stats = tmp_path / "stats.json"
    result = invoke("prune", str(file), *SMALL, "--stats", str(stats))
    assert "decision" not in result.stderr
    assert told(stats)["decision_id"] not in result.stderr


def test_a_missed_budget_is_explained(file: Path) -> None:
    """A budget that cannot be met is told with what is over it, and with what is left."""
    result = invoke("prune", str(file), "--limit", "budget_tokens=10", "--limit", "keep_last_turns=1")
    assert result.exit_code == 0
    (line,) = (line for line in result.stderr.splitlines() if line.startswith("budget "))
    after = next(line for line in result.stderr.splitlines() if line.startswith("tokens after")).split()[-1]
    over = int(after.replace(",", "")) - 10
    assert line == f"budget           10: not met, {over:,} over"
    assert "what is left is text, calls and protected results" in result.stderr


def test_a_limit_given_as_an_option_is_led_to_limit(file: Path) -> None:
    """--budget 3 and --keep-last-turns=2 are answered with how such a limit is given."""
    for wrong, right in {
        ("--budget", "3"): "--limit budget_tokens=3?",
        ("--keep-last-turns=2",): "--limit keep_last_turns=2?",
    }.items():
        result = invoke("prune", str(file), *wrong)
        assert (result.exit_code, result.stdout_bytes) == (2, b"")
        assert right in result.stderr
    assert "--limit" not in invoke("prune", str(file), "--zzz").stderr


def test_help_tells_every_limit_with_its_default_and_meaning() -> None:
    """`prune --help` has a line for each limit."""
    shown = invoke("prune", "--help").stdout
    assert "budget_tokens=50000 " in shown
    assert all(f"  {name}=" in shown for name in NAMES)


@pytest.mark.parametrize("options", [["--json"], ["--stats", "-"]])
def test_the_account_can_stand_on_standard_error(file: Path, options: list[str]) -> None:
    """With --json, or --stats -, standard error is the account as JSON and nothing else."""
    result = invoke("prune", str(file), *SMALL, *options)
    assert json.loads(result.stderr)["stats"]["pruned"] is True


def test_standard_input_is_the_default(tmp_path: Path) -> None:
    """Without a file, or with -, the body comes from standard input."""
    by_default = run("prune", *SMALL, home=tmp_path, stdin=body())
    by_name = run("prune", "-", *SMALL, home=tmp_path, stdin=body())
    assert by_default.returncode == by_name.returncode == 0
    assert by_default.stdout == by_name.stdout != b""


def test_a_body_within_its_budget_comes_out_as_it_went_in(file: Path, tmp_path: Path) -> None:
    """Nothing to do means the same bytes, status 0, and the reason in the account."""
    stats = tmp_path / "stats.json"
    result = invoke("prune", str(file), "--stats", str(stats))
    assert (result.exit_code, result.stdout_bytes) == (0, body())
    assert told(stats)["unchanged_reason"] == "within_budget"
    assert "it is within its budget" in result.stderr


def test_a_dry_run_counts_and_changes_nothing(file: Path, tmp_path: Path) -> None:
    """--dry-run gives the body as it came and says what would have been saved."""
    stats = tmp_path / "stats.json"
    result = invoke("prune", str(file), *SMALL, "--dry-run", "--stats", str(stats))
    assert (result.exit_code, result.stdout_bytes) == (0, body())
    account = told(stats)
    assert account["edits"] == []
    assert account["unchanged_reason"] == "dry_run"
    assert account["stats"]["tokens_saved"] > 0


def test_out_is_written_instead_of_standard_output(file: Path, tmp_path: Path) -> None:
    """--out takes the bytes; a file that was there keeps its mode, and no half-written one stays behind."""
    out = tmp_path / "out.json"
    out.write_bytes(b"old")
    out.chmod(0o640)
    result = invoke("prune", str(file), *SMALL, "--out", str(out))
    assert (result.exit_code, result.stdout_bytes) == (0, b"")
    assert out.read_bytes() == invoke("prune", str(file), *SMALL).stdout_bytes
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["body.json", "out.json"]


def test_a_device_is_written_to_and_stays_one(file: Path) -> None:
    """--out and --stats may name a device or a pipe, which is not replaced by a file."""
    null = Path(os.devnull)
    result = invoke("prune", str(file), *SMALL, "--out", str(null), "--stats", str(null))
    assert result.exit_code == 0
    assert null.is_char_device()


def test_an_output_that_cannot_be_written_is_a_failure(file: Path, tmp_path: Path) -> None:
    """A directory that is not there ends with status 1, the file's name, and nothing on standard output."""
    missing = tmp_path / "missing" / "out.json"
    for option in ("--out", "--stats"):
        result = invoke("prune", str(file), *SMALL, option, str(missing))
        assert (result.exit_code, result.stdout_bytes) == (1, b"")
        assert str(missing) in result.stderr


def test_nothing_is_left_in_the_state_directory(file: Path, tmp_path: Path) -> None:
    """Without a server, no state is written."""
    assert invoke("prune", str(file), *SMALL).exit_code == 0
    assert not (tmp_path / "state").exists()


def test_limits_that_are_not_given_are_those_of_the_settings(file: Path, tmp_path: Path) -> None:
    """A settings file stands for the limits of the command line, and gives way to them."""
    config = tmp_path / "pinch.toml"
    config.write_text("budget_tokens = 2000\nkeep_last_turns = 1\n")
    from_settings = invoke("prune", str(file), "--config", str(config))
    assert from_settings.stdout_bytes == invoke("prune", str(file), *SMALL).stdout_bytes
    given = invoke("prune", str(file), "--config", str(config), "--limit", "budget_tokens=90000")
    assert given.stdout_bytes == body()


def test_protected_tools_are_a_list(file: Path) -> None:
    """A list of globs keeps the results of the tools it names whole."""
    result = invoke("prune", str(file), *SMALL, "--limit", "protected_tools=other,read_*")
    assert result.stdout_bytes == body()


@pytest.mark.parametrize("name", [str(dialect) for dialect in DIALECTS])
def test_every_dialect_has_a_name(name: str) -> None:
    """--format takes each dialect that can be read."""
    result = invoke("prune", "--format", name, stdin=b"{}")
    assert result.exit_code == 2
    assert "is missing" in result.stderr


BAD = {
    "not JSON": (b"nope", [], "<stdin>: is not JSON"),
    "not UTF-8": (b'{"messages": "\xff"}', [], "<stdin>: is not"),
    "no object": (b"[]", [], "<stdin>: is a list"),
    "no messages": (b'{"model": "m"}', ["--format", "openai-chat"], "<stdin>: messages: is missing"),
    "no list": (b'{"messages": 3}', ["--format", "openai-chat"], "<stdin>: messages: is a number"),
    "below 3000": (body(), ["--limit", "max_summarize_chars=2999"], "limits.max_summarize_chars: 2999"),
    "negative": (body(), ["--limit", "keep_last_rounds=-1"], "limits.keep_last_rounds: -1"),
    "zero": (body(), ["--limit", "budget_tokens=0"], "limits.budget_tokens: 0 is out of range"),
    "no number": (body(), ["--limit", "budget_tokens=many"], "limits.budget_tokens: 'many'"),
    "no limit": (body(), ["--limit", "bugdet=1"], "limits.bugdet: is no limit"),
    "no format": (body(), ["--format", "cohere"], "body.format: cohere is not a known value; give one of"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_words(case: str, tmp_path: Path) -> None:
    """Each kind of bad input ends with status 2, its field and problem, and nothing on standard output."""
    stdin, options, words = BAD[case]
    stats = tmp_path / "stats.json"
    result = invoke("prune", *options, "--stats", str(stats), stdin=stdin)
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert words in result.stderr
    assert not stats.exists()


def test_every_violation_comes_at_once() -> None:
    """Unreadable limits, limits out of range and a body without history are told together, one a line."""
    limits = ("--limit", "budget_tokens=0", "--limit", "protected_max_chars=5", "--limit", "min_gain=much")
    result = invoke("prune", *limits, "--format", "openai-chat", stdin=b"{}")
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == [
        "limits.min_gain",
        "limits.budget_tokens",
        "limits.protected_max_chars",
        "<stdin>",
    ]


def test_a_body_over_the_message_limit_is_refused(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    """A body longer than a message may be is bad input here as it is over the wire."""
    monkeypatch.setenv("PINCH_SERVER__MAX_MESSAGE_BYTES", "2048")
    result = invoke("prune", str(file))
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert result.stderr == f"{file}: is longer than 2048 bytes, the most a message may have\n"
    with_a_limit = invoke("prune", str(file), "--limit", "budget_tokens=0", "--limit", "min_gain=much")
    assert [line.partition(":")[0] for line in with_a_limit.stderr.splitlines()] == [
        "limits.min_gain",
        "limits.budget_tokens",
        str(file),
    ]


def test_a_file_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    """A missing file ends with status 2 and its name."""
    result = invoke("prune", str(tmp_path / "missing.json"))
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert "missing.json: cannot be read" in result.stderr


def test_unusable_settings_stop_it(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    """Settings that cannot be used are all named, with status 2, before anything is pruned."""
    monkeypatch.setenv("PINCH_BUDGET_TOKENS", "-1")
    monkeypatch.setenv("PINCH_WHAT", "1")
    result = invoke("prune", str(file))
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert len(result.stderr.splitlines()) == 2


def test_what_the_pruner_cannot_understand_comes_out_as_it_went_in() -> None:
    """JSON nested too deeply is no error: the same bytes, and the reason."""
    deep = b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    result = invoke("prune", "--format", "openai-chat", stdin=deep)
    assert (result.exit_code, result.stdout_bytes) == (0, deep)
    assert "it was not understood as a conversation" in result.stderr


def test_the_sample_has_something_to_trim() -> None:
    """The body these tests use is longer than the small budget."""
    assert len(json.dumps(messages())) > 3 * 2_000
