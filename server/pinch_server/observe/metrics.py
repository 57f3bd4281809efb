"""Every Prometheus metric of the service, behind methods with domain words.

Label values come from closed sets: whatever a caller sends, the number of series stays the same. The children
of each labelled metric are resolved once, so that counting a decision costs a few microseconds.

Every series has its place in a row of memory (`slots`), so that one process can show the sums of several.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric

from pinch_server.core.embedding import Fault
from pinch_server.observe.extraction import ExtractionMetrics
from pinch_server.observe.families import (
    CounterFamily,
    Families,
    Family,
    GaugeFamily,
    HistogramFamily,
    Merge,
    MetricDescription,
)
from pinch_server.observe.labels import (
    ACTIONS,
    CALL_BUCKETS,
    CODES,
    DOOR_PROBLEMS,
    DOORS,
    EMBEDDER_FAULTS,
    GATEWAY_RESULTS,
    GATEWAYS,
    OTHER,
    RELEVANCE_OUTCOMES,
    RESULTS,
    ROUTES,
    SHARE_BUCKETS,
    SHED_REASONS,
    STAGE_BUCKETS,
    STAGES,
)
from pinch_server.observe.slots import Row, Slots

_Child = TypeVar("_Child")
_UNKNOWN_METHOD: Final = ("unknown", "unknown")


class Metrics:
    """The metrics of one process, and the page over all of them.

    It serves as the store's observer: the methods from `journal_pending` on carry the names the store uses.

    Args:
        version: Version of the running server, shown by `pinch_build_info`.
        methods: Full names of the served methods (`/pinch.v1.PruneService/Prune`); a call to any other
            is counted under `unknown`.
    """

    content_type: Final[str] = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, *, version: str, methods: Iterable[str] = ()) -> None:
        self._slots = Slots()
        self._families: list[Family] = []
        self._others: Sequence[Row] = ()
        self._described: list[MetricDescription] = []
        self._declare_rpc(methods)
        self._declare_doors()
        self._declare_gateways()
        self._declare_decisions()
        self._declare_embeddings()
        self._declare_store()
        self.extraction: Final = ExtractionMetrics(self._counter, self._histogram)
        """Counts extraction."""
        self._lines_dropped = self._counter(
            "pinch_log_lines_dropped_total", "Log lines that were lost, as when standard error takes none."
        ).labels()
        self._worker_restarts = self._counter(
            "pinch_worker_restarts_total", "Worker processes that ended unasked and were started anew."
        ).labels()
        spans = self._counter(
            "pinch_spans_total",
            "Spans of calls, by what became of them; none where traces are off.",
            ("result",),
        )
        self._spans_sent, self._spans_lost = spans.labels("sent"), spans.labels("lost")
        build = self._gauge(
            "pinch_build_info", "Always 1; its label is the running version.", ("version",), "max"
        ).labels(version)
        self._slots.settle()
        build.set(1)

    def _declare_rpc(self, methods: Iterable[str]) -> None:
        names = ("grpc_service", "grpc_method")
        started = self._counter("grpc_server_started_total", "RPCs that the server began to handle.", names)
        handled = self._counter(
            "grpc_server_handled_total",
            "RPCs that the server finished, by status code.",
            (*names, "grpc_code"),
        )
        seconds = self._histogram(
            "grpc_server_handling_seconds",
            "Time from the start of an RPC's handling to its end, in seconds.",
            names,
            CALL_BUCKETS,
        )
        pairs = {name: _service_and_method(name) for name in methods}
        served = [*pairs.values(), _UNKNOWN_METHOD]
        self._methods = pairs
        self._started = {pair: started.labels(*pair) for pair in served}
        self._handled = {pair: {code: handled.labels(*pair, code) for code in CODES} for pair in served}
        self._seconds = {pair: seconds.labels(*pair) for pair in served}

    def _declare_doors(self) -> None:
        shed = self._counter(
            "pinch_calls_shed_total",
            "Calls turned away because too many were in flight, or those before them left too little time.",
            ("reason",),
        )
        self._shed = {reason: shed.labels(reason) for reason in SHED_REASONS}
        refused = self._counter(
            "pinch_calls_refused_total",
            "Calls and page requests without a token that allows them, or for another's page, by door and by"
            " what was wrong.",
            ("door", "problem"),
        )
        self._refused = {
            (door, problem): refused.labels(door, problem) for door in DOORS for problem in DOOR_PROBLEMS
        }
        read_anew = self._counter(
            "pinch_door_files_changed_total",
            "Changes of certificate and token files that were noticed, once for each port and process, by"
            " whether the new ones were taken or the old ones kept.",
            ("kind", "result"),
        )
        self._read_anew = {
            (kind, result): read_anew.labels(kind, result)
            for kind in ("certificate", "tokens")
            for result in ("taken", "kept")
        }
        self._certificate_expires = self._gauge(
            "pinch_certificate_expires_timestamp_seconds",
            "When the server's certificate ends, as looked at with its last new connection, in seconds since"
            " 1970; 0 without TLS.",
            merge="max",
        ).labels()

    def _declare_gateways(self) -> None:
        requests = self._counter(
            "pinch_gateway_requests_total",
            "Requests of gateways that brought no client of ours, by how they went on.",
            ("gateway", "result"),
        )
        seconds = self._histogram(
            "pinch_gateway_seconds",
            "Time such a request was kept, from when it was there to its answer, in seconds.",
            ("gateway",),
            CALL_BUCKETS,
        )
        self._gateways = {
            gateway: {result: requests.labels(gateway, result) for result in GATEWAY_RESULTS}
            for gateway in GATEWAYS
        }
        self._gateway_seconds = {gateway: seconds.labels(gateway) for gateway in GATEWAYS}

    def _declare_decisions(self) -> None:
        decisions = self._counter(
            "pinch_decisions_total", "Decisions, by route and by how they came out.", ("route", "result")
        )
        self._decisions = _either_case(
            {
                route: {result: decisions.labels(route, result) for result in (*RESULTS, OTHER)}
                for route in (*ROUTES, OTHER)
            }
        )
        self._original = self._counter(
            "pinch_tokens_original_total",
            "Estimated tokens of conversations before pruning; dry runs and disabled calls are left out.",
        ).labels()
        self._final = self._counter(
            "pinch_tokens_final_total",
            "Estimated tokens of conversations after pruning; dry runs and disabled calls are left out.",
        ).labels()
        self._saved = self._counter(
            "pinch_tokens_saved_total",
            "Estimated tokens that pruning took away; dry runs and disabled calls are left out.",
        ).labels()
        trimmed = self._counter(
            "pinch_results_trimmed_total", "Tool results trimmed, by what was done to them.", ("action",)
        )
        self._trimmed = {action: trimmed.labels(action) for action in ACTIONS}
        self._missed = self._counter(
            "pinch_budget_missed_total", "Decisions after which the conversation was still over its budget."
        ).labels()
        stages = self._histogram(
            "pinch_stage_seconds",
            "Time one stage of a decision took, in seconds.",
            ("stage",),
            STAGE_BUCKETS,
        )
        self._stages = {name: stages.labels(name) for name in (*STAGES, OTHER)}
        self._prefix = self._histogram(
            "pinch_prefix_match_ratio",
            "Share of a session's previous payload that stands unchanged at the start of the next.",
            (),
            SHARE_BUCKETS,
        ).labels()
        relevance = self._counter(
            "pinch_relevance_total", "Decisions, by how their candidates were ordered.", ("outcome",)
        )
        self._relevance = _either_case(
            {outcome: relevance.labels(outcome) for outcome in (*RELEVANCE_OUTCOMES, OTHER)}
        )

    def _declare_embeddings(self) -> None:
        self._asked = self._histogram(
            "pinch_embedding_seconds",
            "Time that new embeddings took, whether they came or not, in seconds.",
            (),
            CALL_BUCKETS,
        ).labels()
        self._found = self._counter(
            "pinch_embedding_cache_hits_total", "Embeddings that were known already."
        ).labels()
        self._not_found = self._counter(
            "pinch_embedding_cache_misses_total", "Embeddings that were not known yet."
        ).labels()
        unavailable = self._counter(
            "pinch_relevance_unavailable_total",
            "Rankings that needed new embeddings and got none, by what was wrong.",
            ("fault",),
        )
        self._unavailable = {fault: unavailable.labels(fault) for fault in EMBEDDER_FAULTS}

    def _declare_store(self) -> None:
        self._pending = self._gauge(
            "pinch_journal_pending", "Journalled records that no database has yet."
        ).labels()
        self._dropped = self._counter(
            "pinch_journal_dropped_total", "Records the journal could not take: answered unpersisted."
        ).labels()
        self._stored = self._counter(
            "pinch_decisions_stored_total", "Decisions that reached the database."
        ).labels()
        self._store_errors = self._counter(
            "pinch_store_errors_total", "Failed attempts to move journalled records into the database."
        ).labels()
        self._unmatched = self._counter(
            "pinch_outcomes_unmatched_total", "Reported outcomes for which no decision came in time."
        ).labels()
        self._replaced = self._counter(
            "pinch_outcomes_replaced_total", "Reported outcomes that replaced a different, earlier one."
        ).labels()

    def rpc_started(self, method: str) -> None:
        """Counts an RPC that begins; `method` is its full name, `/pinch.v1.PruneService/Prune`."""
        self._started[self._methods.get(method, _UNKNOWN_METHOD)].inc()

    def rpc_handled(self, method: str, code: str, seconds: float) -> None:
        """Counts an RPC that ended.

        Args:
            method: Its full name, `/pinch.v1.PruneService/Prune`.
            code: Name of its status code, `INVALID_ARGUMENT`.
            seconds: Time since its start.
        """
        pair = self._methods.get(method, _UNKNOWN_METHOD)
        codes = self._handled[pair]
        (codes.get(code) or codes["UNKNOWN"]).inc()
        self._seconds[pair].observe(seconds)

    def call_shed(self, reason: str) -> None:
        """Counts a call turned away because of the others (`SHED_REASONS`)."""
        self._shed[reason].inc()

    def call_refused(self, door: str, problem: str) -> None:
        """Counts a call or a page request without a token that allows it (`DOORS`, `DOOR_PROBLEMS`)."""
        self._refused[door, problem].inc()

    def door_files_changed(self, kind: str, result: str) -> None:
        """Counts a change of the `certificate` or `tokens` files: `taken`, or the old ones `kept`."""
        self._read_anew[kind, result].inc()

    def certificate_expires(self, timestamp: float) -> None:
        """Notes when the certificate in force ends (seconds since 1970)."""
        self._certificate_expires.set(timestamp)

    def gateway_answered(self, gateway: str, result: str, seconds: float) -> None:
        """Counts a gateway's request (`GATEWAYS`); a reason why a decision changed nothing is `unchanged`."""
        results = self._gateways[gateway]
        results.get(result, results["unchanged"]).inc()
        self._gateway_seconds[gateway].observe(seconds)

    def decided(
        self,
        *,
        route: str,
        result: str,
        original_tokens: int,
        final_tokens: int | None,
        elided: int = 0,
        omitted: int = 0,
        capped: int = 0,
        budget_met: bool = True,
    ) -> None:
        """Counts one decision.

        Args:
            route: One of `ROUTES`, in small or capital letters; anything else counts as `other`.
            result: One of `RESULTS`; anything else counts as `other`.
            original_tokens: Estimate before pruning (tokens).
            final_tokens: Estimate of what ships (tokens); None when pruning was disabled.
            elided: Tool results shortened to head and tail.
            omitted: Tool results replaced by a placeholder.
            capped: Tool results of the protected window that were shortened.
            budget_met: Whether the conversation is within its budget now.
        """
        _child(_child(self._decisions, route), result).inc()
        # A dry run ships the conversation as it came: counting its numbers would report savings nobody had.
        if result == "dry_run" or final_tokens is None:
            return
        self._original.inc(original_tokens)
        self._final.inc(final_tokens)
        if final_tokens < original_tokens:
            self._saved.inc(original_tokens - final_tokens)
        if elided:
            self._trimmed["elided"].inc(elided)
        if omitted:
            self._trimmed["omitted"].inc(omitted)
        if capped:
            self._trimmed["capped"].inc(capped)
        if not budget_met:
            self._missed.inc()

    def stage(self, name: str, seconds: float) -> None:
        """Notes that the stage `name` (one of `STAGES`) of a decision took `seconds`."""
        _child(self._stages, name).observe(seconds)

    def ranked(self, outcome: str) -> None:
        """Counts how one decision's candidates were ordered (one of `RELEVANCE_OUTCOMES`, in either case)."""
        _child(self._relevance, outcome).inc()

    def vectors_found(self, count: int) -> None:
        """Counts embeddings that were known already."""
        self._found.inc(count)

    def vectors_missed(self, count: int) -> None:
        """Counts embeddings that were not."""
        self._not_found.inc(count)

    def embedder_asked(self, seconds: float) -> None:
        """Notes that new embeddings took `seconds`, whether they came or not."""
        self._asked.observe(seconds)

    def embedder_unavailable(self, fault: Fault) -> None:
        """Counts a ranking that needed new embeddings and got none."""
        self._unavailable[fault].inc()

    def prefix_matched(self, share: float) -> None:
        """Notes how much of a session's previous payload the next one repeated (0 to 1)."""
        self._prefix.observe(share)

    def journal_pending(self, records: int) -> None:
        """Notes how many journalled records no database has yet."""
        self._pending.set(records)

    def journal_dropped(self) -> None:
        """Counts a record that the journal could not take."""
        self._dropped.inc()

    def decisions_stored(self, count: int) -> None:
        """Counts decisions that reached the database."""
        self._stored.inc(count)

    def store_failed(self) -> None:
        """Counts a failed attempt to move records into the database."""
        self._store_errors.inc()

    def outcomes_unmatched(self, count: int) -> None:
        """Counts reported outcomes given up because no decision of that id came in time."""
        self._unmatched.inc(count)

    def outcomes_replaced(self, count: int) -> None:
        """Counts reported outcomes that replaced a different, earlier one."""
        self._replaced.inc(count)

    def log_line_dropped(self) -> None:
        """Counts a log line that was lost."""
        self._lines_dropped.inc()

    def spans_sent(self, count: int) -> None:
        """Counts spans that a collector took."""
        self._spans_sent.inc(count)

    def spans_lost(self, count: int) -> None:
        """Counts spans that no collector took."""
        self._spans_lost.inc(count)

    def worker_restarted(self) -> None:
        """Counts a worker that ended unasked and is started anew."""
        self._worker_restarts.inc()

    @property
    def size(self) -> int:
        """How many numbers there are, each of 8 bytes."""
        return self._slots.size

    @property
    def layout(self) -> str:
        """The same for two processes whose numbers lie alike; only those can share a page."""
        return self._slots.layout

    def count_in(self, row: Row) -> None:
        """Counts from now on in a row that another process shows, on top of what it holds.

        Raises:
            ValueError: It has not the size for it.
        """
        info = self._slots.values
        self._slots.move_into(row)
        for family in self._families:
            if isinstance(family, GaugeFamily):
                family.copy(info, self._slots.values)

    def show_also(self, rows: Sequence[Row]) -> None:
        """Adds what other processes count in these rows to the page."""
        self._others = rows

    def worker_gone(self, row: Row) -> None:
        """Takes out of the page what a worker that is gone held; what it counted stays."""
        for family in self._families:
            if isinstance(family, GaugeFamily):
                family.clear(row)

    def page(self) -> bytes:
        """The page a Prometheus server scrapes, in the text format that `content_type` names."""
        registry = CollectorRegistry()
        registry.register(Families(self._families, (self._slots.values, *self._others)))
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        """Every metric over all processes, in the order of declaration."""
        yield from Families(self._families, (self._slots.values, *self._others)).collect()

    def descriptions(self) -> tuple[MetricDescription, ...]:
        """Every metric of the page, in the order of declaration."""
        return tuple(self._described)

    def _counter(self, name: str, meaning: str, labels: tuple[str, ...] = ()) -> CounterFamily:
        self._described.append(MetricDescription(name, "counter", labels, meaning))
        family = CounterFamily(self._slots, name, meaning, labels)
        self._families.append(family)
        return family

    def _gauge(
        self, name: str, meaning: str, labels: tuple[str, ...] = (), merge: Merge = "sum"
    ) -> GaugeFamily:
        self._described.append(MetricDescription(name, "gauge", labels, meaning))
        family = GaugeFamily(self._slots, name, meaning, labels, merge)
        self._families.append(family)
        return family

    def _histogram(
        self, name: str, meaning: str, labels: tuple[str, ...], buckets: tuple[float, ...]
    ) -> HistogramFamily:
        self._described.append(MetricDescription(name, "histogram", labels, meaning))
        family = HistogramFamily(self._slots, name, meaning, labels, buckets)
        self._families.append(family)
        return family


def _either_case(children: Mapping[str, _Child]) -> dict[str, _Child]:
    """The children under their names in small and in capital letters, as the wire spells them."""
    return {**children, **{name.upper(): child for name, child in children.items()}}


def _child(children: Mapping[str, _Child], value: str) -> _Child:
    found = children.get(value)
    return children[OTHER] if found is None else found


def _service_and_method(full_name: str) -> tuple[str, str]:
    service, _, method = full_name.removeprefix("/").rpartition("/")
    return service, method
