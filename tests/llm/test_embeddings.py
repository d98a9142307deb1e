import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as given_settings
from hypothesis import strategies as st

from apps.llm.embeddings import get_embedder, local, multilingual
from tests.properties import WITH_DATABASE


def test_vectors_are_unit_float32_rows_in_the_order_of_the_texts():
    texts = ["A long sentence about a ship that left the harbour at dawn.", "", "Dog", "海"]
    vectors = get_embedder().embed(texts)
    assert vectors.shape == (4, get_embedder().dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        assert get_embedder().embed([text])[0] == pytest.approx(vector, abs=1e-4)


def test_no_texts_give_no_vectors():
    assert get_embedder().embed([]).shape == (0, 384)


def test_similar_texts_have_near_vectors():
    dog, puppy, tax = get_embedder().embed(["a dog", "a puppy", "a tax form"])
    assert dog @ puppy > 0.6 > 0.3 > dog @ tax


def test_published_similarity_of_the_model():
    """Compare to the example of the model card, with a tolerance for int8 weights."""
    one, two = get_embedder().embed(["That is a happy person", "That is a happy dog"])
    assert one @ two == pytest.approx(0.6946, abs=0.05)


def test_a_long_text_is_the_mean_of_its_pieces():
    ship, tax = "ship " * 254, "tax " * 254
    long, *parts = get_embedder().embed([ship + tax, ship, tax])
    mean = sum(parts) / np.linalg.norm(sum(parts))
    assert long == pytest.approx(mean, abs=1e-4)


def test_text_after_the_last_piece_is_ignored():
    head = "ship " * 3000
    vectors = get_embedder().embed([head, head + "a tax form is due in April"])
    assert vectors[0] @ vectors[1] == pytest.approx(1, abs=1e-5)


@given_settings(max_examples=WITH_DATABASE, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=20))
def test_any_text_can_be_embedded(texts):
    vectors = get_embedder().embed(texts)
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-4)


def test_a_forked_child_embeds_with_a_session_of_its_own():
    expected = get_embedder().embed(["a dog"])[0]
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, get_embedder().embed(["a dog"])[0].tobytes())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert np.frombuffer(os.read(read, 4096), dtype=np.float32) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("module", "name"), [(local, "LocalEmbedder"), (multilingual, "MultilingualEmbedder")])
def test_threads_that_come_at_once_load_the_model_once(module: Any, name: str, monkeypatch: pytest.MonkeyPatch):
    """As requests do that come while a web process loads it: each would need 180 MB for a moment."""
    started: list[int] = []

    def load() -> SimpleNamespace:
        started.append(threading.get_ident())
        time.sleep(0.05)
        return SimpleNamespace()

    monkeypatch.setattr(module, name, load)
    monkeypatch.setattr(module, "_loaded", cache(module._loaded.__wrapped__))
    with ThreadPoolExecutor(4) as threads:
        assert len(set(map(id, threads.map(lambda _: module.get_embedder(), range(4))))) == 1
    assert len(started) == 1


def test_a_long_query_gives_way_to_what_else_the_web_server_does(settings: Any, monkeypatch: pytest.MonkeyPatch):
    settings.IS_WEB_PROCESS = True
    embedder: Any = get_embedder()
    session, seen = embedder._session, []

    def run(*args: Any) -> Any:
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return session.run(*args)

    monkeypatch.setattr(embedder, "_session", SimpleNamespace(run=run))
    before = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    short, long = embedder.embed(["Where is it?"]), embedder.embed(["Where is it? " * 60])
    assert (short.shape, long.shape) == ((1, 384), (1, 384))
    assert seen == [before, 15]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before
