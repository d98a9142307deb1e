"""Let a backend write a reply while it looks things up: rounds of calls and their results, then the reply itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from apps.llm.generation import (
    Completion,
    GenerationFailed,
    GenerationRequest,
    Listener,
    PromptMessage,
    Refused,
    Watch,
)
from apps.replies.tools.toolbox import MAX_ROUNDS, Toolbox

if TYPE_CHECKING:
    from apps.llm.backends.browser import BrowserBackend
    from apps.llm.backends.connected import ConnectedBackend


def generate(
    backend: "ConnectedBackend | BrowserBackend",
    request: GenerationRequest,
    watch: Watch,
    listener: Listener,
    toolbox: Toolbox | None,
) -> Completion:
    """Return the reply, whose text has what the model said before its calls, too. Raise GenerationFailed.

    After three rounds, or if the server refuses their messages, the model gets what was found and can call nothing.
    The backend has counted the tokens of each call. Those of the completion are the sums.
    """
    if toolbox is None:
        return backend.generate(request, watch, listener)
    said: list[Completion] = []
    are_refused = False
    messages: list[PromptMessage] = list(request.messages)
    try:
        for _ in range(MAX_ROUNDS):
            offering = replace(request, messages=messages, tools=toolbox.tools)
            try:
                completion = backend.generate(offering, watch, _after(said, listener))
            except GenerationFailed as failure:
                if failure.partial or not refuses_tools(failure.detail, is_refused=isinstance(failure, Refused)):
                    raise
                are_refused = not said
                break
            said.append(completion)
            if not completion.tools:
                return _whole(said)
            messages += toolbox.answer(completion.tools, completion.text)
        last = replace(request, messages=[*request.messages, *toolbox.note()])
        said.append(backend.generate(last, watch, _after(said, listener)))
        if are_refused:  # by a server that takes the same request without tools
            toolbox.give_up()
    except GenerationFailed as failure:
        failure.partial = joined([*(completion.text for completion in said), failure.partial])
        raise
    return _whole(said)


def refuses_tools(reason: str, *, is_refused: bool) -> bool:
    """Return whether an error may be about tools. llama.cpp answers 500 if it was started without ``--jinja``."""
    return is_refused or "tool" in reason.lower() or "jinja" in reason.lower()


def joined(texts: Sequence[str]) -> str:
    """Return what was said before calls and after them as one text."""
    return "\n\n".join(text.strip() if place else text.rstrip() for place, text in enumerate(filter(str.strip, texts)))


def _after(said: Sequence[Completion], listener: Listener) -> Listener:
    before = [completion.text for completion in said]
    return lambda text: listener(joined([*before, text]) if before else text)


def _whole(said: Sequence[Completion]) -> Completion:
    return replace(
        said[-1],
        text=joined([completion.text for completion in said]) if len(said) > 1 else said[0].text,
        prompt_tokens=sum(completion.prompt_tokens for completion in said),
        completion_tokens=sum(completion.completion_tokens for completion in said),
    )
