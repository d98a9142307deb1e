"""The only writes to characters and chats.

A write to a chat is always the same beats: lock the chat's row, check the guard, change, record, announce on commit.
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.chats.dates import parse_date
from apps.chats.events import ChatChanged, announce_on_commit
from apps.chats.formats.layout import forget_layout
from apps.chats.formats.parsed import ParsedMessage
from apps.chats.integrity import Guard, IntegrityConflict, IntegrityRequired
from apps.chats.models import Character, Chat, ChatChange, Message, Swipe
from apps.chats.patches import Patch, check_rebase, check_revs, find_targets, without_effect
from apps.chats.queries import rev_of
from apps.chats.wire import timestamp
from apps.common import clock
from apps.common.problems import Missing

BATCH = 1000
UNGUARDED = Guard()
# Where a chat's fields stand in the header of its file.
HEADER_KEYS = {"user_name": "user_name", "character": "character_name"}


@dataclass(frozen=True)
class Appended:
    chat: Chat
    messages: list[Message]
    deduplicated: int = 0


@dataclass(frozen=True)
class Patched:
    chat: Chat
    messages: list[Message] = field(default_factory=list)
    skipped: int = 0
    applied: int = 0


# Characters


def create_character(owner: Any, *, name: str, **fields: Any) -> Character:
    return Character.objects.create(owner_id=owner.pk, name=name, **fields)


def update_character(character: Character, **fields: Any) -> Character:
    for name, value in fields.items():
        setattr(character, name, value)
    character.save(update_fields=[*fields, "updated_at"])
    return character


def delete_character(character: Character) -> None:
    """Its chats stay."""
    character.delete()


def find_or_create_character(owner: Any, name: str) -> Character:
    """The owner's oldest character of this name, or a new one."""
    found = Character.objects.for_owner(owner).filter(name=name).order_by("pk").first()
    return found or create_character(owner, name=name)


# Chats


@transaction.atomic
def create_chat(
    owner: Any,
    *,
    title: str,
    character: Character | None = None,
    user_name: str = "",
    metadata: dict[str, Any] | None = None,
) -> Chat:
    """A new chat, empty; its creation is its first write. Without a title it is named for its character."""
    chat = Chat.objects.create(
        owner_id=owner.pk,
        title=title or (character.name if character else "New chat"),
        character=character,
        user_name=user_name,
        metadata=metadata or {},
    )
    record_change(chat, ChatChange.Kind.CREATE)
    return chat


def update_chat(chat: Chat, **fields: Any) -> Chat:
    """Title, character and user name, which stand outside the log of changes."""
    changed = {name: value for name, value in fields.items() if getattr(chat, name) != value}
    in_header = [key for name, key in HEADER_KEYS.items() if name in changed]
    chat.header_layout = forget_layout(chat.header_layout, in_header)
    for name, value in changed.items():
        setattr(chat, name, value)
    chat.save(update_fields=[*changed, "header_layout", "updated_at"])
    return chat


def delete_chat(chat: Chat) -> None:
    chat.delete()


def lock_chat(owner: Any, chat_id: UUID) -> Chat:
    """The chat with its row locked until the transaction ends. Raises Missing."""
    chat = Chat.objects.for_owner(owner).select_for_update().filter(pk=chat_id).first()
    if chat is None:
        raise Missing("There is no such chat.")
    return chat


def record_change(
    chat: Chat,
    kind: str,
    *,
    messages: Sequence[Message] = (),
    forced: bool = False,
) -> ChatChange:
    """Close a write to a locked chat: new rev and integrity, a line in the log, and word on commit."""
    chat.rev += 1
    chat.integrity = uuid.uuid4()
    chat.save(update_fields=["rev", "integrity", "message_count", "last_active", "updated_at"])
    ids = [message.pk for message in messages]
    change = ChatChange.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        rev=chat.rev,
        integrity=chat.integrity,
        kind=kind,
        message_ids=ids,
        forced=forced,
    )
    announce_on_commit(ChatChanged(owner_id=chat.owner_id, chat_id=chat.pk, kind=kind, rev=chat.rev, message_ids=ids))
    return change


# Messages


def store_messages(chat: Chat, parsed: Iterable[ParsedMessage]) -> Iterable[list[Message]]:
    """Insert messages at the end of a locked chat and yield them in batches of up to 1,000.

    The caller exhausts it, then calls ``record_change``.
    """
    source = iter(parsed)
    while batch := list(islice(source, BATCH)):
        messages = [_message_row(chat, chat.message_count + i, item) for i, item in enumerate(batch)]
        swipes = [row for message, item in zip(messages, batch, strict=True) for row in _swipe_rows(message, item)]
        Message.objects.bulk_create(messages)
        Swipe.objects.bulk_create(swipes)
        chat.message_count += len(messages)
        yield messages


def _message_row(chat: Chat, index: int, parsed: ParsedMessage) -> Message:
    return Message(
        owner_id=chat.owner_id,
        chat=chat,
        index=index,
        name=parsed.name,
        is_user=parsed.is_user,
        is_system=parsed.is_system,
        send_date=parsed.send_date,
        sent_at=parsed.sent_at,
        swipe_id=parsed.swipe_id,
        layout=parsed.layout,
    )


