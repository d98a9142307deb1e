"""The scan finds what a plain computation over all rows finds, whatever the rows and the query."""

import math

import numpy as np
import pytest
from django.db.models import Exists, OuterRef
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.chats.operations import branch_chat
from apps.memories.models import Memory
from apps.memories.other_branches import is_copy
from apps.search import scan
from apps.search.hits import EncodedQuery, find_memories
from apps.search.presets import PRESETS
from apps.search.questions import parse_query
from apps.search.scan import K1
from apps.search.scope import SearchScope
from apps.text.lexemes import Lexemes
from tests.factories import UserFactory, make_character, make_chat, make_memory
from tests.properties import WITH_DATABASE

WORDS = [f"w{number}" for number in range(10)]
LIMIT = 4  # of hits for each retriever

# Cosines of these are exact, also as half precision.
vectors = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=3, max_size=3)
stored = st.fixed_dictionaries(
    {
        "counts": st.none() | st.lists(st.sampled_from([0, 0, 1, 2, 6, 7, 8, 20]), min_size=10, max_size=10),
        "embedding": st.none() | vectors,
        "embedding_model": st.sampled_from(["m", "m", "other"]),
    }
)


def remember(chat, counts, embedding, embedding_model, **fields):
    text = " ".join(" ".join([word] * count) for word, count in zip(WORDS, counts or [], strict=False))
    vector = {"embedding": np.array(embedding), "embedding_model": embedding_model} if embedding else {}
    return make_memory(chat, text, lexemes=None if counts is None else Lexemes(text), **vector, **fields).pk


def similarities(rows, query, preset):
    """The cosine with the whole query, mixed with that of its best sentence."""
    whole, *sentences = query.vectors or [None]
    share = preset.whole_query_share if sentences else 1
    for pk, row in rows.items():
        if whole is not None and row["embedding"] and row["embedding_model"] == query.model:
            best = max((np.dot(sentence, row["embedding"]) for sentence in sentences), default=0)
            yield pk, share * np.dot(whole, row["embedding"]) + (1 - share) * best


def word_scores(rows, query, preset):
    """BM25, repeated words as in a row of mean length, as a fraction of its maximum; of the rows that have a word."""
    counts = {
        pk: [(row["counts"] or [0] * 10)[WORDS.index(word)] for word in query.lexemes] for pk, row in rows.items()
    }
    lengths = {pk: sum(map(bool, row["counts"])) for pk, row in rows.items() if row["counts"] is not None}
    mean = max(sum(lengths.values()) / max(len(lengths), 1), 1)
    found = [sum(bool(own[n]) for own in counts.values()) for n in range(len(query.lexemes))]
    weights = [math.log(1 + (len(rows) - df + 0.5) / (df + 0.5)) if df else 0 for df in found]
    for pk, own in counts.items():
        norm = 1 + K1 * (1 - preset.b + preset.b * lengths.get(pk, mean) / mean)
        if any(own):
            times = [tf * (1 + K1) / (tf + K1) / norm for tf in own]
            yield pk, sum(weight * share for weight, share in zip(weights, times, strict=True)) / sum(weights)


def assert_hits(hits, rows, query, preset, found):
    """Check that the hits are the best of the rows ``found``, with their scores."""
    expected = {"vector": dict(similarities(rows, query, preset)), "lexical": dict(word_scores(rows, query, preset))}
    expected = {name: {pk: score for pk, score in scores.items() if pk in found} for name, scores in expected.items()}
    most = max([*expected["lexical"].values(), 1])
    expected["lexical"] = {pk: score / most for pk, score in expected["lexical"].items()}
    expected = {name: scores for name, scores in expected.items() if name in preset.retrievers}
    best = {
        pk for scores in expected.values() for pk in sorted(scores, key=lambda pk: (-round(scores[pk], 9), pk))[:LIMIT]
    }
    assert {hit.id for hit in hits} == best
    for hit in hits:
        for name, scores in expected.items():
            assert hit.retrievers.get(name, 0.0) == pytest.approx(scores.get(hit.id, 0.0), abs=1e-6)


