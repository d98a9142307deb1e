"""Find lines of a reply that only repeat examples of the prompt, as small models do. Without database access."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

from apps.extraction.parsers.text_cleanup import LEADING_MARKS

MIN_LETTERS = 16  # of an example: a shorter one may well be meant
SAME = 0.92  # ratio of texts that are the same but for a few letters
MAX_LINES = 200  # of a reply
_TAG = re.compile(r"\[[^\[\]\n]*\]\s*")
_NO_LETTER = re.compile(r"[\W_]+")


def without_examples(reply: str, prompt: str) -> str:
    """Return a reply whose lines with the text of an example of the prompt have no tag: no parser can use them.

    Examples are the lines of a prompt that begin with a bracket. None of the material does. A reply of more than
    ``MAX_LINES`` lines stays as it is.
    """
    examples = {_letters(line) for line in prompt.splitlines() if _TAG.match(line)}
    examples = {letters for letters in examples if len(letters) >= MIN_LETTERS}
    lines = reply.split("\n")
    if not examples or len(lines) > MAX_LINES:
        return reply
    return "\n".join(f"\n{_untagged(line)}\n" if _is_one_of(line, examples) else line for line in lines)


def _is_one_of(line: str, examples: Iterable[str]) -> bool:
    letters = _letters(line) if "[" in line else ""
    return len(letters) >= MIN_LETTERS and any(
        letters == example or _is_similar(letters, example) for example in examples
    )


def _is_similar(letters: str, example: str) -> bool:
    matcher = SequenceMatcher(None, letters, example, autojunk=False)
    return matcher.real_quick_ratio() >= SAME and matcher.quick_ratio() >= SAME and matcher.ratio() >= SAME


def _letters(line: str) -> str:
    return _NO_LETTER.sub("", _untagged(line)).casefold()


def _untagged(line: str) -> str:
    """Return a line without its bullet, number and tag."""
    return _TAG.sub("", LEADING_MARKS.sub("", line, count=1), count=1)
