"""The writes to chats that touch no message."""

from typing import Any

from django.db import transaction

from apps.chats.formats.layout import forget_layout
from apps.chats.models import Character, Chat, ChatChange
from apps.chats.operations.door import record_change
from apps.chats.operations.metadata import check_size

# Where a chat's fields stand in the header of its file.
HEADER_KEYS = {"user_name": "user_name", "character": "character_name"}


@transaction.atomic
def create_chat(
    owner: Any,
    *,
    title: str,
    character: Character | None = None,
    user_name: str = "",
    metadata: dict[str, Any] | None = None,
) -> Chat:
    """A new chat, empty; its creation is its first write. Without a title it is named for its character.

    Raises TooLarge for metadata beyond CHAT_METADATA_MAX_BYTES.
    """
    check_size(metadata or {}, {})
    chat = Chat.objects.create(
        owner_id=owner.pk,
        title=title or (character.name if character else "New chat"),
        character=character,
        user_name=user_name,
        metadata=metadata or {},
    )
    record_change(chat, ChatChange.Kind.CREATE)
    return chat


def update_chat(chat: Chat, **fields: Any) -> Chat:
    """Title, character and user name, which stand outside the log of changes."""
    changed = {name: value for name, value in fields.items() if getattr(chat, name) != value}
    in_header = [key for name, key in HEADER_KEYS.items() if name in changed]
    chat.header_layout = forget_layout(chat.header_layout, in_header)
    for name, value in changed.items():
        setattr(chat, name, value)
    chat.save(update_fields=[*changed, "header_layout", "updated_at"])
    return chat


def delete_chat(chat: Chat) -> None:
    """For good; its branches stay."""
    chat.delete()
