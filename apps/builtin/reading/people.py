"""Find the people in the turns, and resolve names and pronouns to them where certain. Without database access."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.builtin.reading.names import known_names, names_in, typed_entity
from apps.builtin.reading.sentences import Sentence
from apps.english.names import name_words

# Words of the names of narrators, who are not characters of the story.
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
    """Return whether a name is that of a narrator, not of a character."""
    return set(re.findall(r"\w+", name.casefold())) <= NARRATORS


@dataclass
class People:
    """People of the turns.

    ``names`` are all names in the turns, ``people`` the full names of characters, ``speakers`` the authors of turns in
    order, ``kinds`` the types of the known entities by name, ``pronoun_counts`` counts of "he" and "she" by full name.
    """

    names: frozenset[str]
    people: tuple[str, ...]
    speakers: tuple[str, ...]
    kinds: Mapping[str, str]
    pronoun_counts: dict[str, Counter[str]] = field(default_factory=dict)

    def full_name(self, name: str) -> str:
        """Return the full name of the only person that ``name`` fits; empty if it fits none or several."""
        words = name_words(name)
        exact = [person for person in self.people if words and name_words(person) == words]
        matches = exact or [person for person in self.people if words and set(words) <= set(name_words(person))]
        return matches[0] if len(matches) == 1 else ""

    def addressee_of(self, speaker: str) -> str:
        """Return the other of two speakers; empty unless there are exactly two."""
        others = [person for person in self.speakers if person != speaker]
        return others[0] if len(self.speakers) == 2 and len(others) == 1 else ""

    def matches_pronoun(self, pronoun: str, person: str) -> bool | None:
        """Return whether the turns call ``person`` by ``pronoun`` ("he" or "she"); None if they use neither."""
        counts = self.pronoun_counts.get(person)
        return None if not counts else counts[pronoun] >= max(counts.values())

    def count_pronouns(self, text: str, people: Sequence[str]) -> None:
        """Count the pronouns of a sentence for its person, if it names exactly one."""
        if len(people) == 1:
            counts = self.pronoun_counts.setdefault(people[0], Counter())
            counts.update(word for word, pattern in _GENDERED.items() if pattern.search(text))

    def people_in(self, text: str) -> list[str]:
        """Return the full names of the people that a text names, in order, each once."""
        full_names = (self.full_name(name) for name in names_in(text, self.names))
        return list(dict.fromkeys(name for name in full_names if name))


def people_of(material: Mapping[str, Any], sentences: Sequence[Sentence]) -> People:
    """Return the speakers, participants and known characters, and other people that the sentences name."""
    speakers = tuple(dict.fromkeys(turn["speaker"] for turn in material.get("turns", ()) if turn["speaker"]))
    participants = [*material.get("participants", ()), *material.get("names", ())]
    kinds = {entity["name"]: entity["type"] for entity in material.get("entities", ())}
    certain = [*speakers, *participants, *(name for name, kind in kinds.items() if kind == "character")]
    certain += [sentence.speaker for sentence in sentences if sentence.speaker]
    people = {name: None for name in certain if not is_narrator(name)}
    known = known_names((sentence.text for sentence in sentences), [*people, *kinds])
    for sentence in sentences:
        for name in names_in(sentence.text, known):
            if name not in kinds and _may_be_person(name, sentence.text, participants):
                people.setdefault(name)
    # If only one person writes, they are assumed to talk to a participant.
    speaking = speakers if len(speakers) > 1 else tuple(dict.fromkeys([*speakers, *participants]))
    full_names: list[str] = []
    for name in people:
        if not any(set(name_words(name)) <= set(name_words(other)) for other in full_names):
            full_names.append(name)
    return People(frozenset(known), tuple(full_names), tuple(name for name in speaking if not is_narrator(name)), kinds)


def _may_be_person(name: str, text: str, participants: Iterable[str]) -> bool:
    """Return False if the name or the words before it show that it is not a person's."""
    match = re.search(rf"(?P<the>\bthe )?(?<!\w){re.escape(name)}", text, re.IGNORECASE)
    if typed_entity(name, name, participants).kind != "unknown" or match is None or match["the"]:
        return False
    return not _PLACE_BEFORE.search(text[: match.start()])
