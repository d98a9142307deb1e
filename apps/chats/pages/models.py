"""The menu of a chat's head: whose model replies, and which ones may be chosen."""

from dataclasses import dataclass

from apps.chats.models import Chat
from apps.llm.models import Connection
from apps.llm.queries import writing_connections


@dataclass(frozen=True)
class ModelMenu:
    """The connections that may be chosen, the one that the chat names, and the one that its owner uses otherwise.

    ``is_as_in_all``: the chat names none. One that has no model any more is not chosen, and not replaced.
    """

    connections: list[Connection]
    chosen: Connection | None
    own: Connection | None
    is_as_in_all: bool

    @property
    def used(self) -> Connection | None:
        """Return the connection whose model replies."""
        return self.own if self.is_as_in_all else self.chosen


def model_menu(chat: Chat) -> ModelMenu:
    """Return the menu of a chat."""
    connections = list(writing_connections(chat.owner_id))
    chosen = next((one for one in connections if one.pk == chat.connection_id), None)
    own = next((one for one in connections if one.for_generation), None)
    return ModelMenu(connections, chosen, own, is_as_in_all=not chat.connection_id)
