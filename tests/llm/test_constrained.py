"""Replies that servers constrain: found by a connection's test, asked for, and given up where one breaks its word."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.backends.connection_check import check_connection
from apps.llm.backends.selection import backend_on
from apps.llm.generation import GenerationFailed, GenerationRequest
from apps.llm.models import Connection
from apps.llm.operations import record_check, update_connection
from apps.llm.replies.constrained import TEST_PATTERN, keeps_to, lines_in
from tests.llm.scripted_server import Answer, Reply, Request, ScriptedServer, document
from tests.llm.test_connections import Connect

PATTERN = r"^\[fact:[123]\] [^\"\\]+$"
ASKED = GenerationRequest("long_term", [{"role": "user", "content": "What is there to note?"}], line_pattern=PATTERN)
LINES = "[fact:2] Mira lives in Port Salt.\n[fact:1] Tom has a dog."
IN_JSON = json.dumps({"lines": LINES.split("\n")}, indent=1)
both = pytest.mark.parametrize("backend", ["openai", "ollama"])


def is_constrained(request: Request) -> bool:
    return isinstance(request.body, dict) and ("response_format" in request.body or "format" in request.body)


def schema_in(request: Request) -> dict[str, Any]:
    if "format" in request.body:
        return dict(request.body["format"])
    assert request.body["response_format"]["type"] == "json_schema"
    return dict(request.body["response_format"]["json_schema"]["schema"])


def kept(connection: Connection) -> bool | None:
    """Return what is stored of the server's promise."""
    return Connection.objects.for_owner(connection.owner_id).get().constrains_replies


@pytest.fixture
def promised(connect: Connect, server: ScriptedServer) -> Connection:
    """A connection whose server constrained the reply to its test."""
    server.reply_to(is_constrained, '{"lines": ["[ready:1] It is."]}')
    connection = connect()
    assert check_connection(connection).constrains_replies
    connection.refresh_from_db()
    server.requests.clear()
    return connection


@both
@pytest.mark.parametrize(
    "text", ['{"lines": ["[ready:1] It is."]}', '```json\n{"lines":["[busy:3] No",\n"[ready:2] Y"]}\n```']
)
def test_a_server_that_constrains_replies_is_found(connect: Connect, server: ScriptedServer, backend: str, text: str):
    server.reply_to(is_constrained, text)
    connection = connect(backend=backend)
    check = check_connection(connection)
    assert (check.ok, check.reply, check.constrains_replies) == (True, "Hello.", True)
    assert kept(connection) is True
    asked = next(filter(is_constrained, server.requests))
    assert schema_in(asked)["properties"]["lines"]["items"]["pattern"] == TEST_PATTERN
    assert "ready:" not in asked.prompt, "a model that only obeys would write it too"


def test_a_small_model_may_go_on_until_its_limit(connect: Connect, server: ScriptedServer):
    server.reply_to(is_constrained, Reply('{"lines": ["[ready:1] ready and ready and', finish_reason="length"))
    assert check_connection(connect()).constrains_replies


REFUSALS: dict[str, Answer] = {
    "a schema": Reply("Invalid value for 'response_format'", status=400),
    "a grammar": Reply("Failed to initialize samplers: failed to parse grammar", status=400),
    "a field": Reply("extra fields not permitted", status=422),
    "a provider": Reply("No endpoints found that can handle the requested parameters", status=404),
    "a crash": Reply("Internal Server Error", status=500),
    "not made": Reply("response_format is not implemented", status=501),
    "an error with success": document({"error": {"message": "json_schema is not supported", "code": 400}}),
}
BROKEN: dict[str, Answer] = {
    "ignored": "ready",
    "another schema": '{"answer": "ready"}',
    "without the pattern": '{"lines": ["ready"]}',
    "white space": Reply('{"lines": [' + " \n" * 50, finish_reason="length"),
    "nothing": Reply(""),
    "thoughts alone": Reply("", reasoning='{"lines": ["[ready:1] It is."]}'),
    "no text in the list": '{"lines": [{"ready": 1}]}',
}


@both
@pytest.mark.parametrize("answer", [*REFUSALS.values(), *BROKEN.values()], ids=[*REFUSALS, *BROKEN])
def test_a_server_that_does_not_passes_its_test_all_the_same(
    connect: Connect, server: ScriptedServer, backend: str, answer: Answer
):
    server.reply_to(is_constrained, answer)
    connection = connect(backend=backend)
    check = check_connection(connection)
    assert (check.ok, check.error, check.constrains_replies) == (True, "", False)
    assert kept(connection) is False


def test_an_overloaded_server_is_asked_at_the_next_test(connect: Connect, server: ScriptedServer):
    server.reply_to(is_constrained, Reply("busy", status=503))
    check = check_connection(connect())
    assert (check.ok, check.constrains_replies) == (True, None)


