"""The embedded model: static token vectors, read from the files of the wordllama distribution.

The package itself is never imported: its loader looks for files where the wheel has none and then asks the
network, its import takes over the root logger, and its pooling returns NaN for an empty text. Its weights
(32,000 tokens of 256 float16 numbers) are mapped into memory, so that the workers of a machine share them;
its tokenizer is read by `tokenizers`. Neither opens a socket.
"""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from time import monotonic
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from pinch_server.core.embedding import Fault, Unavailable, Vectors
from pinch_server.core.exact import fold_columns, fold_sum, natural_log
from pinch_server.core.excerpts import excerpt
from pinch_server.core.nouns import counted
from pinch_server.embeddings.errors import ModelFilesError
from pinch_server.outbound.loop import WhenGone

MODEL: Final = "wordllama-l2-supercat-256"
"""Names the vectors in keys and reports; another pooling or other weights need another name."""
DIMENSION: Final = 256
"""Numbers of a vector."""
READ_CHARS: Final = 20_000
"""Most code points read of one text: of a longer one, an excerpt. Bounds the worst text to some 50 ms."""

_DISTRIBUTION: Final = "wordllama"
_WEIGHTS: Final = "wordllama/weights/l2_supercat_256.safetensors"
_TOKENIZER: Final = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR: Final = "embedding.weight"


class StaticEmbedder:
    """Embeds texts in this process. Shared by threads.

    A vector is the sum of a text's distinct tokens, each weighted 1 + ln(occurrences), brought to length 1:
    the same bits on any platform and in any company.

    Args:
        clock: A clock that never goes back (seconds).

    Raises:
        ModelFilesError: The model's files cannot be used.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._table = _read_weights(_file(_WEIGHTS))
        self._tokenizer = _read_tokenizer(_file(_TOKENIZER))
        if self._tokenizer.get_vocab_size() > len(self._table):
            raise ModelFilesError("the embedded model's tokenizer has more tokens than there are vectors")

    def embed(
        self, texts: Sequence[str], seconds: float, when_gone: WhenGone | None = None
    ) -> Vectors | Unavailable:
        """Embeds texts, some 4 ms for each of 8,000 characters.

        Args:
            texts: Any texts; blank ones get a zero row.
            seconds: Time there is; looked at between texts (seconds).
            when_gone: Registers a callback for the end of the call that this is for.

        Returns:
            The vectors; Unavailable when time ran out or the call ended.
        """
        ended: list[bool] = []
        if when_gone is not None and not when_gone(lambda: ended.append(True)):
            return Unavailable(Fault.CANCELLED)
        until = self._clock() + seconds
        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            if ended:
                return Unavailable(Fault.CANCELLED)
            if self._clock() >= until:
                return Unavailable(Fault.TIMEOUT, f"{counted(len(texts), 'text')} in {seconds:.3f} s")
            row[:] = self._pooled(text)
        return Vectors(rows)

    def close(self) -> None:
        """Does nothing: there is nothing to let go of."""

    def _pooled(self, text: str) -> NDArray[np.float32]:
        # A lone surrogate is no Unicode text, and the tokenizer takes nothing else.
        whole = excerpt(text, READ_CHARS).encode("utf-8", "replace").decode()
        (encoding,) = self._tokenizer.encode_batch_fast([whole], add_special_tokens=False)
        tokens, counts = np.unique(np.array(encoding.ids, dtype=np.int64), return_counts=True)
        weights = np.array(list(map(_weight, counts.tolist())), dtype=np.float32)
        summed = fold_sum(self._table[tokens].astype(np.float32) * weights[:, np.newaxis])
        length = np.sqrt(fold_columns((summed * summed)[np.newaxis])[0])
        normalised: NDArray[np.float32] = (
            summed / length if length > 0 and text.strip() else np.zeros_like(summed)
        )
        return normalised


@lru_cache(maxsize=4_096)
def _weight(count: int) -> float:
    return 1.0 + natural_log(count)


def _file(name: str) -> Path:
    try:
        path = Path(str(distribution(_DISTRIBUTION).locate_file(name)))
    except PackageNotFoundError:
        raise ModelFilesError(
            "the embedded model needs the distribution wordllama, which is not installed"
        ) from None
    if not path.is_file():
        raise ModelFilesError(f"the installed wordllama has no file {name}")
    return path


def _read_weights(path: Path) -> NDArray[np.float16]:
    """The table of a safetensors file: 8 bytes of header length, a JSON header, then the numbers.

    Raises:
        ModelFilesError: It holds no such table.
    """
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            # The header of one tensor takes some 100 bytes; a length beyond this is no header's.
            tensor = json.loads(file.read(min(size, 100_000)))[_TENSOR]
        rows, columns = tensor["shape"]
        start, end = tensor["data_offsets"]
        if tensor["dtype"] == "F16" and columns == DIMENSION and end - start == rows * columns * 2:
            return np.memmap(path, dtype="<f2", mode="r", offset=8 + size + start, shape=(rows, columns))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelFilesError(f"{path.name} does not hold the table of vectors: {error}") from None
    raise ModelFilesError(f"{path.name} holds a table of another form: {tensor}")


def _read_tokenizer(path: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_str(path.read_text("utf-8"))
    except Exception as error:  # noqa: BLE001 the library raises bare Exception
        raise ModelFilesError(f"{path.name} is not a tokenizer: {error}") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
