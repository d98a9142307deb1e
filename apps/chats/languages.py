"""The language of a chat, which the headings follow that Loci puts into its prompts."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Left
from django.utils import translation

from apps.chats.models import Chat, Message
from apps.text.detection import MAX_CHARACTERS, language_of

MESSAGES, CHARACTERS = 8, 250  # of the newest messages, which are looked at


def catalogue_of(chat: Chat) -> str:
    """Return the language among those of the installation that the newest messages of a chat are in, else English.

    It is looked for once for each loaded chat.
    """
    if (known := chat.__dict__.get("_catalogue")) is None:
        newest = Message.objects.for_owner(chat.owner_id).filter(chat=chat, swipes__position=F("swipe_id"))
        beginnings = newest.order_by("-index").values_list(Left("swipes__mes", CHARACTERS), flat=True)[:MESSAGES]
        known = chat.__dict__["_catalogue"] = _catalogue_for(language_of(" ".join(beginnings)[:MAX_CHARACTERS]))
    return str(known)


def _catalogue_for(language: str) -> str:
    try:
        return translation.get_supported_language_variant(language)
    except LookupError:
        return settings.LANGUAGE_CODE


@contextmanager
def in_language_of_chat(chat: Chat) -> Iterator[None]:
    """Translate into the language of a chat."""
    with translation.override(catalogue_of(chat)):
        yield
