"""Template filters for the text of character cards."""

import json
from collections.abc import Mapping
from typing import Any

from django import template

from apps.chats.pages.markup import render_text

register = template.Library()
register.filter("card_markup", render_text)


@register.filter
def title_of(value: str | list[str]) -> str:
    """Return the title of a lorebook entry: its name, or its first keys."""
    return value if isinstance(value, str) else ", ".join(value[:4])


@register.filter
def joined_keys(value: Mapping[str, Any]) -> str:
    return ", ".join(list(value)[:8])


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
