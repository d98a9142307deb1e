"""Read relationships between people."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.chats.models import Character, Chat
from apps.memories.lineage import is_remembered, is_seen_in
from apps.memories.models import Entity, Relationship
from apps.memories.queries.knowledge import valid_at


@dataclass
class RelationshipPair:
    """The current and the earlier descriptors of how ``subject`` relates to ``target``."""

    subject: Entity
    target: Entity
    descriptors: list[Relationship]
    history: list[Relationship]


def relationships_in(chat: Chat, at: int | None = None) -> list[RelationshipPair]:
    """Return every directed pair of people with their descriptors.

    ``at`` is a message index: relationships are returned as they were after that message.
    """
    rows = Relationship.objects.for_owner(chat.owner_id).exclude(state=Relationship.State.RETIRED)
    if chat.character_id:
        rows = rows.filter(is_seen_in(chat), Q(chat=chat) | Q(subject__character=chat.character_id))
    else:
        rows = rows.filter(chat=chat)
    if at is None:
        return _pairs(rows, rows.filter(state=Relationship.State.CURRENT))
    valid = valid_at(rows, chat, at).filter(Q(state=Relationship.State.CURRENT) | Q(until__chat=chat))
    return _pairs(rows.filter(Q(pk__in=valid.values("pk")) | Q(until__chat=chat, until__index__lte=at)), valid)


def relationships_of(character: Character) -> list[RelationshipPair]:
    """Return every directed pair of the character's registry, from all chats.

    Two branches can hold the same descriptor of a pair; the newer one is returned.
    """
    rows = Relationship.objects.for_owner(character.owner_id).filter(subject__character=character)
    rows = rows.filter(is_remembered()).exclude(state=Relationship.State.RETIRED)
    pairs = _pairs(rows, rows.filter(state=Relationship.State.CURRENT))
    for pair in pairs:
        pair.descriptors = list({row.descriptor: row for row in pair.descriptors}.values())
    return pairs


def _pairs(rows: QuerySet[Relationship], valid: QuerySet[Relationship]) -> list[RelationshipPair]:
    """Group ``rows`` by subject and target. Those also in ``valid`` are descriptors, the others history."""
    current = set(valid.values_list("pk", flat=True))
    pairs: dict[tuple[UUID, UUID], RelationshipPair] = {}
    for row in rows.select_related("subject", "target", "source__chat", "until__chat").order_by("pk"):
        key = (row.subject_id, row.target_id)
        pair = pairs.setdefault(key, RelationshipPair(row.subject, row.target, [], []))
        (pair.descriptors if row.pk in current else pair.history).append(row)
    return list(pairs.values())
