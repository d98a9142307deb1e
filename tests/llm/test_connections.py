"""Operations on connections, their test, and embeddings."""

import re
import socket
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.test import override_settings

from apps.common.problems import Invalid
from apps.llm.backends.connection_check import check_connection, list_models
from apps.llm.backends.selection import backend_for, embedder_for
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.generation import GenerationFailed, TransientFailure
from apps.llm.http import endpoint
from apps.llm.models import Connection, Usage
from apps.llm.operations import create_connection, delete_connection, update_connection, use_for
from apps.llm.signals import embedding_changed
from tests.factories import UserFactory
from tests.llm.conftest import KEY, ciphertext_of
from tests.llm.scripted_server import MODELS, Reply, ScriptedServer, document, html, vector_of
from tests.llm.test_connected import both

Connect = Callable[..., Connection]


def test_a_key_is_encrypted_and_kept_until_it_is_changed(connect: Connect):
    connection = connect()
    assert KEY.encode() not in ciphertext_of(connection)
    assert (connection.api_key, connection.api_key_hint) == (KEY, "6789")
    update_connection(connection, name=" Elsewhere ")
    connection.refresh_from_db()
    assert (connection.name, connection.api_key) == ("Elsewhere", KEY)
    update_connection(connection, api_key="short")
    assert (connection.api_key_hint, connection.api_key) == ("", "short")
    update_connection(connection, api_key="")
    assert (connection.api_key, ciphertext_of(connection)) == ("", b"")


def test_a_key_is_decrypted_with_the_present_or_a_former_secret(connect: Connect):
    connection = connect()
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        connection.refresh_from_db()
        assert connection.api_key == KEY
        connection.save()
    with override_settings(SECRET_KEY="new"):
        connection.refresh_from_db()
        assert connection.api_key == KEY
    with override_settings(SECRET_KEY_FALLBACKS=["new"]):
        connection.refresh_from_db()
        assert connection.api_key == KEY


def test_a_key_that_no_secret_decrypts_is_reported_and_kept(connect: Connect):
    connection = connect(model=MODELS[0])
    before = ciphertext_of(connection)
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=["other"]):
        assert "Enter it again" in check_connection(Connection.objects.for_owner(connection.owner_id).get()).error
        update_connection(connection, name="Elsewhere")
        assert ciphertext_of(connection) == before
    connection.refresh_from_db()
    assert (connection.name, connection.api_key) == ("Elsewhere", KEY)


@pytest.mark.parametrize("url", ["http://other.example/v1", "https://models.example/v1", "http://models.example:81/v1"])
def test_a_key_does_not_go_to_another_server(alice, url):
    connection = create_connection(alice, name="A", base_url="http://models.example/v1", api_key=KEY)
    with pytest.raises(Invalid) as caught:
        update_connection(connection, base_url=url)
    assert [error.pointer for error in caught.value.errors] == ["/api_key"]
    assert Connection.objects.for_owner(alice).get().base_url == "http://models.example/v1"
    update_connection(connection, base_url="http://MODELS.example/api")
    update_connection(connection, base_url=url, api_key="")


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"base_url": "http://10.0.0.1/"}, "/base_url"),
        ({"base_url": ""}, "/base_url"),
        ({"name": ""}, "/name"),
        ({"backend": "other"}, "/backend"),
        ({"timeout": 0}, "/timeout"),
        ({"context_tokens": 5}, "/context_tokens"),
        ({"api_key": "two\nlines"}, "/api_key"),
        ({"api_key": "schlüssel"}, "/api_key"),
        ({"model": "m" * 201}, "/model"),
        ({"parallel_calls": 0}, "/parallel_calls"),
        ({"parallel_calls": 17}, "/parallel_calls"),
        ({"reasoning_effort": "extreme"}, "/reasoning_effort"),
        ({"extra_body": [1]}, "/extra_body"),
        ({"extra_body": {"top_p": 1, "messages": []}}, "/extra_body"),
        ({"extra_body": {"model": "other"}}, "/extra_body"),
        ({"extra_body": {"stream": None}}, "/extra_body"),
        ({"prompt_price": -1}, "/prompt_price"),
        ({"completion_price": "dear"}, "/completion_price"),
        ({"currency": "dollars"}, "/currency"),
        ({"currency": "us1"}, "/currency"),
    ],
)
def test_invalid_fields_are_named(alice, fields, pointer):
    with pytest.raises(Invalid) as caught:
        create_connection(alice, **({"name": "A", "base_url": "http://models.example"} | fields))
    assert [error.pointer for error in caught.value.errors] == [pointer]
    assert not Connection.objects.for_owner(alice).exists()


