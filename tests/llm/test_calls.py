"""Timeouts, cancellation, retries, address checks and limits of calls, over real HTTP."""

import socket
import time
from collections.abc import Callable

import pytest
from django.test import override_settings

from apps.llm.backends import connected
from apps.llm.backends.selection import backend_for
from apps.llm.generation import GenerationFailed, LimitReached, Misconfigured, TransientFailure
from apps.llm.http import endpoint, transport
from apps.llm.models import Connection, TokenLimit, Usage
from apps.llm.operations import record_usage, set_daily_limit
from apps.llm.usage.limits import effective_limit, usage_by_day, usage_today
from tests.llm.conftest import KEY
from tests.llm.scripted_server import Reply, ScriptedServer, html
from tests.llm.test_connected import ASK, both, failing, generate, streaming

Connect = Callable[..., Connection]


class Cancelled(Exception):
    pass


class Watch:
    """Watch that counts its calls and cancels at the given one."""

    def __init__(self, cancel_at: int = 0) -> None:
        self.calls = 0
        self.cancel_at = cancel_at

    def __call__(self) -> None:
        self.calls += 1
        if self.calls == self.cancel_at:
            raise Cancelled


@pytest.fixture(autouse=True)
def quick_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.llm.http.transport.TICK", 0.05)


@both
@streaming
def test_a_call_is_watched_while_the_model_thinks(connect: Connect, server: ScriptedServer, backend, stream):
    server.reply_with(Reply("Hello.", delay=0.5))
    watch = Watch()
    assert generate(connect(backend=backend, stream=stream), watch=watch).text == "Hello."
    assert 4 <= watch.calls <= 15


@both
@pytest.mark.parametrize("reply", [Reply("Hello.", delay=100), Reply("Hello, Alice.", piece=3, stall_after=4)])
def test_an_exception_of_the_watch_aborts_the_call(connect: Connect, server: ScriptedServer, backend, reply):
    server.reply_with(reply)
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        generate(connect(backend=backend), watch=Watch(cancel_at=3))
    assert time.monotonic() - begun < 60
    assert len(server.requests) == 1


@streaming
def test_a_time_limit_of_exactly_five_seconds_is_that_of_the_call(connect: Connect, monkeypatch, stream):
    """OpenAI's SDK takes it for one that nobody set. That what is silent for longer fails is tried with a second."""
    limits: list[dict[str, float]] = []
    outgoing = transport.outgoing_request

    def note(request, *args):
        limits.append(request.extensions["timeout"])
        return outgoing(request, *args)

    monkeypatch.setattr(transport, "outgoing_request", note)
    assert generate(connect(timeout=5, stream=stream)).text == "Hello."
    assert [set(limit.values()) for limit in limits] == [{5}]


def test_a_cancelled_call_is_counted_as_usage(connect: Connect, server: ScriptedServer):
    server.reply_with(Reply("Hello, Alice. " * 10, piece=10, stall_after=10))
    connection = connect()
    with pytest.raises(Cancelled):
        generate(connection, watch=Watch(cancel_at=8))
    assert usage_today(connection.owner_id) > 3


def test_a_failure_of_the_watch_is_not_retried(connect: Connect, server: ScriptedServer):
    def watch() -> None:
        raise TransientFailure("Of the watch.")

    server.reply_with(Reply("Hello.", delay=30))
    with pytest.raises(TransientFailure, match="Of the watch"):
        generate(connect(), watch=watch)
    assert len(server.requests) <= 1  # none, where the watch failed before the request had arrived


@both
def test_a_wait_before_a_retry_is_watched(connect: Connect, server: ScriptedServer, backend):
    server.reply_with(Reply(status=429, headers={"Retry-After": "20"}))
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        generate(connect(backend=backend), watch=Watch(cancel_at=5))
    assert time.monotonic() - begun < 15


def test_retry_after_is_respected(connect: Connect, server: ScriptedServer):
    server.reply_with(Reply(status=429, headers={"Retry-After": "1"}))
    begun = time.monotonic()
    assert generate(connect()).text == "Hello."
    assert time.monotonic() - begun >= 1


