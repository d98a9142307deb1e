"""Read notes in plain sentences, as small models write them, and tell a reply that loops. Without database access.

A note that copies a message or an example of the prompt, that repeats another, or that has nothing to do with what was
said is unused: a small model writes such lines where it finds nothing. So is one that names the people of the example,
who are made up.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from apps.english.imagined import is_imagined
from apps.english.words import content_words
from apps.extraction.parsers.labels import means_none
from apps.extraction.parsers.records import Line, ParsedLines, iter_lines, unused_report
from apps.extraction.parsers.text_cleanup import clean_line, is_none, one_line

MAX_NOTES = 12  # of one reply
MIN_LETTERS, MAX_LETTERS = 10, 300  # of a note
MIN_COPIED = 12  # letters of a note that are looked for in the messages
COPIED, REPEATED = 0.9, 0.9  # share of a note's letters that a message or another note has
MIN_SUPPORT = 0.34  # share of a note's words that the messages have, or of its letters in scripts without spaces
SPELT_OUT = 12  # numbers up to it may be written in words in the messages
MAX_UNENDED = 400  # letters without the end of a line after which a reply counts as looping

_NUMBER = re.compile(r"^\(?\d{1,2}[.):]\s+")
_TAG = re.compile(r"^\[[^\]\n]{1,60}\]\s*")
_SPEAKER = re.compile(r"(?P<name>[^:：]{1,60})[:：]\s*(?P<text>.*)")
_FIRST_PERSON = re.compile(r"(?:I|I['’]\w+|My|We|Our|You|Your|Ich|Mein\w*|Wir|Du|Je|J['’]\w+|Yo|Mi|Я|Мой)\b|我|私")
_HYPOTHETICAL = re.compile(r"(?:If|Maybe|Perhaps|Wenn|Vielleicht)\b")
_USER = re.compile(r"^(?:The )?user\b(?!name)", re.IGNORECASE)
_PRONOUN = re.compile(r"^(?:(?P<who>He|She|They)|(?P<whose>His|Her|Their))\s", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_ACTION = re.compile(r"\*[^*]*\*")
_CONDITION = re.compile(
    r"^\W*(?:if|wenn|falls|si)\b|\bif I (?:ever )?(?:were|win|had)\b|\bI['’]d\b(?! been| had)", re.IGNORECASE
)
_OTHERS = re.compile(r"\W*(?:and |but |no,? )?(?:she|he|her|his|they|er|sie|elle|il|ella|él)\b", re.IGNORECASE)
_ONESELF = re.compile(r"\b(?:I|me|my|mine|we|us|our|ich|mir|mich|mein\w*|wir|uns|je|moi|mon|ma|yo|mi)\b", re.IGNORECASE)
# "Marcus's sister " before another name.
_TIE = re.compile(
    r"\b[^\W\d_][\w-]*['’]s? (?P<tie>sister|brother|mother|father|wife|husband|daughter|son|friend|cousin|aunt|uncle) "
    r"(?=[^\W\d_a-z])"
)
_TIES_SAID = {"mother": ("mum", "mom", "mam"), "father": ("dad", "papa"), "daughter": ("girl", "kid"), "son": ("boy",)}
_DIGITS = re.compile(r"\d{1,18}")
_LETTER = re.compile(r"\w")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")
_CHAT_WORDS = re.compile(
    r"\b(?:this chat|the chat|conversation|transcript|(?:un)?known from|not mentioned)\b", re.IGNORECASE
)

# An earlier exchange, which a small model follows better than instructions.
EXAMPLE: Mapping[str, Any] = {
    "subject": "Pell",
    "names": ["Tamsin"],
    "turns": [
        {
            "number": 1,
            "speaker": "Pell",
            "is_user": True,
            "text": "Long day. I closed the ferry at noon and drove Oswin to the clinic, she can't have penicillin and "
            "nobody had written it down.",
        },
        {
            "number": 3,
            "speaker": "Pell",
            "is_user": True,
            "text": "In June I'm off to Gull Stairs with the new boat. If it sinks I'll sue you, ha.",
        },
    ],
}
NOTES = """Pell runs a ferry.
Oswin can't have penicillin.
Pell will travel to Gull Stairs in June with a new boat."""
NAMES = frozenset({"oswin", "pell", "gull", "tamsin"})


@dataclass(frozen=True)
class Said:
    """What was said: the messages as (speaker, text), and the name of the person whom models call "the user"."""

    messages: Sequence[tuple[str, str]]
    user: str = ""

    @property
    def speakers(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self.messages))

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self.messages)


def parse_plain(reply: str, said: Said) -> ParsedLines[str]:
    """Return the notes of a reply about what was said, and the lines that can't be used. Never raise."""
    notes: list[str] = []
    unused: list[str] = []
    for line in iter_lines(reply):
        text = _cleaned(line, said, notes)
        if not text or is_none(text) or means_none(text) or text.endswith((":", "：")):
            continue
        is_usable = len(notes) < MAX_NOTES and _is_note(text, said) and not _is_repeated(text, notes)
        (notes if is_usable else unused).append(text)
    return ParsedLines(notes, unused_report(unused, 0, reply))


