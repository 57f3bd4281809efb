"""Settings in force and runtime knobs, over gRPC."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, Protocol

import grpc

from pinch.v1 import admin_pb2 as pb
from pinch.v1 import admin_pb2_grpc as pb_grpc
from pinch_server.core.limits import Violation
from pinch_server.decide import InvalidCallError
from pinch_server.rpc.call import current_call, current_token
from pinch_server.settings import ShownSetting, Source

_Field = Literal["pinch_enabled", "pinch_prefix_probe", "pinch_relevance_enabled"]
_FIELDS: Final[Mapping[str, _Field]] = {
    "enabled": "pinch_enabled",
    "prefix_probe": "pinch_prefix_probe",
    "relevance.enabled": "pinch_relevance_enabled",
}
"""The field of `RuntimeSettings` for each knob, by the knob's key."""
_SOURCES: Final[Mapping[Source, pb.SettingSource.ValueType]] = {
    "default": pb.SETTING_SOURCE_DEFAULT,
    "file": pb.SETTING_SOURCE_FILE,
    "environment": pb.SETTING_SOURCE_ENVIRONMENT,
    "command_line": pb.SETTING_SOURCE_COMMAND_LINE,
    "runtime": pb.SETTING_SOURCE_RUNTIME,
}


class Knobs(Protocol):
    """The settings of the whole service, and the knobs among them."""

    def settings(self) -> Sequence[ShownSetting]:
        """Every setting in force, by name."""
        ...

    def standing(self) -> tuple[Mapping[str, bool], str]:
        """How every knob stands, by its key, and the fingerprint of the settings."""
        ...

    def turn(self, knobs: Mapping[str, bool], *, persist: bool) -> None:
        """Turns knobs in every process before it returns; may raise `NotTurnedError`."""
        ...


class ChangeLog(Protocol):
    """Writes down who turned what."""

    def __call__(
        self,
        *,
        request_id: str | None,
        peer: str,
        token: str | None,
        roles: Sequence[str],
        changes: Mapping[str, tuple[bool, bool]],
        persist: bool,
    ) -> None:
        """Writes it: each knob that was turned, with its old and its new value; of a token its name alone."""
        ...


class AdminService(pb_grpc.AdminServiceServicer):
    """Answers GetSettings and UpdateSettings."""

    def __init__(self, knobs: Knobs, log: ChangeLog) -> None:
        self._knobs = knobs
        self._log = log

    def GetSettings(  # noqa: N802 the contract names it
        self, request: pb.GetSettingsRequest, context: grpc.ServicerContext
    ) -> pb.GetSettingsResponse:
        """Shows every setting in force."""
        del request, context
        standing, fingerprint = self._knobs.standing()
        return pb.GetSettingsResponse(
            settings=[
                pb.Setting(
                    name=one.key,
                    value_json=one.value_json,
                    source=_SOURCES[one.source],
                    is_secret=one.is_secret,
                )
                for one in self._knobs.settings()
            ],
            runtime=_written(standing),
            settings_fingerprint=fingerprint,
        )

    def UpdateSettings(  # noqa: N802 the contract names it
        self, request: pb.UpdateSettingsRequest, context: grpc.ServicerContext
    ) -> pb.UpdateSettingsResponse:
        """Turns knobs everywhere, and writes down who did."""
        wanted: dict[str, bool] = {
            key: getattr(request.runtime, field)
            for key, field in _FIELDS.items()
            if request.runtime.HasField(field)
        }
        if not wanted:
            problem = "turns no knob; set at least one field"
            raise InvalidCallError((Violation("runtime", problem),))
        before, _ = self._knobs.standing()
        try:
            self._knobs.turn(wanted, persist=request.persist)
        finally:
            # A change that not every process has confirmed may be in force all the same.
            standing, fingerprint = self._knobs.standing()
            token = current_token()
            self._log(
                request_id=current_call("UpdateSettings", context).request_id,
                peer=context.peer(),
                token=None if token is None else token.name,
                roles=[] if token is None else sorted(token.roles),
                changes={key: (before[key], standing[key]) for key in wanted},
                persist=request.persist,
            )
        return pb.UpdateSettingsResponse(runtime=_written(standing), settings_fingerprint=fingerprint)


def _written(standing: Mapping[str, bool]) -> pb.RuntimeSettings:
    return pb.RuntimeSettings(**{field: standing[key] for key, field in _FIELDS.items()})
