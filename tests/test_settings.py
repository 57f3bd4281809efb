"""The settings: one table, three sources, and every problem told at once."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from pinch_server.core.limits import Limits
from pinch_server.settings import (
    RelevanceSettings,
    Settings,
    SettingsError,
    default_state_dir,
    json_schema,
    knobs,
    load_settings,
    redacted,
    to_limits,
)
from pinch_server.settings.doc import configuration_page
from tests.settings_values import CACHE, DEFAULTS, EXTRACTION, OTHER, SINGLE_VALUED, TLS

HERE = Path(__file__).resolve().parent
BAD = sorted((HERE / "bad_config").iterdir())
DOC = HERE.parent / "docs" / "configuration.md"


def problems(path: Path | None = None, **environ: str) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as refused:
        load_settings(path, environ)
    return refused.value.problems


def at(settings: Settings, key: str) -> object:
    return within(redacted(settings), key)


def within(value: object, key: str) -> object:
    for part in key.split("."):
        assert isinstance(value, dict)
        value = value[part]
    return value


def write(directory: Path, text: str, name: str = "pinch.toml") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_source_the_defaults_hold() -> None:
    """Nothing set gives the documented defaults, and limits equal to the core's own."""
    settings = load_settings(None, {"HOME": "/home/pinch"})
    assert to_limits(settings) == Limits()
    assert redacted(settings) == DEFAULTS


def test_this_file_knows_every_knob() -> None:
    """The table of other values above names each knob, so that none goes untested."""
    assert {knob.key for knob in knobs()} == (
        OTHER.keys() | SINGLE_VALUED.keys() | TLS.keys() | EXTRACTION.keys()
    )


@pytest.mark.parametrize("key", OTHER)
def test_each_knob_is_read_from_its_variable(key: str) -> None:
    """A knob's environment variable sets it and nothing else."""
    variable = next(knob.variable for knob in knobs() if knob.key == key)
    text, value = OTHER[key]
    settings = load_settings(None, {variable: text})
    assert at(settings, key) == value
    default = redacted(load_settings(None, {}))
    shown = redacted(settings)
    changed = [knob.key for knob in knobs() if within(shown, knob.key) != within(default, knob.key)]
    assert changed == [key]


def test_the_knobs_of_tls_are_read_together() -> None:
    """A group within a group is read from its variables, and `~` in a path is somebody's home."""
    variables = {knob.variable: TLS[knob.key][0] for knob in knobs() if knob.key in TLS}
    settings = load_settings(None, variables)
    assert {key: at(settings, key) for key in TLS} == {key: value for key, (_, value) in TLS.items()}


def test_the_knobs_of_extraction_that_need_another_are_read_with_it() -> None:
    """Extraction needs a key, sweeps where nothing else is extracted, and originals a secret."""
    variables = {knob.variable: EXTRACTION[knob.key][0] for knob in knobs() if knob.key in EXTRACTION}
    others = ("extract.model.api_key", "extract.cold_cache.enabled", "originals.key")
    variables |= {knob.variable: OTHER[knob.key][0] for knob in knobs() if knob.key in others}
    settings = load_settings(None, variables)
    assert {key: at(settings, key) for key in EXTRACTION} == {
        key: value for key, (_, value) in EXTRACTION.items()
    }
    del variables["PINCH_EXTRACT__COLD_CACHE__ENABLED"]
    (problem,) = problems(None, **variables)
    assert problem.startswith("extract.per_output (PINCH_EXTRACT__PER_OUTPUT): false leaves nothing")


@pytest.mark.parametrize("name", ["pinch.toml", "pinch.yaml", "pinch.yml", "PINCH.TOML"])
def test_environment_stands_over_file_over_defaults(tmp_path: Path, name: str) -> None:
    """Each source gives way to the one above it, key by key, inside a group too."""
    toml = "[server]\nthreads = 3\ndrain_seconds = 1\n"
    yaml = "server:\n  threads: 3\n  drain_seconds: 1\n"
    path = write(tmp_path, toml if name.lower().endswith("toml") else yaml, name)
    settings = load_settings(path, {"PINCH_SERVER__THREADS": "5"})
    assert (settings.server.threads, settings.server.drain_seconds) == (5, 1.0)
    assert settings.server.listen == "127.0.0.1:50051"