def test_a_form_of_the_person_s_own_is_left_alone(connect: Connect, server: ScriptedServer):
    connection = connect(extra_body={"grammar": 'root ::= "ready"'})
    assert check_connection(connection).constrains_replies is False
    record_check(connection, "", True)
    backend_on(connection).generate(ASKED)
    assert not any(map(is_constrained, server.requests))


def test_other_values_are_tested_anew(promised: Connection):
    update_connection(promised, model="scripted-large")
    assert promised.constrains_replies is None


@both
@pytest.mark.parametrize("stream", [True, False])
def test_lines_come_as_if_they_had_been_written_so(
    connect: Connect, server: ScriptedServer, backend: str, stream: bool
):
    server.reply_to(is_constrained, IN_JSON)
    connection = connect(backend=backend, stream=stream)
    record_check(connection, "", True)
    assert backend_on(connection).generate(ASKED).text == LINES
    [asked] = server.of_kind("generation")
    assert schema_in(asked)["properties"]["lines"]["items"]["pattern"] == PATTERN
    assert '{"lines": []}' in asked.prompt
    server.reply_to(is_constrained, '{"lines": []}')
    assert backend_on(connection).generate(ASKED).text == "NONE"
    assert kept(connection) is True


def test_nothing_is_constrained_without_a_promise_or_a_pattern(connect: Connect, server: ScriptedServer):
    connection = connect()
    backend_on(connection).generate(ASKED)
    record_check(connection, "", True)
    backend_on(connection).generate(GenerationRequest("canon", ASKED.messages))
    assert not any(map(is_constrained, server.requests))
    assert all("JSON" not in request.prompt for request in server.requests)


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS)
def test_a_server_that_refuses_what_it_promised_is_called_without_from_then_on(
    promised: Connection, server: ScriptedServer, answer: Answer
):
    server.reply_to(lambda request: request.kind == "generation" and not is_constrained(request), LINES)
    server.reply_to(is_constrained, answer)
    assert backend_on(promised).generate(ASKED).text == LINES
    assert kept(promised) is False
    server.requests.clear()
    assert backend_on(promised).generate(ASKED).text == LINES
    assert [is_constrained(request) for request in server.requests] == [False]


def test_a_failure_of_another_kind_breaks_no_promise(promised: Connection, server: ScriptedServer):
    for failure in (Reply("Wrong key", status=401), Reply("Too long", status=400), Reply("down", status=500)):
        server.reply_to(lambda request: request.kind == "generation", failure)
        with pytest.raises(GenerationFailed):
            backend_on(promised).generate(ASKED)
        assert kept(promised) is True


@pytest.mark.parametrize("text", [LINES, f"```\n{LINES}\n```", '{"memories": [{"kind": "fact"}]}', ""])
def test_what_comes_in_another_form_is_returned_as_it_is(promised: Connection, server: ScriptedServer, text: str):
    server.reply_to(is_constrained, text)
    assert backend_on(promised).generate(ASKED).text == text
    assert kept(promised) is False


def test_a_reply_that_goes_on_with_white_space_is_the_last_of_its_kind(promised: Connection, server: ScriptedServer):
    flood = '{"lines": ["[fact:2] Mira lives in Port Salt."' + " " * 900
    server.reply_to(is_constrained, Reply(flood, finish_reason="length", usage=(20, 900)))
    completion = backend_on(promised).generate(ASKED)
    assert (completion.text, completion.cut_off) == ("[fact:2] Mira lives in Port Salt.", True)
    assert kept(promised) is False


@pytest.mark.parametrize(
    "reply",
    [
        Reply("", reasoning="Let me think about all of it. " * 9, finish_reason="length"),
        Reply("", finish_reason="content_filter"),
        Reply(
            '{"lines": ["[fact:2] Mira lives in Port Salt.", "[fact:1] Tom ha', finish_reason="length", usage=(20, 28)
        ),
    ],
)
def test_thoughts_filters_and_limits_break_no_promise(promised: Connection, server: ScriptedServer, reply: Reply):
    server.reply_to(is_constrained, reply)
    completion = backend_on(promised).generate(ASKED)
    assert completion.cut_off
    assert "Tom" not in completion.text
    assert kept(promised) is True


@given(st.lists(st.text(min_size=1).filter(str.strip)), st.data())
def test_all_lines_are_read_and_of_a_part_the_first_ones(lines: list[str], data: st.DataObject):
    told = [" ".join(line.split()) for line in lines]
    reply = json.dumps(
        {"lines": lines}, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.sampled_from([None, 2]))
    )
    assert lines_in(reply) == told
    part = lines_in(reply[: data.draw(st.integers(0, len(reply)))])
    assert part is None or part == told[: len(part)]


@given(st.text(), st.booleans())
def test_any_text_is_judged(text: str, is_cut_off: bool):
    keeps_to(PATTERN, text, is_cut_off=is_cut_off)
    keeps_to(PATTERN, '{"lines": [' + text, is_cut_off=is_cut_off)
