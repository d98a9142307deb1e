"""The mark under a message that moderators have hidden, so that models do not get it."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.template.loader import render_to_string

from apps.chats.models import Message
from apps.moderation.models import Kind
from apps.moderation.queries import hidden_of


def hidden_panel(owner: Any, messages: Iterable[Message]) -> dict[UUID, str]:
    """Return the mark by message id."""
    hidden = hidden_of(owner, Kind.MESSAGE, [message.pk for message in messages])
    html = render_to_string("moderation/_hidden.html") if hidden else ""
    return dict.fromkeys(hidden, html)
