"""Servers that speak as OpenAI's: hosted services, llama.cpp, vLLM, LM Studio and most others.

The SDK asks; what comes back is read by ``reply_documents``, since many of these reply otherwise than it expects.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2

from apps.llm.generation import GenerationRequest, Misconfigured, Profile
from apps.llm.replies import Piece, failure_within, names_of, only_document, plain, string, whole_number
from apps.llm.reply_documents import error_message

if TYPE_CHECKING:
    from openai import APIResponse, OpenAI

ROUTES = re.compile(r"/(chat/completions|chat|completions|responses|embeddings|models)$")
VERSION = re.compile(r"/v\d+[a-z]*\d*(/|$)")
NOT_EVERYWHERE = ("max_tokens", "stream_options")  # fields that some servers refuse, OpenAI's newer models the first
T = TypeVar("T")


class OpenAICompatible:
    """How such a server is asked. It remembers which of its possible addresses replied."""

    profile: Profile = "B"

    def __init__(self, base_url: str) -> None:
        self._bases = base_urls(base_url)
        self._refused: set[str] = set()

    def ask(
        self,
        client: httpx2.Client,
        model: str,
        request: GenerationRequest,
        stream: bool,
        read: Callable[[Iterator[bytes]], None],
    ) -> None:
        """Ask for a completion, and have ``read`` take the reply's bytes as they come. Raises GenerationFailed."""

        def work(sdk: "OpenAI") -> None:
            create = sdk.chat.completions.with_streaming_response.create
            with create(**self._body(model, request, stream)) as reply:
                read(reply.iter_bytes())

        while True:
            try:
                return self._at_some_base(client, work)
            except Misconfigured as failure:
                if not self._learn(failure):
                    raise

    def _body(self, model: str, request: GenerationRequest, stream: bool) -> dict[str, Any]:
        messages = [{"role": one["role"], "content": plain(one["content"])} for one in request.messages]
        limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        body = {"model": model, "messages": messages, limit: request.max_tokens, "stream": stream}
        if stream and "stream_options" not in self._refused:
            body["stream_options"] = {"include_usage": True}
        return body

    def _learn(self, failure: Misconfigured) -> bool:
        """Whether the server complains of a field that can be said otherwise or left out."""
        if failure.server_status not in (400, 422):
            return False
        unknown = {name for name in NOT_EVERYWHERE if name in failure.detail} - self._refused
        self._refused |= unknown
        return bool(unknown)

    def piece_of(self, document: dict[str, Any]) -> Piece:
        """What one document of the reply says. Raises GenerationFailed where it tells of an error."""
        if document.get("done") is True:
            return Piece(finished=True)
        if wrong := error_message(document):
            raise failure_within(document, wrong)
        choices = document.get("choices")
        choice = next((one for one in choices if isinstance(one, dict)), {}) if isinstance(choices, list) else {}
        message = choice.get("message")
        part = message if isinstance(message, dict) else choice.get("delta")
        usage = document.get("usage")
        return Piece(
            text=_content(part) or string(choice, "text"),
            reasoning=string(part, "reasoning_content", "reasoning", "thinking"),
            finished=part is message is not None or bool(choice.get("finish_reason")),
            prompt_tokens=whole_number(usage, "prompt_tokens"),
            completion_tokens=whole_number(usage, "completion_tokens"),
        )

    def models(self, client: httpx2.Client) -> list[str]:
        """The ids of the models that the server names. Raises GenerationFailed."""
        document = self._at_some_base(client, lambda sdk: _document(sdk.models.with_streaming_response.list()))
        listed = document.get("data") or document.get("models")
        return names_of(listed, "id", "name")

    def vectors(self, client: httpx2.Client, model: str, texts: Sequence[str]) -> tuple[list[Any], int | None]:
        """A vector for each text, as the server gives them, and the tokens that it counted. Raises GenerationFailed."""

        def work(sdk: "OpenAI") -> dict[str, Any]:
            create = sdk.embeddings.with_streaming_response.create
            return _document(create(model=model, input=list(texts), encoding_format="float"))

        document = self._at_some_base(client, work)
        data = document.get("data")
        given = [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
        given.sort(key=lambda one: whole_number(one, "index") or 0)
        return [one.get("embedding") for one in given], whole_number(document.get("usage"), "prompt_tokens")

    def _at_some_base(self, client: httpx2.Client, work: Callable[["OpenAI"], T]) -> T:
        """What ``work`` returns at the first base URL that is one; later calls go there at once."""
        failures: list[Misconfigured] = []
        for base in self._bases:
            try:
                with _sdk(client, base) as sdk:
                    found = work(sdk)
            except Misconfigured as failure:
                if not failure.wrong_address:
                    raise
                failures.append(failure)
            else:
                self._bases = [base]
                return found
        raise failures[0]


@contextmanager
def _sdk(client: httpx2.Client, base: str) -> Iterator["OpenAI"]:
    """The SDK at ``base``. The key, further tries and what errors mean are the client's; the SDK wraps some of them."""
    # Imported at the first call: its thousand models take longer than the rest of Loci, and most processes call nobody.
    from openai import APIConnectionError, OpenAI

    try:
        yield OpenAI(api_key="set by the client", base_url=base, http_client=client, max_retries=0)
    except APIConnectionError as error:
        raise error.__cause__ or error from None


def _document(opening: "AbstractContextManager[APIResponse[Any]]") -> dict[str, Any]:
    """The one document of a reply that is not streamed. Raises GenerationFailed."""
    with opening as reply:
        document = only_document(reply.iter_bytes())
    if wrong := error_message(document):
        raise failure_within(document, wrong)
    return document


def _content(part: Any) -> str:
    """The text of a message or a delta: a string, or a list of parts that have one."""
    content = part.get("content") if isinstance(part, dict) else None
    if isinstance(content, list):
        return "".join(string(one, "text") for one in content)
    return content if isinstance(content, str) else ""


def base_urls(given: str) -> list[str]:
    """Where the API may lie, the likeliest first, for an address as people paste it: with or without ``/v1``, with it
    twice, with a route behind it.
    """
    url = httpx2.URL(given).copy_with(query=None, fragment=None)
    path = ROUTES.sub("", re.sub(r"/+", "/", url.path).rstrip("/"))
    while path.endswith("/v1/v1"):
        path = path.removesuffix("/v1")
    if not VERSION.search(path):
        paths = [f"{path}/v1", path]
    elif path.endswith("/v1"):
        paths = [path, path.removesuffix("/v1")]
    else:
        paths = [path]
    return [str(url.copy_with(path=one or "/")).rstrip("/") for one in paths]
