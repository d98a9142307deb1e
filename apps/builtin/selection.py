"""Tasks ``long_term`` and ``session``: select the sentences that are worth remembering."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.builtin.names import addressed, entity, known_names, names_in, surely_names
from apps.builtin.salience import LONG_TERM, SESSION, importance, salience, sort
from apps.builtin.sentences import Sentence, sentences_of
from apps.english.words import content_words
from apps.extraction.parsers.memories import Candidate, print_memory
from apps.llm.generation import GenerationRequest

LEAST_SALIENCE = 0.6  # of a sentence by itself
LEAST_IN_STORY = 2.0  # of one where turns are narrated, each of which has news
STORY = 0.25  # share of narrated turns
LEAST_SCORE = 2.3  # of a sentence in its turn
WORDS_A_MEMORY = 60  # a turn of more words may give one more
MUCH_NEWS = 15  # words; more of them tell no more
EXPIRATION = {LONG_TERM: "permanent", SESSION: "session"}
OTHER = {LONG_TERM: "fact", SESSION: "detail"}  # what a memory is too, where there is no more room for its kind
_PRONOUN = re.compile(r"(?:he|she|they|it|his|her|their|its)\b", re.IGNORECASE)
_UNNAMED = re.compile(r"(?:i|we|he|she|they|it|my|our|his|her|their|its)\b", re.IGNORECASE)
_CLOSING = "\"'”’*)] "


@dataclass(frozen=True)
class _Scored:
    """A sentence with its score in its turn, which ranks it, and by itself, which makes it important."""

    score: float
    own: float
    sentence: Sentence
    names: list[str]


def long_term(request: GenerationRequest) -> str:
    """Print what stays true of people beyond this chat."""
    return _selected(request.material, LONG_TERM)


def session(request: GenerationRequest) -> str:
    """Print what happens in this chat."""
    return _selected(request.material, SESSION)


def _selected(material: Mapping[str, Any], tier: str) -> str:
    """Print the best sentences of each kind of the tier, ``material["per_kind"]`` at most, in the order of the chat."""
    turns, participants = material["turns"], material["participants"]
    kinds: Counter[str] = Counter()
    chosen: list[Candidate] = []
    for item in sorted(_offered(turns, participants), key=lambda item: -item.score):
        its_tier, kind = sort(item.sentence)
        if kinds[kind] >= material["per_kind"]:
            kind = OTHER[tier]
        if its_tier == tier and kinds[kind] < material["per_kind"]:
            kinds[kind] += 1
            chosen.append(_candidate(item, kind, participants, EXPIRATION[tier]))
    return "\n".join(print_memory(item) for item in sorted(chosen, key=lambda item: item.sources)) or "NONE"


def _offered(turns: Sequence[Mapping[str, Any]], participants: Iterable[str]) -> Iterator[_Scored]:
    """Yield the best sentence of each turn, more of a long one, and the best of each other voice in it."""
    known = known_names((turn["text"] for turn in turns), participants)
    read = [list(sentences_of(turn["number"], turn["speaker"], turn["text"])) for turn in turns]
    narrated = sum(any(not sentence.spoken for sentence in sentences) for sentences in read)
    least = LEAST_IN_STORY if narrated > STORY * len(turns) else LEAST_SALIENCE
    for turn, sentences, bearing in zip(turns, read, _bearings(turns), strict=True):
        scored = [item for item in _scored(turn["speaker"], sentences, bearing, known) if item.own >= least]
        scored.sort(key=lambda item: -item.score)
        room = Counter(dict.fromkeys({item.sentence.speaker for item in scored}, 1))
        room[turn["speaker"]] += sum(len(item.sentence.words) for item in scored) // WORDS_A_MEMORY
        for item in scored:
            if room[item.sentence.speaker] > 0:
                room[item.sentence.speaker] -= 1
                yield item


def _bearings(turns: Sequence[Mapping[str, Any]]) -> Iterator[float]:
    """Yield what each turn's context adds to its sentences: answers and news tell more than questions."""
    heard: set[str] = set()
    before: Mapping[str, Any] = {"speaker": "", "text": ""}
    for turn in turns:
        words = content_words(turn["text"])
        answers = before["speaker"] != turn["speaker"] and _asks(before["text"])
        yield 0.8 * answers - 0.4 * _asks(turn["text"]) + 0.16 * min(len(words - heard), MUCH_NEWS)
        heard |= words
        before = turn


def _asks(text: str) -> bool:
    return text.rstrip().rstrip(_CLOSING).endswith(("?", "？", "؟"))


def _scored(author: str, sentences: Sequence[Sentence], bearing: float, known: set[str]) -> Iterator[_Scored]:
    """Yield the sentences of a turn of which it is certain who says them, or whom they tell of."""
    others: list[str] = []
    for sentence in sentences:
        names = names_in(sentence.text, known)
        if sentence.spoken:
            told = [name for name in names if not addressed(name, sentence.text)]
            certain = bool(sentence.speaker)
        else:
            told = names
            certain = not (others and _PRONOUN.match(sentence.text))  # it may be another's "she" than the author's
            others += [name for name in names if not set(name.split()) & set(author.split())]
        own = salience(sentence, told)
        if certain and own + bearing >= LEAST_SCORE:
            yield _Scored(own + bearing, own, sentence, names)


def _candidate(item: _Scored, kind: str, participants: Iterable[str], expiration: str) -> Candidate:
    sentence, names = item.sentence, item.names
    who = dict.fromkeys(filter(None, [sentence.speaker, *surely_names(names, sentence.text, participants)]))
    return Candidate(
        kind=kind,
        text=attributed(sentence, names),
        importance=importance(item.own),
        expiration=expiration,
        sources=(sentence.turn,),
        entities=tuple(entity(name, sentence.text, participants) for name in who),
    )


def attributed(sentence: Sentence, names: Sequence[str]) -> str:
    """Return the sentence with who says it, unless it is narration that begins with whom it is about."""
    if not sentence.speaker or (not sentence.spoken and names and not _UNNAMED.match(sentence.text)):
        return sentence.text
    quoted = f"“{sentence.text}”" if sentence.spoken else sentence.text
    return f"{sentence.speaker}: {quoted}"
