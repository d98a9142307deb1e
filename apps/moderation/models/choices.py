"""Choices of several models, and their field for a moderator."""

from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Kind(models.TextChoices):
    """Kinds of things that can be reported."""

    CHARACTER = "character", _("Character")
    MESSAGE = "message", _("Message")
    MEMORY = "memory", _("Memory")
    PERSONA = "persona", _("Persona")
    LOREBOOK = "lorebook", _("Lorebook")


class Reason(models.TextChoices):
    """Reasons of a report."""

    MINORS = "minors", _("Sexual content with minors")
    SEXUAL = "sexual", _("Sexual content")
    VIOLENCE = "violence", _("Violence or self-harm")
    HARASSMENT = "harassment", _("Harassment or hate")
    PRIVACY = "privacy", _("Somebody's private data")
    ILLEGAL = "illegal", _("Something else that is illegal")
    OTHER = "other", _("Something else")


class Decision(models.TextChoices):
    """How a case ends."""

    DISMISS = "dismiss", _("Dismiss")
    HIDE = "hide", _("Hide")
    SUSPEND = "suspend", _("Suspend the owner")
    BAN = "ban", _("Ban the owner")
    REVERSE = "reverse", _("Reversed")


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
