"""Recognise what somebody asks to be remembered, as "Please remember that I am diabetic."."""

import re

_ADDRESS = (
    r"^\W*(?:\w+,\s*|(?:hey|hi|hello|ok(?:ay)?|please|also|and|oh|well|so|just)\s+){0,5}"
    r"(?:(?:can|could|will|would) you (?:please )?|I(?:['’]d| would)? (?:want|like|need) you to )?(?:please )?"
)
_KEEP = (
    r"(?:always )?(?:remember|(?:do not|don['’]t|never) forget|(?:keep|bear) in mind|(?:make a|take) note"
    r"|(?:save|store|add|put|write|keep)(?: (?:this|that|it|the following))? (?:down )?(?:to|in|into) "
    r"(?:your |the )?(?:long-term )?memor(?:y|ies))"
)
# A statement begins with a pronoun, a determiner, a name or a number; "that time we met" is none.
_STATEMENT = (
    r"(?P<said>(?:I|we|my|our|you|he|she|it|they|his|her|their|the|an?|there|no|all|every\w*|(?-i:[A-Z0-9]\S*))\b.*)"
)
_ASKS = re.compile(
    rf"{_ADDRESS}{_KEEP}"
    rf"(?:\s*[:,–—-]\s*|\s+(?:that|the following)\b[\s:,]*|\s+(?=(?:I|my|we|our)\b)){_STATEMENT}",
    re.IGNORECASE | re.DOTALL,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_CALL_ME = re.compile(
    rf"{_ADDRESS}(?:from now on,?\s+)?(?:please )?(?:always )?call me (?-i:[A-Z]).*", re.IGNORECASE | re.DOTALL
)


def asked_to_remember(sentence: str) -> str:
    """Return the statement that a sentence asks to remember, or "".

    How somebody wants to be called is such a request too, and returned as it is.
    """
    sentence = sentence.strip()
    if _CALL_ME.fullmatch(sentence):
        return sentence
    match = _ASKS.fullmatch(sentence)
    said = match["said"].strip() if match and not sentence.endswith(("?", "？")) else ""
    return said[:1].upper() + said[1:]


def requests_in(message: str) -> list[str]:
    """Return the statements that the sentences of a message ask to remember."""
    return [said for sentence in _SENTENCE_END.split(message) if (said := asked_to_remember(sentence))]
