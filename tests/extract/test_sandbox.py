"""Whatever a program does, its process ends, the next one runs, and nothing outside is reached."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from bench.sandbox.bombs import BOMBS, Bomb
from pinch_server.extract.program import FaultKind, ProgramFault, Ran
from pinch_server.extract.sandbox import Sandbox, SandboxError
from tests.promises.declared import ROOT

FOREVER = "for a in range(1000000):\n  for b in range(1000000):\n    x = a * b"
LINUX = pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="reads /proc")


@pytest.fixture
def own_sandbox() -> Iterator[Sandbox]:
    """One that a test may break."""
    with closing(Sandbox()) as started:
        started.start()
        yield started


def zygote_of(sandbox: Sandbox) -> int:
    assert sandbox._zygote is not None
    return sandbox._zygote._process.pid


def first_job_of(zygote: int) -> int:
    """The process of a job under way; looks until there is one."""
    children = Path(f"/proc/{zygote}/task/{zygote}/children")
    while True:
        if found := children.read_text().split():
            return int(found[0])


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.name)
def test_a_bomb_ends_and_harms_nothing(sandbox: Sandbox, bomb: Bomb) -> None:
    """Each bomb ends by its own rule, and the next program runs in the same sandbox."""
    result = sandbox.run(bomb.program, bomb.text)
    if bomb.ends:
        assert isinstance(result, ProgramFault)
        assert result.kind in bomb.ends, result.slug
    else:
        assert isinstance(result, Ran)
    assert sandbox.run("OUTPUT = INPUT[:2]", "okay") == Ran("ok", "")


def test_output_and_summary_come_back(sandbox: Sandbox) -> None:
    """What a program leaves in OUTPUT and SUMMARY is what `run` gives, in any script."""
    program = 'OUTPUT = INPUT.replace("ü", "ö")\nSUMMARY = "ein Zeichen"'
    assert sandbox.run(program, "grün 漢字 🦊\x00\r\n") == Ran("grön 漢字 🦊\x00\r\n", "ein Zeichen")


def test_a_program_that_does_nothing_keeps_its_input(sandbox: Sandbox) -> None:
    """OUTPUT begins as INPUT and SUMMARY as nothing."""
    assert sandbox.run("", "as it was") == Ran("as it was", "")


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("OUTPUT = ", FaultKind.SYNTAX),
        ("OUTPUT = nowhere", FaultKind.SYNTAX),
        ("OUTPUT = INPUT[0] + 1", FaultKind.RUNTIME),
        ("fail('no')", FaultKind.RUNTIME),
        ("OUTPUT = ['a']", FaultKind.NOT_TEXT),
        ("OUTPUT = len", FaultKind.NOT_TEXT),
        ("OUTPUT = None", FaultKind.NOT_TEXT),
        ("SUMMARY = 3", FaultKind.NO_PAIR),
        ("OUTPUT = ''", FaultKind.EMPTY),
        ("OUTPUT = ' \\n '", FaultKind.EMPTY),
    ],
)
def test_each_fault_has_its_kind(sandbox: Sandbox, program: str, kind: FaultKind) -> None:
    """A program that gives no usable pair is told apart by which rule it broke."""
    result = sandbox.run(program, "some text")
    assert isinstance(result, ProgramFault)
    assert result.kind is kind


def test_a_syntax_error_says_where(sandbox: Sandbox) -> None:
    """The detail of a syntax error names line and column, so that a repair needs no data."""
    result = sandbox.run("x = 1\nwhile x:\n    pass\n", "text")
    assert isinstance(result, ProgramFault)
    assert "program:2:1" in result.detail
    assert result.slug == "syntax error: Parse error: cannot use reserved keyword `while`"


def test_text_that_is_none_is_a_fault(sandbox: Sandbox) -> None:
    """A lone surrogate, in the program or the text, is a fault and no exception."""
    for program, text in (("OUTPUT = INPUT", "\ud800"), ("OUTPUT = '\udfff'", "text")):
        result = sandbox.run(program, text)
        assert isinstance(result, ProgramFault)
        assert result.kind is FaultKind.RUNTIME


@pytest.mark.parametrize(
    "name",
    [
        "open",
        "eval",
        "exec",
        "compile",
        "__import__",
        "input",
        "globals",
        "vars",
        "os",
        "sys",
        "socket",
        "re2",
        "starlark",
        "Path",
        "breakpoint",
        "getpass",
        "_findall",
        "__builtins__",
        "subprocess",
        "memoryview",
    ],
)
def test_nothing_outside_has_a_name(sandbox: Sandbox, name: str) -> None:
    """No name of a program reaches a file, the network, a process or Python."""
    result = sandbox.run(f"x = {name}", "text")
    assert isinstance(result, ProgramFault)
    assert result.kind is FaultKind.SYNTAX
    assert f"Variable `{name}` not found" in result.detail


@pytest.mark.parametrize("value", ["re_sub", "re_match", "json", "INPUT", "[]", "{}", "len", "(lambda: 1)"])
@pytest.mark.parametrize("name", ["__class__", "__globals__", "__self__", "__init__", "__dict__", "__code__"])
def test_no_value_leads_to_python(sandbox: Sandbox, value: str, name: str) -> None:
    """No value of a program, the host's functions included, has an attribute of Python's."""
    for program in (f"x = {value}.{name}", f"x = getattr({value}, '{name}')"):
        result = sandbox.run(program, "text")
        assert isinstance(result, ProgramFault)
        assert result.kind is FaultKind.RUNTIME


def test_jobs_run_side_by_side(sandbox: Sandbox) -> None:
    """Programs of many threads, bombs among them, each get their own answer."""
    programs = [f"OUTPUT = INPUT + '{i}'" for i in range(40)]
    programs[10] = programs[20] = "s = 'x'\nfor i in range(60):\n  s = s + s"
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda at: sandbox.run(programs[at], f"{at}:"), range(40)))
    for at, result in enumerate(results):
        if at in (10, 20):
            assert isinstance(result, ProgramFault)
            assert result.kind is FaultKind.PANIC
        else:
            assert result == Ran(f"{at}:{at}", "")


def test_a_dead_zygote_is_replaced(own_sandbox: Sandbox) -> None:
    """A program after the death of the process that jobs are forked from runs in a new one."""
    first = zygote_of(own_sandbox)
    os.kill(first, signal.SIGKILL)
    assert own_sandbox.run("OUTPUT = 'a'", "text") == Ran("a", "")
    assert zygote_of(own_sandbox) != first


@LINUX
def test_a_job_survives_its_zygote(own_sandbox: Sandbox) -> None:
    """When zygote and job die under way, the program is run once more in a new one."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(own_sandbox.run, FOREVER, "text")
        zygote = zygote_of(own_sandbox)
        job = first_job_of(zygote)
        os.kill(zygote, signal.SIGKILL)
        os.kill(job, signal.SIGKILL)
        result = running.result()
    assert isinstance(result, ProgramFault)
    assert result.kind is FaultKind.RUNTIME
    assert zygote_of(own_sandbox) != zygote


