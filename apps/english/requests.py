"""Recognise requests: to remember something, and to work on a text that is handed over. Without database access."""

import re

_ADDRESS = r"^\W*(?i:(?:ooc|please|hey|hi|ok(?:ay)?|oh|well|also|and|so|but|by the way|[\w'’-]+(?: \w+)?(?=,))\W+)*"
_ASKING = (
    r"(?:(?:can|could|would|will) you |I(?:['’]d like| would like| want| need) you to |you (?:must|should|have to) )?"
    r"(?:please |always |just )*"
)
_STATEMENT = r"(?=I\b|my\b|we\b|our\b|[A-Z0-9])"
_STORING = r"(?:add|append|save|store|put|write|commit|keep|record|log|note|enter)\b[^.!?:,]{0,40}\bmemor(?:y|ies)\b"
_REMEMBERING = (
    r"(?:remember|never forget|do(?:n['’]t| not)(?: ever)? forget|(?:keep|bear) in mind|memori[sz]e|"
    r"(?:take|make)(?: a)? note|note(?: down)?)\b"
)
_REMEMBER = re.compile(
    rf"{_ADDRESS}(?i:{_ASKING}(?:"
    rf"(?:{_STORING}|{_REMEMBERING})(?:\s+(?:this|it|the following|of this|as an?(?: \w+)? (?:fact|memory)))*"
    rf"(?:\s*[:：,;–—-]\s*|\s+that\s+|\s+(?-i:{_STATEMENT}))"
    r"|from now on\b,?\s*))",
)
_TASK = re.compile(
    r"^\W*(?:please\W+|(?:can|could|would) you (?:please )?)?"
    r"(?:translate|summari[sz]e|paraphrase|rephrase|rewrite|proofread|transcribe)\b[^.!?:：\n]{0,60}[:：]",
    re.IGNORECASE | re.MULTILINE,
)


def to_be_remembered(sentence: str) -> str:
    """Return what a sentence asks to be remembered, or an empty string if it is no such request."""
    match = _REMEMBER.match(sentence)
    return sentence[match.end() :].strip(" \"'“”") if match else ""


def without_handed_over(message: str) -> str:
    """Return a message up to a text that it hands over to be translated or summarised: nobody says that."""
    match = _TASK.search(message)
    return message[: match.start()] if match else message