def test_one_connection_serves_at_a_time(connect: Connect, alice):
    first, second = connect(), connect(name="Second", model="scripted-large")
    assert backend_for(alice).model == "scripted-large"
    first.refresh_from_db()
    assert (first.for_generation, first.for_embeddings) == (False, False)
    use_for(first, generation=True)
    assert backend_for(alice).model == "scripted-small"
    assert embedder_for(alice).model == second.vector_space
    second.refresh_from_db()
    update_connection(second, embedding_model="")
    assert embedder_for(alice).model == "all-MiniLM-L6-v2"
    delete_connection(first)
    assert backend_for(alice).name == "builtin"
    assert backend_for(UserFactory()).name == "builtin"


def test_a_connection_without_a_model_is_not_used(alice):
    connection = create_connection(alice, name="A", base_url="http://models.example")
    for purpose, pointer in (("generation", "/model"), ("embeddings", "/embedding_model")):
        with pytest.raises(Invalid) as caught:
            use_for(connection, **{purpose: True})
        assert [error.pointer for error in caught.value.errors] == [pointer]


@pytest.mark.parametrize(("backend", "profile"), [("openai", "B"), ("ollama", "A")])
def test_the_attributes_of_a_backend(connect: Connect, alice, backend, profile):
    connect(backend=backend, context_tokens=32_000)
    found = backend_for(alice)
    assert (found.name, found.model, found.context_tokens, found.profile) == (
        backend,
        "scripted-small",
        32_000,
        profile,
    )
    assert backend_for(alice.pk).model == "scripted-small"


@pytest.mark.parametrize(
    ("backend", "url", "calls"),
    [
        ("openai", "https://models.example/v1", 4),
        ("openai", "http://localhost:8080/v1", 1),
        ("openai", "http://127.0.0.1:8080", 1),
        ("openai", "http://192.168.1.5:1234/v1", 1),
        ("openai", "http://[::1]:8080/v1", 1),
        ("ollama", "https://models.example", 1),
    ],
)
@override_settings(LLM_ALLOWED_ADDRESSES=["*"])
def test_a_local_server_gets_one_call_at_a_time_unless_another_number_is_given(alice, backend, url, calls):
    given = {"name": "A", "backend": backend, "base_url": url}
    connection = create_connection(alice, **given)
    assert connection.parallel_calls == calls
    update_connection(connection, parallel_calls=7)
    assert connection.parallel_calls == 7
    update_connection(connection, parallel_calls=None)
    assert connection.parallel_calls == calls


# Tests of a connection


@both
def test_a_test_of_a_connection_that_works(connect: Connect, server: ScriptedServer, alice, backend):
    server.reply_with("<think>Say it.</think>ready")
    connection = connect(backend=backend)
    check = check_connection(connection)
    assert (check.ok, check.error, check.models, check.reply) == (True, "", MODELS, "ready")
    assert check.seconds > 0
    assert check.dimensions == 16
    connection.refresh_from_db()
    assert connection.checked_at
    assert connection.check_error == ""
    assert Usage.objects.for_owner(alice).count() == 2


@both
def test_a_test_says_what_is_wrong(connect: Connect, server: ScriptedServer, backend):
    connection = connect(backend=backend)
    server.reply_to(lambda request: True, Reply("Wrong key", status=401))
    check = check_connection(connection)
    assert not check.ok
    assert "refuses the key" in check.error
    connection.refresh_from_db()
    assert connection.check_error == check.error
    assert len(server.requests) == 1


