"""Lock a chat, check the integrity that the client sent, and record the change.

Every write to a chat runs in one transaction: ``lock_chat``, check the guard, change rows, ``record_change``.
"""

import hashlib
import json
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from itertools import accumulate
from typing import Any, Self
from uuid import UUID

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.chats.models import Chat, ChatChange, Message
from apps.chats.queries.changes import PAGE_BYTES, HistoryGone, message_sizes, page_of_changes, rev_of
from apps.chats.serializers import change_documents, message_document
from apps.chats.signals import ChatChanged, before_forced_write, chat_changed
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.problems import Conflict, Missing, Problem, ProblemType
from apps.common.scoping import Owner, owner_id_of
from apps.common.words import Words

DISPATCH_TASK = "apps.chats.tasks.dispatch_chat_committed"
# Excluded since clients don't send them: the layout of an imported line, the date parsed from send_date, and the hash
# of a scene's texts.
UNFINGERPRINTED_FIELDS = {"layout", "sent_at", "hash"}


@dataclass(frozen=True)
class Guard:
    """The state of the chat that the client knows, and how to treat later writes.

    ``integrity`` names the known state. ``rebase`` accepts the write unless the same data has changed.
    ``force`` skips the check. ``optional`` allows a write without an integrity. With ``has_idempotency_key``, retries
    are recognised by the request's Idempotency-Key. ``writer`` is the ``accounts.authentication.writer_of`` the
    request, or empty for a write that no request makes. ``instance`` is the one that the request's token is bound to.
    """

    integrity: UUID | None = None
    rebase: bool = False
    force: bool = False
    optional: bool = False
    has_idempotency_key: bool = False
    writer: str = ""
    instance: str = ""

    def require_integrity(self) -> None:
        """Raise IntegrityRequired if the integrity is missing."""
        if self.integrity is None and not self.force and not self.optional:
            raise IntegrityRequired

    def is_stale(self, chat: Chat) -> bool:
        """Return whether the chat has changed since the known state, and the write does not skip the check."""
        return not self.force and self.is_behind(chat)

    def is_behind(self, chat: Chat) -> bool:
        """Return whether the chat has changed since the known state."""
        return self.integrity is not None and self.integrity != chat.integrity


NO_INTEGRITY = Guard()


class IntegrityRequired(Problem):
    status = 428
    type = ProblemType.INTEGRITY_REQUIRED
    title = "An integrity is required"

    def __init__(self) -> None:
        super().__init__('Send the "integrity" that you know, or "force": true.')


class IntegrityConflict(Conflict):
    """The chat has changed since the known state. The response lists the changes if the log still holds all of them."""

    type = ProblemType.INTEGRITY_CONFLICT
    title = "The chat has changed"

    @classmethod
    def for_chat(cls, chat: Chat, guard: Guard) -> Self:
        detail = "The chat was changed by somebody else in the meantime. Apply the changes and try again."
        return cls(detail, **_current_state(chat, guard))


class PatchConflict(Conflict):
    """The messages or metadata keys that the write changes have changed since the known state."""

    type = ProblemType.INTEGRITY_CONFLICT
    title: Words = "The same data was changed by somebody else"

    @classmethod
    def for_messages(cls, chat: Chat, guard: Guard, message_ids: Collection[UUID], detail: str) -> Self:
        """Return the conflict for messages, with their current state; null for a deleted message.

        Messages beyond PAGE_BYTES are left out, and ``reread`` says so.
        """
        sizes = message_sizes(chat, message_ids)
        rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk__in=_that_fit(sizes))
        conflicts: list[dict[str, Any]] = [
            {"id": str(message.pk), "theirs": message_document(message)}
            for message in rows.with_swipes().order_by("index")
        ]
        reread = {"reread": True} if len(conflicts) < len(sizes) else {}
        conflicts += [{"id": str(pk), "theirs": None} for pk in sorted(set(message_ids) - sizes.keys())]
        return cls(detail, conflicts=conflicts, **(_current_state(chat, guard) | reread))

    @classmethod
    def for_keys(cls, chat: Chat, guard: Guard, theirs: Mapping[str, Any]) -> Self:
        """Return the conflict for keys of the metadata, with their current values; null for a deleted key."""
        conflicts = [{"key": key, "theirs": value} for key, value in theirs.items()]
        return cls("These keys have changed in the meantime.", conflicts=conflicts, **_current_state(chat, guard))


def _that_fit(sizes: Mapping[UUID, int]) -> list[UUID]:
    """Return the first messages, at least one, that are together not larger than PAGE_BYTES."""
    fitting = sum(total <= PAGE_BYTES for total in accumulate(sizes.values()))
    return list(sizes)[: max(fitting, 1)]


