"""Starts a chat with a character."""

from typing import Any

from django.db import transaction

from apps.chats.greetings import greeting_of
from apps.chats.models import Character, Chat
from apps.chats.operations.appending import append_messages
from apps.chats.operations.chats import create_chat


@transaction.atomic
def start_conversation(owner: Any, character: Character, *, user_name: str, title: str = "") -> Chat:
    """A chat that opens with the character's greeting, its other greetings being swipes of it."""
    chat = create_chat(owner, title=title, character=character, user_name=user_name)
    greeting = greeting_of(character, user_name)
    return append_messages(owner, chat.pk, [greeting]).chat if greeting else chat