def test_a_test_tells_which_part_is_wrong(connect: Connect, server: ScriptedServer):
    server.reply_to(lambda request: request.kind == "embeddings", Reply("no such model", status=404))
    check = check_connection(connect())
    assert (check.reply, check.models) == ("Hello.", MODELS)
    assert check.error.startswith("Search vectors: ")
    assert "no such model" in check.error


def test_a_server_without_a_list_of_models_works_all_the_same(connect: Connect, server: ScriptedServer):
    server.reply_to(lambda request: request.kind == "models", html("Not found", status=404))
    check = check_connection(connect())
    assert (check.ok, check.models) == (True, [])


def test_models_of_a_connection_that_is_not_stored(alice, server: ScriptedServer):
    assert list_models(Connection(owner=alice, base_url=server.url, timeout=5)) == MODELS
    with pytest.raises(GenerationFailed, match="begin with http"):
        list_models(Connection(owner=alice, base_url=""))
    with pytest.raises(TransientFailure, match="can't be reached"):
        list_models(Connection(owner=alice, base_url=f"http://127.0.0.1:{_free_port()}", timeout=5))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# Embeddings


@both
def test_vectors_of_a_server_are_unit_rows_in_order(connect: Connect, server: ScriptedServer, alice, backend):
    connect(backend=backend)
    embedder = embedder_for(alice)
    assert embedder.embed([]).shape == (0, 0)
    texts = [f"ship {number}" for number in range(150)]
    vectors = embedder.embed(texts)
    assert (vectors.shape, vectors.dtype, embedder.dimensions) == ((150, 16), np.float32, 16)
    for text, vector in zip(texts, vectors, strict=True):
        expected = np.array(vector_of(text)) / np.linalg.norm(vector_of(text))
        assert vector == pytest.approx(expected, abs=1e-5)
    assert re.fullmatch(rf"{backend}:scripted-vectors#[0-9a-f]{{8}}", embedder.model)
    assert [len(request.body["input"]) for request in server.of_kind("embeddings")] == [64, 64, 22]
    usage = Usage.objects.for_owner(alice).get()
    assert (usage.model, usage.calls, usage.prompt_tokens) == ("scripted-vectors", 3, 300)


@pytest.mark.parametrize(
    "items",
    [
        [{"index": "1", "embedding": [0, 1]}, {"index": "0", "embedding": [1, 0]}],
        [{"index": 1.0, "embedding": [0, 1]}, {"index": 0.0, "embedding": [1, 0]}],
        [{"index": None, "embedding": [1, 0]}, {"index": "x", "embedding": [0, 1]}],
        [{"index": 1, "embedding": [1, 0]}, {"embedding": [0, 1]}],
        [{"index": 1, "embedding": [1, 0]}, {"index": 1, "embedding": [0, 1]}],
        [{"index": 9, "embedding": [1, 0]}, {"index": 0, "embedding": [0, 1]}],
        [{"index": 0, "embedding": "AACAPwAAAAA="}, {"index": 1, "embedding": "AAAAAAAAgD8="}],
    ],
    ids=["texts", "fractions", "none", "one", "the same", "others", "base64"],
)
def test_vectors_are_matched_to_their_texts_however_a_server_writes_them(
    connect: Connect, server: ScriptedServer, alice, items
):
    connect()
    server.reply_to(lambda request: True, document({"data": items}))
    assert embedder_for(alice).embed(["one", "two"]).tolist() == [[1, 0], [0, 1]]


def test_empty_and_long_texts_are_adapted_for_embedding(connect: Connect, server: ScriptedServer, alice):
    connect()
    assert embedder_for(alice).embed(["", "\x00", "a\ud800b", "x" * 100_000]).shape == (4, 16)
    assert [len(text) for text in server.requests[-1].body["input"]] == [1, 1, 2, 6000]


def more_than(number: int) -> Callable[[list[str]], bool]:
    return lambda sent: len(sent) > number


def longer_than(length: int) -> Callable[[list[str]], bool]:
    return lambda sent: max(map(len, sent)) > length


