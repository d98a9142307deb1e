"""Say in words who takes part in a chat besides the user."""

from collections.abc import Sequence

from django.utils.translation import gettext, ngettext

from apps.chats.models import Chat

MOST_NAMED = 3  # of more, two are named and the others counted


def company_of(chat: Chat) -> str:
    """Return the names of a group's members, or the character's, or nothing where the title says it already."""
    members = list(chat.participants.order_by("position").values_list("name", flat=True)) if chat.is_group else []
    names = members or ([chat.character.name] if chat.character else [])
    words = in_words(names)
    return "" if words == chat.title else words


def in_words(names: Sequence[str]) -> str:
    """Return up to three names, or two and how many more there are."""
    if len(names) < 2:
        return "".join(names)
    if len(names) <= MOST_NAMED:
        return gettext("%(names)s and %(last)s") % {"names": ", ".join(names[:-1]), "last": names[-1]}
    more = len(names) - 2
    words = ngettext("%(names)s and %(count)s more", "%(names)s and %(count)s more", more)
    return words % {"names": ", ".join(names[:2]), "count": more}
