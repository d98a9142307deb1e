"""The language that a user has chosen for pages and mails."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.conf import settings
from django.utils import translation

from apps.accounts.models import User

CHOICES = dict(settings.LANGUAGES)


def language_of(user: User) -> str:
    """Return the language for mails to a user: the chosen one, else English."""
    return user.language if user.language in CHOICES else settings.LANGUAGE_CODE


@contextmanager
def in_language_of(user_id: UUID) -> Iterator[None]:
    """Write texts for a user in the language that they have chosen."""
    chosen = User.objects.filter(pk=user_id).values_list("language", flat=True).first()
    with translation.override(chosen if chosen in CHOICES else settings.LANGUAGE_CODE):
        yield
