"""The search's BM25 is that of the textbook, though a row's terms know nothing of the other rows."""

import math
import random
import threading
from collections import Counter

import numpy as np
import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.memories.models import Memory
from apps.search import scan
from apps.search.scan import K1
from apps.search.service import SearchQuery, find
from apps.text.lexemes import Lexemes, lexemes_of
from tests.database import WAITING
from tests.factories import UserFactory, make_chat, make_memory
from tests.lanes import paired

WORDS = (
    "harbour letter garden winter lantern promise market violin illness journey bread shadow wedding cellar river"
    " horse window storm mountain brother"
).split()


def plain_bm25(rows, lengths, b):
    """Return the score of each row by the formula, as a fraction of the maximum.

    A repeated word counts as in a row of mean length.
    """
    mean = max(sum(lengths) / len(lengths), 1)
    found = [sum(row[n] > 0 for row in rows) for n in range(len(rows[0]))]
    idf = [math.log(1 + (len(rows) - df + 0.5) / (df + 0.5)) if df else 0 for df in found]
    norms = [1 + K1 * (1 - b + b * length / mean) for length in lengths]
    return [
        sum(weight * tf * (1 + K1) / (tf + K1) for weight, tf in zip(idf, row, strict=True)) / norm / (sum(idf) or 1)
        for row, norm in zip(rows, norms, strict=True)
    ]


@pytest.fixture
def chat(db):
    return make_chat(UserFactory())


def remember(chat, text):
    return make_memory(chat, text, lexemes=Lexemes(text))


def occurrences(text):
    with connection.cursor() as cursor:
        cursor.execute("SELECT lexeme, cardinality(positions) FROM unnest(to_tsvector('english', %s))", [text])
        return Counter(dict(cursor.fetchall()))


@pytest.mark.parametrize(("seed", "words"), paired(range(8), [2, 9, 20]))
def test_the_best_hits_by_words_are_those_of_the_formula(chat, monkeypatch, seed, words):
    """Also where words are repeated, and where more rows match than are returned."""
    monkeypatch.setattr(scan, "HITS_PER_RETRIEVER", 6)
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(WORDS[: rng.randint(2, 20)], k=rng.randint(1, 60))) for _ in range(40)]
    memories = {remember(chat, text).pk: occurrences(text) for text in texts}
    query = " ".join(rng.sample(WORDS, words))
    lexemes = lexemes_of(query)
    rows = [[counted[lexeme] for lexeme in lexemes] for counted in memories.values()]
    expected = dict(zip(memories, plain_bm25(rows, [len(each) for each in memories.values()], 0.3), strict=True))
    best = sorted(expected, key=lambda pk: (-round(expected[pk], 9), pk))[:6]
    hits = find(chat.owner_id, SearchQuery(query, preset="bm25", tiers=tuple(Memory.Tier.values))).hits
    scores = {hit.id: hit.signals["lexical"] for hit in hits}
    assert scores == {pk: pytest.approx(expected[pk], abs=1e-6) for pk in best if expected[pk] > 0}


def test_how_common_words_are_is_told_by_a_sample_that_is_the_same_each_time(chat, monkeypatch):
    """A word in half of the rows weighs less than one in a tenth of them, whichever rows are counted."""
    monkeypatch.setattr(scan, "SAMPLE", 40)
    rare = {remember(chat, f"The violin of harbour {number}.").pk for number in range(10)}
    for number in range(90):
        remember(chat, f"The storm of harbour {number}." if number % 2 else f"Bread number {number}.")
    query = SearchQuery("violin storm", preset="bm25", tiers=tuple(Memory.Tier.values))
    first, second = (find(chat.owner_id, query).hits for _ in range(2))
    assert [(hit.id, hit.score) for hit in first] == [(hit.id, hit.score) for hit in second]
    assert {hit.id for hit in first[:10]} == rare


def test_words_that_are_in_no_sampled_row_count_and_no_score_is_above_1(chat, monkeypatch):
    """Rows that have more of them rank first, though each weighs more than all words of the sample."""
    monkeypatch.setattr(scan, "SAMPLE", 20)
    both, one = remember(chat, "The violin of the harbour, by the river."), remember(chat, "The violin, by the river.")
    plain = {remember(chat, f"The storm over the river, number {number}.").pk for number in range(30)}
    query = SearchQuery("violin harbour river", preset="bm25", tiers=tuple(Memory.Tier.values))
    hits = find(chat.owner_id, query).hits
    scores = [hit.signals["lexical"] for hit in hits]
    assert [hit.id for hit in hits[:2]] == [both.pk, one.pk]
    assert {hit.id for hit in hits[2:]} == plain
    assert 1 >= scores[0] > scores[1] > scores[2] > 0


