"""Template tag for avatars."""

from typing import Any
from uuid import UUID
from zlib import crc32

from django import template

register = template.Library()

TINTS = 10  # colours of letters, which `chats.css` defines


@register.inclusion_tag("components/avatar.html")
def avatar(name: str, avatar_id: UUID | None, size: int = 40) -> dict[str, Any]:
    """Show an avatar, or else the first letter of the name in a circle of its colour. ``size`` is in pixels.

    It is decoration, as the name stands next to it.
    """
    return {"avatar_id": avatar_id, "letter": letter_of(name), "tint": tint_of(name), "size": size}


@register.filter
def letter_of(name: str) -> str:
    """Return the first letter or digit of a name, as a capital."""
    return next((char for char in name if char.isalnum()), "?").upper()


@register.filter
def tint_of(name: str) -> int:
    """Return the number of the colour of a name: the same one every time."""
    return crc32(name.encode()) % TINTS
