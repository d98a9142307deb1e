"""Read relationships between people."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.chats.models import Character, Chat
from apps.memories.lineage import is_remembered, is_seen_in
from apps.memories.models import Ending, Entity, Relationship
from apps.memories.queries.endings import all_endings, endings_seen_in, has_ended, with_endings
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
    endings = endings_seen_in(chat)
    if at is None:
        return _pairs(rows, rows.filter(state=Relationship.State.CURRENT), endings)
    endings = endings.filter(chat=chat, message__index__lte=at)
    has_ended_here = Q(has_ended(Relationship, endings))
    valid = valid_at(rows, chat, at).filter(Q(state=Relationship.State.CURRENT) | Q(until__chat=chat))
    has_ended_here |= Q(until__chat=chat, until__index__lte=at)
    return _pairs(rows.filter(Q(pk__in=valid.values("pk")) | has_ended_here), valid, endings)


def relationships_of(character: Character) -> list[RelationshipPair]:
    """Return every directed pair of the character's registry, from all chats.

    Two branches can hold the same descriptor of a pair; the newer one is returned.
    """
    rows = Relationship.objects.for_owner(character.owner_id).filter(subject__character=character)
    rows = rows.filter(is_remembered()).exclude(state=Relationship.State.RETIRED)
    pairs = _pairs(rows, rows.filter(state=Relationship.State.CURRENT), all_endings(character.owner_id))
    for pair in pairs:
        pair.descriptors = list({row.descriptor: row for row in pair.descriptors}.values())
    return pairs


def _pairs(
    rows: QuerySet[Relationship], valid: QuerySet[Relationship], endings: QuerySet[Ending]
) -> list[RelationshipPair]:
    """Group ``rows`` by subject and target.

    Those also in ``valid`` that none of ``endings`` ended are descriptors, the others history.
    """
    current = set(valid.filter(~has_ended(Relationship, endings)).values_list("pk", flat=True))
    pairs: dict[tuple[UUID, UUID], RelationshipPair] = {}
    rows = rows.select_related("subject", "target", "source__chat", "until__chat").order_by("pk")
    for row in with_endings(rows, endings):
        key = (row.subject_id, row.target_id)
        pair = pairs.setdefault(key, RelationshipPair(row.subject, row.target, [], []))
        (pair.descriptors if row.pk in current else pair.history).append(row)
    return list(pairs.values())
