"""End entries of other stories for those chats that see the end."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from apps.chats.models import Chat, Message
from apps.memories.models import Arc, Ending, Knowledge, Relationship


def end_elsewhere(
    chat: Chat,
    entry: Arc | Knowledge | Relationship,
    state: str,
    message: Message | None,
    *,
    summary: str = "",
    ended_by: str = "",
) -> int:
    """End an entry of another story, and its copies in branches of that, at a message of ``chat``.

    Return 0 if it had ended there before, else 1.
    """
    layer = entry.ending_field()
    if Ending.objects.for_owner(chat.owner_id).filter(**{layer: entry.pk}, chat=chat).exists():
        return 0
    Ending.objects.bulk_create(
        (
            Ending(
                owner_id=chat.owner_id,
                chat=chat,
                story=chat.story,
                message=message,
                state=state,
                summary=summary,
                ended_by=ended_by,
                **{f"{layer}_id": pk},
            )
            for pk in {entry.pk, *_copies_of(entry)}
        ),
        ignore_conflicts=True,
    )
    return 1


def _copies_of(entry: Arc | Knowledge | Relationship) -> Iterable[UUID]:
    """Return the ids of the copies of an entry that branches of its story hold."""
    rows: Any = type(entry).objects.for_owner(entry.owner_id).exclude(chat=None)
    same = {name: getattr(entry, name) for name in entry.life.same}
    story = entry.chat.story if entry.chat else None
    ids: Iterable[UUID] = rows.filter(chat__story=story, **same).values_list("pk", flat=True)
    return ids


def remove_lost_endings(chat: Chat, changed: list[UUID]) -> None:
    """Remove endings that runs made at messages which were deleted or changed.

    A relationship that a later message of the chat has set too ended there.
    """
    lost = Ending.objects.for_owner(chat.owner_id).filter(chat=chat, ended_by="")
    for ending in [*lost.filter(message=None), *lost.filter(message__in=changed)]:
        later = _later_source(ending)
        if later is None:
            ending.delete()
        else:
            ending.message = later
            ending.save(update_fields=["message"])


def _later_source(ending: Ending) -> Message | None:
    """Return the message from which the ending's chat has the same descriptor of the same pair, if any.

    Of what other stories can end, only relationships have a slot.
    """
    if ending.relationship is None:
        return None
    same = {name: getattr(ending.relationship, name) for name in Relationship.life.slot}
    rows = Relationship.objects.for_owner(ending.owner_id).filter(chat=ending.chat_id, **same)
    rows = rows.exclude(state=Relationship.State.RETIRED).exclude(source=None).select_related("source")
    row = rows.order_by("pk").first()
    return row.source if row else None