@pytest.mark.parametrize("left", [0, 1, 2])
@pytest.mark.parametrize("is_started", [True, False])
def test_without_descriptors_a_program_is_a_fault(left: int, is_started: bool) -> None:
    """A service that has no descriptor left gets a fault that passes, and the next program runs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []
    with closing(Sandbox()) as sandbox:
        if is_started:
            sandbox.start()
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
            with suppress(OSError):
                while True:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            for _ in range(left):
                os.close(held.pop())
            result = sandbox.run("OUTPUT = 'a'", "text")
        finally:
            for descriptor in held:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if is_started and left == 2:
            assert result == Ran("a", "")
        else:
            assert isinstance(result, ProgramFault)
            assert result.kind is FaultKind.UNAVAILABLE
            assert "Too many open files" in result.detail
        assert sandbox.run("OUTPUT = 'a'", "text") == Ran("a", "")


@LINUX
def test_a_job_is_bounded_by_the_kernel(own_sandbox: Sandbox) -> None:
    """A job has its limits on memory, time, files and descriptors, and holds one socket and nothing else."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(own_sandbox.run, FOREVER, "text")
        job = Path(f"/proc/{first_job_of(zygote_of(own_sandbox))}")
        while "Max file size             0 " not in (limits := (job / "limits").read_text()):
            assert not running.done()
        held = {descriptor.name: str(descriptor.readlink()) for descriptor in (job / "fd").iterdir()}
        running.result()
    soft = {line[:26].strip(): line[26:].split()[0] for line in limits.splitlines()[1:]}
    assert (soft["Max address space"], soft["Max cpu time"]) == ("536870912", "2")
    assert (soft["Max open files"], soft["Max core file size"], soft["Max processes"]) == ("16", "0", "0")
    assert {held.pop(name) for name in ("0", "1", "2")} == {"/dev/null"}
    (channel,) = held.values()
    assert channel.startswith("socket:")