def test_the_file_is_named_by_argument_or_variable(tmp_path: Path) -> None:
    """PINCH_CONFIG names the file unless the argument does; an empty one names none."""
    one = write(tmp_path, "budget_tokens = 1", "one.toml")
    two = write(tmp_path, "budget_tokens = 2", "two.toml")
    assert load_settings(None, {"PINCH_CONFIG": str(one)}).budget_tokens == 1
    assert load_settings(two, {"PINCH_CONFIG": str(one)}).budget_tokens == 2
    assert load_settings(None, {"PINCH_CONFIG": ""}).budget_tokens == 50_000


def test_the_process_environment_is_read_only_when_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not passed in has no effect, whatever the process's own environment holds."""
    monkeypatch.setenv("PINCH_BUDGET_TOKENS", "7")
    assert load_settings(None, {}).budget_tokens == 50_000
    assert Settings().budget_tokens == 50_000


def test_each_knob_has_a_bad_file() -> None:
    """No knob is without a file that sets it wrongly, whose first line says what is told of it."""
    told = "\n".join(path.read_text(encoding="utf-8") for path in BAD)
    assert [knob.key for knob in knobs() if f"# {knob.key} ({knob.variable})" not in told] == []


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.name)
def test_each_bad_file_is_told_in_one_line(path: Path) -> None:
    """A file with one mistake gives one problem: the words its first line holds, with the file's name."""
    first = path.read_text(encoding="utf-8").splitlines()[0]
    expected = first.removeprefix("# ") if first.startswith("#") else "unknown kind of file"
    (problem,) = problems(path)
    assert expected.replace("FILE", str(path)) in problem
    assert "tellnoone" not in problem
    assert "987654321" not in problem
    assert "\n" not in problem


def test_every_knob_that_can_be_wrong_has_a_bad_file() -> None:
    """Each knob is named by at least one file of tests/bad_config."""
    told = "\n".join(path.read_text(encoding="utf-8").splitlines()[0] for path in BAD)
    assert [knob.key for knob in knobs() if f"{knob.key} ({knob.variable})" not in told] == []


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    """File, environment, unknown names, bad values and what only values together get wrong: one report."""
    path = write(tmp_path, 'budgt = 1\nkeep_last_turns = 0\n[server]\nlisten = "0.0.0.0:1"\nthreads = 0\n')
    found = problems(path, PINCH_BUDGET_TOKENS="x", PINCH_NOPE="1", PINCH_MIN_GAIN="2")
    starts = [
        "budgt:",
        "PINCH_NOPE:",
        "budget_tokens (",
        "keep_last_turns (",
        "min_gain (",
        "server.threads (",
    ]
    assert [line for line in found if line.startswith(tuple(starts))] == list(found[:-1])
    assert len(found) == len(starts) + 1
    assert found[-1].startswith("server.listen (PINCH_SERVER__LISTEN): '0.0.0.0:1' lets other machines in")


@pytest.mark.parametrize("name", ["PINCH_EXTRACT__MODEL__API_KEY", "PINCH_RELEVANCE__API_KEY"])
def test_a_key_may_end_as_files_of_secrets_do(name: str) -> None:
    """A line break after a key is not part of it: with it no header could be sent."""
    settings = load_settings(None, {name: "sk-1\n"})
    assert "sk-1" in (settings.extract.model.api_key, settings.relevance.api_key)


def test_a_problem_names_the_source_it_came_from(tmp_path: Path) -> None:
    """A bad value from the environment is not blamed on the file that sets the same key well."""
    path = write(tmp_path, "budget_tokens = 5")
    (problem,) = problems(path, PINCH_BUDGET_TOKENS="0")
    assert problem.startswith(
        "budget_tokens (PINCH_BUDGET_TOKENS), in the environment: 0 is out of range; give "
    )


def test_a_file_that_cannot_be_read_hides_nothing_else(tmp_path: Path) -> None:
    """A missing file is one problem beside those of the environment."""
    found = problems(tmp_path / "none.toml", PINCH_BUDGET_TOKENS="0")
    assert [line.rpartition(": ")[2] for line in found[:1]] == ["No such file or directory"]
    assert len(found) == 2


def test_bytes_that_are_not_utf8_are_told(tmp_path: Path) -> None:
    """A file in another encoding is refused by name, one with a byte order mark is read."""
    path = tmp_path / "pinch.toml"
    path.write_bytes(b"budget_tokens = 5 # \xff\n")
    assert problems(path) == (f"{path}: is not UTF-8; save it as UTF-8",)
    path.write_bytes(b"\xef\xbb\xbfbudget_tokens = 5\n")
    assert load_settings(path, {}).budget_tokens == 5