def test_a_long_retry_after_fails_the_call(connect: Connect, server: ScriptedServer):
    server.reply_with(Reply(status=429, headers={"Retry-After": "3600"}))
    assert failing(connect(), TransientFailure, "429").retry_after == 3600
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [("7", 7, 7), ("0.5", 0.5, 0.5), ("-1", 0, 0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0)],
)
def test_valid_retry_after_headers(header, least, most):
    assert least <= endpoint.retry_after_seconds(header) <= most


@pytest.mark.parametrize("header", ["", "soon", "1 2", "32 Foo", "nan", "inf"])
def test_invalid_retry_after_headers(header):
    assert endpoint.retry_after_seconds(header) is None


def test_retry_delays_grow():
    assert endpoint.retry_delay(1, None) < endpoint.retry_delay(2, None) < endpoint.retry_delay(3, None)


@pytest.mark.parametrize(
    ("backend", "reply"),
    [("openai", Reply("Hello.", delay=30)), ("ollama", Reply("Hello, Alice.", piece=3, stall_after=4))],
)
def test_a_silent_server_times_out(connect: Connect, server: ScriptedServer, backend, reply):
    server.reply_to(lambda request: True, reply)
    failure = failing(connect(backend=backend, timeout=1), TransientFailure, "silent for 1 seconds")
    assert failure.partial == "" if reply.delay else failure.partial.startswith("Hello")
    assert len(server.requests) == 1, "another try would wait as long again"


def test_a_slow_stream_ends_at_the_total_time(connect: Connect, server: ScriptedServer, monkeypatch):
    original = connected.call_policy_of
    monkeypatch.setattr(connected, "call_policy_of", lambda connection: original(connection).with_time_limit(1))
    server.reply_with(Reply("Hello, Alice. " * 100, piece=2, pace=0.05))
    failure = failing(connect(), TransientFailure, "not complete after")
    assert failure.partial.startswith("Hello")
    assert len(server.requests) == 1


def test_an_unreachable_server(connect: Connect):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    failure = failing(connect(base_url=f"http://127.0.0.1:{port}/v1"), TransientFailure, "can't be reached")
    assert "nothing answers at this address" in str(failure)
    assert "Errno" not in str(failure)


def test_a_server_that_closes_the_connection(connect: Connect, server: ScriptedServer):
    server.reply_with(Reply("Hello.", break_after=0), Reply("Hello.", stream=False, break_after=0))
    assert generate(connect()).text == "Hello."


# What is sent and said


def test_no_headers_about_this_machine_are_sent(connect: Connect, server: ScriptedServer, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-operator")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-operator")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-the-operator")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    generate(connect(api_key=""))
    headers = server.requests[0].headers
    assert "operator" not in str(headers)
    assert set(headers) <= {
        "host",
        "accept",
        "accept-encoding",
        "connection",
        "content-type",
        "content-length",
        "user-agent",
    }


@both
def test_a_key_that_a_server_repeats_is_redacted(connect: Connect, server: ScriptedServer, backend):
    server.reply_to(
        lambda request: True, lambda request: Reply(f"Wrong: {request.headers['authorization']}", status=401)
    )
    connection = connect(backend=backend)
    failure = failing(connection, Misconfigured, "refuses the key.*Wrong: Bearer •••")
    policy = connected.call_policy_of(connection)
    assert KEY not in f"{failure!r} {failure} {failure.document()} {policy!r} {connection!r}"


def test_a_redirect_is_not_followed(connect: Connect, server: ScriptedServer):
    with ScriptedServer() as other:
        server.reply_to(
            lambda request: True, Reply(status=307, headers={"Location": f"{other.url}/v1/chat/completions"})
        )
        failing(connect(), Misconfigured, "redirects elsewhere")
        assert other.requests == []


def test_a_web_page_in_an_error_is_quoted_by_its_title(connect: Connect, server: ScriptedServer):
    server.reply_to(lambda request: True, html("504 Gateway &amp; time-out", status=504))
    failure = failing(connect(), TransientFailure, "504 Gateway & time-out")
    assert "secret words" not in failure.detail


