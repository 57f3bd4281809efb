"""What pruning one body is to the command line, whether here or through a running service."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pinch import Format as WireFormat
from pinch import Pruned
from pinch_server.core.limits import Violation
from pinch_server.core.pricing import CacheState
from pinch_server.formats.format import Format


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for, whatever the file.

    Attributes:
        format: The dialect of the bodies; None to recognise each.
        limits: The limits given, by name.
        dry_run: Whether to count only.
        violations: What of it could not be read, to be told with all that is wrong with a body.
        cache: What the provider's prompt cache holds; None where nobody knows.
    """

    format: Format | None
    limits: Mapping[str, Any]
    dry_run: bool
    violations: tuple[Violation, ...] = ()
    cache: CacheState | None = None


@dataclass(frozen=True, slots=True)
class Pruner:
    """A way to prune one body.

    Attributes:
        prune: Takes the body and raises RefusedError when it is refused.
        most_bytes: The longest body it takes (bytes).
        violations: What is wrong with all that was asked for beside the body.
        budget_tokens: The budget in force, where it is known here (tokens).
        is_stored: Whether the decisions are kept.
    """

    prune: Callable[[bytes], Pruned[bytes]]
    most_bytes: int
    violations: tuple[Violation, ...]
    budget_tokens: int | None
    is_stored: bool


class RefusedError(Exception):
    """A body, or what was asked for with it, was refused.

    Attributes:
        problems: A line for each, in the words of the service: `field: problem`.
        is_callers_fault: Whether the same call would be refused again.
    """

    def __init__(self, problems: tuple[str, ...], *, is_callers_fault: bool) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
        self.is_callers_fault = is_callers_fault


def wire_format(format: Format | None) -> WireFormat.ValueType:
    """The API's number for a dialect; None is FORMAT_UNSPECIFIED, to be recognised."""
    name = "UNSPECIFIED" if format is None else format.name
    # The API calls two of them by the provider's full name for the endpoint: ANTHROPIC_MESSAGES.
    return next(number for known, number in WireFormat.items() if known.startswith(f"FORMAT_{name}"))
