"""What a result shows of a long text. Pure."""

import re

from sentencex import segment

WHOLE = 2000  # characters; below, a text is shown whole

_WORD = re.compile(r"\w+")
_STEM = 5  # letters that two forms of a word have in common, as a rule


def best_sentence(text: str, query: str) -> str:
    """The sentence of ``text`` that shares most with ``query``; the first of equals."""
    sentences = [sentence.strip() for sentence in segment("en", text[: 10 * WHOLE]) if sentence.strip()]
    wanted = _stems(query)
    return max(sentences, key=lambda sentence: len(_stems(sentence) & wanted), default=text.strip())


def excerpt(text: str, sentence: str) -> str:
    """``text`` whole when it is short, else what stands around ``sentence`` in it, cut between words."""
    if len(text) < WHOLE:
        return text
    middle = text.find(sentence) + len(sentence) // 2
    start = min(max(0, middle - WHOLE // 2), len(text) - WHOLE)
    cut = text[start : start + WHOLE]
    cut = cut if start == 0 else "… " + cut.partition(" ")[2]
    return cut if start + WHOLE == len(text) else cut.rpartition(" ")[0] + " …"


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(text.lower()) if len(word) > 2}