@both
@override_settings(SECRET_KEY="another")
def test_a_key_that_can_not_be_decrypted(connect: Connect, server: ScriptedServer, backend):
    connection = connect(backend=backend)
    with override_settings(SECRET_KEY="yet another"):
        failing(connection, Misconfigured, "another SECRET_KEY")
    with override_settings(SECRET_KEY="yet another", SECRET_KEY_FALLBACKS=["another"]):
        assert generate(connection).text == "Hello."


# Addresses


@override_settings(LLM_ALLOWED_ADDRESSES=[])
@both
def test_a_private_address_is_not_called(alice, connect: Connect, server: ScriptedServer, backend):
    with override_settings(LLM_ALLOWED_ADDRESSES=["127.0.0.0/8"]):
        connection = connect(backend=backend)
    failing(connection, Misconfigured, "not a public address")
    assert server.requests == []


def resolving(monkeypatch, *answers: str) -> list[str]:
    """Make each name lookup return the next of ``answers``, then the last. Return the list of names looked up."""
    asked: list[str] = []

    def getaddrinfo(host, port, *args, **kwargs):
        if host == "127.0.0.1":
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
        asked.append(host)
        address = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in address.split()]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.parametrize("addresses", ["10.0.0.1", "169.254.169.254", "203.0.113.5 127.0.0.1", "0.0.0.0"])
def test_a_name_that_leads_to_a_private_address_is_not_called(connect: Connect, server, monkeypatch, addresses):
    resolving(monkeypatch, addresses)
    with override_settings(LLM_ALLOWED_ADDRESSES=["203.0.113.0/24"]):
        connection = connect(base_url=f"http://models.example:{server.port}/v1")
        failing(connection, Misconfigured, "models.example is not a public address")
    assert server.requests == []


def test_the_address_that_was_checked_is_the_one_that_is_called(connect: Connect, server, monkeypatch):
    """DNS rebinding: the name would resolve to another address the second time, but is resolved once."""
    asked = resolving(monkeypatch, "127.0.0.1", "10.0.0.1")
    connection = connect(base_url=f"http://models.example:{server.port}/v1")
    assert generate(connection).text == "Hello."
    assert asked == ["models.example"]
    assert server.requests[0].headers["host"] == f"models.example:{server.port}"


def test_a_host_that_the_operator_allows(connect: Connect, server, monkeypatch):
    resolving(monkeypatch, "127.0.0.1")
    with override_settings(LLM_ALLOWED_ADDRESSES=["Models.Example"]):
        connection = connect(base_url=f"http://models.example:{server.port}/v1")
        assert generate(connection).text == "Hello."
    with override_settings(LLM_ALLOWED_ADDRESSES=["other.example"]):
        failing(connection, Misconfigured, "models.example is not a public address")


# Limits


def test_calls_stop_when_the_tokens_of_the_day_are_spent(connect: Connect, server: ScriptedServer):
    connection = connect()
    with override_settings(LLM_DAILY_TOKENS=20):
        generate(connection)
        generate(connection)
        failure = failing(connection, LimitReached, "limit of 20 tokens a day is reached \\(36 used\\)")
    assert (failure.kind, failure.status) == ("limit", 429)
    assert len(server.requests) == 2
    usage = Usage.objects.for_owner(connection.owner_id).get()
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (2, 22, 14)


def test_the_lower_of_two_limits_applies(alice):
    assert effective_limit(alice) == 2_000_000
    with override_settings(LLM_DAILY_TOKENS=0):
        assert effective_limit(alice) is None
    set_daily_limit(alice, 500)
    assert effective_limit(alice) == 500
    TokenLimit.objects.for_owner(alice).update(daily_tokens=100)
    assert effective_limit(alice) == 100
    set_daily_limit(alice, None)
    assert effective_limit(alice) == 100
    TokenLimit.objects.for_owner(alice).update(daily_tokens=0)
    assert effective_limit(alice) is None


def test_usage_by_day_excludes_the_built_in_backend(alice):
    record_usage(alice, "one", 3, 4)
    record_usage(alice, "other", 5, 6)
    days = usage_by_day(alice, 7)
    assert [tokens for _, tokens in days] == [0] * 6 + [18]
    with override_settings(LLM_DAILY_TOKENS=1), pytest.raises(GenerationFailed, match="no task"):
        backend_for(alice).generate(ASK)
    assert usage_today(alice) == 18
