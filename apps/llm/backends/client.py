"""Interface of the clients of model servers, each of which one module of this package implements for one API."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import httpx2

from apps.llm.generation import GenerationRequest
from apps.llm.replies.reply import Delta


class Client(Protocol):
    """Client of one server. Requests go through an HTTP client that the caller passes."""

    def request_completion(
        self,
        client: httpx2.Client,
        model: str,
        request: GenerationRequest,
        stream: bool,
        read: Callable[[Iterator[bytes]], None],
    ) -> None:
        """Request a completion and pass the response's bytes to ``read``. Raise GenerationFailed."""

    def parse_delta(self, document: dict[str, Any]) -> Delta:
        """Parse one document of a streamed or whole reply. Raise GenerationFailed for an error document."""

    def models(self, client: httpx2.Client) -> list[str]:
        """Return the names of the server's models. Raise GenerationFailed."""

    def vectors(self, client: httpx2.Client, model: str, texts: Sequence[str]) -> tuple[list[Any], int | None]:
        """Return the vectors as sent by the server, and its token count or None. Raise GenerationFailed."""
