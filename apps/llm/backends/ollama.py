"""Client of Ollama's API."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import httpx2

from apps.common.documents import merge_patch
from apps.llm.generation import GenerationRequest, Refused
from apps.llm.models import Connection
from apps.llm.replies.constrained import schema_of
from apps.llm.replies.documents import error_message, parsed_json
from apps.llm.replies.reply import Delta, failure_in_document, first_document
from apps.llm.values import first_text, model_names, token_count

ENDPOINT_PATH = re.compile(r"(/api/(chat|generate|embed|embeddings|tags)|/api|/v1)$")


class Ollama:
    """Client of one server. Requests go through an HTTP client that the caller passes.

    ``extra_body`` is a JSON merge patch of the body of requests for a completion.
    """

    def __init__(
        self, base_url: str, context_tokens: int, reasoning_effort: str, extra_body: Mapping[str, Any]
    ) -> None:
        self._base = base_url_of(base_url)
        self._context_tokens = context_tokens
        self._reasoning_effort = reasoning_effort
        self._extra_body = extra_body

    def request_completion(
        self,
        client: httpx2.Client,
        model: str,
        request: GenerationRequest,
        stream: bool,
        read: Callable[[Iterator[bytes]], None],
    ) -> None:
        """Request a completion and pass the response's bytes to ``read``. Raise GenerationFailed."""
        body = self._body(model, request, stream)
        try:
            self._request(client, body, read)
        except Refused as failure:
            # Ollama refuses the field for models that can't reason: '"llama3.2" does not support thinking'.
            if "think" not in failure.detail or "think" in self._extra_body or not self._reasoning_effort:
                raise
            self._reasoning_effort = ""
            del body["think"]
            self._request(client, body, read)

    def _body(self, model: str, request: GenerationRequest, stream: bool) -> dict[str, Any]:
        """Return the document of a request for a completion.

        ``num_ctx`` is always sent: Ollama silently cuts off the beginning of prompts above its own default.
        """
        options: dict[str, Any] = {
            "num_ctx": self._context_tokens,
            "num_predict": request.max_tokens,
            "temperature": request.temperature,
            **request.sampling(),
        }
        if request.stop:
            options["stop"] = list(request.stop)
        body: dict[str, Any] = {
            "model": model,
            "messages": list(map(_with_parsed_arguments, request.sent_messages())),
            "stream": stream,
            "options": options,
        }
        if request.tools:
            body["tools"] = list(request.tools)
        if request.line_pattern:
            body["format"] = schema_of(request.line_pattern)
        if effort := request.reasoning_effort(self._reasoning_effort):
            body["think"] = False if effort == "none" else effort
        patched: dict[str, Any] = merge_patch.apply(body, self._extra_body)
        return patched

    def _request(self, client: httpx2.Client, body: dict[str, Any], read: Callable[[Iterator[bytes]], None]) -> None:
        with client.stream("POST", f"{self._base}/api/chat", json=body) as response:
            read(response.iter_bytes())

    def parse_delta(self, document: dict[str, Any]) -> Delta:
        """Parse one document of a streamed or whole reply. Raise GenerationFailed for an error document."""
        message = document.get("message")
        if error := "" if isinstance(message, dict) else error_message(document):
            raise failure_in_document(document, error)
        return Delta(
            text=first_text(message, "content") or first_text(document, "response"),
            reasoning=first_text(message, "thinking") or first_text(document, "thinking"),
            tools=_tool_calls(message),
            finished=document.get("done") is True,
            prompt_tokens=token_count(document, "prompt_eval_count"),
            completion_tokens=token_count(document, "eval_count"),
            cut_off=document.get("done_reason") == "length",
        )

    def models(self, client: httpx2.Client) -> list[str]:
        """Return the names of the server's models. Raise GenerationFailed."""
        return model_names(self._document(client, "GET", "tags").get("models"), "name", "model")

    def vectors(self, client: httpx2.Client, model: str, texts: Sequence[str]) -> tuple[list[Any], int | None]:
        """Return the vectors as sent by the server, and its token count or None. Raise GenerationFailed."""
        document = self._document(client, "POST", "embed", {"model": model, "input": list(texts)})
        vectors = document.get("embeddings")
        return vectors if isinstance(vectors, list) else [], token_count(document, "prompt_eval_count")

    def _document(self, client: httpx2.Client, method: str, endpoint: str, body: Any = None) -> dict[str, Any]:
        with client.stream(method, f"{self._base}/api/{endpoint}", json=body) as response:
            document = first_document(response.iter_bytes())
        if error := error_message(document):
            raise failure_in_document(document, error)
        return document


def _tool_calls(message: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the calls of tools in a message, each of which is whole."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    return tuple(call for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()


def _with_parsed_arguments(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message as Ollama takes it: arguments of calls are objects there, not JSON texts."""
    if "tool_calls" not in message:
        return message
    functions = [call["function"] for call in message["tool_calls"]]
    calls = [{"function": {**function, "arguments": parsed_json(function["arguments"])}} for function in functions]
    return {**message, "tool_calls": calls}


def base_url_of(pasted_url: str) -> str:
    """Return the server's base URL for a URL as users paste it, with or without an endpoint path or ``/v1``."""
    url = httpx2.URL(pasted_url).copy_with(query=None, fragment=None)
    path = ENDPOINT_PATH.sub("", re.sub(r"/+", "/", url.path).rstrip("/"))
    return str(url.copy_with(path=path or "/")).rstrip("/")


def client_of(connection: Connection) -> Ollama:
    """Return the client of a connection's server."""
    return Ollama(connection.base_url, connection.context_tokens, connection.reasoning_effort, connection.extra_body)