def in_all(length: int) -> Callable[[list[str]], bool]:
    return lambda sent: sum(map(len, sent)) > length


@pytest.mark.parametrize(
    ("status", "said", "is_too_much", "most"),
    [
        (400, "batch size is invalid, it should not be larger than 10.", more_than(10), (8, 6000)),
        (413, "input batch size 64 > maximum allowed batch size 32", more_than(32), (32, 6000)),
        (400, "invalid request: total number of texts must be at most 16 - received 64", more_than(16), (16, 6000)),
        (400, "Invalid 'input': array too long. Expected an array with maximum length 10.", more_than(10), (8, 6000)),
        (400, "This model's maximum context length is 512 tokens.", longer_than(2000), (64, 1500)),
        (413, "Input validation error: `inputs` must have less than 512 tokens.", longer_than(2000), (64, 1500)),
        (500, "input (900 tokens) is too large to process. increase the physical batch size (current batch size: 512)",
         longer_than(2000), (64, 1500)),
        (500, "the input length exceeds the context length", longer_than(3000), (64, 3000)),
        (400, "Too many tokens in batch. Max is 16384 got 20000", in_all(6100), (32, 6000)),
        (400, "Too many tokens overall, split into more batches.", in_all(6100), (32, 6000)),
        (413, "Request body too large for text-embedding-3. Max size: 64000 tokens.", in_all(6100), (32, 6000)),
        (413, "Request Entity Too Large", in_all(6100), (32, 6000)),
        (413, "length limit exceeded", in_all(6100), (32, 6000)),
        (413, "", in_all(6100), (32, 6000)),
        (400, "Invalid 'input': Requested 416735 tokens, max 300000 tokens per request", in_all(6100), (32, 6000)),
        (400, "The max allowed tokens per submitted batch is 120000.", in_all(6100), (32, 6000)),
        (422, "The input is too long.", in_all(6100), (32, 6000)),
    ],
)  # fmt: skip
def test_a_server_is_sent_as_many_and_as_long_texts_as_it_takes(
    connect: Connect, server: ScriptedServer, alice, status, said, is_too_much, most
):
    connect()
    server.reply_to(lambda request: is_too_much(request.body["input"]), Reply(said, status=status))
    texts = [f"ship {number} ".ljust(100, ".") for number in range(70)] + ["ship " * 2000]
    embedder = embedder_for(alice)
    vectors = embedder.embed([*texts, "dog"])
    assert vectors.shape == (72, 16)
    for text, vector in zip([texts[69], "dog"], vectors[[69, 71]], strict=True):
        assert vector == pytest.approx(np.array(vector_of(text)) / np.linalg.norm(vector_of(text)), abs=1e-5)
    sent = [request.body["input"] for request in server.of_kind("embeddings")]
    taken = [texts for texts in sent if not is_too_much(texts)]
    assert (max(map(len, taken)), max(len(text) for texts in taken for text in texts)) == most
    assert len(sent) < 40
    before = len(server.requests)
    embedder.embed(texts[:8])
    assert not any(is_too_much(request.body["input"]) for request in server.requests[before:])


def test_one_text_that_is_too_long_shortens_no_other_one(connect: Connect, server: ScriptedServer, alice):
    """As one of many tokens for its length is: 海 has one for each character or more."""
    connect()
    server.reply_to(
        lambda request: any(text.count("海") > 500 for text in request.body["input"]),
        Reply("This model's maximum context length is 512 tokens.", status=400),
    )
    long = "ship " * 1000
    embedder = embedder_for(alice)
    embedder.embed([long, "海" * 1200, *[f"{number} {long}" for number in range(100)]])
    sent = [request.body["input"] for request in server.of_kind("embeddings")]
    assert {len(text) for texts in sent for text in texts if "海" not in text} == {5000, 5002, 5003}
    assert min(len(text) for texts in sent for text in texts) == 300
    assert max(map(len, sent[-4:])) >= 32, "many are sent together again"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_server_that_is_busy_is_sent_the_same_texts_again(connect: Connect, server: ScriptedServer, alice, status):
    connect()
    said = "Request too large for scripted-vectors on tokens per min (TPM): Limit 40000, Requested 60000"
    server.reply_to(lambda request: request.number < 3, Reply(said, status=status))
    embedder_for(alice).embed(["ship " * 1000] * 20)
    server.reply_to(lambda request: True, Reply(said, status=status))
    with pytest.raises(EmbeddingUnavailable, match="too large") as caught:
        embedder_for(alice).embed(["ship " * 1000] * 20)
    assert isinstance(caught.value.__cause__, TransientFailure)
    assert [[len(text) for text in request.body["input"]] for request in server.requests] == [[5000] * 20] * 6