def is_enough(reply: str, said: Said) -> bool:
    """Return whether a reply that is still being written has said all that it will: it loops, copies, or goes on."""
    *ended, last = reply.split("\n")
    lines = [text for line in iter_lines("\n".join(ended)) if (text := _cleaned(line, said, ()))]
    if len(last) > MAX_UNENDED or len(lines) > MAX_NOTES:
        return True
    repeated = sum(_is_repeated(text, lines[:number]) for number, text in enumerate(lines))
    return repeated > 0 or sum(_is_copied(text, said) for text in lines) > 1


def _cleaned(line: Line, said: Said, notes: Sequence[str]) -> str:
    """Return a line's text without numbers, tags and marks, with names in place of a pronoun at its beginning."""
    text = clean_line(_TAG.sub("", _NUMBER.sub("", line.text)))
    text = _USER.sub(lambda _: said.user, text) if said.user else text
    text = _TIE.sub(lambda match: match[0] if _names_tie(match["tie"], said) else "", text)
    pronoun = _PRONOUN.match(text)
    subject = _subject(notes[-1], said) if notes else ""
    if pronoun is None or not subject:
        return text
    return f"{subject}{'’s' if pronoun['whose'] else ''} {text[pronoun.end() :]}"


def _names_tie(tie: str, said: Said) -> bool:
    """Return whether the messages name a tie between people: small models make a sister of everybody."""
    return any(re.search(rf"\b{word}", said.text, re.IGNORECASE) for word in (tie, *_TIES_SAID.get(tie.lower(), ())))


def _subject(note: str, said: Said) -> str:
    return next((name for name in said.speakers if note.startswith(name)), "")


def _is_note(text: str, said: Said) -> bool:
    letters = len(_LETTER.findall(text))
    least = MIN_LETTERS // 3 if _UNSPACED.search(text) else MIN_LETTERS
    if not least <= letters <= MAX_LETTERS or text.endswith(("?", "？")):
        return False
    if _PRONOUN.match(text) or _HYPOTHETICAL.match(text) or _FIRST_PERSON.match(text) or _CHAT_WORDS.search(text):
        return False
    speaker = _SPEAKER.match(text)
    if speaker and speaker["name"].strip() in said.speakers:
        return False
    return not _is_copied(text, said) and _is_supported(text, said) and _is_asserted(text, said)


def _is_copied(text: str, said: Said) -> bool:
    """Return whether a line has the words of a message, or of an example."""
    words = set(_letters(text).split())
    if words & NAMES and not words & NAMES & set(_letters(said.text + " ".join(said.speakers)).split()):
        return True
    speaker = _SPEAKER.match(text)
    copy = _letters(speaker["text"] if speaker and speaker["name"].strip() in said.speakers else text)
    return len(copy) >= MIN_COPIED and any(_share_in(copy, _letters(message)) >= COPIED for _, message in said.messages)


def _share_in(copy: str, message: str) -> float:
    """Return the length of the longest piece of ``copy`` that also stands in ``message``, as a share of ``copy``."""
    if copy in message:
        return 1.0
    return SequenceMatcher(None, copy, message, autojunk=False).find_longest_match().size / len(copy)


def _is_repeated(text: str, others: Sequence[str]) -> bool:
    return any(SequenceMatcher(None, _letters(text), _letters(other)).ratio() >= REPEATED for other in others)


def _is_supported(text: str, said: Said) -> bool:
    """Return whether the messages have some of a note's words besides names, and its numbers."""
    numbers = {int(number) for number in _DIGITS.findall(text) if int(number) > SPELT_OUT}
    if numbers - {int(number) for number in _DIGITS.findall(said.text)}:
        return False
    if _UNSPACED.search(text):
        letters = list(_LETTER.findall(text))
        return sum(letter in said.text for letter in letters) >= len(letters) / 2
    words = content_words(text) - _name_words(said)
    shared = words & content_words(said.text)
    return bool(shared) and len(shared) >= MIN_SUPPORT * len(words)


def _is_asserted(text: str, said: Said) -> bool:
    """Return whether the sentence that a note comes from says so, and says it of the person whom the note is about.

    Small models take conditions, jokes and questions for facts, and "she has a cold" for the speaker's.
    """
    words = content_words(text) - _name_words(said)
    sentences = [one for _, message in said.messages for one in _SENTENCE.findall(_ACTION.sub(" ", message))]
    shared = {sentence: len(words & content_words(sentence)) for sentence in sentences}
    source = max(sentences, key=lambda sentence: shared[sentence], default="")
    if not source or not shared[source]:
        return True
    if is_imagined(source) or _CONDITION.search(source) or source.rstrip().endswith(("?", "？")):
        return False
    is_of_speaker = any(text.startswith(name) and text[len(name) : len(name) + 1] == " " for name in said.speakers)
    return not (is_of_speaker and _OTHERS.match(source.strip()) and not _ONESELF.search(source))


def _name_words(said: Said) -> Set[str]:
    return content_words(" ".join(f"{name} {name}'s" for name in said.speakers))


def _letters(text: str) -> str:
    return " ".join(re.findall(r"\w+", one_line(text, 10_000).casefold()))
