"""Determine who in a group witnessed a message, and which characters learn from the chat."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from django.db.models import Q

from apps.chats.message_data.namespaces import LOCI_NAMESPACE, namespace_of
from apps.chats.models import Character, Chat, Message, Participant
from apps.memories.models import Memory

NOBODY = UUID(int=0)  # stands for no witness at all, since an empty list means everybody
# ``is_witnessed_by`` for statements in SQL, with the parameter ``witness``.
WITNESSED_SQL = "(witnessed_by = '{}' OR witnessed_by && %(witness)s::uuid[])"


class Said(Protocol):
    """What tells who witnessed a message: its data and its author."""

    @property
    def extra(self) -> Mapping[str, Any]: ...

    @property
    def participant_id(self) -> UUID | None: ...


def learners(chat: Chat) -> Sequence[Character | None]:
    """Return the characters that keep long-term memories of the chat: each unmuted member of a group once.

    For any other chat, or a group without such members, return [None], which stands for the chat's own character.
    """
    if not chat.is_group:
        return [None]
    members = chat.participants.filter(character__isnull=False, muted=False).order_by("position")
    characters = {member.character_id: member.character for member in members.select_related("character")}
    return list(characters.values()) or [None]


def participants_of(chat: Chat) -> list[Participant]:
    """Return the members of a group by position; none for any other chat."""
    return list(chat.participants.order_by("position")) if chat.is_group else []


def named_witnesses(message: Said) -> list[str] | None:
    """Return the names in ``witnesses`` of a message's data, or None if it says nothing about them."""
    named = namespace_of(message.extra, LOCI_NAMESPACE).get("witnesses")
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else None


def witnesses(message: Said, participants: Iterable[Participant]) -> set[UUID]:
    """Return the ids of participants who witnessed a message: those named in its data, else all unmuted ones.

    The author of the message is always included.
    """
    named = named_witnesses(message)
    if named is not None:
        names = {name.casefold() for name in named}
        return {
            member.pk
            for member in participants
            if member.name.casefold() in names or member.pk == message.participant_id
        }
    return {member.pk for member in participants if not member.muted or member.pk == message.participant_id}


def witnessed_by_all_of(messages: Iterable[Message], participants: Sequence[Participant]) -> list[UUID]:
    """Return the ids of participants who witnessed all messages: [] if everybody did, [NOBODY] if no one did."""
    all_ids = {member.pk for member in participants}
    common_ids = set(all_ids)
    for message in messages:
        common_ids &= witnesses(message, participants)
    return (sorted(common_ids) or [NOBODY]) if common_ids != all_ids else []


def witnessed_turns(
    turns: Mapping[int, Message], character: Character | None, participants: Sequence[Participant]
) -> dict[int, Message]:
    """Return the turns that a member witnessed; outside groups, all turns."""
    member_ids = {member.pk for member in participants if character is not None and member.character_id == character.pk}
    if not member_ids:
        return dict(turns)
    return {number: turn for number, turn in turns.items() if witnesses(turn, participants) & member_ids}


def is_witnessed_by(ids: Any) -> Q:
    """Return the condition of session memories that a member of a group witnessed, who has the ids of ``ids_in_story``.

    Long-term memories need none: each member has only those of what they witnessed.
    """
    return Q(witnessed_by=[]) | Q(witnessed_by__overlap=ids)


def is_known_to(character_id: Any, ids: Any) -> Q:
    """Return the condition of a group's memories that one of its characters knows, who has the ids of ``ids_in_story``.

    Their own long-term memories are of what they witnessed. Without a character, they are those that everybody knows.
    """
    is_own = Q(tier=Memory.Tier.LONG_TERM, character=character_id)
    is_of_session = Q(tier=Memory.Tier.SESSION)
    if character_id is None:
        return (is_own | is_of_session) & is_witnessed_by(ids)
    return is_own | is_of_session & is_witnessed_by(ids)


def ids_in_story(witness: Participant) -> list[UUID]:
    """Return the ids that the participant's character has in all branches of the story, the participant's first."""
    same = Participant.objects.for_owner(witness.owner_id).filter(
        character=witness.character_id, chat__story=witness.chat.story
    )
    return [witness.pk, *same.exclude(pk=witness.pk).values_list("pk", flat=True)]


def participant_of(chat: Chat, character: Character | None) -> Participant | None:
    """Return the participant of a group that is this character, or None."""
    if character is None or not chat.is_group:
        return None
    return chat.participants.filter(character=character).select_related("chat").order_by("position").first()
