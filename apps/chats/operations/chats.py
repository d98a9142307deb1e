"""Create and update chats."""

from typing import Any, Unpack
from uuid import UUID

from django.db import transaction

from apps.chats.locking import NO_INTEGRITY, Guard, lock_chat, record_change
from apps.chats.message_data.layout import forget_layout
from apps.chats.models import Chat, ChatChange, Persona
from apps.chats.operations.characters import check_namespace
from apps.chats.operations.details import HEADER_KEYS, Details, check_details_rebase, details_before
from apps.chats.operations.metadata import check_size
from apps.chats.quotas import require_room_for_chat
from apps.common.database.rows import first_or_missing
from apps.common.scoping import OWN_NAMESPACE, Owner, owner_id_of


@transaction.atomic
def create_chat(
    owner: Owner,
    *,
    metadata: dict[str, Any] | None = None,
    namespace: str | None = None,
    **details: Unpack[Details],
) -> Chat:
    """Create an empty chat. The title defaults to the character's name, the user's name to the persona's.

    The namespace defaults to the character's. Raise QuotaExceeded, TooLarge for metadata beyond
    CHAT_METADATA_MAX_BYTES, Invalid for a character of another namespace, and Missing if the persona is deleted.
    """
    character, persona = details.get("character"), details.get("persona")
    if namespace is None:
        namespace = character.namespace if character else OWN_NAMESPACE
    check_namespace(character, namespace)
    check_size(metadata or {}, {})
    if persona is not None:
        persona = _lock_persona(persona)
    chat = insert_chat(
        owner_id_of(owner),
        title=details.get("title") or (character.name if character else "New chat"),
        character=character,
        user_name=details.get("user_name") or (persona.name if persona else ""),
        persona=persona,
        metadata=metadata or {},
        namespace=namespace,
    )
    record_change(chat, ChatChange.Kind.CREATE)
    return chat


def insert_chat(owner_id: UUID, **columns: Any) -> Chat:
    """Insert the row of a chat. The caller stores what is in it, then calls ``record_change``. Raise QuotaExceeded."""
    require_room_for_chat(owner_id)
    return Chat.objects.create(owner_id=owner_id, **columns)


def _lock_persona(persona: Persona) -> Persona:
    """Return the persona, its row locked, so that it isn't deleted while a chat comes to name it. Raise Missing."""
    return first_or_missing(
        Persona.objects.for_owner(persona.owner_id).select_for_update().filter(pk=persona.pk),
        "There is no such persona.",
    )


@transaction.atomic
def update_chat(chat: Chat, *, guard: Guard = NO_INTEGRITY, is_use: bool = True, **fields: Unpack[Details]) -> Chat:
    """Change title, character, persona and user name, and return the chat. Equal values write nothing.

    With a persona, and no other name, the user is called as it is. Unless ``is_use``, the chat keeps its place in the
    list, which has those first that were used last. Raise Missing, IntegrityConflict, PatchConflict, and Invalid for a
    character of another namespace.
    """
    chat = lock_chat(chat.owner_id, chat.pk, guard)
    check_namespace(fields.get("character"), chat.namespace)
    if (persona := fields.get("persona")) is not None:
        fields["persona"] = locked = _lock_persona(persona)
        fields.setdefault("user_name", locked.name)
    changed = {name: value for name, value in fields.items() if getattr(chat, name) != value}
    if not changed:
        return chat
    if guard.is_stale(chat):
        check_details_rebase(chat, changed, guard)
    before = details_before(chat, changed)
    header_keys = [key for name, key in HEADER_KEYS.items() if name in changed]
    chat.header_layout = forget_layout(chat.header_layout, header_keys)
    for name, value in changed.items():
        setattr(chat, name, value)
    chat.save(update_fields=[*changed, "header_layout"])
    record_change(chat, ChatChange.Kind.DETAILS, guard=guard, before=before, is_use=is_use)
    return chat
