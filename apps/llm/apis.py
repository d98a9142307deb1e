"""The APIs of model servers, by the names that connections have of them. The client of each is loaded once it is used.

A client is created by a function ``client_of(connection)`` of its module in ``backends``.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from django.utils.translation import gettext_lazy as _

from apps.common.on_demand import on_demand
from apps.common.words import Words

if TYPE_CHECKING:
    import httpx2

    from apps.llm.generation import GenerationRequest, Profile
    from apps.llm.models import Connection
    from apps.llm.replies.reply import Delta

BROWSER = "browser"  # the model of such a connection runs in a page: no server is called


class Client(Protocol):
    """Client of one server. Requests go through an HTTP client that the caller passes."""

    def request_completion(
        self,
        client: "httpx2.Client",
        model: str,
        request: "GenerationRequest",
        stream: bool,
        read: Callable[[Iterator[bytes]], None],
    ) -> None:
        """Request a completion and pass the response's bytes to ``read``. Raise GenerationFailed."""

    def parse_delta(self, document: dict[str, Any]) -> "Delta":
        """Parse one document of a streamed or whole reply. Raise GenerationFailed for an error document."""

    def models(self, client: "httpx2.Client") -> list[str]:
        """Return the names of the server's models. Raise GenerationFailed."""

    def vectors(self, client: "httpx2.Client", model: str, texts: Sequence[str]) -> tuple[list[Any], int | None]:
        """Return the vectors as sent by the server, and its token count or None. Raise GenerationFailed."""


@dataclass(frozen=True)
class ServerAPI:
    """API of model servers. ``profile`` is that of their models; ``is_local``: they run on a machine of the user's."""

    label: Words
    client_of: "Callable[[Connection], Client]"
    profile: "Profile" = "B"
    is_local: bool = False


SERVER_APIS: dict[str, ServerAPI] = {
    "openai": ServerAPI(_("OpenAI-compatible"), on_demand("apps.llm.backends.openai_compatible:client_of")),
    "ollama": ServerAPI("Ollama", on_demand("apps.llm.backends.ollama:client_of"), profile="A", is_local=True),
}


def server_choices() -> list[tuple[str, Words]]:
    """Return the names and labels of the APIs."""
    return [(name, api.label) for name, api in SERVER_APIS.items()]


def backend_choices() -> list[tuple[str, Words]]:
    """Return the names and labels of what a connection can be to: servers, and a model in the browser."""
    return [*server_choices(), (BROWSER, _("In the browser"))]
