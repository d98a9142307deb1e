"""Find the people of the turns, and who is meant by a name or a pronoun as far as that is certain. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.builtin.names import entity, known_names, names_in
from apps.builtin.sentences import Sentence
from apps.english.names import TITLES

# Those who tell a story without being in it.
NARRATORS = frozenset("narrator gm dm game master storyteller system assistant".split())
_PLACE_BEFORE = re.compile(
    r"\b(?:(?:in|at|from|near|outside|inside|towards?|through|across|leave|leaves|left|reach(?:es|ed)?)|"
    r"(?:mov|walk|go|went|gone|c[ao]me|travel|dr[io]ve|fl[ey]|return|sail|r[io]de|trip|way|road)\w*(?: back)? to)\s+$"
)
_GENDERED = {
    "she": re.compile(r"\b(?:she|herself|(?<!at )(?<!to )(?<!for )(?<!with )her(?= [a-z]))\b", re.IGNORECASE),
    "he": re.compile(r"\b(?:he|his|himself)\b", re.IGNORECASE),
}


def is_narrator(name: str) -> bool:
    """Return whether nobody in the story goes by this name."""
    return set(re.findall(r"\w+", name.casefold())) <= NARRATORS


@dataclass
class People:
    """``names`` are all that the turns hold, ``people`` those of characters, ``voices`` who takes turns, in order;
    ``kinds`` those of the registry's entities by their names."""

    names: frozenset[str]
    people: tuple[str, ...]
    voices: tuple[str, ...]
    kinds: Mapping[str, str]
    genders: dict[str, Counter[str]] = field(default_factory=dict)

    def person(self, name: str) -> str:
        """Return the whole name of the person who goes by ``name``; empty where none does, or several do."""
        wanted = _key(name)
        whole = [person for person in self.people if wanted and _key(person) == wanted]
        found = whole or [person for person in self.people if wanted and set(wanted) <= set(_key(person))]
        return found[0] if len(found) == 1 else ""

    def other(self, voice: str) -> str:
        """Return whom ``voice`` talks to, where two talk."""
        others = [one for one in self.voices if one != voice]
        return others[0] if len(self.voices) == 2 and len(others) == 1 else ""

    def fits(self, pronoun: str, person: str) -> bool | None:
        """Return whether ``person`` is a "he" or a "she", as the turns call them; None where they don't tell."""
        counts = self.genders.get(person)
        return None if not counts else counts[pronoun] >= max(counts.values())

    def observe(self, text: str, people: Sequence[str]) -> None:
        """Learn from a sentence that names one person which pronoun is theirs."""
        if len(people) == 1:
            counts = self.genders.setdefault(people[0], Counter())
            counts.update(word for word, pattern in _GENDERED.items() if pattern.search(text))

    def people_in(self, text: str) -> list[str]:
        """Return the people whom a sentence names, in order, each once."""
        found = (self.person(name) for name in names_in(text, self.names))
        return list(dict.fromkeys(name for name in found if name))


def _key(name: str) -> tuple[str, ...]:
    """Return the words of a name by which people are told apart."""
    words = re.findall(r"[\w'’-]+", name.casefold())
    return tuple(word for word in words if word not in TITLES and word not in ("the", "of")) or tuple(words)


def people_of(material: Mapping[str, Any], sentences: Sequence[Sentence]) -> People:
    """Return who talks, who takes part, whom the registry knows, and whom the sentences name."""
    voices = tuple(dict.fromkeys(turn["speaker"] for turn in material.get("turns", ()) if turn["speaker"]))
    participants = [*material.get("participants", ()), *material.get("names", ())]
    kinds = {one["name"]: one["type"] for one in material.get("entities", ())}
    given = [*voices, *participants, *(name for name, kind in kinds.items() if kind == "character")]
    given += [sentence.speaker for sentence in sentences if sentence.speaker]
    people = {name: None for name in given if not is_narrator(name)}
    known = known_names((sentence.text for sentence in sentences), [*people, *kinds])
    for sentence in sentences:
        for name in names_in(sentence.text, known):
            if name not in kinds and _may_be_a_person(name, sentence.text, participants):
                people.setdefault(name)
    talking = voices if len(voices) > 1 else tuple(dict.fromkeys([*voices, *participants]))
    whole: list[str] = []
    for name in people:
        if not any(set(_key(name)) <= set(_key(other)) for other in whole):
            whole.append(name)
    return People(frozenset(known), tuple(whole), tuple(one for one in talking if not is_narrator(one)), kinds)


def _may_be_a_person(name: str, text: str, participants: Iterable[str]) -> bool:
    where = re.search(rf"(?P<the>\bthe )?(?<!\w){re.escape(name)}", text, re.IGNORECASE)
    if entity(name, name, participants).kind != "unknown" or where is None or where["the"]:
        return False
    return not _PLACE_BEFORE.search(text[: where.start()])
