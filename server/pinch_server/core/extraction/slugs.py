"""The words for what goes wrong in an extraction: closed sets, fit for labels, without a word of any text."""

from typing import Final

MODEL_FAULTS: Final = (
    "deadline",
    "refused",
    "closed",
    "malformed",
    "too_large",
    "internal",
    "breaker_open",
    "spend_cap",
    "spend_unknown",
    "400",
    "401",
    "403",
    "404",
    "408",
    "413",
    "422",
    "429",
    "500",
    "502",
    "503",
    "504",
    "529",
    "status",
)
"""Why a model did not answer; a number is the answer's status, and `status` any other one."""
NOT_SENT: Final = ("breaker_open", "spend_cap", "spend_unknown")
"""Those of them that keep a call from being sent at all."""
LONGER_THAN_ANY: Final = "longer than any excerpt"
"""The reason of a text that passed every check and is too long to stand in the place of any excerpt."""
REFUSALS: Final = (
    "empty reply",
    "truncated reply",
    "syntax error",
    "runtime error",
    "sandbox panic",
    "sandbox unavailable",
    "input above the sandbox limit",
    "program above the sandbox limit",
    "not a list",
    "bad program result",
    "program produced an empty OUTPUT",
    "result not smaller",
    LONGER_THAN_ANY,
    "truncated at the character cap",
    "a contiguous window is not a reduction of this content",
    "acceptance check: empty result",
    "acceptance check: degenerate result",
    "acceptance check: below the keep-ratio floor",
    "acceptance check: dropped a referenced identifier",
    "acceptance check: not derived from the input",
    "acceptance check: not a subsequence of the input",
    "model call failed",
    "no model",
)
"""Why what a filter left was refused, as labels call it: without what may quote a conversation."""
OTHER_REFUSAL: Final = "other"
NOT_KEPT: Final = "not_kept"
"""The reason of a text or a refusal that the database did not take: paid for, and never sent."""
