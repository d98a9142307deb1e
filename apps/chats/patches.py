"""Patches to messages before they are written: what each of them names, and whether it may go through."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.chats.integrity import Guard, IntegrityConflict, PatchConflict
from apps.chats.models import Chat, Message
from apps.chats.queries import changes_since, rev_of
from apps.chats.wire import message_document
from apps.common.problems import Invalid


@dataclass(frozen=True)
class Patch:
    """Changes to one message, named by ``id`` or ``index``; ``values`` are of mes, name, is_system, send_date."""

    values: Mapping[str, Any]
    id: UUID | None = None
    index: int | None = None
    if_rev: int | None = None


def find_targets(chat: Chat, patches: Sequence[Patch]) -> list[Message]:
    """The message of each patch; the same object where two patches name the same message."""
    from_ids = [patch.id for patch in patches if patch.id]
    from_indexes = [patch.index for patch in patches if patch.id is None]
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat).with_swipes()
    found = list(rows.filter(pk__in=from_ids)) if from_ids else []
    known = {message.index for message in found}
    missing = [index for index in from_indexes if index not in known]
    found += list(rows.filter(index__in=missing)) if missing else []
    by_id = {message.pk: message for message in found}
    by_index = {message.index: message for message in found}
    return [_target(chat, n, patch, by_id, by_index) for n, patch in enumerate(patches)]


def _target(chat: Chat, n: int, patch: Patch, by_id: dict[UUID, Message], by_index: dict[int, Message]) -> Message:
    if patch.id is None:
        if patch.index not in by_index:
            raise Invalid.at(f"/patches/{n}/index", f"The chat has {chat.message_count} messages.")
        return by_index[patch.index]
    if patch.id not in by_id:
        raise Invalid.at(f"/patches/{n}/id", "There is no such message in this chat.")
    message = by_id[patch.id]
    if patch.index is not None and patch.index != message.index:
        theirs = [{"id": str(message.pk), "theirs": message_document(message)}]
        detail = f"/patches/{n}: this message has the index {message.index}, not {patch.index}."
        raise PatchConflict.between(chat, theirs, detail)
    return message


def without_effect(pairs: Iterable[tuple[Patch, Message]]) -> list[tuple[Patch, Message]]:
    """The patches that are not in effect yet, in their order.

    Where one of a message's patches is not, all of them wait: they apply one after the other.
    """
    pairs = list(pairs)
    changing = {message.pk for patch, message in pairs if not _in_effect(patch, message)}
    return [(patch, message) for patch, message in pairs if message.pk in changing]


def _in_effect(patch: Patch, message: Message) -> bool:
    return all(getattr(message, name) == value for name, value in patch.values.items())


def check_rebase(chat: Chat, guard: Guard, messages: Iterable[Message]) -> None:
    """Raises unless the guard allows a rebase, and nobody else has touched ``messages`` since."""
    assert guard.integrity is not None
    known = rev_of(chat, guard.integrity)
    if not guard.rebase or known is None:
        raise IntegrityConflict.over(chat, guard)
    changed = {pk for entry in changes_since(chat, known).entries for pk in entry.message_ids}
    conflicts = [message for message in messages if message.pk in changed]
    if conflicts:
        raise _patch_conflict(chat, conflicts, "These messages were changed since.")


def check_revs(chat: Chat, waiting: Iterable[tuple[Patch, Message]]) -> None:
    late = [message for patch, message in waiting if patch.if_rev not in (None, message.rev)]
    if late:
        raise _patch_conflict(chat, late, "These messages are not at the rev that the patch names.")


def _patch_conflict(chat: Chat, messages: Iterable[Message], detail: str) -> PatchConflict:
    theirs = [{"id": str(message.pk), "theirs": message_document(message)} for message in messages]
    return PatchConflict.between(chat, theirs, detail)
