"""Search over 18,000 memories of one owner, then 200,000, compared to its SQL alone and to a scan of their vectors.

The first ratio shows the cost of everything but the database: embedding the query, ranking, and loading rows. The
second shows that of everything but the exact comparison of vectors. Its targets: at most 3, then at most 4. The last
figure is how many of the nearest memories the search by vectors finds: at least 0.98.
"""

import random
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection

from apps.accounts.models import User
from apps.llm.embeddings import get_embedder
from apps.memories.models import Memory
from apps.memories.trigger_words import longest_words
from apps.search.service import SearchQuery, search
from apps.text.lexemes import Lexemes
from benchmarks.timing import interleaved, ratio, summary

MEMORIES, BATCH, ROUNDS, WARM_UP = 18_000, 1000, 60, 10
MANY, ROUNDS_OF_MANY, WARM_UP_OF_MANY, NEAREST = 200_000, 15, 3, 10
# A further memory says the same as another, and is about as near to it as the memories of one anchor are to each other.
MULTIPLY = """
    INSERT INTO memories_memory (id, embedding, {columns})
    SELECT gen_random_uuid(), l2_normalize(one.embedding + another.embedding), {values}
    FROM (SELECT *, row_number() OVER (ORDER BY id) AS number FROM memories_memory WHERE owner_id = %(owner)s) AS one
    CROSS JOIN generate_series(1, %(times)s) AS round
    JOIN (SELECT embedding, row_number() OVER (ORDER BY id) AS number FROM memories_memory WHERE owner_id = %(owner)s)
        AS another ON another.number = (one.number + round * 997) %% %(rows)s + 1
    LIMIT %(more)s
"""
PEOPLE = "Mira Tom Anna Old Bertram Captain Hale the smith her sister the ferryman".split()
WORDS = (
    "harbour letter garden winter lantern promise market violin illness journey bread shadow wedding cellar river"
    " debt horse window storm mountain key brother ship forest song fever mirror train orchard knife dream bridge"
).split()
VERBS = "found lost repaired sold painted hid remembered feared visited inherited burned described borrowed".split()
QUESTIONS = (
    "Who sold the violin before the winter journey?",
    "What did Mira hide in the cellar?",
    "Tell me about the storm at the bridge.",
    "When was the letter about the wedding found?",
    "Does Anna still fear the forest and the river?",
)


def main() -> None:
    """Measure both numbers of memories."""
    owner = User.objects.create_user("bench-search@example.com")
    store_memories(owner)
    measure(owner, MEMORIES, 3, ROUNDS, WARM_UP)
    multiply_memories(owner)
    measure(owner, MANY, 4, ROUNDS_OF_MANY, WARM_UP_OF_MANY)
    print(f"found of the {NEAREST} nearest memories {recall(owner):.3f} (target: 0.98)")


def measure(owner: User, number: int, target: int, rounds: int, warm_up: int) -> None:
    """Measure searches and their statements alternately, and print the ratios."""
    statements = {question: recorded(owner, question) for question in QUESTIONS}
    whole, bare = cycle(QUESTIONS), cycle(QUESTIONS)
    calls: dict[str, Callable[[], object]] = {
        "search": lambda: search(owner, SearchQuery(next(whole))),
        "sql": lambda: replay(statements[next(bare)]),
        "scan": lambda: scan_vectors(owner, "memories_memory"),
    }
    interleaved(calls, warm_up)
    times = interleaved(calls, rounds)
    print(f"search over {number} memories: {summary(times['search'])}")
    print(f"its SQL run bare:           {summary(times['sql'])}")
    print(f"bare scan of the vectors:   {summary(times['scan'])}")
    print(f"search ratio of medians {ratio(times['search'], times['sql']):.2f}")
    print(f"search ratio to the bare scan {ratio(times['search'], times['scan']):.2f} (target: {target})")


