"""Programs that would take a machine down, and what becomes of them in the sandbox."""

from dataclasses import dataclass
from typing import Final

from pinch_server.extract.program import FaultKind

_MEMORY: Final = frozenset({FaultKind.PANIC})
_TIME: Final = frozenset({FaultKind.RUNTIME})
_EITHER: Final = _MEMORY | _TIME
"""Whichever limit a machine reaches first."""
_REFUSED: Final = frozenset({FaultKind.SYNTAX, FaultKind.RUNTIME})


@dataclass(frozen=True, slots=True)
class Bomb:
    """One hostile program.

    Attributes:
        name: What it does.
        program: Its source.
        ends: How it may end; empty when it does no harm and runs.
        text: Its input.
    """

    name: str
    program: str
    ends: frozenset[FaultKind]
    text: str = "hello\nworld\n"


BOMBS: Final = (
    Bomb("loops in loops", "for a in range(1000000):\n  for b in range(1000000):\n    x = 1", _TIME),
    Bomb("recursion", "def f(n):\n  return f(n + 1)\nf(0)", _TIME),
    Bomb("a file", "OUTPUT = open('/etc/passwd').read()", _REFUSED),
    Bomb("an import", "import os\nOUTPUT = os.environ['HOME']", _REFUSED),
    Bomb("a load", "load('os.star', 'environ')", _REFUSED),
    Bomb("dunder names", "OUTPUT = str([].__class__.__base__.__subclasses__())", _REFUSED),
    Bomb("doubling a text", "s = 'x'\nfor i in range(60):\n  s = s + s", _MEMORY),
    Bomb("doubling a list", "s = [1]\nfor i in range(60):\n  s = s + s", _MEMORY),
    Bomb("replace", "s = 'a' * 1000000\nOUTPUT = s.replace('a', 'b' * 100000)", _MEMORY),
    Bomb("join", "OUTPUT = ('x' * 1000000).join(['y'] * 100000)", _MEMORY),
    Bomb("squaring a number", "x = 3\nfor i in range(40):\n  x = x * x", _EITHER),
    Bomb("a sorted range", "x = sorted(range(30000000))", _EITHER),
    Bomb("a long sum", "x = " + "+".join(["1"] * 100_000), frozenset({FaultKind.PROGRAM_SIZE})),
    Bomb("a sum within the cap", "x = " + "+".join(["1"] * 16_000), _MEMORY),
    Bomb("a pattern that backtracks", "x = re_findall('(a+)+$', 'a' * 100000 + 'b')", frozenset()),
    Bomb("a host function's exception", "x = re_findall('(', INPUT)", _TIME),
    # Those above are the measured ones; those below are our own.
    Bomb("a list in itself", "x = []\nx.append(x)\nOUTPUT = x", frozenset({FaultKind.NOT_TEXT})),
    Bomb("a deep list", "x = []\nfor i in range(1000000):\n  x = [x]\nOUTPUT = x", _MEMORY),
    Bomb("a deep list as text", "x = []\nfor i in range(1000000):\n  x = [x]\nOUTPUT = str(x)", _MEMORY),
    Bomb("deep JSON", "x = json.decode('[' * 100000 + ']' * 100000)", _TIME),
    Bomb("a repeated repetition", "x = re_findall('((a{100}){100}){100}', 'a')", _TIME),
    Bomb("a substitution everywhere", "OUTPUT = re_sub('', 'x' * 100000, 'a' * 100000)", _EITHER),
    Bomb("a great shift", "x = 1 << 1000000000", _TIME),
    Bomb("a great repetition", "x = 'a' * (1 << 40)", _TIME),
    Bomb("a great range", "x = list(range(1 << 30))", _EITHER),
    Bomb("a growing table", "d = {}\nfor i in range(1 << 30):\n  d[i] = 'x' * 1000", _EITHER),
    Bomb("formatting", "OUTPUT = '%s' * 100000 % tuple(['y' * 100000] * 100000)", _EITHER),
    Bomb("a flood of prints", "for i in range(10000000):\n  print('x' * 1000)", _TIME),
    Bomb(
        "a number of many digits",
        "x = 1\nfor i in range(26):\n  x = (x + 7) * (x + 7)\nOUTPUT = str(x)",
        _EITHER,
    ),
    Bomb("an output beyond the cap", "OUTPUT = 'x' * 2000000", frozenset({FaultKind.NOT_SMALLER})),
    Bomb("calls of calls", "def f(a):\n  return [f(x) for x in a]\nf([[1], [2]])", _TIME),
    Bomb("an input beyond the cap", "OUTPUT = 'x'", frozenset({FaultKind.INPUT_SIZE}), "x" * 1_048_577),
)
"""Every program once; the first sixteen are known to break the interpreter, or are stopped by it."""
