"""The menu of a chat's head: whose model replies, and which ones may be chosen."""

from dataclasses import dataclass

from apps.chats.models import Chat
from apps.llm.models import Connection
from apps.llm.queries import writing_connections


@dataclass(frozen=True)
class ModelMenu:
    """The connections that may be chosen, the one that the chat names, and the one that its owner uses otherwise."""

    connections: list[Connection]
    chosen: Connection | None
    own: Connection | None

    @property
    def used(self) -> Connection | None:
        """Return the connection whose model replies."""
        return self.chosen or self.own


def model_menu(chat: Chat) -> ModelMenu:
    """Return the menu of a chat. A connection that names no model any more is not chosen."""
    connections = list(writing_connections(chat.owner_id))
    chosen = next((one for one in connections if one.pk == chat.connection_id), None)
    return ModelMenu(connections, chosen, next((one for one in connections if one.for_generation), None))
