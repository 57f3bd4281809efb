"""The second system block: how much to leave out. It changes what is asked, never what is accepted."""

from typing import Final

from pinch_server.extract.outcome import Aggressiveness

_AIMS: Final = {
    Aggressiveness.LOW: """\
## Aim
Remove 10-25 % of the tokens. Leaving INPUT as it is is right when everything may matter.
Examples: of a build log drop progress bars and repeated warnings after the first; of a listing drop \
nothing but blank lines; of source code drop license headers.
""",
    Aggressiveness.MEDIUM: """\
## Aim
Remove 25-50 % of the tokens.
Examples: of a build log keep each warning once, each error with three lines around it and the last ten \
lines; of a listing keep what the goal names and what lies beside it; of source code keep the skeleton \
and the bodies that the goal touches; of test output keep the failures whole and the counts.
""",
    Aggressiveness.HIGH: """\
## Aim
Remove 50-80 % of the tokens.
Examples: of a build log keep errors with a line around each and the last five lines; of a listing keep \
what the goal names; of source code keep signatures and the bodies that hold keep-ids; of JSON rows keep \
the keys that the goal asks for.
""",
}


def aim(aggressiveness: Aggressiveness) -> str:
    """How much a filter is asked to leave out, with examples."""
    return _AIMS[aggressiveness]