@pytest.mark.parametrize("said", ["tokens must be valid", "model is not one for vectors"])
def test_what_is_refused_for_another_reason_is_not_sent_in_parts(connect: Connect, server: ScriptedServer, alice, said):
    connect()
    server.reply_to(lambda request: True, Reply(said, status=400))
    with pytest.raises(EmbeddingUnavailable, match=said):
        embedder_for(alice).embed(["ship"] * 20)
    assert len(server.requests) == 1


def test_a_text_that_is_refused_at_any_length_keeps_no_vector_from_others(
    connect: Connect, server: ScriptedServer, alice
):
    connect()
    server.reply_to(
        lambda request: any("海" in text for text in request.body["input"]), Reply("The input is too long.", status=400)
    )
    texts = [f"ship {number}" for number in range(9)]
    vectors = embedder_for(alice).embed(["海" * 5000, *texts, "海"])
    assert vectors[1:10] == pytest.approx(embedder_for(alice).embed(texts), abs=1e-5)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(11), abs=1e-5)
    with pytest.raises(EmbeddingUnavailable, match="too long"):
        embedder_for(alice).embed_queries(["海" * 5000])


BAD = ["Let me read the file.", "Now let me check."]


def zeros(request: Any) -> Reply:
    vectors = [vector_of(text) if text.startswith("ship") else [0.0] * 16 for text in request.body["input"]]
    return document({"data": [{"embedding": vector} for vector in vectors]})


@pytest.mark.parametrize(
    "nothing",
    [Reply("failed to encode response: json: unsupported value: NaN", status=500), zeros],
    ids=["NaN", "zeros"],
)
def test_a_text_for_which_a_model_has_no_vector_keeps_none_from_others(
    connect: Connect, server: ScriptedServer, alice, nothing, monkeypatch
):
    monkeypatch.setattr(endpoint, "BACKOFF", 0.001)
    connect()
    server.reply_to(lambda request: bool({*BAD} & {*request.body["input"]}), nothing)
    texts = [f"ship {number}" for number in range(10)]
    vectors = embedder_for(alice).embed([*texts, *BAD])
    expected = embedder_for(alice).embed(texts)
    assert vectors[:10] == pytest.approx(expected, abs=1e-5)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(12), abs=1e-5)
    assert abs(vectors[10] @ vectors[11]) < 0.9  # neither of them is taken for the other one
    with pytest.raises(EmbeddingUnavailable):
        embedder_for(alice).embed_queries(BAD[:1])  # words alone find more
    server.reply_to(lambda request: True, nothing)
    with pytest.raises(EmbeddingUnavailable):
        embedder_for(alice).embed(BAD)


