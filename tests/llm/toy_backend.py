"""A client like those of ``apps/llm/backends``, of a server that takes a line and says one."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx2

from apps.llm.generation import GenerationRequest
from apps.llm.models import Connection
from apps.llm.replies.reply import Delta


class Parrot:
    """Client of one server."""

    def __init__(self, base_url: str) -> None:
        self._base = base_url

    def request_completion(
        self,
        client: httpx2.Client,
        model: str,
        request: GenerationRequest,
        stream: bool,
        read: Callable[[Iterator[bytes]], None],
    ) -> None:
        """Send the last message, and pass the response's bytes to ``read``."""
        body = {"bird": model, "line": request.messages[-1]["content"]}
        with client.stream("POST", f"{self._base}/say", json=body) as response:
            read(response.iter_bytes())

    def parse_delta(self, document: dict[str, Any]) -> Delta:
        """Parse the document of a reply."""
        return Delta(text=document["said"], finished=True, prompt_tokens=3, completion_tokens=2)

    def models(self, client: httpx2.Client) -> list[str]:
        """Return the birds."""
        return ["grey", "green"]

    def vectors(self, client: httpx2.Client, model: str, texts: Sequence[str]) -> tuple[list[Any], int | None]:
        """Return a vector for each text."""
        return [[1.0, float(len(text))] for text in texts], None


def client_of(connection: Connection) -> Parrot:
    """Return the client of a connection's server."""
    return Parrot(connection.base_url)
