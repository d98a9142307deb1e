"""Takes back what came from text that stands there no longer: edited, swiped away, hidden or deleted.

It works from what is stored, not from what happened: called twice, or late, it does the same. What was taken back is
kept, retired with the reason; what it had replaced holds again; what a person wrote or corrected stays.
"""

from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q

from apps.chats.models import Chat, Message
from apps.common import clock
from apps.memories.lineage import relatives
from apps.memories.models import (
    Arc,
    Inheritance,
    Knowledge,
    LedgerEntry,
    Memory,
    MemorySource,
    Relationship,
    Scene,
    VersionedText,
)
from apps.memories.operations.layers import BY_HAND
from apps.memories.operations.merging import MERGED
from apps.memories.operations.remembering import take_back

GONE, CHANGED = "source_gone", "source_changed"
_CHECKS = (VersionedText.Kind.CONTINUITY, VersionedText.Kind.REPAIR)  # of the newest reply, which no tier has read yet
_SAID = (VersionedText.Kind.SUMMARY, *_CHECKS)


def invalidate(chat: Chat, changed: list[UUID]) -> None:
    """Retire what came from text that is gone. ``changed`` are the ids of the messages whose text is another now.

    Call it in a transaction that holds the chat's lock.
    """
    MemorySource.objects.for_owner(chat.owner_id).filter(message__in=changed).update(lost=True)
    _retire_memories(chat)
    _retire_inherited(chat, changed)
    for retire in (_retire_arcs, _retire_ledger, _retire_knowledge, _retire_relationships, _retire_scenes):
        retire(chat, changed)
    _retire_digests(chat, changed)


def _retire_memories(chat: Chat) -> None:
    """Those of a run of which no source is left as it was, and merges with such a member, whose others hold again."""
    sources = MemorySource.objects.for_owner(chat.owner_id).filter(memory=OuterRef("pk"))
    mine = Memory.objects.for_owner(chat.owner_id).filter(chat=chat, run__isnull=False)
    made = mine.filter(edited_by="", deleted_at=None).exclude(state=Memory.State.RETIRED)
    members = mine.filter(superseded_by=OuterRef("pk"), retired_reason=MERGED).filter(
        ~Exists(sources.filter(lost=False))
    )
    merges = Memory.objects.for_owner(chat.owner_id).filter(run__isnull=False, edited_by="", deleted_at=None)
    take_back(chat, list(merges.exclude(state=Memory.State.RETIRED).filter(Exists(members))), CHANGED)
    without = made.filter(~Exists(sources.filter(lost=False)))
    take_back(chat, list(without.filter(Exists(sources))), CHANGED)
    take_back(chat, list(without.filter(~Exists(sources))), GONE)


def _retire_inherited(chat: Chat, changed: list[UUID]) -> None:
    """Of what a branch took over, that of which it has no copy of a source left as it was."""
    rows = Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat).exclude(message_ids=[])
    standing = set(Message.objects.for_owner(chat.owner_id).filter(chat=chat).values_list("pk", flat=True))
    standing -= set(changed)
    for row in rows.exclude(state=Memory.State.RETIRED):
        left = [pk for pk in row.message_ids if pk in standing]
        if left != row.message_ids:
            row.message_ids = left
            if not left:
                row.state, row.retired_reason = Memory.State.RETIRED, CHANGED
                _restore_inherited(chat, row.memory_id)
            row.save(update_fields=["message_ids", "state", "retired_reason"])


def _restore_inherited(chat: Chat, gone: UUID) -> None:
    """What the branch had taken over as replaced by what is gone now holds in it again."""
    rows = Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat, superseded_by=gone)
    rows.filter(state=Memory.State.SUPERSEDED).update(
        state=Memory.State.ACTIVE, retired_reason="", superseded_by=None, valid_to=None
    )


def _lost(changed: list[UUID]) -> Q:
    """Rows of runs whose source was deleted, or is not what it was."""
    return Q(run__isnull=False, edited_by="") & (Q(source=None) | Q(source__in=changed))


def _retire_arcs(chat: Chat, changed: list[UUID]) -> None:
    mine = Arc.objects.for_owner(chat.owner_id).filter(chat=chat)
    mine.filter(state=Arc.State.RESOLVED, edited_by="").filter(Q(until=None) | Q(until__in=changed)).update(
        state=Arc.State.OPEN, summary="", until=None, until_swipe=None, updated_at=clock.now()
    )
    _retire(mine.filter(_lost(changed), state=Arc.State.OPEN), line_hash="")


def _retire_ledger(chat: Chat, changed: list[UUID]) -> None:
    """A value that was never told goes; the one before it, which ended there, holds on."""
    mine = LedgerEntry.objects.for_owner(chat.owner_id).filter(chat=chat)
    _retire(mine.filter(_lost(changed)).exclude(state=LedgerEntry.State.RETIRED))
    _forget_ends(mine, changed)
    closed = mine.filter(state__in=[LedgerEntry.State.REPLACED, LedgerEntry.State.CLEARED])
    closed = closed.exclude(retired_reason=BY_HAND)
    for row in closed.filter(Q(until=None) | Q(until__in=changed)).order_by("-pk"):
        same = mine.filter(entity=row.entity_id, field=row.field)
        later = same.filter(pk__gt=row.pk).exclude(state=LedgerEntry.State.RETIRED).order_by("pk").first()
        _reopen(row, later, LedgerEntry.State.CURRENT, LedgerEntry.State.REPLACED)


