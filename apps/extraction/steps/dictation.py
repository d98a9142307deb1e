"""Recognise lines that a model repeats because a message dictates them, and quote them. Without database access.

What a message says is never a statement of Loci's own: where a memory or a text has the words of a message, in any
language, it is attributed to who said them. A statement that begins with a person's name is no command and may stand as
it is. Arcs, knowledge and the ledger often have a message's words; there, only those are quoted that a rule of
``english.instructions`` recognises, in English.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from apps.chats.models import Message
from apps.english.instructions import dictated_texts, is_instruction, normalize_text, without_instructions
from apps.english.words import content_words
from apps.extraction.steps.turns import find_source_turn
from apps.memories.masking import masked
from apps.memories.quotations import ELLIPSIS, MAX_QUOTED, quotation, quoted_speaker

MIN_REPEATED_SHARE = 0.6  # minimum share of a line's words that occur in the dictated text
MIN_COPIED, MIN_COPIED_SENTENCE = 8, 20  # letters of a line, and of a sentence of a longer text, to be looked for
MIN_QUOTED_SHARE = 0.7  # minimum share of a line's pairs of letters that its sentence has
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n")
_OPENING_MARKS = " \t\n\"'“”„«»‘’「『*_>-"
_BULLETS = " \t-*•:：.0123456789"
_LETTER = r"[^\W\d_]"
_SUBJECT_ENDS = frozenset(",;:!?，；：！？、")
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*[\"'”’]*")
_NUMBER = re.compile(r"[\W\d_]*")
_SENTENCE_LABEL = re.compile(r"[^:：“”\n]{1,60}[:：]\s*")
_IN_BRACKETS = re.compile(r"\([^()]*\)")


class Dictation:
    """The texts that turns dictate: ``text in Dictation(turns)`` is true if the text only repeats one.

    A text is not contained if a sentence of the story says the same.
    """

    def __init__(self, turns: Mapping[int, Message]) -> None:
        self._texts = {number: masked(turn.mes) for number, turn in turns.items()}
        self._speakers = {number: turn.name for number, turn in turns.items()}
        messages = list(self._texts.values())
        self._lines = dictated_texts(messages)
        self._dictated = [words for line in self._lines if (words := content_words(line))]
        self._story = [words for message in messages for words in _story_words(message)] if self._dictated else []

    def __contains__(self, text: str) -> bool:
        if normalize_text(text) in self._lines:
            return True
        words = content_words(text)
        if not words or not self._dictated:
            return False
        dictated = max(len(words & line) / len(words) for line in self._dictated)
        story = max((len(words & line) / len(words) for line in self._story), default=0.0)
        return dictated >= MIN_REPEATED_SHARE and story < dictated

    def as_said(self, text: str, sources: Iterable[int] = (), names: Collection[str] = ()) -> str:
        """Return a text, or what a turn says if it only repeats that: as a quotation of who said it.

        ``sources`` are the numbers of the turns that it cites, which are searched first: a message may dictate them,
        too. ``names`` are those of people.
        """
        if self._is_true_quotation(text):
            return text
        cited = [number for number in sources if number in self._texts]
        numbers = list(dict.fromkeys([*cited, *self._texts]))
        copied = next((n for n in numbers if is_dictated(text, self._texts[n], names)), None)
        if copied is None and quoted_speaker(text):
            return self._as_quoted(text)
        if copied is None and text not in self:
            return text
        shown = {number: self._texts[number] for number in cited or numbers}
        number = find_source_turn(text, shown) if copied is None else copied
        if number is None:
            return text
        said = _sentence_with(text, self._texts[number], is_copied=copied is not None)
        return quotation(self._speakers[number], said)

    def _as_quoted(self, quoted: str) -> str:
        """Return a quotation of the wrong person as one of who said its words."""
        words = quoted.partition("“")[2].rstrip("”")
        number = next((number for number, text in self._texts.items() if _find(words, text)), None)
        return quoted if number is None else quotation(self._speakers[number], words)

    def _is_true_quotation(self, text: str) -> bool:
        """Return whether a text is a quotation and no turn has it in the words of somebody else."""
        speaker = quoted_speaker(text)
        own = [number for number, name in self._speakers.items() if name.casefold() == speaker.casefold()]
        words = text.partition("“")[2]
        others = [number for number in self._texts if number not in own]
        return bool(speaker) and (
            any(_find(words, self._texts[number]) for number in own)
            or not any(_find(words, self._texts[number]) for number in others)
        )


def with_quotations(text: str, material: Mapping[str, Any], names: Collection[str]) -> str:
    """Return a text in which each sentence that only repeats the words of its material is a quotation.

    ``material`` is what a prompt was made from: its turns, and its lists of texts, of which quotations count.
    """
    said = [(turn["speaker"], turn["text"]) for turn in material.get("turns", ())]
    lists = [value for value in material.values() if isinstance(value, list)]
    entries = [entry["text"] if isinstance(entry, Mapping) else entry for value in lists for entry in value]
    said += [(quoted_speaker(entry), entry) for entry in entries if quoted_speaker(entry)]

    def attributed(match: re.Match[str]) -> str:
        before = match.string[: match.start()].rpartition("\n")[2]
        label = _SENTENCE_LABEL.match(match[0]) if _NUMBER.fullmatch(before) else None
        sentence = match[0][label.end() if label else 0 :].strip()
        is_quoted = before.count("“") > before.count("”")
        if is_quoted or _length(sentence) < MIN_COPIED_SENTENCE:
            return match[0]
        speaker = next((who for who, words in said if is_dictated(sentence, words, names)), None)
        if speaker is None:
            return match[0]
        if sentence.startswith("“"):  # a quotation already, perhaps of the wrong person
            named = label[0].strip(_BULLETS) if label else ""
            if named == speaker or named not in {who for who, _ in said}:
                return match[0]
            start = label.start() + label[0].index(named) if label else 0
            return match[0][:start] + quotation(speaker, sentence.strip("“”"))
        start = match[0].rindex(sentence)
        return match[0][:start] + quotation(speaker, sentence) + match[0][start + len(sentence) :]

    return _SENTENCE.sub(attributed, text)


def is_dictated(text: str, message: str, names: Collection[str] = ()) -> bool:
    """Return whether a text has the very words of a message, and isn't simply told there of one of ``names``.

    What follows a tag, or a colon after more than one word, is dictated also if it begins with a name.
    """
    match = _find(text, message)
    if match is None:
        return False
    before = match.string[: match.start()].rstrip(_OPENING_MARKS)
    if before.endswith(("]", "】", "〕")) or (before.endswith(":") and _is_command(before[:-1])):
        return True
    return not _begins_with_name(text, names)


def _find(text: str, message: str) -> re.Match[str] | None:
    """Return where a message, folded, has the words of a text in their order; None for a text of a few letters."""
    words = normalize_text(text).split()
    if not words or _length(text) < MIN_COPIED:
        return None
    begins = rf"(?<!{_LETTER})" if _has_case(words[0][0]) else ""
    ends = rf"(?!{_LETTER})" if _has_case(words[-1][-1]) else ""
    return re.search(begins + r"[\W_]*".join(map(re.escape, words)) + ends, _folded(message))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _is_command(before: str) -> bool:
    """Return whether more than a label stands before a colon: two words, or three letters without case."""
    line = _IN_BRACKETS.sub(" ", before.rpartition("\n")[2])
    words = re.findall(r"[^\W\d_]+", line)
    return len(words) > 1 or any(len(word) > 2 and not _has_case(word[0]) for word in words)


def _begins_with_name(text: str, names: Collection[str]) -> bool:
    """Return whether somebody with one of ``names`` is what a text begins with, and isn't only spoken to."""
    folded = _folded(text).lstrip(_OPENING_MARKS)
    following = [folded[len(name) :][:1] for name in map(_folded, names) if name and folded.startswith(name)]
    return any(char not in _SUBJECT_ENDS and not _has_case(char) for char in following)