def test_what_is_always_too_much_is_told(connect: Connect, server: ScriptedServer, alice):
    connect()
    server.reply_to(lambda request: True, Reply("The input is too long.", status=400))
    with pytest.raises(EmbeddingUnavailable, match="too long"):
        embedder_for(alice).embed(["ship " * 2000] * 3)
    assert [len(request.body["input"][0]) for request in server.of_kind("embeddings")] == [
        *(6000, 6000, 3000, 1500, 750, 375, 200),
        len("ready"),
    ]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply("no", status=401), "refuses the key"),
        (html("Welcome"), "a web page"),
        (document({"data": []}), "not return a vector for each of 1"),
        (document({"data": [{"embedding": [1.0, "x"]}]}), "lists of numbers"),
        (document({"data": [{"embedding": [[1.0]]}]}), "not return a vector"),
        (document({"data": [{"embedding": "no base64"}]}), "lists of numbers"),
        (document({"data": [{"embedding": []}]}), "not return a vector"),
        (document({"data": [{"embedding": [0.0, 0.0]}]}), "zeros or with invalid numbers"),
        (document({"data": [{"embedding": None}]}), "not return a vector|numbers"),
        (Reply(raw=b'{"data": [{"embedding": [NaN, 1]}]}'), "zeros or with invalid numbers"),
        (document({"error": {"message": "Overloaded"}}), "Overloaded"),
    ],
)
def test_malformed_vectors_are_refused(connect: Connect, server: ScriptedServer, alice, reply, words):
    connect()
    server.reply_to(lambda request: True, reply)
    with pytest.raises(EmbeddingUnavailable, match=words):
        embedder_for(alice).embed(["ship"])


@pytest.mark.parametrize(
    "change",
    [
        {"base_url": "http://127.0.0.1:9/v1", "api_key": ""},
        {"embedding_model": "scripted-small"},
        {"backend": "ollama"},
    ],
)
def test_another_server_or_model_begins_a_vector_space(connect: Connect, alice, change):
    connection = connect()
    embedder_for(alice).embed(["ship"])
    before = embedder_for(alice).model
    update_connection(connection, name="Renamed", timeout=9)
    assert (embedder_for(alice).model, embedder_for(alice).dimensions) == (before, 16)
    update_connection(connection, **change)
    assert (embedder_for(alice).model != before, embedder_for(alice).dimensions) == (True, 0)


def test_two_servers_with_a_model_of_one_name_have_two_vector_spaces(connect: Connect, alice):
    connect()
    before = embedder_for(alice).model
    with ScriptedServer() as other:
        connect(base_url=other.url)
    assert embedder_for(alice).model != before


def test_vectors_of_another_length_begin_a_vector_space(
    connect: Connect, server: ScriptedServer, alice, django_capture_on_commit_callbacks
):
    connect()
    old = embedder_for(alice)
    old.embed(["ship"])
    running = embedder_for(alice)
    server.reply_to(lambda request: request.kind == "embeddings", document({"data": [{"embedding": [3.0, 4.0]}]}))
    heard = []
    embedding_changed.connect(hear := lambda owner_id, **kwargs: heard.append(owner_id))
    try:
        with django_capture_on_commit_callbacks(execute=True):
            for embedder in (old, running):
                with pytest.raises(EmbeddingUnavailable, match="changed their length"):
                    embedder.embed(["ship"])
    finally:
        embedding_changed.disconnect(hear)
    new = embedder_for(alice)
    assert (new.model != old.model, new.dimensions, heard) == (True, 2, [alice.pk])
    assert new.embed(["ship"])[0] == pytest.approx([0.6, 0.8])


def test_a_query_does_not_wait_for_a_server_that_is_slow(connect: Connect, server: ScriptedServer, alice, monkeypatch):
    monkeypatch.setattr("apps.llm.backends.connected_embedder.QUERY_TIMEOUT", 0.2)
    connect(timeout=60)
    server.reply_to(lambda request: True, Reply(delay=30))
    with pytest.raises(EmbeddingUnavailable, match=r"silent|not complete"):
        embedder_for(alice).embed(["ship"])
    assert len(server.requests) == 1


def test_an_embedding_call_of_a_job_is_retried(connect: Connect, server: ScriptedServer, alice):
    connect()
    server.reply_to(lambda request: request.number == 1, Reply(status=503))
    assert embedder_for(alice).embed([str(number) for number in range(9)]).shape == (9, 16)


def test_no_vectors_beyond_the_limit(connect: Connect, server: ScriptedServer, alice):
    connect()
    with override_settings(LLM_DAILY_TOKENS=3):
        embedder_for(alice).embed(["one two three"])
        with pytest.raises(EmbeddingUnavailable, match="limit of 3 tokens"):
            embedder_for(alice).embed(["four"])
