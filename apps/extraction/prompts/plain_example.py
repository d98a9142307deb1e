"""The example of a plain question, shown as an earlier exchange: a small model follows that better than instructions.

Its people are made up; a note that names one of them is unused. Without database access.
"""

from collections.abc import Mapping
from typing import Any

EXAMPLE: Mapping[str, Any] = {
    "subject": "Pell",
    "names": ["Tamsin"],
    "turns": [
        {
            "number": 1,
            "speaker": "Pell",
            "is_user": True,
            "text": "Long day. I closed the ferry at noon and drove Oswin to the clinic, she can't have penicillin and "
            "nobody had written it down.",
        },
        {
            "number": 3,
            "speaker": "Pell",
            "is_user": True,
            "text": "In June I'm off to Gull Stairs with the new boat. If it sinks I'll sue you, ha.",
        },
    ],
}
NOTES = """Pell runs a ferry.
Oswin can't have penicillin.
Pell will travel to Gull Stairs in June with a new boat."""
NAMES = frozenset({"oswin", "pell", "gull", "tamsin"})
