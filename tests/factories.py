"""Users, chats and memories for tests; chats are made by the operations that the product uses."""

from typing import Any

import factory

from apps.accounts.models import User
from apps.chats.models import Character, Chat
from apps.chats.operations import append_messages, create_character, create_chat
from apps.exchange.formats.sillytavern import NO_HEADER
from apps.exchange.formats.sillytavern_lines import parse_message
from apps.memories.models import Memory


class UserFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = User

    email = factory.Sequence(lambda n: f"user{n}@example.com")


def make_character(owner: User, name: str = "Mira", **fields: Any) -> Character:
    return create_character(owner, name=name, **fields)


def parsed(mes: str, *, is_user: bool = False, name: str = "", **fields: Any) -> Any:
    """A message as an import or an append would hand it to the operations."""
    line = {"name": name or ("Alice" if is_user else "Mira"), "is_user": is_user, "mes": mes, **fields}
    return parse_message(line, NO_HEADER, lambda warning: None)


def make_chat(owner: User, *texts: str, character: Character | None = None, title: str = "The heist") -> Chat:
    """A chat in which the user and the character speak in turns, the user first."""
    chat = create_chat(owner, title=title, character=character, user_name="Alice")
    if not texts:
        return chat
    messages = [parsed(text, is_user=number % 2 == 0) for number, text in enumerate(texts)]
    return append_messages(owner, chat.pk, messages).chat


def make_memory(chat: Chat, text: str, **fields: Any) -> Memory:
    """An active long-term memory of the chat and its character, without a vector unless one is given."""
    given = {"tier": Memory.Tier.LONG_TERM, "kind": Memory.Kind.FACT, "character": chat.character} | fields
    return Memory.objects.create(owner_id=chat.owner_id, chat=chat, text=text, **given)
