"""Every knob of the service once: its name, default, bound, unit and meaning."""

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from pinch_server.core.limits import BOUNDS, Bound, Limits, Stability, Trigger, TrimStyle
from pinch_server.settings import checks
from pinch_server.settings.cache import CacheSettings
from pinch_server.settings.doors import OptionalFile, TlsSettings
from pinch_server.settings.extract import ExtractSettings
from pinch_server.settings.gateways import GatewaySettings
from pinch_server.settings.marks import Told, Within
from pinch_server.settings.objective import ObjectiveSettings
from pinch_server.settings.originals import OriginalsSettings
from pinch_server.settings.relevance import RelevanceSettings
from pinch_server.settings.traces import TracesSettings

PREFIX: Final = "PINCH_"
NESTED: Final = "__"

_MIB: Final = 1024 * 1024
_STANDARD: Final = Limits()


_Port = Annotated[str, AfterValidator(checks.tcp_address), Told("HOST:PORT, port 0 for a free one")]
_Listen = Annotated[
    str, AfterValidator(checks.address), Told("HOST:PORT, [IPV6]:PORT (port 0 for a free one) or unix:PATH")
]


def _limit(name: str) -> Within:
    return Within(BOUNDS[name])


class ServerSettings(BaseModel, frozen=True, extra="forbid"):
    """Where and how the service takes calls."""

    listen: _Listen = Field(default="127.0.0.1:50051", description="Address of the gRPC port.")
    workers: Annotated[
        Annotated[int, Within(Bound(1, 256))] | Literal["auto"],
        Told("from 1 to 256, or auto: one for each core this service may use"),
    ] = Field(default="auto", description="Processes that take calls; a unix socket has one.")
    worker_port: Annotated[int, Within(Bound(0, 65_535))] = Field(
        default=0,
        description="First of the workers' own ports, one each from there on; 0: free ones.",
    )
    malloc: Literal["tuned", "system"] = Field(
        default="tuned",
        description="Whether memory is kept for the next large message and in large pages, or left alone.",
    )
    http_listen: _Port = Field(
        default="127.0.0.1:9464", description="Address of the dashboard, /metrics and /healthz."
    )
    dashboard: bool = Field(
        default=True, description="Whether the HTTP port shows savings and decisions to people."
    )
    threads: Annotated[int, Within(Bound(1, 1024))] = Field(default=16, description="Calls handled at once.")
    max_message_bytes: Annotated[int, Within(Bound(1024, 2**31 - 1))] = Field(
        default=64 * _MIB, description="Largest message received (bytes)."
    )
    message_seconds: Annotated[float, Within(Bound(0.1, 3600))] = Field(
        default=30.0,
        description="Time a message may take once its call has begun; a health check's or question's gets 2 "
        "(seconds).",
    )
    insecure: bool = Field(default=False, description="Whether plain text may be served beyond this machine.")
    reflection: bool = Field(
        default=True, description="Whether the service describes its methods to tools such as grpcurl."
    )
    tls: TlsSettings = TlsSettings()
    tokens: OptionalFile = Field(
        default=None,
        description="File of the bearer tokens, of mode 640 or less; empty: callers need none.",
    )
    max_calls: Annotated[int, Within(Bound(1, 100_000, zero_means="8 for each thread"))] = Field(
        default=0,
        description="Calls a process has at once, waiting ones included; more are shed, health checks never.",
    )
    max_connection_age_seconds: Annotated[float, Within(Bound(1, 31_536_000, zero_means="for ever"))] = Field(
        default=600.0, description="Age at which a connection is renewed, so that load spreads (seconds)."
    )
    max_connection_grace_seconds: Annotated[float, Within(Bound(0, 3600))] = Field(
        default=30.0, description="Time that calls on a connection to be renewed have to finish (seconds)."
    )
    channelz: bool = Field(
        default=False, description="Whether the service shows its connections to tools that speak channelz."
    )
    drain_seconds: Annotated[float, Within(Bound(0, 3600))] = Field(
        default=10.0, description="Time that calls in flight have to finish when the server stops (seconds)."
    )


