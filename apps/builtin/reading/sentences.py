"""Split a message into sentences, each with its speaker. Without database access."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from sentencex import segment

from apps.builtin.reading.tokens import size_of
from apps.english.instructions import instructions_in, is_aside, is_instruction, without_instructions
from apps.english.requests import asked_to_remember, without_handed_over
from apps.text.detection import language_of

MIN_WORDS, MAX_WORDS = 4, 45
MAX_TAG_CHARS = 200  # characters before a quotation that are searched for its speaker
MAX_PIECE_CHARS = 20_000  # maximum length per call of the segmenter, whose running time is quadratic
MIN_NAME_CHARS = 3
MAX_PUNCTUATION = 0.2  # of the characters of prose

_HIDDEN = str.maketrans("", "", "\u00ad\u200b\u2060\ufeff")  # are shown as nothing
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])[‘´`＇ʼ′](?=[^\W\d_])")  # what keyboards write in place of one
_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_TABLE = re.compile(r"^\s*\|.*\|\s*$|^[\s|:+=-]+$")
_PUNCTUATION = re.compile(r"[0-9]+|[!-/:-@\[-`{-~]")  # numbers, and ASCII characters except letters and spaces
_HTML_OR_URL = re.compile(r"<[/a-zA-Z!][^<>]{0,500}>|https?://\S+")
_CODE = re.compile(
    r"\b[A-Za-z]:\\|[;{}]\s*$|\w\(\)|\w\[\w*\]|==|=>|->|</|\b(?:def|return|const|import|function)\b.*[(){}=;]"
)
# Quotation marks of the same kind can't be nested, so that unclosed quotes take linear time.
_QUOTED = re.compile(r'"([^"\n]+)"|“([^“”\n]+)”|«([^«»\n]+)»|„([^„“”\n]+)[“”]|「([^「」\n]+)」|『([^『』\n]+)』')
_SPACED = r"[^\W\u3040-\u9fff]"  # a letter of a script with spaces between words
_ACTION = re.compile(rf"(?<!\*)(?<!{_SPACED})\*{{1,3}}([^*\n]+?)\*{{1,3}}(?!\*|{_SPACED})")
# Emphasis of one or two words within a sentence; it does not split the sentence.
_EMPHASIS = r"\*{1,3}([^*\s]+(?: [^*\s]+)?)\*{1,3}"
_EMPHASIZED = re.compile(rf"(?<=[\w,] ){_EMPHASIS}(?!\w)|(?<![*\w]){_EMPHASIS}(?= [a-z])")
_MARKUP = re.compile(r"[*_`#>~]+|!?\[([^\[\]]*)\]\([^()]*\)")
_VERB = r"(?:said|says|asked|asks|answered|replied|replies|whispered|called|shouted|told|added|muttered)"
_WHO = r"(?!(?:Nobody|Everybody|Somebody|Everyone|Someone)\b)[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){0,3}"
_SOMEBODY = r"(?:the|a|an|one|another|some\w+)\b"
_TAG_AFTER = re.compile(rf"^\W*(?:{_VERB} (?P<who>{_WHO}|{_SOMEBODY})|(?P<subject>{_WHO}) {_VERB}\b)")
_TAG_BEFORE = re.compile(rf"\b(?P<who>{_WHO}) {_VERB}\b[^.!?]*$")
_LABEL = re.compile(rf"\W*(?P<who>{_WHO}):\s*")  # of a line of a script
_ACTOR_BEFORE = re.compile(rf"^\W*(?P<who>{_WHO})(?<!['’]s) (?!(?:and|or|of|with|in|on|at|to|for)\b)[a-z]+")
# Who tells of themselves quotes somebody else: "He told me: “…”", "“…”, my mother says". Elsewhere "she said" may be
# the author of a story.
_OTHERS_BEFORE = re.compile(
    rf"(?:\b(?!I\b)\w+(?: \w+ly| always| once| just| often)* {_VERB} (?:to )?(?:me|us)\b"
    rf"|\b(?:[Mm]y|[Oo]ur)(?: [\w'’-]+){{1,4}}? {_VERB}\b)[^.!?\"“]*$"
)
_OTHERS_AFTER = re.compile(
    rf"^\W*(?:(?:(?!I\b)\w+ ){{1,3}}?{_VERB} (?:to )?(?:me|us)\b|(?:my|our)(?: [\w'’-]+){{1,4}}? {_VERB}\b)"
)
_SPEECH_ENDS = (".", ",", "!", "?", "…", "—", "-", "。", "！", "？", "，")
_INTRODUCTION = re.compile(rf"(?:^|[.,:;!?…—*)\]”\"»。，：！？]|(?<![\w-]){_VERB})\s*$")
_INTRODUCTION_WINDOW = 12  # characters before a quotation that may introduce it
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine)\b")
_NOT_NAMES = frozenset("he she they it we you i the then and but so".split())


@dataclass(frozen=True)
class Sentence:
    """Sentence of turn number ``turn``, said by ``speaker`` if ``spoken`` is true, else narrated by them.

    ``wanted``: they ask to remember it.
    """

    turn: int
    speaker: str
    text: str
    spoken: bool
    wanted: bool = False

    @property
    def words(self) -> list[str]:
        return re.findall(r"[\w'’-]+", self.text)

    @property
    def size(self) -> int:
        """Return about how many words it has, also in scripts without spaces."""
        return size_of(self.text)


def sentences_of(turn: int, speaker: str, message: str, *, min_words: int = MIN_WORDS) -> Iterator[Sentence]:
    """Yield the sentences of a message in order.

    Sentences of fewer than ``min_words`` or more than MAX_WORDS words, code, tables and instructions to a model, which
    ``instructions_of`` yields, are left out.
    """
    for text, spoken, sentence_speaker in _divided(message, speaker).sentences:
        sentence = Sentence(turn, sentence_speaker, _strip_markup(text), spoken)
        if min_words <= sentence.size <= MAX_WORDS and _is_prose(sentence.text):
            yield sentence


def wanted_sentences(turn: int, speaker: str, message: str) -> Iterator[Sentence]:
    """Yield what a message asks to remember, without the asking. Must only be asked of the person's own messages.

    Anybody else's "Save this to your memory: …" is an instruction to a model.
    """
    for raw in _segments(without_instructions(_said(message))):
        said = _strip_markup(asked_to_remember(_strip_markup(raw)))
        if said and not is_instruction(said) and size_of(said) <= MAX_WORDS:
            yield Sentence(turn, speaker, said, spoken=True, wanted=True)


def instructions_of(turn: int, speaker: str, message: str) -> Iterator[Sentence]:
    """Yield what reads like an instruction to a model, as something that the speaker of the turn said.

    Out-of-character notes are no part of a story, unless they ask to remember something.
    """
    pieces = [*instructions_in(_said(message)), *_divided(message, speaker).commands]
    for piece in pieces:
        if is_aside(piece) and not asked_to_remember(piece):
            continue
        is_long = size_of(piece) > MAX_WORDS
        for text in _segments(piece) if is_long else [piece]:
            sentence = Sentence(turn, speaker, _strip_markup(text), spoken=True)
            if MIN_WORDS <= sentence.size <= MAX_WORDS and _is_prose(sentence.text):
                yield sentence


@dataclass(frozen=True)
class _Divided:
    """Sentences of a message as (text, spoken, speaker), and its commands to a model, with what they introduce."""

    sentences: tuple[tuple[str, bool, str], ...]
    commands: tuple[str, ...]


@lru_cache(maxsize=64)  # consecutive tasks parse the same few messages
def _divided(message: str, speaker: str) -> _Divided:
    sentences, commands, introduced = list[tuple[str, bool, str]](), list[str](), False
    for text, spoken, part_speaker in _marked_parts(without_instructions(_said(message)), speaker):
        for raw in _segments(text):
            if introduced:
                commands[-1] += f" {raw}"
                introduced = False
            elif is_instruction(raw):
                commands.append(raw)
                introduced = raw.rstrip().endswith((":", "："))
            else:
                sentences.append((raw, spoken, part_speaker))
    return _Divided(tuple(sentences), tuple(commands))


def _segments(text: str) -> Iterator[str]:
    """Yield the sentences of a text of any length, divided as its language does: "am 3. Mai" is none of two."""
    language = language_of(text)
    for start in range(0, len(text), MAX_PIECE_CHARS):
        yield from filter(str.strip, segment(language, text[start : start + MAX_PIECE_CHARS]))


def _said(message: str) -> str:
    """Return what a message says itself, without code and without a text that it hands over to be worked on."""
    return without_handed_over(prose(message))


def prose(message: str) -> str:
    """Return a message without code blocks, HTML, tables, block quotes and invisible characters.

    Apostrophes are the usual ones.
    """
    lines, fence = list[str](), ""
    all_lines = _APOSTROPHE.sub("'", message.translate(_HIDDEN)).splitlines()
    # Quoted lines are somebody else's words, unless nothing else is there: players of some games write all so.
    is_reply = any(line.strip() and not line.startswith(">") for line in all_lines)
    for line in all_lines:
        opening = _FENCE.match(line)
        if opening and not fence:
            fence = opening[1]
        elif fence and line.strip() == fence:
            fence = ""
        elif not fence and not _TABLE.match(line) and not (is_reply and line.startswith(">")):
            lines.append(_HTML_OR_URL.sub(" ", line))
    return "\n".join(lines)


def _is_prose(text: str) -> bool:
    """Return whether a text is mostly words, not an address, a path, a row of numbers or code."""
    return len(_PUNCTUATION.findall(text)) <= MAX_PUNCTUATION * len(text) and not _CODE.search(text)


def _strip_markup(text: str) -> str:
    text = _MARKUP.sub(lambda match: match[1] or "", text)
    return " ".join(text.split()).strip('-–— ,"“”«»')


def _marked_parts(message: str, speaker: str) -> Iterator[tuple[str, bool, str]]:
    """Yield (text, spoken, speaker) for the parts of a message.

    If it marks speech by quotation marks, the rest is narration; if it marks actions by asterisks, the rest is speech;
    if it marks nothing, all of it is speech. If others speak too, quotations without a tag have an empty speaker.
    """
    paragraphs = [_EMPHASIZED.sub(lambda match: match[1] or match[2], line) for line in message.splitlines()]
    if not any(_quotations(paragraph) for paragraph in paragraphs):
        for paragraph in paragraphs:
            yield from _action_parts(paragraph, speaker)
        return
    parts = [part for paragraph in paragraphs for part in _quoted_parts(paragraph, speaker)]
    default = speaker if all(part_speaker in (None, speaker) for _, _, part_speaker in parts) else ""
    for text, spoken, part_speaker in parts:
        yield text, spoken, default if part_speaker is None else part_speaker


def _quotations(paragraph: str) -> list[re.Match[str]]:
    """Return the quotations that are speech, not quoted titles or words."""
    return [
        match
        for match in _QUOTED.finditer(paragraph)
        if match[match.lastindex or 0].rstrip().endswith(_SPEECH_ENDS)
        or _INTRODUCTION.search(paragraph, max(match.start() - _INTRODUCTION_WINDOW, 0), match.start())
    ]


def _quoted_parts(paragraph: str, speaker: str) -> Iterator[tuple[str, bool, str | None]]:
    """Yield the quotations of a paragraph as speech and the text between them as the speaker's narration.

    The speaker of a quotation is the person in a tag such as ``said Mira``, else the previous speaker in the paragraph,
    else None; it is empty if the speaker has no name or may be somebody else.
    """
    speech = _quotations(paragraph)
    ends = [*(match.start() for match in speech[1:]), len(paragraph)]  # end of the text after each quotation
    position: int = 0
    quotation_speaker: str | None = None
    for match, end in zip(speech, ends, strict=False):
        before, after = paragraph[position : match.start()], paragraph[match.end() : end]
        quotation = match[match.lastindex or 0]  # the one group that matched
        tagged = _tagged_speaker(before, quotation, after, speaker)
        quotation_speaker = quotation_speaker if tagged is None else tagged
        yield before, False, speaker
        yield quotation, True, quotation_speaker
        position = match.end()
    yield paragraph[position:], False, speaker


def _tagged_speaker(before: str, quotation: str, after: str, speaker: str) -> str | None:
    """Return the speaker named by the words around a quotation, or None if they name nobody.

    Return "" if the speaker has no name, as in "said the man", or if somebody else acts before the quotation.
    """
    tag = _TAG_AFTER.search(after)
    if tag and tag["subject"] and quotation.endswith(".") and after.rstrip().endswith((",", ":")):
        tag = None  # it introduces the next quotation
    match = tag or _TAG_BEFORE.search(before[-MAX_TAG_CHARS:]) or _LABEL.fullmatch(before)
    name = (match["who"] or match["subject"]) if tag and match else match["who"] if match else ""
    if name[:1].islower():
        return ""
    words = name.split()
    while words and words[0].lower() in _NOT_NAMES:
        words = words[1:]
    if words:
        return speaker if set(words) <= set(speaker.split()) else " ".join(words)
    if _quotes_others(before, after):
        return ""
    actor = None if match else _ACTOR_BEFORE.match(before)
    not_others = {*speaker.lower().split(), *_NOT_NAMES}
    return "" if actor and actor["who"].lower().split()[0] not in not_others else None


def _quotes_others(before: str, after: str) -> bool:
    """Return whether the words around a quotation say that somebody said it to the author, or a relative of theirs."""
    return bool(_OTHERS_BEFORE.search(before[-MAX_TAG_CHARS:]) or _OTHERS_AFTER.match(after[:MAX_TAG_CHARS]))


def _action_parts(paragraph: str, speaker: str) -> Iterator[tuple[str, bool, str]]:
    """Yield text between asterisks as narration, and the rest as speech unless it is about the speaker."""
    position, spoken = 0, not _is_about_speaker(speaker, _ACTION.sub(" ", paragraph))
    for match in _ACTION.finditer(paragraph):
        yield paragraph[position : match.start()], spoken, speaker
        yield match[1], False, speaker
        position = match.end()
    yield paragraph[position:], spoken, speaker


def _is_about_speaker(speaker: str, text: str) -> bool:
    """Return whether a text names the speaker and does not say "I", as only narration about the speaker does."""
    names = [re.escape(name) for name in speaker.split() if len(name) >= MIN_NAME_CHARS]
    return bool(names) and bool(re.search(rf"\b(?:{'|'.join(names)})\b", text)) and not _FIRST_PERSON.search(text)