def test_an_empty_file_is_no_problem(tmp_path: Path) -> None:
    """An empty file, and a group without keys, leave the defaults."""
    for name, text in (("a.toml", ""), ("a.yaml", ""), ("b.yaml", "server:\n")):
        assert load_settings(write(tmp_path, text, name), {}).server.threads == 16


@pytest.mark.parametrize(
    ("variable", "mend"),
    [
        ("PINCH_BUDGET_TOKEN", "did you mean PINCH_BUDGET_TOKENS?"),
        ("pinch_budget_tokens", "did you mean PINCH_BUDGET_TOKENS?"),
        ("PINCH_SERVER", "did you mean PINCH_SERVER__TOKENS?"),
        ("PINCH_SERVER_THREADS", "did you mean PINCH_SERVER__THREADS?"),
        ("PINCH_ZZZZZZ", "remove it"),
    ],
)
def test_an_unknown_variable_is_refused(variable: str, mend: str) -> None:
    """A PINCH_ variable that sets nothing is named, with the likely intention and without its value."""
    (problem,) = problems(None, **{variable: "secret-value"})
    assert problem.startswith(f"{variable}: unknown variable; {mend}")
    assert "secret-value" not in problem


def test_other_peoples_variables_are_no_concern() -> None:
    """Only names that begin with PINCH_ are looked at."""
    assert load_settings(None, {"PATH": "/bin", "PINCHING": "1", "MY_PINCH_X": "1"}) == load_settings(
        None, {}
    )


@pytest.mark.parametrize("text", ["protected_max_chars: null", "protected_max_chars: 0"])
def test_null_and_zero_mean_no_cap(tmp_path: Path, text: str) -> None:
    """protected_max_chars alone may be 0 or null, and is 0 then."""
    assert load_settings(write(tmp_path, text, "a.yaml"), {}).protected_max_chars == 0


@pytest.mark.parametrize("text", ["", "none", "None"])
def test_no_target_can_be_said_everywhere(text: str) -> None:
    """The environment has no null: `none` or nothing takes a file's target away."""
    assert load_settings(None, {"PINCH_TARGET_TOKENS": text}).target_tokens is None


def test_globs_are_a_list_or_separated_by_commas(tmp_path: Path) -> None:
    """A list in the file and a comma-separated variable mean the same; an empty variable is an empty list."""
    path = write(tmp_path, 'protected_tools = ["a*", "b"]')
    assert load_settings(path, {}).protected_tools == ("a*", "b")
    assert load_settings(None, {"PINCH_PROTECTED_TOOLS": "a*,b"}).protected_tools == ("a*", "b")
    assert load_settings(path, {"PINCH_PROTECTED_TOOLS": ""}).protected_tools == ()


@pytest.mark.parametrize("listen", ["localhost:1", "127.0.0.9:1", "[::1]:1", "unix:/run/x"])
def test_plain_text_stays_on_this_machine(listen: str) -> None:
    """Loopback and unix sockets need no permission to be plain."""
    assert load_settings(None, {"PINCH_SERVER__LISTEN": listen}).server.listen == listen


@pytest.mark.parametrize("listen", ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "pinch.example:1"])
def test_plain_text_beyond_it_must_be_allowed(listen: str) -> None:
    """Any other address is refused until `server.insecure` says that it is meant."""
    assert "server.insecure (PINCH_SERVER__INSECURE)" in problems(None, PINCH_SERVER__LISTEN=listen)[0]
    allowed = {"PINCH_SERVER__LISTEN": listen, "PINCH_SERVER__INSECURE": "true"}
    assert load_settings(None, allowed).server.listen == listen


def test_settings_cannot_be_changed() -> None:
    """Settings are frozen, the groups as well."""
    settings = load_settings(None, {})
    for target, name in ((settings, "budget_tokens"), (settings.server, "threads")):
        with pytest.raises(ValueError, match="frozen"):
            setattr(target, name, 1)


def test_no_secret_is_shown() -> None:
    """Neither what is printed nor the representation holds a key or a password."""
    settings = load_settings(
        None,
        {
            "PINCH_SESSION_HASH_KEY": "tellnoone-tellnoone",
            "PINCH_STORE__DATABASE_URL": "postgresql://pinch:tell:no@ne@host/d?password=tellnoone",
        },
    )
    shown = json.dumps(redacted(settings)) + repr(settings) + str(settings)
    for secret in ("tellnoone", "tell:no", "no@ne"):
        assert secret not in shown
    assert redacted(settings)["store"]["database_url"] == "postgresql://pinch:********@host/d?********"
    assert settings.session_hash_key == "tellnoone-tellnoone"


