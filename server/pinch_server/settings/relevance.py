"""How the results that an event may trim are ranked, and where the embeddings for it come from."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, Field

from pinch_server.core.limits import Bound
from pinch_server.core.scoring import Scoring
from pinch_server.settings import checks
from pinch_server.settings.marks import Told, Within

OPENAI_BASE_URL: Final = "http://localhost:11434/v1"
"""Where an Ollama on the same machine answers."""
OPENAI_MODEL: Final = "nomic-embed-text"

_MIB: Final = 1024 * 1024


class RelevanceSettings(BaseModel, frozen=True, extra="forbid"):
    """How candidates are ranked."""

    enabled: bool = Field(
        default=True,
        description="Whether candidates are ranked; false: all outside the window are trimmed alike.",
    )
    scoring: Scoring = Field(
        default=Scoring.AUTO,
        description=(
            "What ranks a result: age, or its match with what was said last, by words (lexical), embeddings"
            " (cosine) or both (hybrid); auto: hybrid under per_call, age under replay."
        ),
    )
    provider: Literal["embedded", "openai"] = Field(
        default="embedded",
        description="Who embeds: a model in this process, or an OpenAI-compatible endpoint.",
    )
    base_url: Annotated[
        str,
        AfterValidator(checks.http_url),
        Told("http://HOST/v1, https://HOST/v1 or empty", "", checks.without_password),
    ] = Field(
        default="",
        repr=False,
        description=(
            f"The endpoint, without /embeddings; set, it makes the provider openai;"
            f" empty with openai: {OPENAI_BASE_URL}."
        ),
    )
    model: Annotated[str, Told("a name that the endpoint knows")] = Field(
        default=OPENAI_MODEL, description="The embedding model that an endpoint is asked for."
    )
    api_key: Annotated[
        str,
        AfterValidator(checks.header_key),
        Told("printable ASCII characters, or empty", "", lambda _: checks.HIDDEN),
    ] = Field(default="", repr=False, description="Sent to the endpoint as a bearer token; empty: none.")
    timeout_seconds: Annotated[float, Within(Bound(0.01, 600))] = Field(
        default=10.0,
        description="Time for the embeddings of one call, less where its deadline is nearer (seconds).",
    )
    min_candidates: Annotated[int, Within(Bound(1, 1_000_000))] = Field(
        default=2, description="With fewer candidates than this nothing is embedded (results)."
    )
    cache_bytes: Annotated[int, Within(Bound(0, 2**40))] = Field(
        default=64 * _MIB, description="Most memory for vectors kept between calls (bytes)."
    )

    @property
    def endpoint(self) -> str:
        """The base URL of the endpoint in use; empty where the embedded model is."""
        if self.provider == "openai":
            return self.base_url or OPENAI_BASE_URL
        return self.base_url