def _swipe_rows(message: Message, parsed: ParsedMessage) -> list[Swipe]:
    return [
        Swipe(
            owner_id=message.owner_id,
            message=message,
            position=position,
            mes=swipe.mes,
            extra=swipe.extra,
            info=swipe.info,
        )
        for position, swipe in enumerate(parsed.swipes)
    ]


@transaction.atomic
def append_messages(owner: Any, chat_id: UUID, parsed: Sequence[ParsedMessage], guard: Guard = UNGUARDED) -> Appended:
    """Add messages at the end.

    Appends commute: without an integrity, or with ``rebase``, they go behind whatever came in the meantime.
    The retry of an append whose reply was lost stores nothing. Raises IntegrityConflict, Missing.
    """
    chat = lock_chat(owner, chat_id)
    if guard.is_stale(chat):
        repeated = _already_appended(chat, parsed, guard)
        if repeated:
            return Appended(chat, repeated, deduplicated=len(repeated))
        if not guard.rebase:
            raise IntegrityConflict.over(chat, guard)
    messages = [message for batch in store_messages(chat, map(_dated, parsed)) for message in batch]
    chat.last_active = clock.now()
    record_change(chat, ChatChange.Kind.APPEND, messages=messages, forced=guard.force)
    return Appended(chat, messages)


def _dated(parsed: ParsedMessage) -> ParsedMessage:
    """A message whose date is None is sent now."""
    if parsed.send_date is not None:
        return parsed
    now = clock.now().replace(microsecond=0)
    return replace(parsed, send_date=timestamp(now), sent_at=now)


def _already_appended(chat: Chat, parsed: Sequence[ParsedMessage], guard: Guard) -> list[Message]:
    """The last messages stored, where ``parsed`` equals them one by one and ``guard`` names the state before."""
    assert guard.integrity is not None
    last = chat.changes.filter(kind=ChatChange.Kind.APPEND).order_by("-rev").first()
    if last is None or len(last.message_ids) != len(parsed) or rev_of(chat, guard.integrity) != last.rev - 1:
        return []
    stored = list(
        Message.objects.for_owner(chat.owner_id)
        .filter(chat=chat, index__gte=chat.message_count - len(parsed))
        .with_swipes()
        .order_by("index")
    )
    same = [message.pk for message in stored] == last.message_ids and all(
        _equals(message, item) for message, item in zip(stored, parsed, strict=True)
    )
    return stored if same else []


def _equals(message: Message, parsed: ParsedMessage) -> bool:
    columns = (message.name, message.is_user, message.is_system, message.swipe_id)
    given = (parsed.name, parsed.is_user, parsed.is_system, parsed.swipe_id)
    if parsed.send_date not in (None, message.send_date):
        return False
    swipes = [(swipe.mes, swipe.extra, swipe.info) for swipe in message.ordered_swipes]
    return columns == given and swipes == [(swipe.mes, swipe.extra, swipe.info) for swipe in parsed.swipes]


@transaction.atomic
def patch_messages(owner: Any, chat_id: UUID, patches: Sequence[Patch], guard: Guard) -> Patched:
    """Change messages, all of the patches or none.

    A patch that is already in effect is skipped. Raises IntegrityRequired, IntegrityConflict, PatchConflict,
    Invalid where a patch names no message, Missing.
    """
    if guard.integrity is None and not guard.force:
        raise IntegrityRequired
    chat = lock_chat(owner, chat_id)
    targets = find_targets(chat, patches)
    waiting = without_effect(zip(patches, targets, strict=True))
    stale = guard.is_stale(chat)
    if stale and (waiting or rev_of(chat, guard.integrity) is None):  # type: ignore[arg-type]
        check_rebase(chat, guard, [message for _, message in waiting])
    check_revs(chat, waiting)
    if not waiting:
        return Patched(chat, targets, skipped=len(patches))
    touched = list({message.pk: message for _, message in waiting}.values())
    for patch, message in waiting:
        _apply(patch, message)
    for message in touched:
        _save_patched(message)
    chat.last_active = clock.now()
    record_change(chat, ChatChange.Kind.PATCH, messages=touched, forced=guard.force)
    return Patched(chat, touched, skipped=len(patches) - len(waiting), applied=len(waiting))


def _apply(patch: Patch, message: Message) -> None:
    for name, value in patch.values.items():
        if name == "mes":
            message.active_swipe.mes = value
        else:
            setattr(message, name, value)
    if "send_date" in patch.values:
        message.sent_at = parse_date(message.send_date)
    message.layout = forget_layout(message.layout, patch.values)


def _save_patched(message: Message) -> None:
    Swipe.objects.for_owner(message.owner_id).filter(pk=message.active_swipe.pk).update(mes=message.active_swipe.mes)
    message.rev += 1
    message.updated_at = clock.now()
    message.save(update_fields=["name", "is_system", "send_date", "sent_at", "layout", "rev", "updated_at"])
