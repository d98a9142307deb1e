"""A message as sentences, each with who says it. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sentencex import segment

MIN_WORDS, MAX_WORDS = 4, 45

_QUOTED = re.compile(r'"([^"\n]+)"|“([^”\n]+)”|«([^»\n]+)»|„([^“”\n]+)[“”]')
_ACTION = re.compile(r"(?<![*\w])\*{1,3}([^*\n]+?)\*{1,3}(?![*\w])")
_MARKUP = re.compile(r"[*_`#>~]+|!?\[([^\]]*)\]\([^)]*\)")
_VERB = r"(?:said|says|asked|asks|answered|replied|whispered|called|shouted|told)"
_WHO = r"[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*"
_SAID_BY = re.compile(rf"\b{_VERB} (?P<after>{_WHO})|\b(?P<before>{_WHO}) {_VERB}\b")
_PRONOUNS = frozenset("he she they it we you i the then and but so".split())


@dataclass(frozen=True)
class Sentence:
    """``speaker`` says or narrates it; ``spoken`` tells which. ``turn`` is the number of its turn."""

    turn: int
    speaker: str
    text: str
    spoken: bool

    @property
    def words(self) -> list[str]:
        return re.findall(r"[\w'’-]+", self.text)


def sentences_of(turn: int, speaker: str, message: str) -> Iterator[Sentence]:
    """The message's sentences in order; what is too short to tell anything, or too long to quote, is left out."""
    for text, spoken, voice in _parts(message, speaker):
        for raw in segment("en", text):
            sentence = Sentence(turn, voice, _clean(raw), spoken)
            if MIN_WORDS <= len(sentence.words) <= MAX_WORDS:
                yield sentence


def _clean(text: str) -> str:
    text = _MARKUP.sub(lambda match: match[1] or "", text)
    return " ".join(text.split()).strip("-–— ")


def _parts(message: str, speaker: str) -> Iterator[tuple[str, bool, str]]:
    """(text, spoken, voice). Where a message marks its speech by quotes, the rest is narration; where it marks its
    actions by asterisks, the rest is speech; where it marks nothing, it is all speech."""
    quotes, actions = _QUOTED.search(message), _ACTION.search(message)
    for paragraph in message.splitlines():
        if quotes:
            yield from _quoted_parts(paragraph, speaker)
        elif actions:
            yield from _split(paragraph, _ACTION, speaker, marked_is_spoken=False)
        elif paragraph.strip():
            yield paragraph, True, speaker


def _quoted_parts(paragraph: str, speaker: str) -> Iterator[tuple[str, bool, str]]:
    """Speech goes to the person whom a tag such as ``said Mira`` names, else to the speaker."""
    voice = _voice(_QUOTED.sub(" ", paragraph), speaker)
    for text, spoken, _ in _split(paragraph, _QUOTED, speaker, marked_is_spoken=True):
        yield text, spoken, voice if spoken else speaker


def _voice(narration: str, speaker: str) -> str:
    tag = _SAID_BY.search(narration)
    name = (tag["after"] or tag["before"]) if tag else ""
    words = name.split()
    while words and words[0].lower() in _PRONOUNS:
        words = words[1:]
    is_the_speaker = set(words) <= set(speaker.split())
    return speaker if is_the_speaker else " ".join(words)


def _split(
    paragraph: str, marks: re.Pattern[str], speaker: str, *, marked_is_spoken: bool
) -> Iterator[tuple[str, bool, str]]:
    position = 0
    for match in marks.finditer(paragraph):
        yield paragraph[position : match.start()], not marked_is_spoken, speaker
        yield next(filter(None, match.groups())), marked_is_spoken, speaker
        position = match.end()
    yield paragraph[position:], not marked_is_spoken, speaker
