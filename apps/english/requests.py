"""Recognise requests: to remember something, and to work on a text that is handed over. Without database access."""

import re

_ADDRESS = (
    r"^\W*(?:\w+,\s*|(?:ooc|hey|hi|hello|ok(?:ay)?|please|also|and|oh|well|so|just)[\s:]+){0,5}"
    r"(?:(?P<asking>(?:can|could|will|would) you )"
    r"|I(?:['’]d| would)? (?:want|like|need) you to |you (?:must|should|have to) )?"
    r"(?:please |just )*"
)
_KEEP = (
    r"(?:always )?(?:remember|memori[sz]e|(?:do not|don['’]t|never)(?: ever)? forget|(?:keep|bear) in mind"
    r"|(?:make|take)(?: a)? note|note(?: down)?"
    r"|(?:save|store|add|append|put|write|keep|commit|record|enter)\b[^.!?:,]{0,40}\bmemor(?:y|ies))"
)
# A statement begins with a pronoun, a determiner, a name or a number; "that time we met" is none.
_STATEMENT = (
    r"(?P<said>(?:I|we|my|our|you|he|she|it|they|his|her|their|the|an?|there|no|all|every\w*|(?-i:[A-Z0-9]\S*))\b.*)"
)
_LINK = (
    r"(?:\s*[:：,–—-]\s*|\s+(?:that|(?:this|it|the following)(?: as an?(?: \w+)? (?:fact|memory))?)\b[\s:,]*"
    r"|\s+(?=(?:I|my|we|our)\b))"
)
_ASKS = re.compile(rf"{_ADDRESS}{_KEEP}{_LINK}{_STATEMENT}", re.IGNORECASE | re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_CALL_ME = re.compile(
    rf"{_ADDRESS}(?:from now on,?\s+)?(?:please )?(?:always )?call me (?-i:[A-Z]).*", re.IGNORECASE | re.DOTALL
)
_TASK = re.compile(
    r"^[^\w\n]*(?:please\W+|(?:can|could|would) you (?:please )?)?"
    r"(?:translate|summari[sz]e|paraphrase|rephrase|rewrite|proofread|transcribe)\b[^.!?:：\n]{0,60}[:：]",
    re.IGNORECASE | re.MULTILINE,
)


def asked_to_remember(sentence: str) -> str:
    """Return the statement that a sentence asks to remember, or "".

    How somebody wants to be called is such a request too, and returned as it is.
    """
    sentence = sentence.strip()
    if _CALL_ME.fullmatch(sentence):
        return sentence
    match = _ASKS.fullmatch(sentence)
    if not match:
        return ""
    said = match["said"].strip()
    if said.endswith(
        ("?", "？")
    ):  # "Could you remember that I am deaf?" asks for that, "Remember that I was ill?" doesn't
        said = said.rstrip("?？ ") + "." if match["asking"] else ""
    return said[:1].upper() + said[1:]


def requests_in(message: str) -> list[str]:
    """Return the statements that the sentences of a message ask to remember."""
    return [said for sentence in _SENTENCE_END.split(message) if (said := asked_to_remember(sentence))]


def without_handed_over(message: str) -> str:
    """Return a message up to a text that it hands over to be translated or summarised: nobody says that."""
    match = _TASK.search(message)
    return message[: match.start()] if match else message
