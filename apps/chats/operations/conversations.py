"""Start chats that open with the greetings of characters."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.chats.dates import timestamp
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.macros import Draws, resolve_card_text, resolve_choices
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import Character, Chat, Persona
from apps.chats.operations.chats import create_chat
from apps.chats.operations.messages import append_messages
from apps.chats.operations.participants import add_participant
from apps.common.scoping import Owner

TITLE_NAMES = 4  # of the members, in the title of a group


@transaction.atomic
def start_conversation(
    owner: Owner,
    character: Character,
    *,
    user_name: str,
    persona: Persona | None = None,
    greeting: int = 0,
    **fields: Any,
) -> Chat:
    """Create a chat that starts with the character's greeting. All its greetings become swipes of the message.

    ``greeting`` is the number of the one that is shown, or the first one if there is none with this number. ``fields``
    are the title and the metadata. Raise as ``create_chat``.
    """
    chat = create_chat(owner, **fields, character=character, user_name=user_name, persona=persona)
    return _greet(chat, character, character.greetings, greeting)


@transaction.atomic
def start_group(
    owner: Owner, members: Sequence[Character], *, user_name: str, persona: Persona | None = None, title: str = ""
) -> Chat:
    """Create a chat of several characters, each of whom greets.

    Raise as ``create_chat``, and NameTaken if two have the same name.
    """
    title = title or ", ".join(member.name for member in members[:TITLE_NAMES])[:MAX_NAME_LENGTH]
    chat = create_chat(owner, title=title, user_name=user_name, persona=persona)
    for member in members:
        add_participant(owner, chat.pk, name=member.name, character=member)
    for member in members:
        _greet(chat, member, member.group_greetings)
    chat.refresh_from_db()
    return chat


def _greet(chat: Chat, character: Character, greetings: Sequence[str], number: int = 0) -> Chat:
    """Append a message of the character with all greetings, showing the one with this number, and return the chat."""
    if not greetings:
        return chat
    now, names = timezone.now(), chat.names_for(character)
    draws = Draws(str(chat.pk), f"{chat.pk}:{chat.rev}")
    texts = [resolve_card_text(resolve_choices(text, draws), names) for text in greetings]
    greeting = ParsedMessage(
        name=character.name,
        is_user=False,
        is_system=False,
        send_date=timestamp(now),
        sent_at=now,
        swipe_id=number if number in range(len(texts)) else 0,
        swipes=tuple(map(ParsedSwipe, texts)),
        layout="",
    )
    return append_messages(chat.owner_id, chat.pk, [greeting]).chat
