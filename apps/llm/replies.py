"""A model's reply, put together as it comes in."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from apps.llm.endpoint import failure_of
from apps.llm.generation import Completion, GenerationFailed, GenerationRequest, Misconfigured, TransientFailure
from apps.llm.reply_documents import NoDocument, documents, excerpt_of
from apps.llm.thinking import split_thinking
from apps.llm.tokens import count_tokens

MAX_CHARACTERS = 200_000  # of a reply, thoughts included; what a model that can't stop says after them is not read
MAX_BYTES = 16 * 1024 * 1024  # of what carries them


@dataclass(frozen=True)
class Piece:
    """What one document of a reply adds. ``finished``: the model says that it has come to its end."""

    text: str = ""
    reasoning: str = ""
    finished: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass
class Reply:
    """What has come of a reply so far, on one try."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    characters: int = 0
    finished: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def read(self, chunks: Iterable[bytes], piece_of: Callable[[dict[str, Any]], Piece]) -> None:
        """Take in all that comes, up to the limits. Raises GenerationFailed, httpx2.HTTPError."""
        try:
            for document in documents(_limited(chunks)):
                self._add(piece_of(document))
                if self.characters >= MAX_CHARACTERS:
                    self.finished = True
                    break
        except NoDocument as error:
            raise strange_reply(error) from error
        except httpx2.HTTPError:
            if not self.finished:
                raise
        if not self.finished:
            said = "half-way" if self.characters else "before the model said anything"
            raise TransientFailure(f"The reply stopped {said}.")

    def _add(self, piece: Piece) -> None:
        self.texts.append(piece.text)
        self.thoughts.append(piece.reasoning)
        self.characters += len(piece.text) + len(piece.reasoning)
        self.finished = self.finished or piece.finished
        if piece.prompt_tokens is not None:
            self.prompt_tokens = piece.prompt_tokens
        if piece.completion_tokens is not None:
            self.completion_tokens = piece.completion_tokens

    def completion(self, request: GenerationRequest) -> Completion:
        """The reply as it is used. Tokens that the server didn't count are counted here."""
        said = plain("".join(self.texts))[:MAX_CHARACTERS]
        field_of_thoughts = plain("".join(self.thoughts))[:MAX_CHARACTERS]
        text, thoughts = split_thinking(said)
        reasoning = "\n".join(filter(None, (field_of_thoughts.strip(), thoughts)))
        if self.prompt_tokens is None and not self.characters and not self.finished:
            return Completion(text, reasoning=reasoning)
        asked = self.prompt_tokens
        if asked is None:
            asked = sum(count_tokens(message["content"]) for message in request.messages)
        answered = self.completion_tokens
        if answered is None:
            answered = count_tokens(said) + count_tokens(field_of_thoughts)
        return Completion(text, asked, answered, reasoning)


def strange_reply(error: NoDocument) -> GenerationFailed:
    """Why a reply that a server calls a success is none."""
    said = str(error)
    if not said:
        return TransientFailure("The server's reply is empty.")
    if error.page:
        failure = Misconfigured(f"The server replies with {said}, not as an API does. Is the address right?")
        failure.wrong_address = True
        return failure
    return TransientFailure(f"The server's reply is not JSON. It begins: {said}")


def failure_within(document: dict[str, Any], said: str) -> GenerationFailed:
    """An error that came in a reply with a status of success; some tell its own status as a code."""
    error = document.get("error")
    code = error.get("code") if isinstance(error, dict) else document.get("code")
    if type(code) is int and 400 <= code < 600:
        return failure_of(code, excerpt_of(said))
    return TransientFailure(f"The server failed. It says: {excerpt_of(said)}")


def only_document(chunks: Iterable[bytes]) -> dict[str, Any]:
    """The first document of a reply that has one. Raises GenerationFailed, httpx2.HTTPError."""
    try:
        return next(iter(list(documents(_limited(chunks)))))
    except NoDocument as error:
        raise strange_reply(error) from error


def names_of(listed: Any, *members: str) -> list[str]:
    """The names in a list of models, in order."""
    entries = listed if isinstance(listed, list) else []
    return sorted({plain(string(one, *members))[:200] for one in entries} - {""})


def plain(text: Any) -> str:
    """Text that can be stored: without NUL; halves of surrogates are joined where they meet, else dropped."""
    if not isinstance(text, str):
        return ""
    if any("\ud800" <= character <= "\udfff" for character in text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return text.replace("\x00", "")


def whole_number(values: Any, name: str) -> int | None:
    """A count of tokens from a server's figures, None where there is none that can be."""
    value = values.get(name) if isinstance(values, Mapping) else None
    return value if type(value) is int and 0 <= value < 10**9 else None


def string(values: Any, *names: str) -> str:
    """The first of the named members that is a text with something in it."""
    found = (values.get(name) for name in names) if isinstance(values, Mapping) else ()
    return next((value for value in found if isinstance(value, str) and value), "")


def _limited(chunks: Iterable[bytes]) -> Iterable[bytes]:
    received = 0
    for chunk in chunks:
        received += len(chunk)
        if received > MAX_BYTES:
            raise GenerationFailed(f"The server's reply is larger than {MAX_BYTES // 2**20} MiB.")
        yield chunk
