"""Vectors that this test process has computed before: hundreds of tests embed the same texts, at 6 ms of CPU each."""

import os
from functools import lru_cache

import numpy as np
from django.conf import settings
from onnxruntime import InferenceSession

from apps.llm.embeddings.local import LocalEmbedder

KEPT = 3000  # batches, of 2 to 80 kB

run = LocalEmbedder._run
Batch = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=KEPT)
def kept(embedder: LocalEmbedder, process: int, batch: Batch) -> np.ndarray:
    vectors = run(embedder, [list(ids) for ids in batch])
    vectors.setflags(write=False)  # all who ask for them get the same
    return vectors


def run_or_recall(embedder: LocalEmbedder, ids: list[list[int]]) -> np.ndarray:
    """Run the model on a batch that this process has not had.

    Tests of how the web server runs it, or with a session of their own, run it each time.
    """
    if settings.IS_WEB_PROCESS or type(embedder._session) is not InferenceSession:
        return run(embedder, ids)
    return kept(embedder, os.getpid(), tuple(map(tuple, ids)))


def keep_vectors() -> None:
    LocalEmbedder._run = run_or_recall
