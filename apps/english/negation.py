"""Detect negated statements. Without database access."""

import re

_NEGATION = re.compile(
    r"\b(?:not|never|no longer|without|nobody|nothing|no|neither|nor|none|unable to|fails? to|failed to|refuses? to|"
    r"refused to|hardly|barely|lacks?|lacked|devoid of|"
    r"(?:is|are|am|was|were|ran|run|runs) out of(?= \w+(?: \w+)?$)(?! (?:order|town|work|bed|hospital|prison)))\b"
    r"(?! (?:only|doubt)\b)"
)


def is_negated(text: str) -> bool:
    """Return whether a text in lower case, without contractions, is negated. Two negations cancel each other out,
    except that "not without" stays negated."""
    negations = _NEGATION.findall(text)
    return len([word for word in negations if word != "without"]) % 2 == 1 or negations == ["without"]
