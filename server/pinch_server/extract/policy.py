"""What the operator has set about extraction, in its own terms."""

from dataclasses import dataclass

from pinch_server.core.extraction.candidate_gate import Caps
from pinch_server.core.extraction.economics import Against, ModelPrices
from pinch_server.core.extraction.form import Marking
from pinch_server.core.extraction.request_gate import Rules
from pinch_server.extract.prompts.context import ContextMode


@dataclass(frozen=True, slots=True)
class ExtractionPolicy:
    """Everything that decides whether a filter is asked for, and what its text is kept under.

    Attributes:
        rules: About requests.
        caps: How often the model may be called.
        is_inline: Whether filters are written before the reply, while there is time.
        seconds: Time for one result (seconds).
        model: The model's name.
        prices: What it charges; None where that is not known.
        window: Its window (tokens).
        needs_model: Whether results are shortened by a model at all.
        allows_caching: Whether providers that cache prompts are served too.
        has_gate: Whether a call must be expected to pay.
        against: What the gate holds a filter's text against.
        skips_reads: Whether line-numbered reads are left alone; None: where the provider caches.
        keep_ratio: Least share of the tokens that an accepted result keeps (0 to 1).
        prompt_version: Names the prompts and what the checks mean.
        fingerprint: Every setting that shapes a result.
        context: How much of the conversation the model is shown.
        context_messages: How many of its newest messages.
        shares: Whether rewritten texts are for all sessions of a tenant.
        marking: What stands under an extracted result.
    """

    rules: Rules
    caps: Caps
    is_inline: bool
    seconds: float
    model: str
    prices: ModelPrices | None
    window: int
    prompt_version: str
    fingerprint: str
    needs_model: bool = True
    allows_caching: bool = False
    has_gate: bool = True
    against: Against = Against.WHOLE
    skips_reads: bool | None = None
    keep_ratio: float = 0.05
    context: ContextMode = ContextMode.RECENT
    context_messages: int = 2
    shares: bool = False
    marking: Marking = Marking.FULL
