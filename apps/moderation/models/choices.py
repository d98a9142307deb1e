"""Choices of several models, and their field for a moderator."""

from typing import Any

from django.conf import settings
from django.db import models


class Kind(models.TextChoices):
    """Kinds of things that can be reported."""

    CHARACTER = "character", "Character"
    MESSAGE = "message", "Message"
    MEMORY = "memory", "Memory"
    PERSONA = "persona", "Persona"
    LOREBOOK = "lorebook", "Lorebook"


class Reason(models.TextChoices):
    """Reasons of a report."""

    MINORS = "minors", "Sexual content with minors"
    SEXUAL = "sexual", "Sexual content"
    VIOLENCE = "violence", "Violence or self-harm"
    HARASSMENT = "harassment", "Harassment or hate"
    PRIVACY = "privacy", "Somebody's private data"
    ILLEGAL = "illegal", "Something else that is illegal"
    OTHER = "other", "Something else"


class Decision(models.TextChoices):
    """How a case ends."""

    DISMISS = "dismiss", "Dismiss"
    HIDE = "hide", "Hide"
    SUSPEND = "suspend", "Suspend the owner"
    BAN = "ban", "Ban the owner"
    REVERSE = "reverse", "Reversed"


def moderator_field(help_text: str) -> Any:
    """Return a foreign key to a moderator, which becomes empty when their account is deleted."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text=help_text,
        db_index=False,
    )
