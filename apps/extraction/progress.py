"""Track which messages each tier has read, and find those that have changed in the meantime.

A message is stored as read together with a fingerprint of its active swipe, text, speaker, the witnesses that its data
name, and whether it is left out of memory, by a person or by moderators, who withhold it. If the fingerprint differs
now, the message has to be read again. Messages that are left out are not read; hidden ones are read like others.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.fields import ArrayField
from django.db import connection, transaction
from django.db.models import CharField, F, Func, Q, QuerySet

from apps.chats.locking import lock_chat
from apps.chats.models import Chat, Message
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.jobs import OPEN_STATES
from apps.common.scoping import Owner, owner_id_of
from apps.extraction.models import ExtractionProgress, RunStep
from apps.extraction.settings.schema import READING_TIERS
from apps.memories.models import VersionedText
from apps.memories.operations.branching import inherit
from apps.memories.operations.invalidation import invalidate
from apps.memories.witnesses import named_witnesses

# The fingerprint as SQL. Must give the same value as ``fingerprint_of``. ``concat_ws`` leaves out NULL.
_WITNESSES = """
    CASE WHEN json_typeof(swipe.extra #> '{loci,witnesses}') = 'array' THEN (
        SELECT coalesce(string_agg(name #>> '{}', '|' ORDER BY position), '')
        FROM json_array_elements(swipe.extra #> '{loci,witnesses}') WITH ORDINALITY AS named (name, position)
        WHERE json_typeof(name) = 'string'
    ) END"""
_LEFT_OUT = "CASE WHEN message.left_out OR message.withheld THEN 'left out' END"
FINGERPRINT = f"md5(concat_ws('|', swipe.id, message.is_user, message.name, swipe.mes, {_WITNESSES}, {_LEFT_OUT}))"
_TIERS = ArrayField(CharField(max_length=16))
_ORIGINAL_FINGERPRINT = FINGERPRINT.replace("message.", "original.").replace("swipe.", "original_swipe.")


def fingerprint_of(message: Message) -> str:
    """Return the MD5 hash, in hex, of a message's active swipe, text, speaker, named witnesses and whether left out."""
    swipe = message.active_swipe
    parts = [str(swipe.pk), "ft"[message.is_user], message.name, swipe.mes]
    named = named_witnesses(message)
    parts += [] if named is None else ["|".join(named)]
    parts += ["left out"] if message.left_out or message.withheld else []
    return hashlib.md5("|".join(parts).encode(), usedforsecurity=False).hexdigest()


def window_key(messages: Sequence[Message], part: str) -> str:
    """Return a hash, in hex, of the messages' ids and fingerprints, and of the part that is read of a long one."""
    parts = "\n".join([*(f"{message.pk}:{fingerprint_of(message)}" for message in messages), part])
    return hashlib.blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def messages_to_extract(chat: Chat, tiers: Sequence[str], start: int, end: int, *, again: bool = False) -> Any:
    """Return the messages from index ``start`` to ``end``, exclusive, that one of the tiers has not read.

    Messages that the model refused to read for a tier do not count as new; with ``again``, all messages do. Those that
    are left out of memory never do.
    """
    if not tiers:
        return Message.objects.for_owner(chat.owner_id).none()
    window = Message.objects.for_owner(chat.owner_id).filter(chat=chat, index__gte=start, index__lt=end).remembered()
    if again:
        return window.order_by("index")
    handled = Func(F("progress__tiers"), F("progress__refused"), function="array_cat", output_field=_TIERS)
    return (
        window.annotate(handled=handled).filter(Q(progress=None) | ~Q(handled__contains=list(tiers))).order_by("index")
    )


def end_of_window(chat: Chat) -> int:
    """Return the index at which a run's window ends, exclusive: that of the newest message if it is a reply."""
    newest = Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("-index").first()
    if newest is None:
        return 0
    return newest.index + 1 if newest.is_user else newest.index


def _withheld(owner: Any, chat: Any) -> QuerySet[Any]:
    return Message.objects.for_owner(owner).filter(chat=chat, withheld=True).values_list("pk", flat=True)


WITHHELD = CompiledQuery(_withheld)
STATE = CompiledQuery(
    lambda owner, chat: (
        Chat.objects.for_owner(owner)
        .filter(pk=chat)
        .values_list("rev", ArraySubquery(_withheld(owner, chat).order_by()))
    )
)


def withheld_in(chat: Chat) -> set[UUID]:
    """Return the ids of the messages that moderators withhold, which changes neither the chat's rev nor theirs."""
    return set(WITHHELD.rows(chat.owner_id, chat.pk))


def state_of(owner: Owner, chat_id: UUID) -> tuple[int, set[UUID]] | None:
    """Return the rev of a chat with what ``withheld_in`` returns; None if there is no such chat."""
    row: Any = STATE.first(owner_id_of(owner), chat_id)
    return None if row is None else (row[0], set(row[1]))


def record_read(chat: Chat, messages: Iterable[Message], tiers: Sequence[str], *, refused: Sequence[str] = ()) -> None:
    """Record that the tiers have read the given versions of the messages, and for which the model refused to."""
    rows = [(message.pk, fingerprint_of(message)) for message in messages]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO extraction_extractionprogress AS progress (
                id, owner_id, chat_id, message_id, fingerprint, tiers, refused
            )
            SELECT gen_random_uuid(), %(owner)s, %(chat)s, new.id, new.fingerprint, %(tiers)s::varchar[],
                %(refused)s::varchar[]
            FROM unnest(%(ids)s::uuid[], %(fingerprints)s::text[]) AS new (id, fingerprint)
            -- Tiers that read the same text before have still read it; those that read another one have not.
            ON CONFLICT (message_id) DO UPDATE SET
                fingerprint = excluded.fingerprint,
                tiers = CASE WHEN progress.fingerprint = excluded.fingerprint
                    THEN ARRAY(SELECT DISTINCT unnest(progress.tiers || excluded.tiers)) ELSE excluded.tiers END,
                refused = CASE WHEN progress.fingerprint = excluded.fingerprint
                    THEN ARRAY(
                        SELECT unnest(progress.refused || excluded.refused) EXCEPT SELECT unnest(excluded.tiers)
                    ) ELSE excluded.refused END
            """,
            {
                "owner": chat.owner_id,
                "chat": chat.pk,
                "tiers": list(tiers),
                "refused": list(refused),
                "ids": [pk for pk, _ in rows],
                "fingerprints": [fingerprint for _, fingerprint in rows],
            },
        )


def forget_read_from(chat: Chat, tiers: Sequence[str], start: int) -> None:
    """Forget that the tiers have read, or refused to read, the messages from index ``start`` on."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE extraction_extractionprogress AS progress
            SET tiers = ARRAY(SELECT unnest(progress.tiers) EXCEPT SELECT unnest(%(tiers)s::varchar[])),
                refused = ARRAY(SELECT unnest(progress.refused) EXCEPT SELECT unnest(%(tiers)s::varchar[]))
            FROM chats_message AS message
            WHERE message.id = progress.message_id AND message.chat_id = %(chat)s AND message.index >= %(start)s
            """,
            {"tiers": list(tiers), "chat": chat.pk, "start": start},
        )


def changed_message_ids(chat: Chat) -> list[UUID]:
    """Return the ids of messages that have changed since they were read."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT message.id
            FROM extraction_extractionprogress AS progress
            JOIN chats_message AS message ON message.id = progress.message_id
            JOIN chats_swipe AS swipe ON swipe.message_id = message.id AND swipe.position = message.swipe_id
            WHERE progress.owner_id = %(owner)s AND progress.chat_id = %(chat)s
              AND progress.fingerprint <> {FINGERPRINT}
            """,  # noqa: S608
            {"owner": chat.owner_id, "chat": chat.pk},
        )
        return [row[0] for row in cursor.fetchall()]


def forget_read(chat: Chat, message_ids: Sequence[UUID]) -> None:
    """Forget that any tier, and any step of an open run, has read the messages."""
    ExtractionProgress.objects.for_owner(chat.owner_id).filter(chat=chat, message__in=message_ids).delete()
    # A finished step of an open run would be skipped, though its window is to be read again.
    steps = RunStep.objects.for_owner(chat.owner_id).filter(run__chat=chat, run__state__in=OPEN_STATES)
    indexes = Message.objects.for_owner(chat.owner_id).filter(pk__in=message_ids).values_list("index", flat=True)
    for index in indexes:
        steps.filter(first__index__lte=index, last__index__gte=index).delete()


@transaction.atomic
def invalidate_chat(owner: Owner, chat_id: UUID) -> int:
    """Retire memories whose sources changed. Return how many messages must be extracted again. Raise Missing."""
    chat = lock_chat(owner, chat_id)
    changed = changed_message_ids(chat)
    invalidate(chat, changed)
    forget_read(chat, changed)
    return len(changed)


def on_chat_branched(chat: Chat, **kwargs: Any) -> None:
    """Copy the parent's memories and progress to a new branch, in the transaction that creates it."""
    if chat.parent is None or chat.parent_index is None:
        return
    invalidate_chat(chat.parent.owner_id, chat.parent.pk)
    inherit(chat)
    copy_progress(chat.parent, chat, chat.parent_index)


def is_checked(reply: Message) -> bool:
    """Return whether the reply, as it is now, has been compared with what is known. Its swipes must be loaded."""
    rows = VersionedText.objects.for_owner(reply.owner_id).filter(
        chat=reply.chat_id, kind=VersionedText.Kind.CONTINUITY, state=VersionedText.State.CURRENT
    )
    return rows.filter(source=reply, swipe=reply.active_swipe.pk, created_at__gte=reply.updated_at).exists()


def refused_messages(chat: Chat) -> Any:
    """Return the messages that the model refused to read for a tier."""
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat)
    return rows.filter(progress__refused__len__gt=0).order_by("index")


def retry_refused(chat: Chat) -> int:
    """Let the messages that the model refused to read count as new. Return their number."""
    rows = ExtractionProgress.objects.for_owner(chat.owner_id).filter(chat=chat, refused__len__gt=0)
    return rows.update(refused=[])


def copy_progress(parent: Chat, branch: Chat, last_index: int) -> None:
    """Record a branch's messages as read by the tiers that have read the parent's.

    ``last_index`` is the index of the last message copied from the parent. Messages that have changed since they were
    read must be extracted again.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO extraction_extractionprogress (
                id, owner_id, chat_id, message_id, fingerprint, tiers, refused
            )
            SELECT gen_random_uuid(), message.owner_id, message.chat_id, message.id, {FINGERPRINT}, progress.tiers,
                progress.refused
            FROM extraction_extractionprogress AS progress
            JOIN chats_message AS original ON original.id = progress.message_id AND original.index <= %(last_index)s
            JOIN chats_swipe AS original_swipe
                ON original_swipe.message_id = original.id AND original_swipe.position = original.swipe_id
            JOIN chats_message AS message ON message.chat_id = %(branch)s AND message.index = original.index
            JOIN chats_swipe AS swipe ON swipe.message_id = message.id AND swipe.position = message.swipe_id
            WHERE progress.chat_id = %(parent)s AND progress.fingerprint = {_ORIGINAL_FINGERPRINT}
            """,  # noqa: S608
            {"parent": parent.pk, "branch": branch.pk, "last_index": last_index},
        )


def skip_all(chat: Chat) -> None:
    """Let every message of the chat count as read, without reading any."""
    skip_to(chat, READING_TIERS, chat.message_count)


def skip_to(chat: Chat, tiers: Sequence[str], end: int) -> None:
    """Let the messages up to index ``end``, exclusive, count as read by the tiers, without reading them."""
    while batch := list(messages_to_extract(chat, tiers, 0, end).with_swipes()[:1000]):
        record_read(chat, batch, tiers)
