"""Count the words of a text in any language, and tell questions from statements."""

import re

_WITHOUT_SPACES = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
# A run of characters in a script without spaces, a word, a number, or a mark that tells a question, a pause or a label.
TOKEN = re.compile(
    rf"[{_WITHOUT_SPACES}]+|[^\W\d_{_WITHOUT_SPACES}]+(?:['’-][^\W\d_{_WITHOUT_SPACES}]+)*|\d+|[?？!！…—:]"
)
IS_UNSPACED = re.compile(rf"[{_WITHOUT_SPACES}]")
_QUESTION = re.compile(r"[?？؟][\"'”’»*_)\]」』\s]*$")


def size_of(text: str) -> int:
    """Return about how many words a text has; two characters count as a word in scripts without spaces."""
    return sum(
        (len(token) + 1) // 2 if IS_UNSPACED.match(token) else token[:1].isalnum() for token in TOKEN.findall(text)
    )


def is_question(text: str) -> bool:
    """Return whether a text ends with a question mark, perhaps before marks that close a quotation or an action."""
    return bool(_QUESTION.search(text))
