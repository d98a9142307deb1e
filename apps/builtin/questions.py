"""Tell questions from statements, in any language. Without database access."""

import re

_QUESTION = re.compile(r"[?？؟][\"'”’»*_)\]」』\s]*$")


def is_question(text: str) -> bool:
    """Return whether a text ends with a question mark, perhaps before marks that close a quotation or an action."""
    return bool(_QUESTION.search(text))
