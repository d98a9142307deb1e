"""Client of OpenAI-compatible APIs: hosted services, llama.cpp, vLLM, LM Studio and most others.

Requests are sent by OpenAI's SDK. Responses are parsed by ``replies``, since many of these servers deviate from what
the SDK expects.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2

from apps.common.documents import merge_patch
from apps.llm.generation import GenerationRequest, Misconfigured, Refused
from apps.llm.replies.constrained import NAME, schema_of
from apps.llm.replies.documents import error_message
from apps.llm.replies.openai_deltas import delta_of
from apps.llm.replies.reply import Delta, failure_in_document, first_document
from apps.llm.replies.values import model_names, token_count

if TYPE_CHECKING:
    from openai import APIResponse, OpenAI

ENDPOINT_PATH = re.compile(r"/(chat/completions|chat|completions|responses|embeddings|models)$")
VERSION_PATH = re.compile(r"/v\d+[a-z]*\d*(/|$)")
# Some servers refuse these: OpenAI's newer models the first, its reasoning models ``temperature``.
OPTIONAL_FIELDS = (
    *("max_tokens", "stream_options", "temperature", "stop", "reasoning_effort"),
    *("top_p", "top_k", "min_p", "repeat_penalty", "repetition_penalty"),
)
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
        messages: Any = request.sent_messages()

        def work(sdk: "OpenAI") -> None:
            create = sdk.chat.completions.with_streaming_response.create
            options = self._options(request, stream)
            with create(model=model, messages=messages, stream=stream, extra_body=options) as response:
                read(response.iter_bytes())

        while True:
            try:
                return self._try_base_urls(client, work)
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
        newly_refused = {name for name in OPTIONAL_FIELDS if name in failure.detail} - self._refused
        self._refused |= newly_refused
        return bool(newly_refused)

    def parse_delta(self, document: dict[str, Any]) -> Delta:
        """Parse one document of a streamed or whole reply. Raise GenerationFailed for an error document."""
        return delta_of(document)

    def models(self, client: httpx2.Client) -> list[str]:
        """Return the ids of the server's models. Raise GenerationFailed."""
        document = self._try_base_urls(client, lambda sdk: _document(sdk.models.with_streaming_response.list()))
        listed = document.get("data") or document.get("models")
        return model_names(listed, "id", "name")

    def vectors(self, client: httpx2.Client, model: str, texts: Sequence[str]) -> tuple[list[Any], int | None]:
        """Return the vectors as sent by the server, and its token count or None. Raise GenerationFailed."""

        def work(sdk: "OpenAI") -> dict[str, Any]:
            create = sdk.embeddings.with_streaming_response.create
            return _document(create(model=model, input=list(texts), encoding_format="float"))

        document = self._try_base_urls(client, work)
        data = document.get("data")
        items = [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []
        items.sort(key=lambda item: token_count(item, "index") or 0)
        return [item.get("embedding") for item in items], token_count(document.get("usage"), "prompt_tokens")

    def _try_base_urls(self, client: httpx2.Client, work: Callable[["OpenAI"], T]) -> T:
        """Run ``work`` at each possible base URL until one works, and keep that one. Raise GenerationFailed."""
        failures: list[Misconfigured] = []
        for base in self._bases:
            try:
                with _sdk(client, base) as sdk:
                    result = work(sdk)
            except Misconfigured as failure:
                if not failure.wrong_address:
                    raise
                failures.append(failure)
            else:
                self._bases = [base]
                return result
        raise failures[0]


@contextmanager
def _sdk(client: httpx2.Client, base: str) -> Iterator["OpenAI"]:
    """Open the SDK at ``base``. ``CallPolicy`` adds the key, retries and classifies errors, so the SDK does not."""
    # Imported at the first call, since the import takes longer than all others together, and few processes need it.
    from openai import APIConnectionError, OpenAI

    try:
        # The SDK takes a time limit of exactly 5 seconds for one that nobody set, and would wait for 10 minutes.
        limit = client.timeout
        yield OpenAI(api_key="set by the client", base_url=base, http_client=client, timeout=limit, max_retries=0)
    except APIConnectionError as error:  # the SDK's wrapper around an exception of the HTTP client
        raise error.__cause__ or error from None


def _document(opening: "AbstractContextManager[APIResponse[Any]]") -> dict[str, Any]:
    """Return the document of a response that is not streamed. Raise GenerationFailed."""
    with opening as response:
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
