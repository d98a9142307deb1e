"""Change the metadata of a chat by a merge patch or by the operations of a JSON Patch."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from apps.chats.locking import (
    Guard,
    IntegrityConflict,
    PatchConflict,
    find_repeated_change,
    fingerprint_of_write,
    lock_chat,
    record_change,
)
from apps.chats.message_data.layout import dump, forget_layout
from apps.chats.models import Chat, ChatChange
from apps.chats.queries.changes import HistoryGone, changes_since, rev_of
from apps.common.documents import merge_patch
from apps.common.documents.json_patch import PatchTestFailed
from apps.common.documents.patches import DocumentPatch
from apps.common.problems import Invalid, TooLarge
from apps.common.scoping import Owner


@dataclass(frozen=True)
class MetadataPatchResult:
    """The result of a patch. ``applied`` is False if it was in effect already."""

    chat: Chat
    applied: bool


@transaction.atomic
def patch_metadata(owner: Owner, chat_id: UUID, patch: DocumentPatch, guard: Guard) -> MetadataPatchResult:
    """Change the metadata: all of the patch, or nothing.

    Skip a patch that is in effect already, and the retry of one that was stored. With ``rebase``, accept it if the
    top-level keys that it names have not changed. Raise IntegrityRequired, IntegrityConflict, PatchConflict, Missing,
    TooLarge, PatchTestFailed, and Invalid if an operation doesn't fit.
    """
    chat = lock_chat(owner, chat_id, guard)
    guard.require_integrity()
    fingerprint = fingerprint_of_write(ChatChange.Kind.METADATA, guard, [patch])
    if find_repeated_change(chat, guard, fingerprint):
        return MetadataPatchResult(chat, applied=False)
    if guard.is_stale(chat):
        if _is_in_effect(patch, chat):
            return MetadataPatchResult(chat, applied=False)
        _check_rebase(chat, patch, guard)
    before, after = chat.metadata, _apply(patch, chat)
    if dump(after) == dump(before):
        return MetadataPatchResult(chat, applied=False)
    check_size(after, before)
    chat.metadata = after
    chat.header_layout = forget_layout(chat.header_layout, ["chat_metadata"])
    chat.save(update_fields=["metadata", "header_layout"])
    record_change(
        chat,
        ChatChange.Kind.METADATA,
        guard=guard,
        before={"metadata": before},
        fingerprint=fingerprint,
        **metadata_change(before, after),
    )
    return MetadataPatchResult(chat, applied=True)


def metadata_change(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the log entry's columns for a change of metadata."""
    patch, replaced = merge_patch.diff_by_key(before, after)
    return {"metadata": patch, "replaced_keys": replaced}


def check_size(after: dict[str, Any], before: dict[str, Any]) -> None:
    """Raise TooLarge beyond CHAT_METADATA_MAX_BYTES. Larger metadata, from an import, may still be made smaller."""
    size, limit = len(dump(after).encode()), settings.CHAT_METADATA_MAX_BYTES
    if size > max(limit, len(dump(before).encode())):
        raise TooLarge(f"The metadata would take {size} bytes. CHAT_METADATA_MAX_BYTES allows {limit}.")


def _apply(patch: DocumentPatch, chat: Chat) -> dict[str, Any]:
    return patch.apply(chat.metadata, max_copied=settings.CHAT_METADATA_MAX_BYTES)


def _is_in_effect(patch: DocumentPatch, chat: Chat) -> bool:
    try:
        return dump(_apply(patch, chat)) == dump(chat.metadata)
    except (Invalid, PatchTestFailed):
        # The patch may fit the state that the client knows.
        return False


def _check_rebase(chat: Chat, patch: DocumentPatch, guard: Guard) -> None:
    """Raise IntegrityConflict, or PatchConflict if keys of the patch were changed since the known state."""
    assert guard.integrity is not None
    known_rev = rev_of(chat, guard.integrity)
    if known_rev is None or not guard.rebase:
        raise IntegrityConflict.for_chat(chat, guard)
    try:
        contested = changes_since(chat, known_rev).changed_keys(patch.keys)
    except HistoryGone:
        raise IntegrityConflict.for_chat(chat, guard) from None
    if contested:
        raise PatchConflict.for_keys(chat, guard, {key: chat.metadata.get(key) for key in sorted(contested)})
