"""Create, update and delete lorebooks."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.lorebook_entries import ParsedLorebook, normalise_book
from apps.chats.models import Character, Chat, Lorebook, Persona
from apps.common.database.rows import first_or_missing
from apps.common.problems import Invalid
from apps.common.scoping import Owner, owner_id_of


@transaction.atomic
def create_lorebook(
    owner: Owner,
    *,
    name: str,
    character: Character | None = None,
    persona: Persona | None = None,
    chat: Chat | None = None,
    document: dict[str, Any] | None = None,
) -> Lorebook:
    """Create a lorebook of a character, or for a persona or a chat. ``document`` has the format of cards.

    Raise Invalid if the character was deleted or already has one.
    """
    _check_no_lorebook(character)
    normalised = normalise_book(document or {}, lambda text: None) | {"name": name}
    used_in = {"character": character, "persona": persona, "chat": chat}
    return Lorebook.objects.create(owner_id=owner_id_of(owner), name=name, document=normalised, **used_in)


def store_book(
    owner: Owner,
    parsed: ParsedLorebook,
    name: str,
    character: Character | None = None,
    chat: Chat | None = None,
) -> Lorebook:
    """Create a lorebook from a file. ``name`` is used if the file has none."""
    return Lorebook.objects.create(
        owner_id=owner_id_of(owner),
        name=(parsed.document["name"].strip() or name)[:MAX_NAME_LENGTH],
        character=character,
        chat=chat,
        document=parsed.document,
        source_format=parsed.format,
        original=parsed.original,
    )


@transaction.atomic
def update_lorebook(lorebook: Lorebook, **fields: Any) -> Lorebook:
    """Change ``name``, ``character``, ``persona``, ``chat`` and fields of the document.

    Raise Missing, and Invalid if a new character already has one.
    """
    rows = Lorebook.objects.for_owner(lorebook.owner_id).select_for_update(of=("self",))
    locked = first_or_missing(rows.filter(pk=lorebook.pk), gettext("There is no such lorebook."))
    lorebook = locked
    if "character" in fields and fields["character"] != lorebook.character:
        _check_no_lorebook(fields["character"])
        lorebook.character = fields["character"]
    for name in ("persona", "chat"):
        if name in fields:
            setattr(lorebook, name, fields[name])
    if "name" in fields:
        lorebook.name = fields["name"]
    changes = {key: value for key, value in fields.items() if key not in ("character", "persona", "chat")}
    lorebook.document = normalise_book(lorebook.document | changes, lambda text: None)
    lorebook.save(update_fields=["name", "character", "persona", "chat", "document", "updated_at"])
    return lorebook


def delete_lorebook(lorebook: Lorebook) -> None:
    lorebook.delete()


def _check_no_lorebook(character: Character | None) -> None:
    """Raise Invalid if the character has one: a card holds only one, so an export would lose the second."""
    if character is None:
        return
    characters = Character.objects.for_owner(character.owner_id).select_for_update()
    if not characters.filter(pk=character.pk).values_list("pk"):
        raise Invalid.at("/character", gettext("There is no such character."))
    if character.lorebooks.exists():
        raise Invalid.at("/character", gettext("%(name)s already has a lorebook.") % {"name": character.name})
