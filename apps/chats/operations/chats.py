"""Create and update chats."""

import re
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.chats.dates import timestamp
from apps.chats.formats.layout import forget_layout
from apps.chats.formats.parsed import ParsedMessage, ParsedSwipe
from apps.chats.locking import lock_chat, record_change
from apps.chats.models import Character, Chat, ChatChange
from apps.chats.operations.messages import append_messages
from apps.chats.operations.metadata import check_size
from apps.common.scoping import Owner, owner_id_of

# The keys of a chat's fields in the header of its file.
HEADER_KEYS = {"user_name": "user_name", "character": "character_name"}
# Macros in cards for the names of user and character. Cards of 2022 have <USER> and <BOT>.
USER_MACRO = re.compile(r"\{\{user\}\}|<USER>", re.IGNORECASE)
CHARACTER_MACRO = re.compile(r"\{\{char\}\}|<BOT>|<CHAR>", re.IGNORECASE)


@transaction.atomic
def create_chat(
    owner: Owner,
    *,
    title: str,
    character: Character | None = None,
    user_name: str = "",
    metadata: dict[str, Any] | None = None,
) -> Chat:
    """Create an empty chat. The title defaults to the character's name.

    Raise TooLarge for metadata beyond CHAT_METADATA_MAX_BYTES.
    """
    check_size(metadata or {}, {})
    chat = Chat.objects.create(
        owner_id=owner_id_of(owner),
        title=title or (character.name if character else "New chat"),
        character=character,
        user_name=user_name,
        metadata=metadata or {},
    )
    record_change(chat, ChatChange.Kind.CREATE)
    return chat


@transaction.atomic
def start_conversation(owner: Owner, character: Character, *, user_name: str, title: str = "") -> Chat:
    """Create a chat that starts with the character's greeting. The alternative greetings become its swipes."""
    chat = create_chat(owner, title=title, character=character, user_name=user_name)
    texts = [text for text in (character.first_mes, *character.alternate_greetings) if text.strip()]
    if not texts:
        return chat
    now = timezone.now()
    greeting = ParsedMessage(
        name=character.name,
        is_user=False,
        is_system=False,
        send_date=timestamp(now),
        sent_at=now,
        swipe_id=0,
        swipes=tuple(ParsedSwipe(_replace_names(text, character, user_name)) for text in texts),
        layout="",
    )
    return append_messages(owner, chat.pk, [greeting]).chat


def _replace_names(text: str, character: Character, user_name: str) -> str:
    """Return ``text`` with its name macros replaced. A character's nickname takes precedence over the name."""
    name = character.nickname or character.name
    return CHARACTER_MACRO.sub(lambda _: name, USER_MACRO.sub(lambda _: user_name, text))


@transaction.atomic
def update_chat(chat: Chat, **fields: Any) -> Chat:
    """Change title, character and user name, and return the chat. Equal values write nothing. Raise Missing."""
    chat = lock_chat(chat.owner_id, chat.pk)
    changed = {name: value for name, value in fields.items() if getattr(chat, name) != value}
    if not changed:
        return chat
    header_keys = [key for name, key in HEADER_KEYS.items() if name in changed]
    chat.header_layout = forget_layout(chat.header_layout, header_keys)
    for name, value in changed.items():
        setattr(chat, name, value)
    chat.save(update_fields=[*changed, "header_layout"])
    record_change(chat, ChatChange.Kind.DETAILS)
    return chat
