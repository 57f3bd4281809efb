"""Pruning through a running service, by the Python client."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import click

from pinch import (
    MESSAGE_LIMIT_BYTES,
    CacheContext,
    CallError,
    Limits,
    PinchClient,
    PinchError,
    Pruned,
    RequestContext,
    Tls,
    ToolGlobs,
)
from pinch import CacheState as WireState
from pinch_server.cli.pruning import Asked, Pruner, RefusedError, wire_format
from pinch_server.core.limits import Limits as CoreLimits
from pinch_server.core.limits import Violation
from pinch_server.core.pricing import CacheState
from pinch_server.decide import Body, InvalidCallError, PruneCall, limits_of, read_call
from pinch_server.rpc.asking import is_callers_fault, nobody_answers, violations_of


@contextmanager
def through_service(
    asked: Asked, server: str, timeout: float, tls: Tls | None = None, token: str | None = None
) -> Iterator[Pruner]:
    """A pruner that asks a service, and fails where the client of a router would go on unpruned.

    Args:
        asked: What the command line asks for.
        server: Where the service is, `HOST:PORT` or `unix:PATH`.
        timeout: Time it has for one body (seconds).
        tls: How to speak TLS; None: plain text.
        token: The token to send; None: none.

    Raises:
        click.UsageError: The address or the token cannot be used.
    """
    try:
        client = PinchClient(server, timeout=timeout, strict=True, tls=tls, token=token)
    except ValueError as error:
        option = "--token-file" if str(error).startswith("token") else "--server"
        raise click.UsageError(f"{option}: {error}") from None

    unsendable = asked.violations + _settings_of_the_service(asked.limits)
    _, out_of_range = limits_of(asked.limits, CoreLimits())

    context = None if asked.cache is None else _context(asked.cache)

    def prune(body: bytes) -> Pruned[bytes]:
        try:
            limits = None if unsendable else _limits(asked.limits)
        except ValueError:
            limits = None
        if limits is None:
            # A request has no place for what could not be read, nor for a number too great for its field. The
            # call is refused here then, with all else that is wrong, in the words of the service.
            raise _refused_here(body, asked, unsendable)
        try:
            return client.prune_body(
                body, wire_format(asked.format), limits=limits, context=context, dry_run=asked.dry_run
            )
        except PinchError as error:
            raise _refused(error, server) from error

    with client:
        yield Pruner(
            prune,
            MESSAGE_LIMIT_BYTES,
            unsendable + out_of_range,
            # Without one of its own the call has the service's, which the reply does not tell.
            budget_tokens=asked.limits.get("budget_tokens"),
            is_stored=True,
        )


def _settings_of_the_service(given: Mapping[str, Any]) -> tuple[Violation, ...]:
    unknown = [name for name in given if name not in Limits.DESCRIPTOR.fields_by_name]
    problem = "is a setting of the service; leave it out with --server"
    return tuple(Violation(f"limits.{name}", problem) for name in unknown)


def _limits(given: Mapping[str, Any]) -> Limits:
    """The limits as a request holds them.

    Raises:
        ValueError: A number is too great for its field.
    """
    return Limits(**{name: _on_the_wire(name, value) for name, value in given.items()})


def _context(cache: CacheState) -> RequestContext:
    return RequestContext(cache=CacheContext(state=WireState.Value(f"CACHE_STATE_{cache.name}")))


def _refused_here(body: bytes, asked: Asked, unsendable: tuple[Violation, ...]) -> RefusedError:
    call = PruneCall(Body(body, asked.format), asked.limits, dry_run=asked.dry_run, violations=unsendable)
    try:
        read_call(call, CoreLimits())
    except InvalidCallError as error:
        return RefusedError(tuple(map(str, error.violations)), is_callers_fault=True)
    raise AssertionError("a call that breaks its contract was read")


def _on_the_wire(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return ToolGlobs(globs=value)
    # The constructor takes an enumeration's value by its name.
    return f"{name}_{value}".upper() if isinstance(value, StrEnum) else value


def _refused(error: PinchError, server: str) -> RefusedError:
    if not isinstance(error, CallError):
        return RefusedError((str(error),), is_callers_fault=False)
    violations = violations_of(error)
    if violations:
        lines = (f"{one.field}: {one.problem}" if one.field else one.problem for one in violations)
        return RefusedError(tuple(lines), is_callers_fault=True)
    words = nobody_answers(server, error) or str(error)
    return RefusedError((words,), is_callers_fault=is_callers_fault(error))
