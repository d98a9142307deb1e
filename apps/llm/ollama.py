"""Servers that speak as Ollama does."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx2

from apps.llm.generation import GenerationRequest, Profile
from apps.llm.replies import Piece, failure_within, names_of, only_document, plain, string, whole_number
from apps.llm.reply_documents import error_message

ROUTES = re.compile(r"(/api/(chat|generate|embed|embeddings|tags)|/api|/v1)$")


class Ollama:
    """How such a server is asked."""

    profile: Profile = "A"

    def __init__(self, base_url: str, context_tokens: int) -> None:
        self._base = base_url_of(base_url)
        self._context_tokens = context_tokens

    def ask(
        self,
        client: httpx2.Client,
        model: str,
        request: GenerationRequest,
        stream: bool,
        read: Callable[[Iterator[bytes]], None],
    ) -> None:
        """Ask for a completion, and have ``read`` take the reply's bytes as they come. Raises GenerationFailed.

        The context is asked for by name: Ollama's own default cuts longer prompts off at their beginning, silently.
        """
        messages = [{"role": one["role"], "content": plain(one["content"])} for one in request.messages]
        options = {"num_ctx": self._context_tokens, "num_predict": request.max_tokens}
        body = {"model": model, "messages": messages, "stream": stream, "options": options}
        with client.stream("POST", f"{self._base}/api/chat", json=body) as response:
            read(response.iter_bytes())

    def piece_of(self, document: dict[str, Any]) -> Piece:
        """What one document of the reply says. Raises GenerationFailed where it tells of an error."""
        message = document.get("message")
        if wrong := "" if isinstance(message, dict) else error_message(document):
            raise failure_within(document, wrong)
        return Piece(
            text=string(message, "content") or string(document, "response"),
            reasoning=string(message, "thinking") or string(document, "thinking"),
            finished=document.get("done") is True,
            prompt_tokens=whole_number(document, "prompt_eval_count"),
            completion_tokens=whole_number(document, "eval_count"),
        )

    def models(self, client: httpx2.Client) -> list[str]:
        """The names of the models that the server has. Raises GenerationFailed."""
        return names_of(self._document(client, "GET", "tags").get("models"), "name", "model")

    def vectors(self, client: httpx2.Client, model: str, texts: Sequence[str]) -> tuple[list[Any], int | None]:
        """A vector for each text, as the server gives them, and the tokens that it counted. Raises GenerationFailed."""
        document = self._document(client, "POST", "embed", {"model": model, "input": list(texts)})
        given = document.get("embeddings")
        return given if isinstance(given, list) else [], whole_number(document, "prompt_eval_count")

    def _document(self, client: httpx2.Client, method: str, route: str, body: Any = None) -> dict[str, Any]:
        with client.stream(method, f"{self._base}/api/{route}", json=body) as response:
            document = only_document(response.iter_bytes())
        if wrong := error_message(document):
            raise failure_within(document, wrong)
        return document


def base_url_of(given: str) -> str:
    """Where the server lies, for an address as people paste it: with a route behind it, or with ``/v1``."""
    url = httpx2.URL(given).copy_with(query=None, fragment=None)
    path = ROUTES.sub("", re.sub(r"/+", "/", url.path).rstrip("/"))
    return str(url.copy_with(path=path or "/")).rstrip("/")
