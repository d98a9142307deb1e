"""Ten years of dailies of two instances, consolidated without a model, and searches over all of it.

A search is compared to its SQL statements alone. Its ratio shows the cost of embedding the query, ranking and loading.
"""

import datetime as dt
import random
import time
from collections import Counter
from collections.abc import Callable
from itertools import cycle

import numpy as np
from django.db import connection

from apps.accounts.models import User
from apps.journal.entries import new_entry
from apps.journal.tasks import keep
from apps.llm.embeddings import get_embedder
from apps.memories.journal.bullets import chats_in
from apps.memories.journal.periods import ancestors, day
from apps.memories.models import JournalEntry
from apps.search.scope import JOURNAL
from apps.search.service import SearchQuery, search
from apps.text.lexemes import Lexemes
from benchmarks.search import PEOPLE, QUESTIONS, ROUNDS, VERBS, WARM_UP, WORDS, recorded, replay
from benchmarks.timing import interleaved, ratio, summary

FIRST, LAST = dt.date(2016, 1, 1), dt.date(2025, 12, 31)
INSTANCES = ("desk", "phone")
NOW = dt.datetime(2027, 1, 2, tzinfo=dt.UTC)  # when also the year that the last week belongs to is over
BATCH = 1000


def main() -> None:
    """Consolidate twice, count what was made, and measure searches."""
    owner = User.objects.create_user("bench-journal@example.com")
    store_dailies(owner)
    began = time.monotonic()
    written = keep(owner, NOW)
    print(f"consolidated in {time.monotonic() - began:.1f} s: {written} entries written")
    print(f"entries: {counts(owner)}")
    print(f"dailies that belong to exactly one week, month and year: {linked(owner)}")
    print(f"a second run wrote {keep(owner, NOW)} entries; entries: {counts(owner)}")
    measure(owner)


def store_dailies(owner: User) -> None:
    """Insert the dailies of each day and instance, in batches."""
    rng, noise = random.Random(7), np.random.default_rng(7)
    anchors = get_embedder().embed([text_of(rng, 0) for _ in range(500)])
    dates = [FIRST + dt.timedelta(days=n) for n in range((LAST - FIRST).days + 1)]
    entries = [daily(owner, date, instance, rng) for date in dates for instance in INSTANCES]
    for entry in entries:
        vector = anchors[rng.randrange(500)] + noise.normal(0, 0.03, anchors.shape[1])
        entry.embedding, entry.embedding_model = vector / np.linalg.norm(vector), get_embedder().model
    for start in range(0, len(entries), BATCH):
        JournalEntry.objects.bulk_create(entries[start : start + BATCH])
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE memories_journalentry")


def daily(owner: User, date: dt.date, instance: str, rng: random.Random) -> JournalEntry:
    """Return an entry of a day with one to three bullets."""
    entry = new_entry(owner, day(date), instance)
    entry.text = "\n".join(text_of(rng, number) for number in range(rng.randint(1, 3)))
    entry.chats = chats_in(entry.text)
    entry.lexemes = Lexemes(entry.text)
    return entry


def text_of(rng: random.Random, number: int) -> str:
    """Return a bullet."""
    clause = f"{rng.choice(PEOPLE)} {rng.choice(VERBS)} the {rng.choice(WORDS)} by the {rng.choice(WORDS)}"
    return f"- {clause}. [chat:{number}-{rng.randrange(200)}]"


def counts(owner: User) -> dict[str, int]:
    """Return the number of entries of each level."""
    return dict(Counter(JournalEntry.objects.for_owner(owner).values_list("granularity", flat=True)))


def linked(owner: User) -> int:
    """Return how many dailies are part of the week, month and year that their date names."""
    names = ("starts", "part_of__period", "part_of__part_of__period", "part_of__part_of__part_of__period")
    rows = JournalEntry.objects.for_owner(owner).filter(granularity="daily").values_list(*names)
    return sum([period.name for period in ancestors(day(starts))] == list(above) for starts, *above in rows)


def measure(owner: User) -> None:
    """Measure searches of the journal and their statements alternately, and print the ratio."""
    statements = {question: recorded(owner, question, tiers=(JOURNAL,)) for question in QUESTIONS}
    whole, bare = cycle(QUESTIONS), cycle(QUESTIONS)
    calls: dict[str, Callable[[], object]] = {
        "search": lambda: search(owner, SearchQuery(next(whole), tiers=(JOURNAL,))),
        "sql": lambda: replay(statements[next(bare)]),
    }
    interleaved(calls, WARM_UP)
    times = interleaved(calls, ROUNDS)
    print(f"search over {sum(counts(owner).values())} entries: {summary(times['search'])}")
    print(f"its SQL run bare:           {summary(times['sql'])}")
    print(f"search ratio of medians {ratio(times['search'], times['sql']):.2f}")
