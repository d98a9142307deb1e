"""One reader for what model servers write: for replies that Loci asks for, and for those that the proxy passes on."""

import json
from typing import Any

import pytest

from apps.llm.backends.openai_compatible import OpenAICompatible
from apps.llm.generation import GenerationFailed
from apps.llm.replies.reply import Reply
from apps.proxy.collected_replies import collected_reply


def event(delta: Any = None, end: str = "\n\n", **choice: Any) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta or {}, **choice}]})}{end}"


parse_delta = OpenAICompatible("http://localhost/v1", "", {}).parse_delta
DONE = "data: [DONE]\n\n"
STOP = event(finish_reason="stop")
OVERLOADED = {"error": {"message": "overloaded", "type": "server_error"}}
OVERLOADED_CHOICE = OVERLOADED | {"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}

WHOLE = {
    "thoughts and text as lists of parts": (
        event({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "By the door?"}]}]})
        + event({"content": [{"type": "text", "text": "The key "}]})
        + event({"content": "hangs here."})
        + STOP
        + DONE
    ),
    "thoughts marked in a part": (
        event({"content": [{"type": "text", "text": "By the door?", "thought": True}]})
        + event({"content": ["The key ", {"text": "hangs here."}]})
        + STOP
    ),
    "an event of several data lines": (
        'data: {"choices":\ndata:  [{"index":0,\ndata: "delta":{"content":"The key hangs here."}}]}\n\n' + DONE
    ),
    "the last event without an empty line": (
        event({"content": "The key hangs here."}) + 'data: {"choices":[{"delta":{},\ndata: "finish_reason":"stop"}]}'
    ),
    "lines that end with CR alone": (event({"content": "The key "}) + event({"content": "hangs here."}) + STOP).replace(
        "\n", "\r"
    ),
    "lines that end with CR and LF": (event({"content": "The key hangs here."}) + STOP).replace("\n", "\r\n"),
    "events without an empty line between them": (
        event({"content": "The key "}, end="\n") + event({"content": "hangs here."}, end="\n") + DONE
    ),
    "no space after the colon, and fields without meaning": (
        ": ping\nid: 7\nevent: message\nretry: 10\n" + event({"content": "The key hangs here."}) + STOP
    ).replace("data: ", "data:"),
    "a byte order mark": "\ufeff" + event({"content": "The key hangs here."}) + STOP,
    '"null" until the end': (
        event({"content": "The key "}, finish_reason="null")
        + event({"content": "hangs here."}, finish_reason="null")
        + STOP
    ),
    "another choice in between": (
        event({"content": "The key "})
        + event({"content": "Nowhere."}, index=1)
        + event({"content": "hangs here."})
        + STOP
    ),
    "a choice without an index": (
        'data: {"choices":[{"index":null,"delta":{"content":"The key hangs here."},"finish_reason":"stop"}]}\n\n'
    ),
    "one document instead of a stream": json.dumps({"choices": [{"message": {"content": "The key hangs here."}}]}),
    "one document with parts": json.dumps(
        {"choices": [{"message": {"content": [{"type": "text", "text": "The key hangs here."}]}}]}, indent=2
    ),
    "the message as far as it has come beside each part": (
        event({"content": "The key "}, message={"content": "The key "})
        + event({"content": "hangs here."}, message={"content": "The key hangs here."})
        + event({"content": ""}, message={"content": "The key hangs here."}, finish_reason="stop")
    ),
    "the message as far as it has come": "".join(
        f"data: {json.dumps({'choices': [{'message': {'content': text}}]})}\n\n"
        for text in ("The key ", "The key hangs", "The key hangs here.")
    ),
    "parts, and then the whole message": (
        event({"content": "The key "})
        + event({"content": "hangs here."})
        + f"data: {json.dumps({'choices': [{'message': {'content': 'The key hangs here.'}, 'finish_reason': 'stop'}]})}"
    ),
    "one document with an empty part": json.dumps(
        {
            "choices": [
                {"message": {"content": "The key hangs here."}, "delta": {"content": ""}, "finish_reason": "stop"}
            ]
        }
    ),
    "an error after the end": event({"content": "The key hangs here."}) + STOP + f"data: {json.dumps(OVERLOADED)}\n\n",
}
BROKEN = {
    "an error beside a choice": event({"content": "The key "}) + f"data: {json.dumps(OVERLOADED_CHOICE)}\n\n",
    "an error, and the end after it": event({"content": "The key "})
    + f"data: {json.dumps(OVERLOADED_CHOICE)}\n\n"
    + DONE,
    "an error alone": event({"content": "The key "}) + f"data: {json.dumps(OVERLOADED)}\n\n" + STOP + DONE,
    "a text as an event named error": event({"content": "The key "}) + "event: error\ndata: out of memory\n\n" + DONE,
    "an object as an event named error": event({"content": "The key "})
    + 'event: error\ndata: {"msg": "no"}\n\n'
    + DONE,
    "only a reason to end": event({"content": "The key "}) + event(finish_reason="error") + DONE,
    "another word for it": event({"content": "The key "}) + event(finish_reason="abort") + DONE,
    "no end": event({"content": "The key "}),
    "no end after the message as far as it has come": event({"content": "The key "}, message={"content": "The key "}),
    'the words of an end, said by the model "data: [DONE]"': event({"content": "The key "})
    + event({"reasoning": DONE}),
}