class StoreSettings(BaseModel, frozen=True, extra="forbid"):
    """Where decisions are kept."""

    database_url: Annotated[
        str,
        AfterValidator(checks.database_url),
        Told("sqlite:////PATH, postgresql://… or empty", "", checks.without_password),
    ] = Field(
        default="",
        repr=False,
        description="Database of the decisions; empty: an SQLite file in the state directory.",
    )
    state_dir: Annotated[
        Path,
        BeforeValidator(checks.directory),
        Told("a path", "`$XDG_STATE_HOME/pinch`, else `~/.local/state/pinch`"),
    ] = Field(
        default_factory=lambda: checks.default_state_dir(os.environ),
        description="Directory of the journal, the SQLite file and the generated key.",
    )
    receipts: bool = Field(
        default=True,
        description="Whether each trim's place, tool name, reason and sizes are kept with its decision.",
    )
    migrate: bool = Field(
        default=False, description="Whether the start may bring a PostgreSQL schema up to date."
    )


class JournalSettings(BaseModel, frozen=True, extra="forbid"):
    """The file that holds decisions until the database has them."""

    fsync: bool = Field(
        default=False, description="Whether each record survives a power loss, not only a crash."
    )
    max_bytes: Annotated[int, Within(Bound(_MIB, 2**40))] = Field(
        default=256 * _MIB, description="Most disk space the records still to be stored may take (bytes)."
    )
    batch: Annotated[int, Within(Bound(1, 5000))] = Field(
        default=500, description="Most records moved to the database in one transaction."
    )