@LINUX
def test_the_zygote_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the service's environment reaches the process that jobs are forked from."""
    monkeypatch.setenv("PINCH_EXTRACT__MODEL__API_KEY", "sk-secret")
    with closing(Sandbox()) as started:
        started.start()
        environment = Path(f"/proc/{zygote_of(started)}/environ").read_bytes()
    assert environment == b"RUST_BACKTRACE=0\0"


def test_closing_ends_what_runs() -> None:
    """A program under way when the sandbox closes ends as a fault, and so does a later one."""
    sandbox = Sandbox()
    sandbox.start()
    zygote = zygote_of(sandbox)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(sandbox.run, FOREVER, "text")
        first_job_of(zygote)
        sandbox.close()
        results = [running.result(), sandbox.run("OUTPUT = 'a'", "text")]
    assert results == [ProgramFault(FaultKind.UNAVAILABLE, "the sandbox is closed")] * 2
    sandbox.close()


def run_python(code: str, *flags: str) -> str:
    """What a new interpreter prints that finds nothing but the packages of this checkout and its own."""
    command = [sys.executable, *flags, "-c", code]
    environment = {"PYTHONPATH": str(ROOT / "server")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_the_service_never_imports_the_interpreter() -> None:
    """Neither the interpreter nor the regular expressions' engine is loaded in the process that asks."""
    code = (
        "import sys; from pinch_server.extract.sandbox import Sandbox, MODULES; box = Sandbox()\n"
        "print(box.run('OUTPUT = INPUT[:1]', 'text').output, set(MODULES) & set(sys.modules))\n"
        "box.close()"
    )
    assert run_python(code) == "t set()"


def test_without_its_extra_the_sandbox_says_what_to_install() -> None:
    """Where the interpreter is not installed, starting says how to install it, and a run is a fault."""
    code = (
        "from pinch_server.extract.sandbox import Sandbox, SandboxError; box = Sandbox()\n"
        "try: box.start()\n"
        "except SandboxError as error: print(error)\n"
        "print(box.run('OUTPUT = INPUT', 'text').kind)"
    )
    words = "extraction needs starlark and re2; in the checkout: pip install '.[server,extract]'"
    assert run_python(code, "-S") == f"{words}\nsandbox unavailable"


def test_too_little_memory_is_a_fault() -> None:
    """Bounds that leave no room for the interpreter make every run a fault, and none hangs."""
    with closing(Sandbox(memory_bytes=1 << 20)) as cramped:
        result = cramped.run("OUTPUT = 'a'", "text")
    assert isinstance(result, ProgramFault)
    assert result.kind is FaultKind.PANIC


def test_a_closed_sandbox_does_not_start() -> None:
    """Starting after closing is an error, so that no process is left behind."""
    sandbox = Sandbox()
    sandbox.close()
    with pytest.raises(SandboxError):
        sandbox.start()
