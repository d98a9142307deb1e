"""The APIs of model servers, by the names that connections have of them. The client of each is loaded once it is used.

A function ``client_of(connection)`` of a module in ``backends`` returns each, as ``backends.client`` describes it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from apps.common.on_demand import on_demand
from apps.common.words import Words
from apps.llm.generation import Profile

BROWSER = "browser"  # the model of such a connection runs in a page: no server is called


@dataclass(frozen=True)
class ServerAPI:
    """API of model servers. ``profile`` is that of their models; ``is_local``: they run on a machine of the user's."""

    label: Words
    client_of: Callable[[Any], Any]  # connections name an API by this table, which therefore can't import them
    profile: Profile = "B"
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
