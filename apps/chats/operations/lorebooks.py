"""The writes to lorebooks."""

from typing import Any

from django.db import transaction

from apps.chats.formats.lorebooks import ParsedBook, normalised_book
from apps.chats.models import Character, Lorebook
from apps.common.problems import Invalid

MAX_NAME = 200


@transaction.atomic
def create_lorebook(
    owner: Any, *, name: str, character: Character | None = None, document: dict[str, Any] | None = None
) -> Lorebook:
    """A lorebook, ``document`` being as cards write it. Raises Invalid for a character that has one already."""
    _check_free(character)
    normalised = normalised_book(document or {}, lambda text: None) | {"name": name}
    return Lorebook.objects.create(owner_id=owner.pk, name=name, character=character, document=normalised)


def store_book(owner: Any, parsed: ParsedBook, name: str, character: Character | None = None) -> Lorebook:
    """A lorebook as it was read; ``name`` is for one that says none."""
    return Lorebook.objects.create(
        owner_id=owner.pk,
        name=(parsed.document["name"].strip() or name)[:MAX_NAME],
        character=character,
        document=parsed.document,
        source_format=parsed.format,
        original=parsed.original,
    )


@transaction.atomic
def update_lorebook(lorebook: Lorebook, **fields: Any) -> Lorebook:
    """Its ``name``, its ``character``, and any members of its document. Raises Invalid as ``create_lorebook``."""
    if "character" in fields and fields["character"] != lorebook.character:
        _check_free(fields["character"])
        lorebook.character = fields["character"]
    if "name" in fields:
        lorebook.name = fields["name"]
    changes = {key: value for key, value in fields.items() if key != "character"}
    lorebook.document = normalised_book(lorebook.document | changes, lambda text: None)
    lorebook.save(update_fields=["name", "character", "document", "updated_at"])
    return lorebook


def delete_lorebook(lorebook: Lorebook) -> None:
    lorebook.delete()


def _check_free(character: Character | None) -> None:
    """A card holds one book: a second one would be lost on its way out."""
    if character is None:
        return
    Character.objects.for_owner(character.owner_id).select_for_update().get(pk=character.pk)
    if character.lorebooks.exists():
        raise Invalid.at("/character", f"{character.name} has a lorebook already.")
