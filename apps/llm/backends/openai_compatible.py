"""Client of OpenAI-compatible APIs: hosted services, llama.cpp, vLLM, LM Studio and most others.

Responses are parsed by ``replies``: many of these servers deviate from what OpenAI's SDK expects.
"""

import base64
import binascii
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import httpx2

from apps.common.documents import merge_patch
from apps.llm.generation import GenerationRequest, Misconfigured, Refused
from apps.llm.models import Connection
from apps.llm.replies.constrained import NAME, schema_of
from apps.llm.replies.documents import error_message
from apps.llm.replies.openai_deltas import delta_of
from apps.llm.replies.reply import Delta, failure_in_document, first_document
from apps.llm.values import model_names, token_count

ENDPOINT_PATH = re.compile(r"/(chat/completions|chat|completions|responses|embeddings|models)$")
VERSION_PATH = re.compile(r"/v\d+[a-z]*\d*(/|$)")
# Some servers refuse these: OpenAI's newer models the first, its reasoning models ``temperature``.
OPTIONAL_FIELDS = (
    *("max_tokens", "stream_options", "temperature", "stop", "reasoning_effort"),
    *("top_p", "top_k", "min_p", "repeat_penalty", "repetition_penalty"),
)
# Their names in an error: alone, in quotes, or in a path, such as `body.stop` and `#/stream_options`; some servers name
# `topP`. What has stopped, or `min_pixels`, is another thing.
NAMED_FIELDS = {
    name: re.compile(rf"(?<![\w-])(?:{name}|{re.sub('_(.)', lambda found: found[1].upper(), name)})(?!\w)")
    for name in OPTIONAL_FIELDS
}
T = TypeVar("T")


class OpenAICompatible:
    """Client of one server. Keeps the base URL that worked, and the fields that the server refused.

    ``extra_body`` is a JSON merge patch of the body of requests for a completion.
    """

    def __init__(self, base_url: str, reasoning_effort: str, extra_body: Mapping[str, Any]) -> None:
        self._bases = base_urls(base_url)
        self._reasoning_effort = reasoning_effort
        self._extra_body = extra_body
        self._refused: set[str] = set()

    def request_completion(
        self,
        client: httpx2.Client,
        model: str,
        request: GenerationRequest,
        stream: bool,
        read: Callable[[Iterator[bytes]], None],
    ) -> None:
        """Request a completion and pass the response's bytes to ``read``. Raise GenerationFailed."""

        def work(base: str) -> None:
            body = {"model": model, "messages": request.sent_messages(), "stream": stream}
            body |= self._options(request, stream)
            with client.stream("POST", f"{base}/chat/completions", json=body) as response:
                read(response.iter_bytes())

        while True:
            try:
                return self._try_base_urls(work)
            except Refused as failure:
                if not self._record_refused_fields(failure):
                    raise

    def _options(self, request: GenerationRequest, stream: bool) -> dict[str, Any]:
        """Return the fields of the body besides model, messages and stream."""
        limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        options: dict[str, Any] = {limit: request.max_tokens, "temperature": request.temperature}
        options |= request.sampling()
        if request.repetition_penalty is not None:
            options["repetition_penalty"] = request.repetition_penalty  # its name in vLLM and OpenRouter
        if request.stop:
            options["stop"] = list(request.stop)
        if request.tools:
            options["tools"] = list(request.tools)
        if request.line_pattern:
            form = {"name": NAME, "strict": True, "schema": schema_of(request.line_pattern)}
            options["response_format"] = {"type": "json_schema", "json_schema": form}
        if stream:
            options["stream_options"] = {"include_usage": True}
        if effort := request.reasoning_effort(self._reasoning_effort):
            options["reasoning_effort"] = effort
        accepted = {name: value for name, value in options.items() if name not in self._refused}
        return dict(merge_patch.apply(accepted, self._extra_body))

    def _record_refused_fields(self, failure: Refused) -> bool:
        """Record optional fields that the server refuses. Return whether there are new ones, so a retry may succeed."""
        if failure.server_status not in (400, 422):
            return False
        newly_refused = {name for name, named in NAMED_FIELDS.items() if named.search(failure.detail)} - self._refused
        self._refused |= newly_refused
        return bool(newly_refused)

    def parse_delta(self, document: dict[str, Any]) -> Delta:
        """Parse one document of a streamed or whole reply. Raise GenerationFailed for an error document."""
        return delta_of(document)

    def models(self, client: httpx2.Client) -> list[str]:
        """Return the ids of the server's models. Raise GenerationFailed."""
        document = self._try_base_urls(lambda base: _document(client, "GET", f"{base}/models"))
        listed = document.get("data") or document.get("models")
        return model_names(listed, "id", "name")

    def vectors(self, client: httpx2.Client, model: str, texts: Sequence[str]) -> tuple[list[Any], int | None]:
        """Return the vectors as sent by the server, and its token count or None. Raise GenerationFailed."""
        body = {"model": model, "input": list(texts), "encoding_format": "float"}
        document = self._try_base_urls(lambda base: _document(client, "POST", f"{base}/embeddings", body))
        data = document.get("data")
        items = [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []
        vectors = [_numbers(item.get("embedding")) for item in _in_order(items)]
        return vectors, token_count(document.get("usage"), "prompt_tokens")

    def _try_base_urls(self, work: Callable[[str], T]) -> T:
        """Run ``work`` at each possible base URL until one works, and keep that one. Raise GenerationFailed."""
        failures: list[Misconfigured] = []
        for base in self._bases:
            try:
                result = work(base)
            except Misconfigured as failure:
                if not failure.wrong_address:
                    raise
                failures.append(failure)
            else:
                self._bases = [base]
                return result
        raise failures[0]


def _in_order(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return items by their indexes, texts and fractions too, or as they came if those don't number them from 0."""
    try:
        by_index = {float(item["index"]): item for item in items}
        return [by_index[number] for number in range(len(items))]
    except (KeyError, TypeError, ValueError, OverflowError):
        return items


def _numbers(embedding: Any) -> Any:
    """Return a vector that a server sends in base64, whatever it was asked for, as numbers, and another as it is."""
    if not isinstance(embedding, str):
        return embedding
    try:
        return [number for (number,) in struct.iter_unpack("<f", base64.b64decode(embedding, validate=True))]
    except (binascii.Error, ValueError, struct.error):
        return embedding


def _document(client: httpx2.Client, method: str, url: str, body: Any = None) -> dict[str, Any]:
    """Return the document of a response that is not streamed. Raise GenerationFailed."""
    with client.stream(method, url, json=body) as response:
        document = first_document(response.iter_bytes())
    if error := error_message(document):
        raise failure_in_document(document, error)
    return document


def base_urls(pasted_url: str) -> list[str]:
    """Return possible base URLs, likeliest first, for a URL as users paste it.

    It may lack ``/v1``, have it twice, or end in an endpoint path.
    """
    url = httpx2.URL(pasted_url).copy_with(query=None, fragment=None)
    path = ENDPOINT_PATH.sub("", re.sub(r"/+", "/", url.path).rstrip("/"))
    while path.endswith("/v1/v1"):
        path = path.removesuffix("/v1")
    if not VERSION_PATH.search(path):
        paths = [f"{path}/v1", path]
    elif path.endswith("/v1"):
        paths = [path, path.removesuffix("/v1")]
    else:
        paths = [path]
    return [str(url.copy_with(path=candidate or "/")).rstrip("/") for candidate in paths]


def client_of(connection: Connection) -> OpenAICompatible:
    """Return the client of a connection's server."""
    return OpenAICompatible(connection.base_url, connection.reasoning_effort, connection.extra_body)
