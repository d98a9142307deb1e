"""What a change of a chat's title, character, persona or user name keeps for undo, and what was changed since."""

from collections.abc import Collection, Iterable
from typing import Any, TypedDict
from uuid import UUID

from apps.chats.locking import Guard, IntegrityConflict, PatchConflict
from apps.chats.message_data.layout import restore_layout
from apps.chats.models import Character, Chat, ChatChange, Persona
from apps.chats.queries.changes import HistoryGone, changes_since, rev_of
from apps.chats.serializers import details_document


class Details(TypedDict, total=False):
    """The fields of a chat that ``update_chat`` may change. A new chat has defaults for them."""

    title: str
    character: Character | None
    user_name: str
    persona: Persona | None


# The keys of a chat's fields in the header of its file.
HEADER_KEYS = {"user_name": "user_name", "character": "character_name"}


def details_before(chat: Chat, names: Collection[str]) -> dict[str, Any]:
    """Return what an undo of a change of these fields needs."""
    return {"details": details_state(chat, names), "header_layout": chat.header_layout}


def details_state(chat: Chat, names: Collection[str]) -> dict[str, Any]:
    """Return the stored values of these fields as JSON."""
    return {name: value for name, value in details_document(chat).items() if name in names}


def changed_details(chat: Chat, entries: Iterable[ChatChange]) -> set[str]:
    """Return the names of the fields that log entries changed; of an undo, those that it restored."""
    found = [entry for entry in entries if entry.changes_details]
    undone = [entry.undoes for entry in found if entry.undoes is not None]
    written = [entry.rev for entry in found if entry.undoes is None]
    states = chat.changes.filter(rev__in=[*undone, *written]).values_list("before", flat=True)
    # Entries that are too old for an undo no longer tell what they changed.
    every = details_document(chat).keys()
    return {name for state in states for name in (every if state is None else state.get("details", ()))}


def check_details_rebase(chat: Chat, names: Collection[str], guard: Guard) -> None:
    """Raise IntegrityConflict, or PatchConflict if fields of these names were changed since the known state."""
    assert guard.integrity is not None
    known_rev = rev_of(chat, guard.integrity)
    if known_rev is None or not guard.rebase:
        raise IntegrityConflict.for_chat(chat, guard)
    try:
        contested = changed_details(chat, changes_since(chat, known_rev).entries) & set(names)
    except HistoryGone:
        raise IntegrityConflict.for_chat(chat, guard) from None
    if contested:
        raise PatchConflict.for_keys(chat, guard, details_state(chat, sorted(contested)))


def restore_details(chat: Chat, before: dict[str, Any]) -> None:
    """Restore what a ``details_before`` has. A character or persona that is gone by now becomes none."""
    models = {"character": Character, "persona": Persona}
    details = before.get("details", {})
    for name, value in details.items():
        if name in models and value is not None:
            rows = models[name].objects.for_owner(chat.owner_id)
            value = rows.filter(pk=UUID(value)).first()
        setattr(chat, name, value)
    if details:
        keys = [key for name, key in HEADER_KEYS.items() if name in details]
        chat.header_layout = restore_layout(chat.header_layout, before["header_layout"], keys)
        chat.save(update_fields=[*details, "header_layout"])
