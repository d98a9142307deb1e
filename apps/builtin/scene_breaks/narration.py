"""What a message narrates, sentence by sentence, without what is said in it. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sentencex import segment

from apps.builtin.scene_breaks.layout import Block, blocks_of
from apps.builtin.scene_breaks.turns import Turn

PIECE = 5_000  # characters that are cut into sentences at once; the time grows with their square
SPEECH = "❝"  # stands where speech was

# Nothing of the same kind stands within, so that what is never closed is not read again and again.
_QUOTED = re.compile(r'"([^"\n]*)"|“([^“”\n]*)”|«([^«»\n]*)»|„([^„“”\n]*)[“”]|「([^「」\n]*)」')
_SINGLE = re.compile(r"(?<!\w)['‘](?=\w)((?:[^'‘’\n]|(?<=\w)['’](?=\w))+[.,!?…—-])['’](?!\w)")
_UNCLOSED = re.compile(r'["“„«「][^\n]*')
_OPENED = re.compile(r'(?:^|\n|\s)["“„«]\w')
_DASHED = re.compile(r"^\s*[—–]\s*[^—–\n]+")
_ITALIC = re.compile(r"(?<![\w_])_([^_\n]+)_(?![\w_])")
_STRESSED = re.compile(r"(?<=[\w,] )\*{1,3}([^*\s]+)\*{1,3}(?!\w)|(?<![*\w])\*{1,3}([^*\s]+)\*{1,3}(?= [a-z])")
_ACTION = re.compile(r"(?<![*\w])\*{1,3}([^*\n]+?)\*{1,3}(?![*\w])|(?<![*\w])\*{1,3}(\w[^*\n]*)$")
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\n]*\)")
_MARKUP = re.compile(r"[*_`#>~]+")
_TALK = re.compile(
    r"(?:^|[.!?…]\s+)(?:(?:hey|hi|hello|okay|yeah|yep|yup|nope|wow|woah|ha(?:ha)+|thanks?|omg|ugh|good (?:luck"
    r"|morning))\b"
    r"|(?:ok|yes|no|sure|oh|aw+|sorry|please|well|wait|hmm+|same|nice|great|cool|cheers|right)[,.!?…])"
    r"|\byou\b[^.!?\n]*\?|\b(?:lol|haha|lmao|omg|btw|you've|you'll|i'll|i've|we'll|we've|let's)\b",
    re.IGNORECASE,
)
_FIRST = re.compile(r"\b(?:I|I'm|my|me|we|our)\b", re.IGNORECASE)


_DOES = (
    r"(?:said|says|asked|asks|replie[sd]|smile[sd]|nod(?:s|ded)|shrug(?:s|ged)|laugh(?:s|ed)|look(?:s|ed)|turn(?:s"
    r"|ed)|sigh(?:s|ed))"
)
_HAS = r"(?:eyes?|voice|hands?|face|head|shoulders?|mouth|lips|hair|arms?|fingers|mother|father|brother|sister)"
_PERSON = re.compile(rf"\b([A-Z][\w-]+) {_DOES}\b|\b(?:said|asked|says) ([A-Z][\w-]+)|\b([A-Z][\w-]+)['’]s {_HAS}\b")


@dataclass(frozen=True)
class Sentence:
    """``place`` is 0 at the start of the message's narration, 1 at the start of a paragraph, 2 within one."""

    text: str
    place: int
    paragraph: int


def narrated(turn: Turn, previous: Sequence[Turn] = ()) -> list[Sentence]:
    """The sentences that ``turn`` narrates. Where quotes mark its speech, or asterisks its actions, the rest is one or
    the other; where nothing is marked, it is narration unless people just talk to each other there."""
    return list(_sentences(_narration(list(blocks_of(turn.text)), previous)))


def people_in(texts: Iterable[str]) -> set[str]:
    """Names that speak, look or have hands and eyes in ``texts``."""
    return {next(filter(None, match.groups())) for text in texts for match in _PERSON.finditer(text)}


def marks_speech(text: str) -> bool:
    return bool(_QUOTED.search(text) or _SINGLE.search(text) or _OPENED.search(text))


def _narration(blocks: Sequence[Block], previous: Sequence[Turn]) -> Iterator[tuple[int, str]]:
    """(paragraph, text) of the parts that are narration."""
    lines = [(number, block.text) for number, block in enumerate(blocks) if block.kind in ("paragraph", "heading")]
    text = "\n".join(line for _, line in lines)
    plain = [(number, _STRESSED.sub(_inner, _ITALIC.sub(r"*\1*", line))) for number, line in lines]
    if marks_speech(text) or _DASHED.search(text):
        yield from ((number, _without_speech(line)) for number, line in plain)
    elif any(_ACTION.search(line) for _, line in plain):
        prose = any(marks_speech(turn.text) for turn in previous)
        for number, line in plain:
            yield from ((number, part) for part in _actions(line, prose))
    elif not _talks(text, previous):
        yield from plain


def _without_speech(line: str) -> str:
    for speech in (_QUOTED, _SINGLE):
        line = speech.sub(_spoken, line)
    return _DASHED.sub(SPEECH, _UNCLOSED.sub(SPEECH, line))


def _spoken(match: re.Match[str]) -> str:
    """What stays of speech: that it was there, and whether it ends a sentence."""
    said = _inner(match).rstrip()
    return SPEECH + (said[-1] if said and said[-1] in ".!?…," else "")


def _inner(match: re.Match[str]) -> str:
    return next(filter(None, match.groups()), "")


def _actions(line: str, prose: bool) -> Iterator[str]:
    """What stands between asterisks. A line without any is talk, unless speech is quoted elsewhere (``prose``)."""
    actions = [_inner(match) for match in _ACTION.finditer(line)]
    yield from actions
    if not actions and (prose or not (_TALK.search(line) or _FIRST.search(line))):
        yield line


def _talks(text: str, previous: Sequence[Turn]) -> bool:
    """Whether a message without marks is talk: it reads so where most do not quote speech, or tells of oneself where
    the others talk."""
    others = [turn.text for turn in previous[-6:]]
    quoting = sum(marks_speech(other) for other in others)
    if _TALK.search(text) and 2 * quoting <= len(others):
        return True
    own = bool(_FIRST.search(text)) or text[:1].islower()
    unmarked = [other for other in others if not marks_speech(other) and not _ACTION.search(other)]
    talk = sum(bool(_TALK.search(other)) or other[:1].islower() for other in unmarked)
    return bool(others) and len(unmarked) == len(others) and 2 * talk >= len(others) and own


def _sentences(parts: Iterable[tuple[int, str]]) -> Iterator[Sentence]:
    last, first = -1, True
    for paragraph, text in parts:
        for raw in _split(_LINK.sub(r"\1", text)):
            clean = " ".join(_MARKUP.sub("", raw).split()).replace("’", "'")
            if clean.strip(SPEECH + " .,!?…"):
                yield Sentence(clean, 0 if first else 1 if paragraph != last else 2, paragraph)
                last, first = paragraph, False


def _split(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield from segment("en", text[start : start + PIECE])