@pytest.mark.django_db
@settings(max_examples=WITH_DATABASE, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(stored, max_size=12),
    st.lists(st.sampled_from(WORDS), unique=True, max_size=10),
    st.lists(vectors, max_size=3),
    st.sampled_from(["default", "dense", "bm25", "seed"]),
)
def test_the_hits_are_those_of_a_plain_computation(monkeypatch, rows, lexemes, query_vectors, preset_name):
    monkeypatch.setattr(scan, "HITS_PER_RETRIEVER", LIMIT)
    chat, preset = make_chat(UserFactory()), PRESETS[preset_name]
    by_id = {remember(chat, **row): row for row in rows}
    query = EncodedQuery(lexemes, "m", [np.array(vector) for vector in query_vectors])
    scope = SearchScope(chat.owner_id, tuple(Memory.Tier.values))
    hits = find_memories(scope, query, preset, parse_query("", [], separate_names=False), "")
    assert_hits(hits, by_id, query, preset, by_id)


# Few texts, so that many memories are copies, of which any may be out of sight while the others are not.
said = st.sampled_from(
    [
        {"counts": [number % 3] * number + [0] * (10 - number), "embedding": [1.0, 0.5, number / 2 - 1]}
        for number in (1, 2, 4)
    ]
)
learnt = st.tuples(
    said,
    st.sampled_from(["home", "home", "branch", "sibling", "elsewhere", "gone"]),
    st.just({})
    | st.just({})
    | st.fixed_dictionaries(
        {},
        optional={
            "tier": st.sampled_from(Memory.Tier.values),
            "kind": st.sampled_from(["fact", "event"]),
            "state": st.sampled_from(["active", "superseded"]),
            "hidden": st.booleans(),
            "in_bin": st.booleans(),
            "deleted_at": st.just(timezone.now()),
            "expires_at": st.just(timezone.now()),
            "character": st.none(),
        },
    ),
)


@pytest.mark.django_db
@settings(max_examples=WITH_DATABASE, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(learnt, min_size=8, max_size=24),
    st.lists(st.sampled_from(WORDS[:5]), unique=True, max_size=5),
    st.lists(vectors, max_size=1),
    st.booleans(),
)
def test_copies_are_left_out_as_by_the_plain_rule(monkeypatch, memories, lexemes, query_vectors, of_character):
    """Also where all that is ranked first are copies, so that more has to be looked at."""
    monkeypatch.setattr(scan, "HITS_PER_RETRIEVER", LIMIT)
    monkeypatch.setattr(scan, "FIRST_ROWS", LIMIT)
    owner = UserFactory()
    home = make_chat(owner, "Hello.", "Hello.", character=make_character(owner))
    chats = {name: branch_chat(owner, home.pk, 0) for name in ("branch", "sibling")}
    chats |= {"home": home, "elsewhere": make_chat(owner, character=home.character)}
    by_id = {}
    for row, place, fields in memories:
        pk = remember(chats.get(place, home), **row, embedding_model="m", **fields)
        by_id[pk] = row | {"embedding_model": "m"}
        if place == "gone":
            Memory.with_bin.for_owner(owner).filter(pk=pk).update(chat=None)
    first = Memory._base_manager.filter(is_copy(), pk__lt=OuterRef("pk"), deleted_at=None, in_bin=False)
    rows = Memory.objects.for_owner(owner).active().filter(~Exists(first), hidden=False)
    rows = rows.filter(character=home.character) if of_character else rows
    query = EncodedQuery(lexemes, "m", [np.array(vector) for vector in query_vectors])
    scope = SearchScope(owner.pk, tuple(Memory.Tier.values), character=home.character_id if of_character else None)
    preset = PRESETS["default"]
    hits = find_memories(scope, query, preset, parse_query("", [], separate_names=False), "")
    assert_hits(hits, by_id, query, preset, set(rows.values_list("pk", flat=True)))
