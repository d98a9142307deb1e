"""Generation on connections, over real HTTP."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from apps.llm.backends.selection import backend_for
from apps.llm.generation import GenerationFailed, GenerationRequest, Misconfigured, Refused, TransientFailure
from apps.llm.models import Connection
from apps.llm.usage.limits import usage_today
from tests.llm.conftest import KEY
from tests.llm.scripted_server import Reply, ScriptedServer, document, html

Connect = Callable[..., Connection]
ASK = GenerationRequest("tests.greet", [{"role": "user", "content": "Say hello."}], max_tokens=50)
both = pytest.mark.parametrize("backend", ["openai", "ollama"])
streaming = pytest.mark.parametrize("stream", [True, False])


def generate(connection: Connection, **kwargs):
    return backend_for(connection.owner_id).generate(ASK, **kwargs)


@both
@streaming
def test_a_reply_with_its_thoughts_and_tokens(connect: Connect, server: ScriptedServer, backend, stream):
    server.reply_with(Reply("<think>Hm.</think>Hello, Alice.", reasoning="First, greet."))
    connection = connect(backend=backend, stream=stream)
    completion = generate(connection)
    assert (completion.text, completion.reasoning) == ("Hello, Alice.", "First, greet.\nHm.")
    assert (completion.prompt_tokens, completion.completion_tokens) == (11, 7)
    asked = server.requests[-1]
    assert asked.body["model"] == "scripted-small"
    assert asked.body["stream"] is stream
    assert asked.messages == ASK.messages
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert usage_today(connection.owner_id) == 18


@both
@streaming
def test_a_server_that_streams_or_not_whatever_it_was_asked(connect: Connect, server, backend, stream):
    server.reply_with(Reply("Hello, Alice.", stream=not stream))
    assert generate(connect(backend=backend, stream=stream)).text == "Hello, Alice."


@both
def test_unknown_parts_of_replies_are_ignored(connect: Connect, server, backend):
    server.reply_with(Reply("a\x00b\ud800c 👋", piece=1))
    assert generate(connect(backend=backend)).text == "abc 👋"


def test_bytes_that_are_no_utf8_are_replaced(connect: Connect, server):
    server.reply_with(Reply(raw=b'{"choices": [{"message": {"content": "caf\xff\xfe"}}]}'))
    assert generate(connect()).text == "caf\ufffd\ufffd"


def test_halves_of_a_character_that_come_in_two_events_are_joined(connect: Connect, server):
    halves = [r"\ud83d", r"\ude00"]
    events = [f'data: {{"choices": [{{"delta": {{"content": "{half}"}}}}]}}\r\n\r\n' for half in halves]
    server.reply_with(Reply(raw="".join([*events, "data: [DONE]\r\n\r\n"]).encode()))
    assert generate(connect()).text == "😀"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
@streaming
def test_reasoning_in_a_separate_field(connect: Connect, server, name, stream):
    server.reply_with(Reply("Hello.", reasoning="Greet her.", reasoning_field=name))
    completion = generate(connect(stream=stream))
    assert (completion.text, completion.reasoning) == ("Hello.", "Greet her.")


@both
@streaming
def test_tokens_that_the_server_does_not_count_are_counted(connect: Connect, server, backend, stream):
    server.reply_with(Reply("Hello, Alice.", usage=None))
    completion = generate(connect(backend=backend, stream=stream))
    assert (completion.prompt_tokens, completion.completion_tokens) == (3, 4)


@pytest.mark.parametrize(
    "path",
    [
        "/v1",
        "",
        "/",
        "/v1/",
        "/v1/v1",
        "//v1//",
        "/v1/chat/completions",
        "/v1/v1/chat/completions/",
        "/v1/models",
    ],
)
@pytest.mark.parametrize("prefix", ["/v1", ""])
def test_an_address_as_people_paste_it(connect: Connect, path, prefix):
    with ScriptedServer("Hello.", prefix=prefix) as server:
        connection = connect(base_url=server.url + path)
        backend = backend_for(connection.owner_id)
        assert backend.generate(ASK).text == "Hello."
        assert backend.generate(ASK).text == "Hello."
        assert len(server.requests) <= 3, "what replied once is asked at once"


@pytest.mark.parametrize("path", ["", "/", "/api", "/api/chat", "/v1", "/api/tags/"])
def test_an_address_of_ollama_as_people_paste_it(connect: Connect, server, path):
    assert generate(connect(backend="ollama", base_url=server.url + path)).text == "Hello."
    assert server.requests[0].path == "/api/chat"


def test_ollama_is_asked_for_the_whole_context(connect: Connect, server):
    generate(connect(backend="ollama", context_tokens=32768))
    assert server.requests[0].body["options"] == {"num_ctx": 32768, "num_predict": 50, "temperature": 0.0}


@pytest.mark.parametrize(
    ("complaint", "refused", "instead"),
    [
        ("Use 'max_completion_tokens' instead of max_tokens.", "max_tokens", "max_completion_tokens"),
        ("stream_options: extra fields not permitted", "stream_options", "model"),
        ("Unsupported value: 'temperature' does not support 0.0 with this model.", "temperature", "model"),
        ("Unrecognized request argument supplied: reasoning_effort", "reasoning_effort", "model"),
        ("[{'loc': ('body', 'stream_options'), 'msg': 'Extra inputs'}]", "stream_options", "model"),
        ("Validation error at #/stream_options", "stream_options", "model"),
        ("body.temperature: extra_forbidden", "temperature", "model"),
        ("`reasoning_effort` is not supported with this model", "reasoning_effort", "model"),
        ("Argument not supported on this model: reasoningEffort", "reasoning_effort", "model"),
    ],
)
def test_a_field_that_the_server_refuses_is_replaced_or_left_out(connect: Connect, server, complaint, refused, instead):
    server.reply_to(lambda request: refused in request.body, Reply(complaint, status=400))
    backend = backend_for(connect(reasoning_effort="low").owner_id)
    assert [backend.generate(ASK).text, backend.generate(ASK).text] == ["Hello.", "Hello."]
    assert [refused in request.body for request in server.requests] == [True, False, False]
    assert instead in server.requests[-1].body


def test_a_word_that_only_contains_a_field_refuses_no_field(connect: Connect, server):
    server.reply_with(Reply("It has stopped, non-stop: stop_token_ids, min_pixels, my_max_tokens", status=400))
    with pytest.raises(Refused):
        generate(connect())
    assert len(server.requests) == 1


def test_replies_are_requested_at_temperature_0(connect: Connect, server):
    generate(connect())
    generate(connect(backend="ollama"))
    openai, ollama = (request.body for request in server.requests)
    assert (openai["temperature"], ollama["options"]["temperature"]) == (0, 0)


@pytest.mark.parametrize(
    ("backend", "effort", "field", "sent"),
    [
        ("openai", "low", "reasoning_effort", "low"),
        ("openai", "none", "reasoning_effort", "none"),
        ("ollama", "low", "think", "low"),
        ("ollama", "none", "think", False),
    ],
)
def test_the_reasoning_effort_is_sent_in_the_field_of_the_api(connect: Connect, server, backend, effort, field, sent):
    generate(connect(backend=backend, reasoning_effort=effort))
    generate(connect(backend=backend))
    assert server.requests[0].body[field] == sent
    assert field not in server.requests[1].body


@pytest.mark.parametrize(("usual", "less"), [("high", "low"), ("medium", "low"), ("low", "low"), ("none", "none")])
def test_less_reasoning_is_asked_for_after_a_cut_off_reply(connect: Connect, server, usual, less):
    backend = backend_for(connect(reasoning_effort=usual).owner_id)
    backend.generate(replace(ASK, less_reasoning=True))
    assert server.requests[0].body["reasoning_effort"] == less


def test_a_model_of_ollama_that_can_not_reason_is_asked_without_reasoning(connect: Connect, server):
    server.reply_to(lambda request: "think" in request.body, Reply('"scripted" does not support thinking', status=400))
    backend = backend_for(connect(backend="ollama", reasoning_effort="high").owner_id)
    assert [backend.generate(ASK).text, backend.generate(ASK).text] == ["Hello.", "Hello."]
    assert ["think" in request.body for request in server.requests] == [True, False, False]


@both
def test_further_parameters_are_merged_into_the_body(connect: Connect, server, backend):
    given = {"options": {"top_k": 20}, "top_p": 0.9, "temperature": None, "max_tokens": None}
    generate(connect(backend=backend, extra_body=given))
    body = server.requests[0].body
    assert (body["top_p"], body["options"]["top_k"], body["model"]) == (0.9, 20, "scripted-small")
    assert body["messages"] == ASK.messages
    assert not {"temperature", "max_tokens"} & body.keys()
    assert body["options"].get("num_predict") == (50 if backend == "ollama" else None)


def test_a_model_that_says_nothing_is_no_failure(connect: Connect, server):
    server.reply_with(document({"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}))
    assert generate(connect()).text == ""


def test_content_in_parts(connect: Connect, server):
    parts = [{"type": "text", "text": "Hello, "}, {"type": "text", "text": "Alice."}]
    server.reply_with(document({"choices": [{"message": {"content": parts}}]}))
    assert generate(connect()).text == "Hello, Alice."


def test_a_reply_without_end_is_cut_off(connect: Connect, server, monkeypatch):
    monkeypatch.setattr("apps.llm.replies.reply.MAX_CHARACTERS", 1000)
    server.reply_with(Reply("x" * 500_000, piece=100))
    assert generate(connect()).text == "x" * 1000


# Failures


def failing(connection: Connection, kind: type[GenerationFailed], words: str) -> GenerationFailed:
    with pytest.raises(kind, match=words) as caught:
        generate(connection)
    return caught.value


@both
@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_transient_errors_are_retried(connect: Connect, server, backend, status):
    server.reply_with(Reply(status=status), html("Bad gateway", status=502))
    assert generate(connect(backend=backend)).text == "Hello."
    assert len(server.requests) == 3


@both
def test_a_call_fails_after_three_attempts(connect: Connect, server, backend):
    server.reply_to(lambda request: True, html("502 Bad Gateway", status=502))
    failure = failing(connect(backend=backend), TransientFailure, "502 Bad Gateway")
    assert failure.kind == "recoverable"
    assert "secret words" not in failure.detail
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply("Incorrect key", status=401), "refuses the key.*Incorrect key"),
        (Reply("Not yours", status=403), "refuses the key"),
        (Reply("model 'x' not found", status=404), "no such address or model.*model 'x' not found"),
        (Reply("Start it with --embeddings", status=501), "no such address or model.*--embeddings"),
        (Reply("Pay first", status=402), "no credit left"),
        (Reply(status=302, headers={"Location": "http://127.0.0.1:1/"}), "redirects elsewhere"),
        (html("Welcome to the router"), "a web page, “Welcome to the router”.*Is the address right"),
        (
            document({"error": {"message": "You exceeded", "code": "insufficient_quota"}}, 429),
            "no credit left.*exceeded",
        ),
        (
            document({"error": {"message": "Not active", "type": "billing_not_active"}}, 429),
            "no credit left.*Not active",
        ),
        (document({"error": {"message": "No such key", "code": 401}}), "refuses the key.*No such key"),
        (
            document([{"error": {"message": "Not valid", "details": [{"reason": "API_KEY_INVALID"}]}}], 400),
            "refuses the key or the model.*Not valid",
        ),
        (document({"error": {"message": "None such", "code": "model_not_found"}}, 400), "the key or the model.*None"),
    ],
)
@both
def test_configuration_errors_are_not_retried(connect: Connect, server, backend, reply, words):
    server.reply_to(lambda request: True, reply)
    failure = failing(connect(backend=backend), Misconfigured, words)
    assert failure.kind == "configuration"
    assert "secret words" not in failure.detail
    assert len({request.path for request in server.requests}) == len(server.requests)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply("Too long", status=400), "refuses the request.*Too long"),
        (Reply("Too large", status=413), "refuses the request.*Too large"),
        (Reply("Not so", status=422), "refuses the request.*Not so"),
        (document({"error": {"message": "Too long", "code": "context_length_exceeded"}}, 400), "Too long"),
        (document({"error": {"message": "exceeds the context", "code": 400}}), "exceeds the context"),
        (document({"error": {"message": "No", "code": "content_filter"}}, 400), "content filter refuses.*No"),
        (document({"error": {"message": "No", "metadata": {"flagged_input": "x"}}}, 403), "content filter refuses"),
    ],
)
@both
def test_a_request_that_the_server_refuses_is_told_apart_from_a_wrong_connection(
    connect: Connect, server, backend, reply, words
):
    server.reply_to(lambda request: True, reply)
    failure = failing(connect(backend=backend), Refused, words)
    assert failure.kind == "refused"
    assert len(server.requests) == 1


@streaming
@pytest.mark.parametrize(
    ("backend", "finish_reason", "cut_off", "filtered"),
    [
        ("openai", "stop", False, False),
        ("openai", "length", True, False),
        ("openai", "content_filter", True, True),
        ("ollama", "stop", False, False),
        ("ollama", "length", True, False),
    ],
)
def test_a_reply_tells_what_cut_it_off(connect: Connect, server, backend, stream, finish_reason, cut_off, filtered):
    server.reply_with(Reply("Hello.", finish_reason=finish_reason))
    completion = generate(connect(backend=backend, stream=stream))
    assert (completion.cut_off, completion.filtered) == (cut_off, filtered)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (document({"error": {"message": "Overloaded"}}), "It says: Overloaded"),
        (document({"error": "Overloaded"}), "It says: Overloaded"),
        (document({"object": "error", "message": "Overloaded"}), "It says: Overloaded"),
        (document({"choices": []}), "before the model said anything"),
        (document([]), "not JSON"),
        (Reply(raw=b"Service temporarily unavailable"), "not JSON. It begins: Service temp"),
        (Reply(raw=b""), "is empty"),
        (Reply(raw=b'data: {"error": {"message": "Out of memory"}}\n\n'), "Out of memory"),
    ],
)
def test_a_success_status_without_a_usable_reply(connect: Connect, server, reply, words):
    server.reply_to(lambda request: True, reply)
    failing(connect(), TransientFailure, words)
    assert len(server.requests) == 3


@both
@pytest.mark.parametrize("ending", [{"break_after": 7}, {"finish": False}])
def test_a_stream_that_stops_half_way_keeps_the_partial_reply(connect: Connect, server, backend, ending):
    server.reply_to(lambda request: True, Reply("<think>Well</think>Hello, dear Alice.", piece=5, **ending))
    connection = connect(backend=backend)
    failure = failing(connection, TransientFailure, "half-way|broke")
    assert failure.partial.startswith("Hello")
    assert failure.reasoning == "Well"
    assert failure.completion_tokens > 0
    assert len(server.requests) == 3
    assert usage_today(connection.owner_id) == failure.prompt_tokens + failure.completion_tokens
