"""Retire memories and layer entries whose source text was edited, swiped away, left out of memory or deleted.

The stored rows decide, not the event, so that a late or repeated call has the same effect. Retired rows are kept with
the reason, and rows that they had superseded become active again. Rows that a person wrote or corrected stay.

Memories, which have several sources, and versioned texts, which cover many messages, have functions of their own; all
other layers are one loop.
"""

from typing import Any
from uuid import UUID

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Subquery, Value, When
from django.utils import timezone

from apps.chats.models import Chat, Message
from apps.memories.kinds import LAYERS, entries_of
from apps.memories.models import (
    REPLACED,
    RETIRED,
    Inheritance,
    LayerEntry,
    Memory,
    MemorySource,
    Passage,
    RetiredReason,
    Scene,
    VersionedText,
)
from apps.memories.operations.bin import update_bin
from apps.memories.operations.endings import remove_lost_endings
from apps.memories.operations.ordering import follow_order
from apps.memories.operations.superseding import retract_memories
from apps.memories.queries.scenes import finished_scenes
from apps.memories.visibility import is_seen_in

# What a fresh start retired may come back.
_IS_NOT_RETIRED = ~Q(state=RETIRED) | Q(retired_reason=RetiredReason.FRESH_START)
# A check and its repair note are about one message; a summary covers all messages up to its last one. Profiles and the
# canon are made from memories, and renewed on another schedule.
_CHECKS = (VersionedText.Kind.CONTINUITY, VersionedText.Kind.REPAIR)
_FROM_MESSAGES = (VersionedText.Kind.SUMMARY, *_CHECKS)


def invalidate(chat: Chat, changed: list[UUID]) -> None:
    """Retire rows whose source text was deleted or changed. ``changed`` are the ids of messages with a new text.

    Where messages were moved, redo the supersessions that their order had decided.
    Must be called in a transaction that holds the chat's lock.
    """
    MemorySource.objects.for_owner(chat.owner_id).filter(message__in=changed).update(lost=True)
    is_silent = Q(message__left_out=True) | Q(message__withheld=True)
    Passage.objects.for_owner(chat.owner_id).filter(is_silent, chat=chat).delete()
    _retire_memories(chat)
    _retire_inherited(chat, changed)
    for model in LAYERS:
        rows = entries_of(model, chat)
        if model.life.versioned:
            _retire_versions(rows, chat, changed)
        else:
            _retire_entries(model, rows, changed)
            _continue_entries(model, rows, chat, changed)
    remove_lost_endings(chat, changed)
    _update_recaps(chat, changed)
    follow_order(chat)


def _retire_memories(chat: Chat) -> None:
    """Retire memories of runs whose sources all have changed, and merges with such a member.

    The other members of those merges become active again. Memories of other chats that this one confirmed are looked at
    too, by their character, since the rows of deleted messages no longer say which. Tombstones are retired too, so that
    what they had superseded becomes active again; they stay tombstones.
    """
    sources = MemorySource.objects.for_owner(chat.owner_id).filter(memory=OuterRef("pk"))
    members_of_group = chat.participants.filter(character__isnull=False).values("character")
    confirmed = Q(character=chat.character_id) if chat.character_id else Q(character__in=members_of_group)
    could_be_lost = Q(chat=chat) | confirmed & Q(tier=Memory.Tier.LONG_TERM, chat__isnull=False)
    from_runs = Memory.objects.for_owner(chat.owner_id).filter(could_be_lost, run__isnull=False)
    unedited = from_runs.filter(_IS_NOT_RETIRED, edited_by="")
    members = from_runs.filter(superseded_by=OuterRef("pk"), retired_reason=RetiredReason.MERGED).filter(
        ~Exists(sources.filter(lost=False))
    )
    merges = Memory.objects.for_owner(chat.owner_id).filter(run__isnull=False, edited_by="")
    merges = merges.exclude(state=Memory.State.RETIRED).filter(Exists(members))
    retract_memories(list(merges), RetiredReason.SOURCE_CHANGED)
    sourceless = unedited.filter(~Exists(sources.filter(lost=False)))
    retract_memories(list(sourceless.filter(Exists(sources))), RetiredReason.SOURCE_CHANGED)
    retract_memories(list(sourceless.filter(~Exists(sources))), RetiredReason.SOURCE_GONE)
    _move_beginnings(chat)