def test_the_fingerprint_follows_what_shapes_a_plan() -> None:
    """Equal pruning settings give one fingerprint, in any process, wherever the service listens."""
    standard = load_settings(None, {}).fingerprint()
    elsewhere = {"PINCH_SERVER__THREADS": "2", "PINCH_STORE__STATE_DIR": "/x", "PINCH_LOG__LEVEL": "error"}
    assert load_settings(None, elsewhere).fingerprint() == standard
    for key in ("enabled", "budget_tokens", "protected_tools", "counting", "omit_images", "min_gain"):
        variable = next(knob.variable for knob in knobs() if knob.key == key)
        assert load_settings(None, {variable: OTHER[key][0]}).fingerprint() != standard
    code = "from pinch_server.settings import load_settings; print(load_settings(None, {}).fingerprint())"
    other = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": str(HERE.parent / "server")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == standard
    assert len(standard) == 12


def test_the_limits_carry_every_setting_of_the_same_name() -> None:
    """A knob named like a limit reaches the limits."""
    shared = {knob.key for knob in knobs()} & set(Limits.__dataclass_fields__)
    environ = {knob.variable: OTHER[knob.key][0] for knob in knobs() if knob.key in shared & OTHER.keys()}
    limits = to_limits(load_settings(None, environ))
    for name in shared & OTHER.keys():
        read = getattr(limits, name)
        assert (list(read) if isinstance(read, tuple) else read) == OTHER[name][1]
    assert Limits.__dataclass_fields__.keys() - shared == {"extra_fixed_tokens", "relevance", *CACHE}


def test_defaults_are_declared_once() -> None:
    """Each knob named like a limit has, without any source, just the value that the limits have."""
    settings, limits = Settings(), Limits()
    # The limit `relevance` is the knob relevance.enabled.
    shared = Limits.__dataclass_fields__.keys() & Settings.model_fields.keys() - {"relevance"}
    assert Limits.__dataclass_fields__.keys() - shared == {"extra_fixed_tokens", "relevance", *CACHE}
    for name in shared:
        assert getattr(settings, name) == getattr(limits, name), name


def test_ranking_is_on_unless_it_is_turned_off() -> None:
    """The limit of a call that sets none is relevance.enabled."""
    for variable, wanted in (("true", True), ("false", False)):
        settings = load_settings(None, {"PINCH_RELEVANCE__ENABLED": variable})
        assert to_limits(settings).relevance is wanted


def test_an_endpoint_is_asked_once_it_is_chosen() -> None:
    """By default nobody is; openai starts from a local Ollama, and a base URL chooses by itself."""
    assert RelevanceSettings().endpoint == ""
    assert RelevanceSettings(provider="openai").endpoint == "http://localhost:11434/v1"
    assert RelevanceSettings(base_url="http://h/v1").endpoint == "http://h/v1"


def test_the_schema_and_the_reader_agree() -> None:
    """The JSON schema is one, takes the defaults, and refuses what the bounds refuse."""
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    plain = redacted(load_settings(None, {}))
    assert check.is_valid(plain)
    assert check.is_valid({"protected_max_chars": 0, "target_tokens": None})
    for bad in (
        {"budget_tokens": 0},
        {"protected_max_chars": 2_999},
        {"target_tokens": 0},
        {"nope": 1},
        {"server": {"threads": 0}},
        {"log": {"level": "loud"}},
        {"objective": {"assumed_cache_rate": 1.1}},
    ):
        assert not check.is_valid(bad), bad


def test_state_goes_where_the_platform_keeps_it() -> None:
    """XDG_STATE_HOME is followed when absolute, as its specification says; else the home directory."""
    assert default_state_dir({"XDG_STATE_HOME": "/state", "HOME": "/h"}) == Path("/state/pinch")
    assert default_state_dir({"XDG_STATE_HOME": "state", "HOME": "/h"}) == Path("/h/.local/state/pinch")
    assert default_state_dir({"HOME": "/h"}) == Path("/h/.local/state/pinch")


def test_every_knob_has_a_line_in_the_document() -> None:
    """docs/configuration.md is what `python -m pinch_server.settings.doc` prints, one line a knob."""
    page = configuration_page()
    assert DOC.read_text(encoding="utf-8") == page
    for knob in knobs():
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `{knob.key}` |"))
        assert knob.variable in row
        assert knob.meaning.endswith(".")
        assert knob.legal
