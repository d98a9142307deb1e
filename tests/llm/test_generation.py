import pytest

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
