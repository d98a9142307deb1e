"""Text of a reply in a form that can be stored and compared: no control characters, one line, no stray marks. Pure."""

import re

MAX_REPLY = 100_000  # characters that are read; no model is asked for as many
MAX_TEXT = 1000  # characters of one text
MAX_NAME = 200
MARKS = ("**", "__", "~~", "*", "_", "`")

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Control characters, halves of surrogate pairs, and marks without width that hide what a line begins with.
_UNSTORABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200b\ufeff]")
_SEPARATOR = re.compile(r"\s*(?:[:：]|[–—-]+(?=\s|$))\s*")
_HTML = re.compile(r"<(?:/?[A-Za-z][^<>]{0,200}|!--[^<>]{0,1000}--)>")
_WIDE = str.maketrans(
    {
        "［": "[", "］": "]", "【": "[", "】": "]", "〔": "[", "〕": "]", "（": "(", "）": ")", "：": ":", "＝": "=",
        "，": ",", "、": ",", "；": ";", "／": "/", "｜": "|", "＋": "+", "＃": "#", "！": "!", "－": "-", "＞": ">",
    }
)  # fmt: skip


def plain(reply: str) -> str:
    """What is read of a reply: MAX_REPLY characters at most, lines that end in a line feed, nothing unstorable."""
    return _UNSTORABLE.sub("", _LINE_ENDS.sub("\n", reply[:MAX_REPLY]))


def narrow(text: str) -> str:
    """The text with full-width brackets and punctuation made plain."""
    return text.translate(_WIDE)


def one_line(text: str, limit: int = MAX_TEXT) -> str:
    """The text in one line of ``limit`` characters at most."""
    return " ".join(_UNSTORABLE.sub("", _LINE_ENDS.sub("\n", text)).split())[:limit].strip()


def sentence(text: str, limit: int = MAX_TEXT) -> str:
    """The text in one line, without a separator before it and marks of bold, italics or code around all of it."""
    text = one_line(text, limit)
    while True:
        shorter = _unwrapped(_SEPARATOR.sub("", text, count=1) if _SEPARATOR.match(text) else text)
        if shorter == text:
            return text
        text = shorter


def _unwrapped(text: str) -> str:
    for mark in MARKS:
        inside = text[len(mark) : -len(mark)]
        if text.startswith(mark) and text.endswith(mark) and mark not in inside:
            return inside.strip()
    return text


def name_in(text: str) -> str:
    """A name as it is compared: one line, without marks, quotes and brackets around it."""
    return one_line(narrow(one_line(text, 2 * MAX_NAME)).strip(' *_`~"“”[]<>()|:,;#'), MAX_NAME)


def inside_tag(text: str) -> str:
    """A name without what has a meaning in a tag."""
    return name_in(re.sub(r"[\[\]:,/=|]", " ", narrow(one_line(text))))


def without_html(text: str) -> str:
    """The text without tags and comments."""
    return _HTML.sub("", text)
