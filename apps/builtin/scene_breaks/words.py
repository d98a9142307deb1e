"""List the words counted by features: time, calendar, plans, partings, greetings, persons. Without database access."""

import re
from collections.abc import Collection, Iterable

PARTS_OF_DAY = frozenset(
    "dawn morning sunrise noon midday afternoon evening dusk sunset nightfall night midnight breakfast lunch dinner"
    " supper".split()
)
UNITS = frozenset("minute hour day week month year spring summer autumn winter weekend o'clock".split())
BRIEF = frozenset("moment second minute beat heartbeat breath while".split())
CALENDAR = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april june july august september"
    " october november december".split()
)
SHIFTS = frozenset(
    "later next following after meanwhile elsewhere already finally eventually since until till by past when"
    " back".split()
)
UNREAL = frozenset(
    "tomorrow will would should could might if every always usually often never remember ago yesterday used had".split()
)
NOT_NOW = frozenset("tomorrow every always usually often sometimes last yesterday if".split())
PARTINGS = frozenset("goodbye bye goodnight night sleep tomorrow later bed home leave".split())
GREETINGS = frozenset("hey hi hello morning good evening".split())
PRONOUNS = frozenset("i he she they we you it his her their my your our its".split())

_WORD = re.compile(r"[a-z0-9']+")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.casefold().replace("’", "'"))


def any_of(words: Iterable[str], listed: Collection[str]) -> bool:
    """Return whether one of the words, or its singular, is listed."""
    return any(word in listed or word.removesuffix("s") in listed for word in words)