class LogSettings(BaseModel, frozen=True, extra="forbid"):
    """Log lines on standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level written."
    )
    format: Literal["json", "console"] = Field(
        default="json", description="Form of a line: for machines or people."
    )


class Settings(BaseSettings):
    """All knobs, checked and frozen; `load_settings` makes one, `Settings()` holds the defaults alone."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix=PREFIX, env_nested_delimiter=NESTED
    )

    enabled: bool = Field(default=True, description="Whether conversations are pruned at all.")
    budget_tokens: Annotated[int, _limit("budget_tokens")] = Field(
        default=_STANDARD.budget_tokens,
        description="Size above which results are trimmed, tool definitions included (tokens).",
    )
    keep_last_turns: Annotated[int, _limit("keep_last_turns")] = Field(
        default=_STANDARD.keep_last_turns,
        description="User turns from the end that form the protected window (turns).",
    )
    max_summarize_chars: Annotated[int, _limit("max_summarize_chars")] = Field(
        default=_STANDARD.max_summarize_chars,
        description="Results longer than this keep head and tail, shorter ones a placeholder (characters).",
    )
    protected_max_chars: Annotated[
        int, _limit("protected_max_chars"), BeforeValidator(checks.none_is_zero)
    ] = Field(
        default=_STANDARD.protected_max_chars,
        description="Results of the protected window longer than this are capped (characters).",
    )
    keep_last_rounds: Annotated[int, _limit("keep_last_rounds")] = Field(
        default=_STANDARD.keep_last_rounds,
        description="Newest rounds that stay protected when the window contracts; 0: it never does (rounds).",
    )
    target_tokens: Annotated[
        int | None,
        _limit("target_tokens"),
        BeforeValidator(checks.none_in_words),
        Told(f"{BOUNDS['target_tokens']}, or none", "none"),
    ] = Field(
        default=_STANDARD.target_tokens,
        description="Size at which trimming stops under replay; none: two fifths of the budget (tokens).",
    )
    min_tokens_saved: Annotated[int, _limit("min_tokens_saved")] = Field(
        default=_STANDARD.min_tokens_saved,
        description="With less than this to gain in all, nothing is trimmed (tokens).",
    )
    min_gain: Annotated[float, _limit("min_gain")] = Field(
        default=_STANDARD.min_gain,
        description="Under replay, with less than this share of the size to gain nothing is trimmed (share).",
    )
    protected_tools: Annotated[
        tuple[str, ...],
        NoDecode,
        BeforeValidator(checks.globs),
        AfterValidator(checks.legal_globs),
        Told("a list of globs; comma-separated in the environment"),
    ] = Field(default=_STANDARD.protected_tools, description="Tools whose results are never trimmed.")
    stability: Stability = Field(
        default=_STANDARD.stability,
        description="How a plan relates to earlier calls; replay: the same past each time; per_call: anew.",
    )
    trim_style: TrimStyle = Field(
        default=_STANDARD.trim_style,
        description="Form of a trimmed result; keyed: identifiers stay; plain: head and tail alone.",
    )
    counting: Literal["chars3", "o200k"] = Field(
        default="chars3",
        description="How tokens are estimated: a third of the characters, or the o200k vocabulary.",
    )
    placeholder_chars: Annotated[int, _limit("placeholder_chars")] = Field(
        default=_STANDARD.placeholder_chars,
        description="Longest list of identifiers in a keyed placeholder (characters).",
    )
    caps_on_arrival: bool = Field(
        default=_STANDARD.caps_on_arrival,
        description="Whether an outsized result is capped when first seen, within the budget too.",
    )
    omit_images: bool = Field(
        default=_STANDARD.omit_images, description="Whether old images in results may become a line of text."
    )
    trigger: Trigger = Field(
        default=_STANDARD.trigger,
        description="What calls for trimming under replay; economic: below the budget too, if it pays back.",
    )
    ledger_share: Annotated[
        float | None,
        _limit("ledger_share"),
        BeforeValidator(checks.none_in_words),
        Told(f"{BOUNDS['ledger_share']}, or none", "none"),
    ] = Field(
        default=_STANDARD.ledger_share,
        description="Under replay, most that trimming may have made a session dearer; none: any (share).",
    )
    ledger_ceiling: Annotated[float, _limit("ledger_ceiling")] = Field(
        default=_STANDARD.ledger_ceiling,
        description="Size above which results are trimmed whatever the ledger says (budgets).",
    )
    prefix_probe: bool = Field(
        default=True,
        description="Whether each payload is compared, by hashes in memory, with the session's last one.",
    )
    recent_bytes: Annotated[int, Within(Bound(_MIB, 2**40, zero_means="none"))] = Field(
        default=128 * _MIB,
        description="Memory for conversations between calls, never on disk: next calls cost less (bytes).",
    )
    outcome_grace_seconds: Annotated[int, Within(Bound(0, 86_400))] = Field(
        default=300, description="Time after which a decision without a reported outcome counts (seconds)."
    )
    retention_days: Annotated[int, Within(Bound(1, 36_500, zero_means="for ever"))] = Field(
        default=90, description="How long decisions are kept; 0: for ever (days)."
    )
    session_hash_key: Annotated[
        str,
        AfterValidator(checks.hash_key),
        Told(f"{checks.KEY_CHARS} characters or more, or empty", "", lambda _: checks.HIDDEN),
    ] = Field(
        default="",
        repr=False,
        description="Key that names of sessions and tenants are hashed with; empty: one made for the state"
        " directory.",
    )
    relevance: RelevanceSettings = RelevanceSettings()
    cache: CacheSettings = CacheSettings()
    extract: ExtractSettings = ExtractSettings()
    originals: OriginalsSettings = OriginalsSettings()
    server: ServerSettings = ServerSettings()
    gateways: GatewaySettings = GatewaySettings()
    store: StoreSettings = Field(default_factory=StoreSettings)
    journal: JournalSettings = JournalSettings()
    objective: ObjectiveSettings = ObjectiveSettings()
    log: LogSettings = LogSettings()
    traces: TracesSettings = TracesSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Takes what it is given and nothing else: `load_settings` reads file and environment itself."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    def fingerprint(self) -> str:
        """Short hash of all that shapes a plan, the same for equal settings on every machine."""
        ranking = self.relevance
        shaping = {
            "enabled": self.enabled,
            "counting": self.counting,
            "scoring": ranking.scoring,
            "embedding": [ranking.endpoint and ranking.model, ranking.min_candidates],
            **asdict(to_limits(self)),
        }
        if self.extract.enabled:
            shaping["extract"] = self.extract.model_dump(mode="json", exclude={"model": {"api_key"}})
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:12]


def to_limits(settings: Settings) -> Limits:
    """The limits a call is planned under unless it brings its own."""
    return Limits(
        budget_tokens=settings.budget_tokens,
        keep_last_turns=settings.keep_last_turns,
        max_summarize_chars=settings.max_summarize_chars,
        protected_max_chars=settings.protected_max_chars,
        keep_last_rounds=settings.keep_last_rounds,
        target_tokens=settings.target_tokens,
        min_tokens_saved=settings.min_tokens_saved,
        min_gain=settings.min_gain,
        protected_tools=settings.protected_tools,
        relevance=settings.relevance.enabled,
        stability=settings.stability,
        trim_style=settings.trim_style,
        placeholder_chars=settings.placeholder_chars,
        caps_on_arrival=settings.caps_on_arrival,
        omit_images=settings.omit_images,
        trigger=settings.trigger,
        ledger_share=settings.ledger_share,
        ledger_ceiling=settings.ledger_ceiling,
        cache_write_multiplier=settings.cache.write_multiplier,
        cache_read_multiplier=settings.cache.read_multiplier,
        cache_expected_calls=settings.cache.expected_calls,
    )
