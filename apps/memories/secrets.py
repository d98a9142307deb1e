"""What must not be told to a character: facts that they are unaware of, or that somebody hides from them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from apps.english.words import Words, content_words
from apps.memories.models import Entity, Knowledge

MIN_WORDS = 2  # content words; a fact of one word, as "the letter", would withhold too much
SHARE = 0.75  # share of a fact's words from which a text tells it
_LEARNT = (Knowledge.Kind.KNOWS, Knowledge.Kind.HIDING)  # who hides a fact knows it
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_SENTENCE_END = re.compile(r"(?<=[.!?…;])\s+|(?<=[。！？；])\s*")


@dataclass(frozen=True)
class Secrets:
    """Facts that must not be told. Each is the set of its words: a text with most of them tells it."""

    facts: tuple[Words, ...] = ()

    def are_told_by(self, text: str) -> bool:
        """Return whether a text has most words of one of the facts."""
        if not self.facts:
            return False
        words = _words(text)
        return any(len(fact & words) >= SHARE * len(fact) for fact in self.facts)

    def without(self, text: str) -> str:
        """Return a text without the sentences that tell a fact; "" if the others still tell it together."""
        if not self.are_told_by(text):
            return text
        rest = " ".join(part for part in _SENTENCE_END.split(text) if part and not self.are_told_by(part))
        return "" if self.are_told_by(rest) else rest


def secrets_kept_from(names: Iterable[str], entries: Iterable[Knowledge]) -> Secrets:
    """Return what ``entries`` say is unknown to, or hidden from, one of the people with these names.

    What they have learnt since, as a later entry tells, is no secret to them.
    """
    rows = sorted(entries, key=lambda row: row.pk)
    facts: list[Words] = []
    for name in dict.fromkeys(map(str.casefold, names)):
        kept: list[Words] = []
        for row in rows:
            words = _words(row.text)
            if _is_withheld(row, name):
                kept += [words] if len(words) >= MIN_WORDS else []
            elif row.kind in _LEARNT and has_name(row.subject, name):
                kept = [fact for fact in kept if len(fact & words) < SHARE * len(fact)]
        facts += kept
    return Secrets(tuple(facts))


def has_name(entity: Entity, name: str) -> bool:
    """Return whether an entity has a name, or has it as an alias, whatever its case."""
    return name.casefold() in map(str.casefold, [entity.name, *entity.aliases])


def _is_withheld(row: Knowledge, name: str) -> bool:
    if row.kind == Knowledge.Kind.UNAWARE:
        return has_name(row.subject, name)
    return row.kind == Knowledge.Kind.HIDING and row.target is not None and has_name(row.target, name)


def _words(text: str) -> Words:
    """Return the content words of a text; where a script has no spaces, all pairs of neighbouring characters."""
    runs = _UNSPACED.findall(text)
    pairs = {run[start : start + 2] for run in runs for start in range(max(len(run) - 1, 1))}
    return content_words(_UNSPACED.sub(" ", text)) | pairs
