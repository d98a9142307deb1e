"""Read lorebooks of characters and chats."""

from uuid import UUID

from django.db.models import Q

from apps.chats.models import Character, Chat, Lorebook


def lorebook_of(character: Character) -> Lorebook | None:
    """Return the lorebook that belongs to the character."""
    return character.lorebooks.order_by("pk").first()


def lorebooks_in(chat: Chat, speaker: Character | None) -> list[Lorebook]:
    """Return the lorebooks of a prompt: of the chat and those that it branched from, the persona and the speaker."""
    chats = _chat_and_ancestors(chat)
    used = Q(chat__in=chats)
    used |= Q(persona=chat.persona_id) if chat.persona_id else Q()
    used |= Q(character=speaker) if speaker else Q()
    books = list(Lorebook.objects.for_owner(chat.owner_id).filter(used).order_by("pk"))
    # As in SillyTavern, the chat's come first, then the persona's: what they take of the budget is gone.
    return sorted(books, key=lambda book: (book.chat_id not in chats, book.persona_id != chat.persona_id))


def lorebooks_of_chat(chat: Chat) -> list[Lorebook]:
    """Return the lorebooks that are used with the chat itself, or with one that it branched from."""
    books = Lorebook.objects.for_owner(chat.owner_id).filter(chat__in=_chat_and_ancestors(chat))
    return list(books.order_by("pk"))


def _chat_and_ancestors(chat: Chat) -> list[UUID]:
    chats, parent = [chat.pk], chat.parent_id
    while parent is not None and parent not in chats:
        chats.append(parent)
        parent = Chat.objects.for_owner(chat.owner_id).filter(pk=parent).values_list("parent_id", flat=True).first()
    return chats
