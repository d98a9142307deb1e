"""Say in words who takes part in chats besides the user."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.utils.translation import gettext, ngettext

from apps.chats.models import Chat, Participant
from apps.common.scoping import Owner

MOST_NAMED = 3  # of more, two are named and the others counted


def company_of(owner: Owner, chats: Iterable[Chat]) -> dict[UUID, str]:
    """Return, for each chat, the names of a group's members, or the character's.

    Where the title says the same, they are empty.
    """
    rows = list(chats)
    members = _members_of(owner, [chat.pk for chat in rows if chat.is_group])
    names = {chat.pk: members.get(chat.pk) or ([chat.character.name] if chat.character else []) for chat in rows}
    words = {chat: in_words(of_chat) for chat, of_chat in names.items()}
    return {chat.pk: "" if words[chat.pk] == chat.title else words[chat.pk] for chat in rows}


def _members_of(owner: Owner, groups: Sequence[UUID]) -> dict[UUID, list[str]]:
    """Return the names of the members of each group, in their order."""
    names: defaultdict[UUID, list[str]] = defaultdict(list)
    if groups:
        members = Participant.objects.for_owner(owner).filter(chat__in=groups).order_by("position")
        for chat, name in members.values_list("chat", "name"):
            names[chat].append(name)
    return names


def in_words(names: Sequence[str]) -> str:
    """Return up to three names, or two and how many more there are."""
    if len(names) < 2:
        return "".join(names)
    if len(names) <= MOST_NAMED:
        return gettext("%(names)s and %(last)s") % {"names": ", ".join(names[:-1]), "last": names[-1]}
    more = len(names) - 2
    words = ngettext("%(names)s and %(count)s more", "%(names)s and %(count)s more", more)
    return words % {"names": ", ".join(names[:2]), "count": more}
