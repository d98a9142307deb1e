"""Add, change and remove participants of a group chat."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.chats.locking import lock_chat, record_change
from apps.chats.models import Character, Chat, ChatChange, Message, Participant
from apps.chats.operations.characters import check_namespace, find_or_create_character
from apps.common.database.rows import first_or_missing
from apps.common.problems import Conflict, ProblemType
from apps.common.scoping import Owner


class Member(NamedTuple):
    """Somebody who speaks in a group."""

    name: str
    character_id: UUID | None = None
    muted: bool = False


class NameTaken(Conflict):
    """The chat already has a participant with this name."""

    type = ProblemType.NAME_TAKEN
    title = _("A participant with this name already exists")


@transaction.atomic
def add_participant(
    owner: Owner, chat_id: UUID, *, name: str, character: Character | None = None, muted: bool = False
) -> Participant:
    """Add a participant, last in the order of turns, and assign earlier messages with the same name to them.

    Raise Missing, NameTaken, and Invalid for a character of another namespace.
    """
    chat = lock_chat(owner, chat_id)
    _check_name(chat, name)
    check_namespace(character, chat.namespace)
    participant = Participant.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        character=character,
        name=name,
        position=1 + max(chat.participants.values_list("position", flat=True), default=-1),
        muted=muted,
    )
    rows = said_by(participant)
    messages = list(rows)
    rows.update(participant=participant)
    _record(chat, messages, is_group=True)
    return participant


def insert_participants(chat: Chat, members: Iterable[Member]) -> list[Participant]:
    """Insert the members of a new group, in their order. The caller calls ``record_change``."""
    return Participant.objects.bulk_create(
        Participant(owner_id=chat.owner_id, chat=chat, position=position, **member._asdict())
        for position, member in enumerate(members)
    )


def said_by(participant: Participant) -> QuerySet[Message]:
    """Return the messages of nobody that are under the participant's name."""
    rows: QuerySet[Message] = Message.objects.for_owner(participant.owner_id)
    return rows.filter(chat=participant.chat_id, name=participant.name, is_user=False, participant=None)


@transaction.atomic
def add_member(owner: Owner, chat_id: UUID, name: str) -> Participant:
    """Add a participant, who is the character of that name, created if there is none. Raise Missing, NameTaken.

    The chat's own character becomes a participant first, so that it goes on speaking and learning in the group.
    """
    chat = lock_chat(owner, chat_id)
    if not chat.is_group and chat.character is not None and chat.character.name != name:
        add_participant(owner, chat.pk, name=chat.character.name, character=chat.character)
    is_own = chat.character is not None and chat.character.name == name
    character = chat.character if is_own else find_or_create_character(owner, name, chat.namespace)
    return add_participant(owner, chat.pk, name=name, character=character)


@transaction.atomic
def character_of_participant(owner: Owner, chat_id: UUID, name: str) -> Character | None:
    """Return the character of the participant with this name, or None if there is no such participant.

    One without a character gets the one of their name: what they know is kept by character. Raise Missing.
    """
    chat = lock_chat(owner, chat_id)
    participant = chat.participants.filter(name=name).select_related("character").first()
    if participant is None:
        return None
    if participant.character is not None:
        return participant.character
    participant.character = find_or_create_character(owner, name, chat.namespace)
    participant.save(update_fields=["character"])
    _record(chat, is_group=True)
    return participant.character


@transaction.atomic
def update_participant(owner: Owner, chat_id: UUID, participant_id: UUID, **fields: Any) -> Participant:
    """Change name, character, muted or ``position`` (the others shift).

    Raise Missing, NameTaken, and Invalid for a character of another namespace.
    """
    chat = lock_chat(owner, chat_id)
    check_namespace(fields.get("character"), chat.namespace)
    participant = _find(chat, participant_id)
    if fields.get("name", participant.name) != participant.name:
        _check_name(chat, fields["name"])
    position = fields.pop("position", participant.position)
    for name, value in fields.items():
        setattr(participant, name, value)
    participant.save()
    order = list(chat.participants.exclude(pk=participant.pk).order_by("position"))
    order.insert(min(position, len(order)), participant)
    _save_positions(order)
    _record(chat, is_group=True)
    return participant


@transaction.atomic
def remove_participant(owner: Owner, chat_id: UUID, participant_id: UUID) -> None:
    """Remove a participant. Their messages stay. Raise Missing."""
    chat = lock_chat(owner, chat_id)
    participant = _find(chat, participant_id)
    messages = list(Message.objects.for_owner(owner).filter(participant=participant))
    participant.delete()
    remaining = list(chat.participants.order_by("position"))
    _save_positions(remaining)
    _record(chat, messages, is_group=bool(remaining))


def _find(chat: Chat, participant_id: UUID) -> Participant:
    return first_or_missing(
        chat.participants.filter(pk=participant_id), gettext("There is no such participant in this chat.")
    )


def _check_name(chat: Chat, name: str) -> None:
    if chat.participants.filter(name=name).exists():
        raise NameTaken(gettext("This chat already has a participant named %(name)s.") % {"name": name})


def _save_positions(order: list[Participant]) -> None:
    for position, participant in enumerate(order):
        if participant.position != position:
            participant.position = position
            participant.save(update_fields=["position"])


def _record(chat: Chat, messages: Sequence[Message] = (), *, is_group: bool) -> None:
    """Log the change, with the messages whose participant it changed."""
    chat.is_group = is_group
    chat.save(update_fields=["is_group"])
    record_change(chat, ChatChange.Kind.PARTICIPANTS, messages=messages)