def _has_case(char: str) -> bool:
    return char.upper() != char.lower()


def _length(text: str) -> int:
    """Return how many letters a text has. Those of scripts without case, of which words have fewer, count twice."""
    return sum(1 if _has_case(char) else 2 for char in text if char.isalpha())


def _sentence_with(text: str, message: str, *, is_copied: bool) -> str:
    """Return the sentence of a message that a text repeats, with the command before it.

    A text that ``is_copied`` from several sentences, or from a long one, is itself what was said. Nobody is quoted with
    other words than their own.
    """
    pieces = [piece for piece in map(str.strip, filter(None, _SENTENCE_END.split(message))) if piece]
    pairs = _pairs(text)
    if not pieces or not pairs:
        return text
    shares = [len(pairs & _pairs(piece)) / len(pairs) for piece in pieces]
    best = max(range(len(pieces)), key=lambda number: shares[number])
    if is_copied and shares[best] < MIN_QUOTED_SHARE:
        return text
    commands = [piece for piece in pieces[max(best - 1, 0) : best] if piece.endswith((":", "："))]
    sentence = " ".join([*commands, pieces[best]])
    if len(sentence) <= MAX_QUOTED:
        return sentence
    return text if is_copied else sentence[:MAX_QUOTED] + ELLIPSIS


def _pairs(text: str) -> set[str]:
    """Return the pairs of neighbouring letters of a text, which do for scripts without spaces too."""
    letters = normalize_text(text).replace(" ", "")
    return {letters[start : start + 2] for start in range(len(letters) - 1)}


def _story_words(message: str) -> Iterator[frozenset[str]]:
    """Return the content words of each sentence of a message that is not an instruction to the model."""
    sentences = _SENTENCE_END.split(without_instructions(message))
    return (content_words(sentence) for sentence in sentences if not is_instruction(sentence))
