"""Changes the metadata of a chat: deep, by a merge patch, or by the operations of a JSON Patch."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from apps.chats.fingerprints import fingerprint_of
from apps.chats.formats.layout import dump, forget_layout
from apps.chats.integrity import Guard, IntegrityConflict, PatchConflict
from apps.chats.models import Chat, ChatChange
from apps.chats.operations.door import lock_chat, record_change, write_after
from apps.chats.operations.undoing import metadata_line
from apps.chats.queries import HistoryGone, changes_since, rev_of
from apps.common.document_patches import DocumentPatch
from apps.common.json_patch import PatchTestFailed
from apps.common.problems import Invalid, TooLarge


@dataclass(frozen=True)
class MetadataPatched:
    """``applied`` is False where the patch was in effect already."""

    chat: Chat
    applied: bool


@transaction.atomic
def patch_metadata(owner: Any, chat_id: UUID, patch: DocumentPatch, guard: Guard) -> MetadataPatched:
    """Change the metadata, all that the patch says or nothing.

    A patch that is in effect already is skipped; so is one that was stored before, sent again because its reply was
    lost. With ``rebase`` it goes through where the top-level keys that it names were not changed since. Raises
    IntegrityRequired, IntegrityConflict, PatchConflict, Missing, TooLarge, PatchTestFailed, and Invalid where an
    operation doesn't fit.
    """
    guard.check()
    chat = lock_chat(owner, chat_id)
    fingerprint = fingerprint_of(ChatChange.Kind.METADATA, [patch])
    if guard.is_stale(chat):
        if write_after(chat, guard, fingerprint) or _is_in_effect(patch, chat):
            return MetadataPatched(chat, applied=False)
        _check_rebase(chat, patch, guard)
    after = _applied(patch, chat)
    if dump(after) == dump(chat.metadata):
        return MetadataPatched(chat, applied=False)
    check_size(after, chat.metadata)
    _store(chat, after, fingerprint, guard)
    return MetadataPatched(chat, applied=True)


def _applied(patch: DocumentPatch, chat: Chat) -> dict[str, Any]:
    return patch.apply(chat.metadata, max_copied=settings.CHAT_METADATA_MAX_BYTES)


def _store(chat: Chat, after: dict[str, Any], fingerprint: str, guard: Guard) -> None:
    before, chat.metadata = chat.metadata, after
    chat.header_layout = forget_layout(chat.header_layout, ["chat_metadata"])
    chat.save(update_fields=["metadata", "header_layout"])
    record_change(
        chat,
        ChatChange.Kind.METADATA,
        before={"metadata": before},
        fingerprint=fingerprint,
        forced=guard.force,
        **metadata_line(before, after),
    )


def _is_in_effect(patch: DocumentPatch, chat: Chat) -> bool:
    try:
        return dump(_applied(patch, chat)) == dump(chat.metadata)
    except (Invalid, PatchTestFailed):
        # It may well have fitted the state that the client knew.
        return False


def _check_rebase(chat: Chat, patch: DocumentPatch, guard: Guard) -> None:
    """Raises IntegrityConflict, PatchConflict."""
    assert guard.integrity is not None
    known = rev_of(chat, guard.integrity)
    if known is None or not guard.rebase:
        raise IntegrityConflict.over(chat, guard)
    try:
        contested = _contested(chat, patch, known)
    except HistoryGone:
        raise IntegrityConflict.over(chat, guard) from None
    if contested:
        raise PatchConflict.over_keys(chat, guard, {key: chat.metadata.get(key) for key in sorted(contested)})


def _contested(chat: Chat, patch: DocumentPatch, known: int) -> set[str]:
    """The keys of the patch that were changed after the rev ``known``. Raises HistoryGone."""
    entries = [entry for entry in changes_since(chat, known).entries if entry.metadata is not None]
    changed = {key for entry in entries for key in entry.metadata}
    mine = changed if patch.keys is None else patch.keys
    # What replaced them all may have touched, and removed, any key.
    return mine if any(entry.metadata_replaced for entry in entries) else mine & changed


def check_size(after: dict[str, Any], before: dict[str, Any]) -> None:
    """Raises TooLarge; metadata that came in larger, with an import, may shrink."""
    size, limit = len(dump(after).encode()), settings.CHAT_METADATA_MAX_BYTES
    if size > max(limit, len(dump(before).encode())):
        raise TooLarge(f"The metadata would take {size} bytes. CHAT_METADATA_MAX_BYTES allows {limit}.")
