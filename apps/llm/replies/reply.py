"""A model's reply, assembled from the documents of a response, up to size limits."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2

from apps.common.stored_texts import gettext_stored
from apps.llm.failures import http_failure
from apps.llm.generation import (
    Completion,
    GenerationFailed,
    GenerationRequest,
    Misconfigured,
    Refused,
    TransientFailure,
)
from apps.llm.replies.documents import NoDocument, documents, error_codes, excerpt_of
from apps.llm.replies.thinking import split_thinking
from apps.llm.replies.tool_calls import ToolCalls
from apps.llm.tokens import count_tokens
from apps.llm.values import storable_text

MAX_CHARACTERS = 200_000  # per reply, including reasoning; the rest is not read
MAX_BYTES = 16 * 1024 * 1024  # per response


@dataclass(frozen=True)
class Delta:
    """The part of a reply in one document.

    ``finished``: the model reports the end of its reply. ``cut_off``: a token limit ended it early, ``filtered``: a
    content filter. ``is_whole``: the text is the reply as far as it has come, with what was received before.
    """

    text: str = ""
    reasoning: str = ""
    finished: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cut_off: bool = False
    filtered: bool = False
    tools: Sequence[Mapping[str, Any]] = ()
    is_whole: bool = False


@dataclass
class Reply:
    """The reply that one attempt has received so far. ``max_characters`` are read of it, including reasoning."""

    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    characters: int = 0
    finished: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cut_off: bool = False
    filtered: bool = False
    tools: ToolCalls = field(default_factory=ToolCalls)
    max_characters: int = field(default_factory=lambda: MAX_CHARACTERS)

    def read(self, chunks: Iterable[bytes], parse_delta: Callable[[dict[str, Any]], Delta]) -> None:
        """Read a response to its end or to the limits. Raise GenerationFailed, httpx2.HTTPError.

        An error after the end of the reply takes nothing back.
        """
        try:
            for document in documents(_within_limit(chunks)):
                try:
                    self._add(parse_delta(document))
                except GenerationFailed:
                    if self.finished:
                        break
                    raise
                if self.characters >= self.max_characters:
                    self.finished = self.cut_off = True
                    break
        except NoDocument as error:
            raise unreadable_reply(error) from error
        except httpx2.HTTPError:
            # Some servers break the connection after the last document, when the reply is complete.
            if not self.finished:
                raise
        if not self.finished:
            when = "half-way" if self.characters else "before the model said anything"
            raise TransientFailure(gettext_stored("The reply stopped %(when)s.", when=when))

    def _add(self, delta: Delta) -> None:
        if delta.is_whole and self.texts and delta.text.startswith("".join(self.texts).rstrip()):
            self.texts.clear()
            self.reasoning = [] if delta.reasoning else self.reasoning
            self.characters = sum(map(len, self.reasoning))
        self.texts.append(delta.text)
        self.reasoning.append(delta.reasoning)
        self.characters += len(delta.text) + len(delta.reasoning)
        self.tools.add(delta.tools)
        self.finished = self.finished or delta.finished
        self.filtered = self.filtered or delta.filtered
        self.cut_off = self.cut_off or delta.cut_off or delta.filtered
        if delta.prompt_tokens is not None:
            self.prompt_tokens = delta.prompt_tokens
        if delta.completion_tokens is not None:
            self.completion_tokens = delta.completion_tokens

    @property
    def text(self) -> str:
        """Return the text received so far, without reasoning."""
        return split_thinking(storable_text("".join(self.texts))[: self.max_characters]).reply

    def completion(self, request: GenerationRequest) -> Completion:
        """Return the reply with its reasoning separated. Tokens that the server didn't count are counted here."""
        received = storable_text("".join(self.texts))[: self.max_characters]
        separate_reasoning = storable_text("".join(self.reasoning))[: self.max_characters]
        text, tagged_reasoning = split_thinking(received)
        reasoning = "\n".join(filter(None, (separate_reasoning.strip(), tagged_reasoning)))
        if self.prompt_tokens is None and not self.characters and not self.finished:
            return Completion(text, reasoning=reasoning)  # nothing was received, so nothing is counted
        prompt_tokens = self.prompt_tokens
        if prompt_tokens is None:
            prompt_tokens = sum(count_tokens(message["content"]) for message in request.messages)
        completion_tokens = self.completion_tokens
        if completion_tokens is None:
            completion_tokens = count_tokens(received) + count_tokens(separate_reasoning)
        return Completion(
            text, prompt_tokens, completion_tokens, reasoning, self.cut_off, self.filtered, self.tools.whole()
        )


def first_document(chunks: Iterable[bytes]) -> dict[str, Any]:
    """Return the first document of a response. Raise GenerationFailed, httpx2.HTTPError."""
    try:
        return next(iter(list(documents(_within_limit(chunks)))))
    except NoDocument as error:
        raise unreadable_reply(error) from error


def unreadable_reply(error: NoDocument) -> GenerationFailed:
    """Return the failure for a response with a success status but without JSON."""
    excerpt = str(error)
    if not excerpt:
        return TransientFailure(gettext_stored("The server's reply is empty."))
    if error.is_web_page:
        failure = Misconfigured(
            gettext_stored(
                "The server replies with %(excerpt)s, not as an API does. Is the address right?", excerpt=excerpt
            )
        )
        failure.wrong_address = True
        return failure
    return TransientFailure(gettext_stored("The server's reply is not JSON. It begins: %(excerpt)s", excerpt=excerpt))


def failure_in_document(document: dict[str, Any], message: str) -> GenerationFailed:
    """Return the failure for an error document, whose ``code`` may be a status, in a response with a success status."""
    error = document.get("error")
    code = error.get("code") if isinstance(error, dict) else document.get("code")
    if type(code) is int and 400 <= code < 600:
        return http_failure(code, excerpt_of(message), error_codes(document))
    return TransientFailure(gettext_stored("The server failed. It says: %(value)s", value=excerpt_of(message)))


def _within_limit(chunks: Iterable[bytes]) -> Iterable[bytes]:
    """Yield the chunks. Raise GenerationFailed beyond MAX_BYTES."""
    received = 0
    for chunk in chunks:
        received += len(chunk)
        if received > MAX_BYTES:
            raise Refused(
                gettext_stored("The server's reply is larger than %(number)s MiB.", number=MAX_BYTES // 2**20)
            )
        yield chunk