def _move_beginnings(chat: Chat) -> None:
    """Let memories whose first message was lost begin at the latest message that is left of their sources."""
    left = MemorySource.objects.for_owner(chat.owner_id).filter(
        memory=OuterRef("pk"), message__chat=OuterRef("chat"), lost=False
    )
    latest = left.order_by("-message__index").values("message")[:1]
    lost = MemorySource.objects.for_owner(chat.owner_id).filter(
        memory=OuterRef("pk"), message=OuterRef("valid_from"), lost=True
    )
    rows = Memory.objects.for_owner(chat.owner_id).filter(Q(valid_from=None) | Exists(lost), Exists(left), chat=chat)
    rows.update(valid_from=Subquery(latest), updated_at=timezone.now())


def _retire_inherited(chat: Chat, changed: list[UUID]) -> None:
    """Retire inherited memories whose sources all have changed in the branch, and the branch's merges with them."""
    rows = Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat).exclude(message_ids=[])
    rows = rows.filter(_IS_NOT_RETIRED, memory__run__isnull=False, memory__edited_by="")
    inherited = list(rows.select_related("superseded_by"))
    if not inherited:
        return
    unchanged = set(Message.objects.for_owner(chat.owner_id).filter(chat=chat).values_list("pk", flat=True))
    unchanged -= set(changed)
    lost = []
    for row in inherited:
        remaining = [pk for pk in row.message_ids if pk in unchanged]
        if remaining != row.message_ids:
            row.message_ids = remaining
            if not remaining:
                lost.append(row.memory_id)
                if row.retired_reason == RetiredReason.MERGED and row.superseded_by and not row.superseded_by.edited_by:
                    retract_memories([row.superseded_by], RetiredReason.SOURCE_CHANGED)
                row.state, row.retired_reason = Memory.State.RETIRED, RetiredReason.SOURCE_CHANGED
                # Memories that it had superseded in the branch become active again.
                superseded = Inheritance.objects.for_owner(chat.owner_id).filter(
                    chat=chat, superseded_by=row.memory_id, state=Memory.State.SUPERSEDED
                )
                superseded.update(state=Memory.State.ACTIVE, retired_reason="", superseded_by=None, valid_to=None)
            row.save(update_fields=["message_ids", "state", "retired_reason"])
    # Where its own chat is in the bin, a memory was kept out of it by the branch.
    update_bin(chat, Memory.with_bin.for_owner(chat.owner_id).filter(pk__in=lost))


def _retire_entries(model: type[LayerEntry], rows: QuerySet[Any], changed: list[UUID]) -> None:
    """Retire entries of runs whose text was lost, those that a fresh start has set aside included."""
    life = model.life
    # Where an entry that has ended stays, it goes all the same if its end is lost with its beginning.
    may_go = life.ended & _is_end_lost(changed) if life.ended_stays else life.ended
    may_go |= Q(state=life.holds) | Q(retired_reason=RetiredReason.FRESH_START)
    lost = rows.filter(may_go, model.has_lost_text(changed), run__isnull=False, edited_by="")
    changes = {"state": RETIRED, "state_before": "", "updated_at": timezone.now()}
    changes |= {"line_hash": ""} if hasattr(model, "line_hash") else {}
    is_gone = When(source=None, then=Value(RetiredReason.SOURCE_GONE))
    lost.update(retired_reason=Case(is_gone, default=Value(RetiredReason.SOURCE_CHANGED)), **changes)
    # A run doesn't write what a later message has ended: a lost end must not keep it from writing a value again.
    rows.filter(state=RETIRED, until__in=changed).update(until=None, until_swipe=None)


def _continue_entries(model: type[LayerEntry], rows: QuerySet[Any], chat: Chat, changed: list[UUID]) -> None:
    """Let entries hold again that lost text had ended, or extend them up to the entry that replaces them now.

    Ends that a person decided stay.
    """
    life = model.life
    ended = rows.filter(life.ended, _is_end_lost(changed), **{life.ended_by: ""})
    for row in ended.order_by("-pk"):
        later = _later_in_slot(row, chat)
        if later is not None and later.source is None:
            continue  # nothing tells where it would end
        row.state, row.retired_reason = REPLACED if later else life.holds, ""
        row.until, row.until_swipe = (later.source, later.swipe) if later else (None, None)
        if life.outcome:
            setattr(row, life.outcome, "")
        fields = ["state", "retired_reason", "until", "until_swipe", "updated_at"]
        row.save(update_fields=[*fields, *filter(None, [life.outcome])])


def _is_end_lost(changed: list[UUID]) -> Q:
    return Q(until=None) | Q(until__in=changed)


