import threading

import pytest

from apps.common.jobs import ClaimLost
from apps.llm.backends import builtin
from apps.llm.backends.builtin import register_task
from apps.llm.generation import GenerationFailed, GenerationRequest, UnknownBackend, get_backend
from apps.llm.tokens import count_tokens


def test_the_builtin_backend_answers_with_the_function_registered_for_the_task():
    register_task("tests.shout", lambda request: request.material["text"].upper())
    messages = [{"role": "user", "content": "Say it louder."}]
    request = GenerationRequest("tests.shout", messages, {"text": "hello"})
    completion = get_backend("builtin").generate(request)
    assert completion.text == "HELLO"
    assert completion.prompt_tokens == count_tokens("Say it louder.")
    assert completion.completion_tokens == count_tokens("HELLO")


def test_an_unknown_task_is_named():
    with pytest.raises(GenerationFailed, match=r"tests\.unheard-of"):
        get_backend().generate(GenerationRequest("tests.unheard-of", []))


def test_an_unknown_backend_is_refused_by_name():
    with pytest.raises(UnknownBackend, match="oracle"):
        get_backend("oracle")


def long_request(task):
    return GenerationRequest(task, [{"role": "user", "content": "x" * (builtin.MAX_UNWATCHED_CHARACTERS + 1)}])


def test_the_builtin_backend_calls_watch_during_a_task_over_a_long_text(monkeypatch):
    monkeypatch.setattr(builtin, "WATCH_INTERVAL", 0.01)
    watched = threading.Event()
    register_task("tests.slow", lambda request: str(watched.wait(30)))
    assert get_backend().generate(long_request("tests.slow"), watched.set).text == "True"


def test_a_builtin_task_is_left_at_once_when_watch_raises(monkeypatch):
    monkeypatch.setattr(builtin, "WATCH_INTERVAL", 0.01)
    released = threading.Event()
    register_task("tests.slow", lambda request: str(released.wait(30)))

    def cancelled():
        raise ClaimLost

    with pytest.raises(ClaimLost):
        get_backend().generate(long_request("tests.slow"), cancelled)
    assert not released.is_set()
    released.set()


def test_an_error_of_a_builtin_task_over_a_long_text_is_raised():
    register_task("tests.broken", lambda request: [][0])
    with pytest.raises(IndexError):
        get_backend().generate(long_request("tests.broken"))