@pytest.mark.parametrize("change", ["setweight(lexemes, 'A')", "strip(lexemes)"])
def test_lexemes_that_an_imported_row_brings_with_weights_or_without_positions_are_found(chat, change):
    memory = remember(chat, "storm " * 9 + "violin")
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE memories_memory SET lexemes = {change}")
    query = SearchQuery("storm", preset="bm25", tiers=tuple(Memory.Tier.values))
    assert [hit.id for hit in find(chat.owner_id, query).hits] == [memory.pk]


def test_memories_without_words_are_not_found_by_them(chat):
    make_memory(chat, "...", lexemes=None)
    remember(chat, "...")
    found = remember(chat, "The violin.")
    query = SearchQuery("violin", preset="bm25", tiers=tuple(Memory.Tier.values))
    assert [hit.id for hit in find(chat.owner_id, query).hits] == [found.pk]


def test_a_text_of_very_many_different_words_is_stored_and_found(chat):
    memory = remember(chat, " ".join(f"w{number}" for number in range(20_000)))
    query = SearchQuery(" ".join(f"w{number}" for number in range(20)), tiers=tuple(Memory.Tier.values))
    assert [hit.id for hit in find(chat.owner_id, query).hits] == [memory.pk]


def test_a_query_of_very_many_different_words_is_answered_by_those_that_it_repeats_and_the_first(chat):
    """The statement grows with the words, and no more than the database takes."""
    repeated, first = remember(chat, "The violin."), remember(chat, "w0")
    remember(chat, "w15999")
    words = " ".join(f"w{number}" for number in range(16_000))
    with CaptureQueriesContext(connection) as captured:
        hits = find(chat.owner_id, SearchQuery(f"{words} violin violin", preset="bm25")).hits
    assert {hit.id for hit in hits} == {repeated.pk, first.pk}
    scan_sql = next(query["sql"] for query in captured if "search_query" in query["sql"])
    assert len(scan_sql) < 50_000


def test_words_are_found_by_their_changed_text(chat):
    memory = remember(chat, "The violin.")
    Memory.objects.for_owner(chat.owner_id).filter(pk=memory.pk).update(lexemes=Lexemes("The lantern."))
    tiers = tuple(Memory.Tier.values)
    assert not find(chat.owner_id, SearchQuery("violin", preset="bm25", tiers=tiers)).hits
    assert find(chat.owner_id, SearchQuery("lantern", preset="bm25", tiers=tiers)).hits


def migrate_at_the_end(done):
    try:
        call_command("migrate", "memories", verbosity=0)
        done.set()
    finally:
        connection.close()


@pytest.mark.explore
@pytest.mark.django_db(transaction=True)
def test_a_search_within_a_transaction_and_the_migration_do_not_wait_for_each_other():
    given, done = connection.get_connection_params(), threading.Event()
    parameters = {name: given[name] for name in ("dbname", "user", "password", "host", "port") if name in given}
    call_command("migrate", "memories", "0006", verbosity=0)
    thread = threading.Thread(target=migrate_at_the_end, args=[done])
    try:
        with psycopg.connect(**parameters) as searching:
            searching.execute("SELECT 1 FROM memories_passage")
            thread.start()
            while not searching.execute(WAITING).fetchone()[0]:
                assert not done.wait(0.05)
            searching.execute("SELECT 1 FROM memories_memory")
        assert done.wait(60)
    finally:
        thread.join()
        call_command("migrate", "memories", verbosity=0)


@pytest.mark.django_db(transaction=True)
def test_what_was_stored_before_the_terms_is_found_after_the_migration_and_back():
    chat = make_chat(UserFactory())
    vector = np.ones(384) / 384**0.5
    memory = make_memory(chat, "The violin.", lexemes=Lexemes("The violin."), embedding=vector, embedding_model="m")
    query = SearchQuery("violin", preset="bm25", tiers=tuple(Memory.Tier.values))
    begun = timezone.now()
    try:
        call_command("migrate", "memories", "0005", verbosity=0)
    finally:
        call_command("migrate", "memories", verbosity=0)
    assert [hit.id for hit in find(chat.owner_id, query).hits] == [memory.pk]
    memory.refresh_from_db()
    assert np.allclose(np.array(memory.embedding), vector, atol=1e-3)
    assert memory.embedding_model == "m"
    with connection.cursor() as cursor:
        # Not whether all rows are visible to everybody: a transaction that is older than the vacuum may be open still.
        cursor.execute("SELECT last_vacuum FROM pg_stat_user_tables WHERE relname = 'memories_memory'")
        [vacuumed] = cursor.fetchone()
        assert vacuumed is not None, "searches read whole rows until the next vacuum"
        assert vacuumed >= begun
