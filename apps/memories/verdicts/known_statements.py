"""What candidates are compared with, and how similar they must be. Without database access."""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from apps.english.clauses import split_speaker
from apps.english.words import jaccard
from apps.memories.candidates import Candidate

Pair = tuple[str, str]  # an older and a newer statement
# Minimum Jaccard index of two quotations, which must be by one speaker, to be compared: the comparison was fitted to
# few quotations, and the vectors of quotations by one speaker are all similar.
MIN_QUOTATION_OVERLAP = 0.3
_WORD = re.compile(r"\w+")
_ENDS = " .!…。！\"'”’»"  # of a statement, that say nothing


class Relation(StrEnum):
    """How a newer statement relates to an older one, as a model answers."""

    UPDATE = "update"
    SAME = "same"
    INDEPENDENT = "independent"


@dataclass(frozen=True)
class Neighbour:
    """A memory similar to a candidate; ``similarity`` is 0 to 1.

    ``deleted``: a person deleted it, or corrected this text. ``ended``: nobody deleted it, but it was superseded or
    retired. ``valid_from_index`` is the index of the message from which it was extracted, if that is in the candidates'
    chat; ``said_at`` is when it was last said. ``same_hash``: it was created from the same words as the candidate, even
    if a person has edited it. ``former_texts`` are those that a person corrected; one of them has the present text in
    ``corrected_to``. ``is_persons``: a person wrote or corrected it, and nobody else has said it. ``same_tier``: it is
    of the candidates' tier.
    """

    id: UUID
    kind: str
    text: str
    similarity: float
    deleted: bool = False
    ended: bool = False
    valid_from_index: int | None = None
    same_hash: bool = False
    said_at: dt.datetime | None = None
    former_texts: Sequence[str] = ()
    is_persons: bool = False
    same_tier: bool = True
    corrected_to: str = ""

    def is_later_than(self, turn: int | None, said_at: dt.datetime | None) -> bool | None:
        """Return whether it was said later than a turn: by position in one chat, else by time. None: unknown."""
        if self.valid_from_index is not None:
            return turn is not None and turn < self.valid_from_index
        if self.said_at is None or said_at is None or self.said_at == said_at:
            return None
        return said_at < self.said_at

    @property
    def is_gone(self) -> bool:
        """Return whether it is deleted or has ended."""
        return self.deleted or self.ended


@dataclass(frozen=True)
class KnownStatement:
    """A memory, or an earlier candidate of the batch at ``index``, with which a candidate is compared."""

    kind: str
    text: str
    similarity: float
    same_kind: bool
    is_later: bool | None  # than the candidate; None if unknown
    memory: Neighbour | None = None
    index: int | None = None
    is_persons: bool = False  # a person's own memory, which nothing said by others replaces

    @property
    def key(self) -> UUID | int | None:
        return self.memory.id if self.memory else self.index

    @property
    def is_gone(self) -> bool:
        """Return whether it is a memory that is deleted or has ended."""
        return self.memory is not None and self.memory.is_gone

    @property
    def has_same_hash(self) -> bool:
        """Return whether it is a memory created from the same words as the candidate."""
        return self.memory is not None and self.memory.same_hash


@dataclass(frozen=True)
class Thresholds:
    """Minimum similarities of repetitions, within one kind and across two, and of statements on the same topic.

    Statements below ``same_topic`` are never repetitions or changes of each other.
    """

    duplicate: float
    cross_kind_duplicate: float
    same_topic: float

    def is_on_topic(self, known: KnownStatement) -> bool:
        """Return whether a statement is similar enough to a candidate to be on its topic."""
        return known.similarity >= (self.same_topic if known.same_kind else self.cross_kind_duplicate)


# For hardware profile A (small local models; the built-in backend). ``same_topic`` is low because the learned
# comparison itself recognises statements on different topics (figures in docs/weights.md).
COSINE = Thresholds(duplicate=0.82, cross_kind_duplicate=0.88, same_topic=0.40)
JACCARD = Thresholds(duplicate=0.65, cross_kind_duplicate=0.75, same_topic=0.40)


def comparison_key(candidate: Candidate, known: KnownStatement) -> tuple[str, str, str]:
    """Return both texts in the order in which they were said, if that is known, and the kind."""
    texts = (candidate.text, known.text) if known.is_later else (known.text, candidate.text)
    return (*texts, candidate.kind)


def have_same_words(old: str, new: str) -> bool:
    """Return whether two texts differ only in case, whitespace and punctuation."""
    return _WORD.findall(old.casefold()) == _WORD.findall(new.casefold())


def plain(text: str) -> str:
    """Return a statement in lower case, without the marks at its end. Others may have a meaning, as in "C++"."""
    return " ".join(text.casefold().replace("’", "'").split()).rstrip(_ENDS)


def are_comparable(old: str, new: str) -> bool:
    """Return whether two statements both quote nobody, or are quotations of one speaker with similar words."""
    (speaker, speech), (other_speaker, other_speech) = split_speaker(old), split_speaker(new)
    if not speaker and not other_speaker:
        return True
    return speaker == other_speaker and jaccard(speech, other_speech) >= MIN_QUOTATION_OVERLAP