def chunks_of(body: str, size: int) -> list[bytes]:
    raw = body.encode()
    return [raw[at : at + size] for at in range(0, len(raw), size)]


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE.keys())
def test_what_servers_write_is_read_the_same_for_a_reply_and_by_the_proxy(body: str, size: int) -> None:
    reply = Reply()
    reply.read(chunks_of(body, size), parse_delta)
    assert (reply.text, reply.finished) == ("The key hangs here.", True)
    passed_on = collected_reply(body.encode())
    assert (passed_on.text, passed_on.is_partial) == ("The key hangs here.", False)


@pytest.mark.parametrize("size", [1, 100_000])
@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN.keys())
def test_what_came_before_an_error_is_partial_for_a_reply_and_by_the_proxy(body: str, size: int) -> None:
    reply = Reply()
    with pytest.raises(GenerationFailed):
        reply.read(chunks_of(body, size), parse_delta)
    assert reply.text == "The key "
    passed_on = collected_reply(body.encode())
    assert (passed_on.text, passed_on.is_partial) == ("The key ", True)


def test_thoughts_are_kept_apart() -> None:
    reply = Reply()
    reply.read([WHOLE["thoughts and text as lists of parts"].encode()], parse_delta)
    assert "".join(reply.reasoning) == "By the door?"


def test_calls_of_tools_and_the_older_form_are_collected() -> None:
    body = event({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "roll", "arguments": '{"a"'}}]})
    body += event({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}) + STOP
    assert collected_reply(body.encode()).tools == ({"id": "c1", "name": "roll", "arguments": '{"a":1}'},)
    older = event({"function_call": {"name": "roll", "arguments": "{}"}}) + STOP
    assert collected_reply(older.encode()).tools == ({"id": "", "name": "roll", "arguments": "{}"},)


def called(name: str, arguments: Any, call_id: str, **place: int) -> dict[str, Any]:
    return {"id": call_id, "function": {"name": name, "arguments": arguments}, **place}


@pytest.mark.parametrize("place", [{"index": 0}, {}])
def test_calls_of_tools_with_the_same_index_are_several(place: dict[str, int]) -> None:
    body = event({"tool_calls": [called("look", '{"in": "attic"}', "c1", **place)]})
    body += event({"tool_calls": [called("look", '{"in": ', "c2", **place), called("sing", "{}", "c3", index=1)]})
    body += event({"tool_calls": [{**place, "id": "c2", "function": {"name": "", "arguments": '"hall"}'}}]}) + STOP
    assert collected_reply(body.encode()).tools == (
        {"id": "c1", "name": "look", "arguments": '{"in": "attic"}'},
        {"id": "c2", "name": "look", "arguments": '{"in": "hall"}'},
        {"id": "c3", "name": "sing", "arguments": "{}"},
    )


def test_arguments_that_are_an_object_are_kept() -> None:
    body = event({"tool_calls": [called("look", {"in": "Höhle"}, "c1", index=0)]}) + STOP
    assert collected_reply(body.encode()).tools[0]["arguments"] == '{"in": "Höhle"}'
