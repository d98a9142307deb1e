"""Read which time a query asks about: "last spring", "on the third of May", 上周. Without database access."""

import datetime as dt

from apps.memories.relative_dates import dated
from apps.text.periods import period_lexemes
from apps.text.words import folded

MAX_CHARACTERS = 300  # of a question; a longer text tells a story, whose "yesterday" may be of long ago


def times_in(query: str, now: dt.datetime) -> frozenset[str]:
    """Return the lexemes of the days, or of the months and days of any year, that a query asks about.

    Today is none: it is said of whatever is felt or done now, and all that was just said is of today.
    """
    if len(query) > MAX_CHARACTERS:
        return frozenset()
    with_dates = folded(dated(query, now, dt.UTC))
    return frozenset(period_lexemes(with_dates)) - {f"@{now:%Y-%m-%d}"}
