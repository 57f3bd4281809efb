"""Pruning through a running service, by the Python client."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import click

from pinch import MESSAGE_LIMIT_BYTES, CallError, Limits, PinchClient, PinchError, Pruned, ToolGlobs
from pinch_server.cli.pruning import Asked, Pruner, RefusedError, wire_format
from pinch_server.core import limits as core
from pinch_server.rpc.asking import violations_of


@contextmanager
def through_service(asked: Asked, server: str, timeout: float) -> Iterator[Pruner]:
    """A pruner that asks a service, and fails where the client of a router would go on unpruned.

    Args:
        asked: What the command line asks for.
        server: Where the service is, `HOST:PORT` or `unix:PATH`.
        timeout: Time it has for one body (seconds).

    Raises:
        click.UsageError: The address cannot be used.
    """
    try:
        client = PinchClient(server, timeout=timeout, strict=True)
    except ValueError as error:
        raise click.UsageError(f"--server: {error}") from None

    def prune(body: bytes) -> Pruned[bytes]:
        limits = _limits(asked.limits)
        try:
            return client.prune_body(body, wire_format(asked.format), limits=limits, dry_run=asked.dry_run)
        except PinchError as error:
            raise _refused(error) from error

    with client:
        yield Pruner(prune, MESSAGE_LIMIT_BYTES)


def _limits(given: Mapping[str, Any]) -> Limits:
    """The limits as a request holds them.

    Raises:
        RefusedError: A request has no place for one of them.
    """
    unknown = [name for name in given if name not in Limits.DESCRIPTOR.fields_by_name]
    if unknown:
        problem = "is a setting of the service; leave it out with --server"
        raise RefusedError(tuple(f"limits.{name}: {problem}" for name in unknown), is_callers_fault=True)
    try:
        return Limits(**{name: _on_the_wire(name, value) for name, value in given.items()})
    except ValueError:
        # A number too great for its field never reaches the service, which would have refused it like this.
        violations = core.limit_violations(core.Limits(**given))
        lines = (f"limits.{violation}" for violation in violations)
        raise RefusedError(tuple(lines), is_callers_fault=True) from None


def _on_the_wire(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return ToolGlobs(globs=value)
    # The constructor takes an enumeration's value by its name.
    return f"{name}_{value}".upper() if isinstance(value, StrEnum) else value


def _refused(error: PinchError) -> RefusedError:
    if not isinstance(error, CallError):
        return RefusedError((str(error),), is_callers_fault=False)
    violations = violations_of(error)
    if violations:
        lines = (f"{one.field}: {one.problem}" if one.field else one.problem for one in violations)
        return RefusedError(tuple(lines), is_callers_fault=True)
    # gRPC says RESOURCE_EXHAUSTED for a service that sheds load as well; that call may be made again.
    is_oversize = error.code.name == "RESOURCE_EXHAUSTED" and "larger than max" in error.details
    is_callers_fault = is_oversize or error.code.name == "INVALID_ARGUMENT"
    return RefusedError((str(error),), is_callers_fault=is_callers_fault)
