"""What is known about the user, or about a character, as a short list."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from django.contrib.postgres.fields import ArrayField
from django.db.models import Q, TextField
from django.db.models.functions import Cast, Upper
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.chats.models import Character, Chat, Persona
from apps.common.scoping import OWN_NAMESPACE, Owner
from apps.common.words import Words
from apps.memories.models import Entity, Memory

# In the order of the page.
SECTIONS: Mapping[str, Words] = {
    Memory.Kind.PREFERENCE: gettext_lazy("Likes and dislikes"),
    Memory.Kind.FACT: gettext_lazy("Facts"),
    Memory.Kind.RELATIONSHIP: gettext_lazy("With others"),
    Memory.Kind.EVENT: gettext_lazy("What happened"),
}
LINES_OF_A_KIND = 12
MAX_READ = 400  # memories, of which the most important are shown


@dataclass(frozen=True)
class OverviewSection:
    """The most important memories of a kind, and how many more there are."""

    label: Words
    memories: list[Memory]
    more: int


@dataclass(frozen=True)
class PersonOverview:
    """What is known about somebody: sections of memories, and the chats that it comes from."""

    names: list[str]
    entities: list[Entity]
    sections: list[OverviewSection]
    total: int
    chats: int

    @property
    def memories(self) -> list[Memory]:
        return list(chain.from_iterable(section.memories for section in self.sections))


def names_of_user(user: User) -> list[str]:
    """Return the names under which the user speaks: of personas, in chats, and of the account."""
    personas = Persona.objects.for_owner(user).order_by("-is_default", "pk").values_list("name", flat=True)
    in_chats = Chat.objects.for_owner(user).own().order_by("user_name").values_list("user_name", flat=True).distinct()
    return list(dict.fromkeys(name for name in (*personas, *in_chats, user.name) if name.strip()))


def overview_of(owner: Owner, names: Sequence[str], character: Character | None = None) -> PersonOverview:
    """Return what memories say about somebody with these names; with a ``character``, only in its registry."""
    entities = _entities(owner, names, character)
    namespace = character.namespace if character else OWN_NAMESPACE
    rows = Memory.objects.for_owner(owner).in_namespace(namespace).active().without_copies(owner)
    rows = rows.filter(pk__in=rows.filter(entities__in=entities).values("pk"), kind__in=list(SECTIONS))
    found = _each_once(rows.with_history().order_by("-pinned", "-importance", "-confidence", "-pk")[:MAX_READ])
    sections = []
    for kind, label in SECTIONS.items():
        of_kind = [memory for memory in found if memory.kind == kind]
        if of_kind:
            shown = of_kind[:LINES_OF_A_KIND]
            sections.append(OverviewSection(label, shown, len(of_kind) - len(shown)))
    chats = len({memory.chat_id for memory in found if memory.chat_id})
    return PersonOverview(list(names), entities, sections, len(found), chats)


def _entities(owner: Owner, names: Sequence[str], character: Character | None) -> list[Entity]:
    """Return the entities with one of the names, or with one as an alias."""
    rows = Entity.objects.for_owner(owner)
    if character is not None:
        rows = rows.filter(character=character)
    else:
        rows = rows.filter(Q(chat__namespace=OWN_NAMESPACE) | Q(character__namespace=OWN_NAMESPACE))
    # Postgres changes character by character: ß stays.
    folded = ["".join(c.upper() if len(c.upper()) == 1 else c for c in name) for name in names]
    folded += [name.upper() for name in names]
    aliases = Cast(Upper(Cast("aliases", TextField())), ArrayField(TextField()))
    rows = rows.alias(folded_name=Upper("name"), folded=aliases)
    return list(rows.filter(Q(folded_name__in=folded) | Q(folded__overlap=folded)).order_by("pk"))


def _each_once(memories: Iterable[Memory]) -> list[Memory]:
    """Return the memories without those that say the same as one before: chats can each have learnt it."""
    by_text: dict[str, Memory] = {}
    for memory in memories:
        by_text.setdefault(memory.text.casefold().strip(" ."), memory)
    return list(by_text.values())
