"""What cards say, as templates show it."""

import json
from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.safestring import SafeString

from apps.chats.markup import render_text

register = template.Library()


@register.filter
def card_markup(text: str) -> SafeString:
    """A greeting as it will look in the chat."""
    return render_text(text)


@register.filter
def title_of(value: str | list[str]) -> str:
    """What an entry is called: its name, or its first keys."""
    return value if isinstance(value, str) else ", ".join(value[:4])


@register.filter
def joined_keys(value: Mapping[str, Any]) -> str:
    return ", ".join(list(value)[:8])


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