def _later_in_slot(row: LayerEntry, chat: Chat) -> Any:
    """Return the next entry of the same slot, if any: of what other stories can end, also one of another story."""
    life = row.life
    if not life.slot:
        return None
    rows: QuerySet[Any] = type(row).objects.for_owner(row.owner_id)
    rows = rows.filter(is_seen_in(chat) if row.ending_field() else Q(chat=chat), pk__gt=row.pk)
    same = rows.filter(**{name: getattr(row, name) for name in life.slot}).exclude(state=RETIRED)
    return same.select_related("source", "swipe").order_by("pk").first()


def _update_recaps(chat: Chat, changed: list[UUID]) -> None:
    """Clear recaps that contain a changed message, or no longer the same number of messages, to be written again.

    Only scenes have a text about the messages between two of their rows. A break that a person set goes with its
    message, and the recap with the break.
    """
    recaps = Scene.objects.for_owner(chat.owner_id).filter(chat=chat, state=Scene.State.RECAP)
    recaps.filter(source=None).delete()
    found = Scene.objects.for_owner(chat.owner_id).filter(chat=chat, state=Scene.State.FOUND, edited_by="")
    cleared = {"recap": "", "recapped": None, "updated_at": timezone.now()}
    messages = Message.objects.for_owner(chat.owner_id).filter(pk__in=changed)
    for index in messages.values_list("index", flat=True):
        for of_state in (found, recaps):
            scene = of_state.filter(source__index__gte=index).order_by("source__index").first()
            if scene is not None:
                of_state.filter(pk=scene.pk).update(**cleared)
    written = list((found | recaps).exclude(recapped=None))
    lengths: dict[UUID | None, int | None] = {}
    if written:
        lengths = {scene.last.pk: scene.end + 1 - scene.start for scene in finished_scenes(chat)}
    outdated = [row.pk for row in written if lengths.get(row.source_id, row.recapped) != row.recapped]
    Scene.objects.for_owner(chat.owner_id).filter(pk__in=outdated).update(**cleared)


def _retire_versions(rows: QuerySet[Any], chat: Chat, changed: list[UUID]) -> None:
    """Retire texts that cover lost messages. The last summary without them becomes current again."""
    messages = Message.objects.for_owner(chat.owner_id).filter(pk__in=changed).order_by("index")
    first = messages.values_list("index", flat=True).first()
    rows = rows.filter(_IS_NOT_RETIRED, kind__in=_FROM_MESSAGES, edited_by="")
    rows = rows.select_related("source", "swipe").order_by("-version")
    outdated = [row for row in rows if _is_of_other_swipe(row) or _covers_lost_text(row, first)]
    for row in outdated:
        was_current = row.state == VersionedText.State.CURRENT
        row.state = VersionedText.State.RETIRED
        row.retired_reason = RetiredReason.SOURCE_CHANGED if row.source_id else RetiredReason.SOURCE_GONE
        row.state_before = ""
        row.save(update_fields=["state", "state_before", "retired_reason", "updated_at"])
        if was_current and row.kind == VersionedText.Kind.SUMMARY:
            _make_previous_current(row, [version.pk for version in outdated])


def _is_of_other_swipe(row: VersionedText) -> bool:
    """Return whether a check is of another swipe of its message than the active one."""
    if row.kind not in _CHECKS or row.source is None:
        return False
    return row.swipe is None or row.swipe.position != row.source.swipe_id


def _covers_lost_text(row: VersionedText, first_changed: int | None) -> bool:
    """Return whether a message covered by the text was changed or deleted.

    ``first_changed`` is the lowest index of a changed message. After a deletion there are fewer messages up to the last
    one covered than when the text was written. Those inserted since don't count: their ids are higher than the text's.
    """
    if row.source is None:
        return True
    if first_changed is not None and row.source.index >= first_changed:
        return True
    covered = Message.objects.for_owner(row.owner_id).filter(chat=row.chat_id, index__lte=row.source.index)
    return "messages" in row.parts and covered.filter(pk__lt=row.pk).count() < row.parts["messages"]


def _make_previous_current(row: VersionedText, excluded: list[UUID]) -> None:
    """Make the last replaced version before ``row`` that isn't in ``excluded`` the current one."""
    versions = VersionedText.objects.for_owner(row.owner_id).filter(
        kind=row.kind, chat=row.chat_id, character=row.character_id
    )
    previous = versions.filter(state=VersionedText.State.REPLACED).exclude(pk__in=excluded).order_by("-version").first()
    if previous is not None:
        previous.state = VersionedText.State.CURRENT
        previous.save(update_fields=["state", "updated_at"])