def multiply_memories(owner: User) -> None:
    """Insert further memories by the database, until there are MANY."""
    given = {"id", "embedding"}
    columns = [str(field.column) for field in Memory._meta.concrete_fields if field.column not in given]
    sql = MULTIPLY.format(columns=", ".join(columns), values=", ".join(f"one.{column}" for column in columns))
    more, times = MANY - MEMORIES, MANY // MEMORIES
    with connection.cursor() as cursor:
        cursor.execute(sql, {"owner": owner.pk, "times": times, "rows": MEMORIES, "more": more})
        cursor.execute("VACUUM ANALYZE memories_memory")


def recall(owner: User) -> float:
    """Return the share of the memories nearest to the questions that a search by vectors finds."""
    found = 0
    for question in QUESTIONS:
        results = search(owner, SearchQuery(question, preset="dense", limit=NEAREST)).results
        found += len({result.id for result in results} & nearest(owner, get_embedder().embed([question])[0]))
    return found / (NEAREST * len(QUESTIONS))


def nearest(owner: User, vector: np.ndarray) -> set[UUID]:
    """Return the ids of the memories of the owner that are nearest to a vector, by an exact scan."""
    sql = "SELECT id FROM memories_memory WHERE owner_id = %s ORDER BY embedding <#> %s::halfvec LIMIT %s"
    with connection.cursor() as cursor:
        cursor.execute(sql, [owner.pk, str(vector.tolist()), NEAREST])
        return {pk for (pk,) in cursor.fetchall()}


def store_memories(owner: User, fields: Callable[[int], dict[str, Any]] = lambda number: {}) -> None:
    """Insert memories with generated texts, in batches. ``fields`` returns more fields of the memory of a number."""
    rng, noise = random.Random(7), np.random.default_rng(7)
    texts = list(sentences(rng))
    anchors = get_embedder().embed(texts[:500])
    for start in range(0, MEMORIES, BATCH):
        vectors = (anchors[rng.randrange(500)] + noise.normal(0, 0.03, anchors.shape[1]) for _ in range(BATCH))
        Memory.objects.bulk_create(
            memory(owner, text, vector, **fields(number))
            for number, (text, vector) in enumerate(zip(texts[start : start + BATCH], vectors, strict=True), start)
        )
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE memories_memory")


def sentences(rng: random.Random) -> Iterator[str]:
    """Yield generated sentences."""
    for _ in range(MEMORIES):
        clauses = [
            f"{rng.choice(PEOPLE)} {rng.choice(VERBS)} the {rng.choice(WORDS)} by the {rng.choice(WORDS)}"
            for _ in range(rng.randint(1, 3))
        ]
        yield " and ".join(clauses) + f" on day {rng.randrange(5000)}."


def memory(owner: User, text: str, vector: np.ndarray, **fields: Any) -> Memory:
    """Return a memory with a given vector: only the distances matter here, so texts need not match."""
    return Memory(
        owner=owner,
        text=text,
        embedding=vector / np.linalg.norm(vector),
        embedding_model=get_embedder().model,
        triggers=longest_words(text),
        lexemes=Lexemes(text),
        **({"tier": Memory.Tier.LONG_TERM, "kind": Memory.Kind.FACT} | fields),
    )


def recorded(owner: User, question: str, **options: Any) -> list[tuple[str, Any]]:
    """Return the SQL statements of one search, with their parameters. ``options`` are of its SearchQuery."""
    statements = []

    def record(execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: Any) -> Any:
        statements.append((sql, parameters))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(record):
        search(owner, SearchQuery(question, **options))
    return statements


def scan_vectors(owner: User, *tables: str) -> None:
    """Compare all vectors of the owner with one, exactly, and fetch the ten nearest of each table."""
    vector = Memory.objects.for_owner(owner).exclude(embedding=None).values_list("embedding", flat=True)[0]
    with connection.cursor() as cursor:
        for table in tables:
            nearest = f"SELECT id FROM {table} WHERE owner_id = %s ORDER BY embedding <#> %s::halfvec LIMIT 10"
            cursor.execute(nearest, [owner.pk, str(list(vector))])
            cursor.fetchall()


def replay(statements: list[tuple[str, Any]]) -> None:
    """Execute recorded statements and fetch their rows."""
    with connection.cursor() as cursor:
        for sql, parameters in statements:
            cursor.execute(sql, parameters)
            cursor.fetchall()