def _reopen(row: LedgerEntry | Relationship, later: Any, current: str, replaced: str) -> None:
    """What had ended where nothing ends any more goes on, up to what came ``later``."""
    row.state = replaced if later else current
    row.until = later.source if later else None
    row.until_swipe = later.swipe if later else None
    if later is None or later.source is not None:
        row.save(update_fields=["state", "until", "until_swipe", "updated_at"])


def _retire_knowledge(chat: Chat, changed: list[UUID]) -> None:
    mine = Knowledge.objects.for_owner(chat.owner_id).filter(chat=chat)
    mine.filter(state="retired", retired_reason="outdated").filter(Q(until=None) | Q(until__in=changed)).update(
        state=Knowledge.State.ACTIVE, retired_reason="", until=None, until_swipe=None, updated_at=clock.now()
    )
    _retire(mine.filter(_lost(changed), state=Knowledge.State.ACTIVE), line_hash="")


def _retire_relationships(chat: Chat, changed: list[UUID]) -> None:
    mine = Relationship.objects.for_owner(chat.owner_id).filter(chat=chat)
    _retire(mine.filter(_lost(changed)).exclude(state=Relationship.State.RETIRED))
    _forget_ends(mine, changed)
    closed = mine.filter(state__in=[Relationship.State.REPLACED, Relationship.State.REMOVED])
    others = relatives(chat)
    closed = closed.exclude(retired_reason=BY_HAND)
    for row in closed.filter(Q(until=None) | Q(until__in=changed)).order_by("-pk"):
        same = Relationship.objects.for_owner(chat.owner_id).filter(
            subject=row.subject_id, target=row.target_id, descriptor=row.descriptor
        )
        same = same.exclude(chat__in=others)
        later = same.filter(pk__gt=row.pk).exclude(state=Relationship.State.RETIRED).order_by("pk").first()
        _reopen(row, later, Relationship.State.CURRENT, Relationship.State.REPLACED)


def _retire_scenes(chat: Chat, changed: list[UUID]) -> None:
    """Scenes that ended with a message that is gone or changed, or before one that has. Of the others, those that
    hold a changed message, or begin elsewhere now, lose their recap, which is made anew."""
    mine = Scene.objects.for_owner(chat.owner_id).filter(chat=chat, state=Scene.State.FOUND, edited_by="")
    messages = Message.objects.for_owner(chat.owner_id).filter(pk__in=changed)
    indexes = list(messages.values_list("index", flat=True))
    _retire(mine.filter(_lost(changed) | Q(source__index__in=[index - 1 for index in indexes])))
    for index in indexes:
        around = mine.filter(source__index__gte=index).order_by("source__index").first()
        if around is not None:
            mine.filter(pk=around.pk).update(recap="", updated_at=clock.now())


def _retire_digests(chat: Chat, changed: list[UUID]) -> None:
    """A summary that holds lost text makes room for the last version before it. Later messages are taken in anew."""
    first = Message.objects.for_owner(chat.owner_id).filter(pk__in=changed).order_by("index").first()
    rows = VersionedText.objects.for_owner(chat.owner_id).filter(chat=chat, kind__in=_SAID, edited_by="")
    rows = rows.exclude(state=VersionedText.State.RETIRED).select_related("source").order_by("-version")
    swiped = set(
        rows.filter(kind__in=_CHECKS).exclude(swipe__position=F("source__swipe_id")).values_list("pk", flat=True)
    )
    gone = [row for row in rows if row.pk in swiped or _holds_lost_text(row, first.index if first else None)]
    for row in gone:
        was_current = row.state == VersionedText.State.CURRENT
        row.state, row.retired_reason = VersionedText.State.RETIRED, CHANGED if row.source_id else GONE
        row.save(update_fields=["state", "retired_reason", "updated_at"])
        if was_current and row.kind == VersionedText.Kind.SUMMARY:
            _make_previous_current(row, [one.pk for one in gone])


def _holds_lost_text(row: VersionedText, first_changed: int | None) -> bool:
    """Whether a message up to its last one has changed, or is missing: then that one has moved up."""
    if row.source is None:
        return True
    missing = row.source.index + 1 < row.parts.get("messages", 0)
    return missing or (first_changed is not None and row.source.index >= first_changed)


def _make_previous_current(row: VersionedText, gone: list[UUID]) -> None:
    versions = VersionedText.objects.for_owner(row.owner_id).filter(
        kind=row.kind, chat=row.chat_id, character=row.character_id
    )
    previous = versions.filter(state=VersionedText.State.REPLACED).exclude(pk__in=gone).order_by("-version").first()
    if previous is not None:
        previous.state = VersionedText.State.CURRENT
        previous.save(update_fields=["state", "updated_at"])


def _forget_ends(rows: Any, changed: list[UUID]) -> None:
    """What ended where the text has changed since may be told anew."""
    rows.filter(state="retired", until__in=changed).update(until=None, until_swipe=None)


def _retire(rows: Any, **fields: Any) -> None:
    changes = {"state": "retired", "updated_at": clock.now(), **fields}
    rows.filter(source=None).update(retired_reason=GONE, **changes)
    rows.filter(source__isnull=False).update(retired_reason=CHANGED, **changes)
