"""`POST /compact`: the whole body in, a smaller one out, or 204 for "keep yours" (llm-d and its like)."""

from collections.abc import Mapping
from typing import Final

from pinch_server.decide import Body, Decided, PruneCall
from pinch_server.formats.json_body import splice
from pinch_server.gateways.headers import UNCHANGED, read_headers
from pinch_server.gateways.mouth import Answer, Leave, Question


class Compact:
    """The mouth of gateways that swap the body for what a 200 brings, and keep it on anything else."""

    name: Final = "compact"
    path: Final = "/compact"

    def read(self, body: bytes, headers: Mapping[str, str]) -> Question | Leave:
        """Takes the body as it is, in any dialect."""
        asked = read_headers(headers)
        if asked.bypass:
            return Leave("bypass")

        def answer(decided: Decided) -> Answer:
            if not decided.byte_edits:
                return self.unchanged(Leave(decided.unchanged_reason), body)
            return Answer(splice(body, decided.byte_edits))

        call = PruneCall(
            Body(body, asked.format), asked.limits, asked.context, asked.dry_run, asked.violations
        )
        return Question(call, answer)

    def unchanged(self, left: Leave, body: bytes) -> Answer:
        """No content: the gateway keeps what it has, and nothing large crosses the wire."""
        del body
        return Answer(status=204, headers={UNCHANGED: left.reason})