def _current_state(chat: Chat, guard: Guard) -> dict[str, Any]:
    """Return the chat's integrity and rev, and the changes since the state that the client knows.

    Changes that a reply does not hold are left out, and ``reread`` says so.
    """
    state: dict[str, Any] = {"current_integrity": str(chat.integrity), "current_rev": chat.rev}
    known_rev = None if guard.integrity is None else rev_of(chat, guard.integrity)
    if known_rev is not None:
        with suppress(HistoryGone):
            page = page_of_changes(chat, known_rev)
            state |= {"changes": change_documents(page.changes)} if page.is_whole else {"reread": True}
    return state


LOCKED_CHAT = CompiledQuery(lambda owner, chat: Chat.objects.for_owner(owner).filter(pk=chat).select_for_update())


def lock_chat(owner: Owner, chat_id: UUID, guard: Guard = NO_INTEGRITY) -> Chat:
    """Return the owner's chat, its row locked until the transaction ends. Raise Missing if there is none.

    Send ``before_forced_write`` if the guard forces the write.
    """
    chat = LOCKED_CHAT.first(owner_id_of(owner), chat_id)
    if chat is None:
        raise Missing("There is no such chat.")
    if guard.force:
        before_forced_write.send(sender=Chat, chat=chat)
    return chat


def record_change(
    chat: Chat,
    kind: str,
    *,
    guard: Guard = NO_INTEGRITY,
    messages: Sequence[Message] = (),
    deleted_ids: Sequence[UUID] = (),
    is_use: bool = True,
    **columns: Any,
) -> ChatChange:
    """End a write to a locked chat: give it a new rev and integrity, log the change, notify receivers.

    ``is_use`` tells whether a person used this chat, which makes it the first in the list.
    ``columns`` are further columns of ChatChange: metadata, replaced_keys, before, undoes, reordered, fingerprint.
    """
    chat.rev += 1
    chat.integrity = uuid.uuid4()
    if is_use:
        chat.last_used = timezone.now()
    chat.save(update_fields=["rev", "integrity", "message_count", "last_active", "last_used", "updated_at"])
    event = ChatChanged(
        owner_id=chat.owner_id,
        chat_id=chat.pk,
        kind=kind,
        rev=chat.rev,
        integrity=chat.integrity,
        message_ids=[message.pk for message in messages],
        deleted_ids=list(deleted_ids),
    )
    change = ChatChange.objects.create(
        at=timezone.now(), forced=guard.force, writer=guard.writer, **vars(event), **columns
    )
    chat_changed.send(sender=Chat, event=event)
    if settings.BROKER_IN_DATABASE and kind != ChatChange.Kind.IMPORT:
        enqueue_dispatch(event)  # part of the transaction: neither lost after it, nor a commit of its own
    else:
        # A file or a snapshot may take minutes, in which nothing is to be held of a queue. If the broker is down, the
        # write must not fail: it is committed, and periodic sweeps find the chats whose changes were missed.
        transaction.on_commit(lambda: enqueue_dispatch(event), robust=True)
    return change


def enqueue_dispatch(event: ChatChanged) -> None:
    """Enqueue one task for all receivers of ``chat_committed``: a task each would cost half as much as the write."""
    # A file may hold many chats, whose tasks must not precede those of other users' messages.
    options = {"queue": "scheduled"} if event.kind == ChatChange.Kind.IMPORT else {}
    current_app.send_task(DISPATCH_TASK, kwargs=vars(event), **options)


def fingerprint_of_write(kind: str, guard: Guard, parts: Iterable[Any] = ()) -> str:
    """Return the hexadecimal SHA-256 of a write: its kind, its writer, the state it names, and its ``parts``.

    ``parts`` are dataclasses or JSON values.
    """
    document = [kind, guard.writer, guard.integrity, *map(_jsonable, parts)]
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _jsonable(value: Any) -> Any:
    if is_dataclass(value):
        names = [item.name for item in fields(value) if item.name not in UNFINGERPRINTED_FIELDS]
        return {name: _jsonable(getattr(value, name)) for name in names}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_jsonable(item) for item in value] if isinstance(value, list | tuple) else value


def find_repeated_change(chat: Chat, guard: Guard, fingerprint: str) -> ChatChange | None:
    """Return the change that this write repeats: one by the same writer, who sent the same on the same state.

    A client repeats a write if it received no response. Retries with an Idempotency-Key are answered earlier.
    """
    if guard.integrity is None or guard.has_idempotency_key or not guard.is_behind(chat):
        return None
    known_rev = rev_of(chat, guard.integrity)
    if known_rev is None:
        return None
    return chat.changes.filter(rev__gt=known_rev, fingerprint=fingerprint).first()


def messages_of_change(chat: Chat, change: ChatChange) -> list[Message]:
    """Return the messages that ``change`` added or changed and that still exist, by index."""
    messages = Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk__in=change.message_ids)
    return list(messages.order_by("index"))
