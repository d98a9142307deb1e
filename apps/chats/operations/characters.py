"""The writes to characters."""

from typing import Any

from apps.chats.models import Character


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
