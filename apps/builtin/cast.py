"""Who is meant by a word: "I", "you", "she" and parts of names, as far as the turns make it certain. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.builtin.names import entity, known_names, names_in
from apps.builtin.sentences import Sentence

# Those who tell a story without being in it.
NARRATORS = frozenset("narrator gm dm game master storyteller system assistant".split())
_TITLES = frozenset("mr mrs ms dr st captain king queen lord lady sir master brother sister father mother".split())
_LOCATIVE = re.compile(
    r"\b(?:in|at|to|from|near|outside|inside|towards?|through|across|leave|leaves|left|reach(?:es|ed)?)\s+$"
)
_TOWARDS_SOMEBODY = re.compile(
    r"\b(?:l(?:ied|ies|ying)|talk\w*|sp(?:eak|eaks|oke)|said|says|wrote|writes|g[ia]ve\w*|hand(?:s|ed)|confess\w*|"
    r"promise\w*|s[eo]lls?|sold|lent|lends|sw(?:ear|ears|ore)|belongs|married|engaged|loyal|grateful|hid\w*|hides|"
    r"conceal\w*|kept|keeps|told|steals|stole|took|takes|protect\w*|shout\w*|whisper\w*|call\w*|smil\w*|look\w*|"
    r"point\w*)\b[^.!?;]*$"
)
_GENDERED = {
    "she": re.compile(r"\b(?:she|herself|(?<!at )(?<!to )(?<!for )(?<!with )her(?= [a-z]))\b", re.IGNORECASE),
    "he": re.compile(r"\b(?:he|his|himself)\b", re.IGNORECASE),
}


def is_narrator(name: str) -> bool:
    words = re.findall(r"\w+", name.casefold())
    return not words or set(words) <= NARRATORS


@dataclass
class Cast:
    """``names`` are all that the turns hold, ``people`` those of characters, ``voices`` who takes turns, in order;
    ``kinds`` those of the registry's entities by their names."""

    names: frozenset[str]
    people: tuple[str, ...]
    voices: tuple[str, ...]
    kinds: Mapping[str, str]
    genders: dict[str, Counter[str]] = field(default_factory=dict)

    def person(self, name: str) -> str:
        """The whole name of the person who goes by ``name``; empty where none does, or several do."""
        wanted = _key(name)
        if not wanted:
            return ""
        whole = [person for person in self.people if _key(person) == wanted]
        found = whole or [person for person in self.people if set(wanted) <= set(_key(person))]
        return found[0] if len(found) == 1 else ""

    def other(self, voice: str) -> str:
        """Whom ``voice`` talks to, where two talk."""
        others = [one for one in self.voices if one != voice]
        return others[0] if len(self.voices) == 2 and len(others) == 1 else ""

    def fits(self, pronoun: str, person: str) -> bool | None:
        """Whether ``person`` is a "he" or a "she", as the turns call them; None where they don't tell."""
        counts = self.genders.get(person)
        return None if not counts else counts[pronoun] >= max(counts.values())

    def observe(self, text: str, people: Sequence[str]) -> None:
        """Learn from a sentence that names one person which pronoun is theirs."""
        if len(people) == 1:
            counts = self.genders.setdefault(people[0], Counter())
            counts.update(word for word, pattern in _GENDERED.items() if pattern.search(text))

    def people_in(self, text: str) -> list[str]:
        """The people whom a sentence names, in order, each once."""
        found = (self.person(name) for name in names_in(text, self.names))
        return list(dict.fromkeys(name for name in found if name))


def _key(name: str) -> tuple[str, ...]:
    """The words of a name by which people are told apart."""
    words = re.findall(r"[\w'’-]+", name.casefold())
    return tuple(word for word in words if word not in _TITLES and word not in ("the", "of")) or tuple(words)


def cast_of(material: Mapping[str, Any], sentences: Iterable[Sentence]) -> Cast:
    """Everybody of ``material``: who talks, who takes part, whom the registry knows, and whom the sentences name."""
    turns = material.get("turns", ())
    voices = tuple(dict.fromkeys(turn["speaker"] for turn in turns if turn["speaker"]))
    participants = [*material.get("participants", ()), *material.get("names", ())]
    kinds = {one["name"]: one["type"] for one in material.get("entities", ())}
    said = list(sentences)
    given = [*voices, *participants, *(name for name, kind in kinds.items() if kind == "character")]
    given += [sentence.speaker for sentence in said if sentence.speaker]
    people = {name: None for name in given if not is_narrator(name)}
    known = known_names((sentence.text for sentence in said), [*people, *kinds])
    for sentence in said:
        for name in names_in(sentence.text, known):
            if name not in kinds and _may_be_a_person(name, sentence.text, participants):
                people.setdefault(name)
    talking = voices if len(voices) > 1 else tuple(dict.fromkeys([*voices, *participants]))
    return Cast(frozenset(known), _distinct(people), tuple(one for one in talking if not is_narrator(one)), kinds)


def _may_be_a_person(name: str, text: str, participants: Iterable[str]) -> bool:
    where = re.search(rf"(?P<the>\bthe )?(?<!\w){re.escape(name)}", text, re.IGNORECASE)
    if entity(name, name, participants).kind != "unknown" or where is None or where["the"]:
        return False
    before = text[: where.start()]
    return not _LOCATIVE.search(before) or bool(_TOWARDS_SOMEBODY.search(before))


def _distinct(people: Iterable[str]) -> tuple[str, ...]:
    """The people without those names that are parts of one that came before."""
    found: list[str] = []
    for name in people:
        if not any(set(_key(name)) <= set(_key(other)) for other in found):
            found.append(name)
    return tuple(found)
