"""The pure half of the search: reading a query, ranking, excerpts."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.search.excerpts import MAX_EXCERPT_LENGTH, best_sentence, excerpt
from apps.search.presets import PRESETS, RETRIEVERS
from apps.search.questions import Speaker, parse_query, sentences_of, subjects_of, vector_preference
from apps.search.ranking import SIGNALS, Hit, TurnPosition, rank, recency, relative_length
from tests.durations import takes_at_most

CHAT = uuid.UUID(int=1)
MIRA = Speaker("Mira Holt", is_user=False, turns=10, words=100)
TOM = Speaker("Tom", is_user=True, turns=10, words=100)


def message(number=0, *, session=0, speaker="Tom", is_question=False, subject=0.0, **retrievers):
    traits = {"subject": subject, "question": float(is_question)}
    turn = TurnPosition(CHAT, session, number, speaker, is_question)
    return Hit(uuid.UUID(int=number), "messages", retrievers, traits, turn)


def order(candidates, preset="default", **options):
    return [ranked.hit.id.int for ranked in rank(candidates, PRESETS[preset], **options)]


units = st.floats(0, 1)
turns = st.tuples(
    st.integers(0, 3),
    st.sampled_from(["Tom", "Mira"]),
    st.booleans(),
    st.sampled_from([0.0, 1.0]),
    st.fixed_dictionaries(dict.fromkeys(RETRIEVERS, units)),
)
candidates = st.lists(turns, max_size=20).map(
    lambda rows: [
        message(number, session=session, speaker=speaker, is_question=asks, subject=subject, **retrievers)
        for number, (session, speaker, asks, subject, retrievers) in enumerate(rows)
    ]
)


@given(candidates, st.sampled_from(sorted(PRESETS)), units)
def test_ranking_keeps_everything_in_falling_order_within_bounds(found, preset, lead):
    ranked = rank(found, PRESETS[preset], lead)
    assert sorted(one.hit.id for one in ranked) == sorted(one.id for one in found)
    scores = [one.score for one in ranked]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert all(set(one.signals) == set(SIGNALS) for one in ranked)


@given(candidates, units)
def test_a_time_that_is_asked_about_lowers_no_score(found, lead):
    before = rank(found, PRESETS["default"], lead)
    assert rank(found, PRESETS["default"].with_time(), lead) == before


@given(candidates)
def test_ranking_does_not_depend_on_the_order_in_which_candidates_come(found):
    assert order(found) == order(found[::-1])


def test_the_subjects_own_words_come_before_words_that_only_match_as_well():
    addressed = message(1, session=1, speaker="Tom", vector=0.6, lexical=0.5)
    said = message(2, session=2, speaker="Mira", subject=1.0, vector=0.6, lexical=0.5)
    assert order([addressed, said]) == [2, 1]


def test_an_answer_takes_part_in_the_match_of_its_question():
    asked = message(4, speaker="Mira", is_question=True, lexical=1.0)
    answer = message(5, speaker="Tom", subject=1.0, lexical=0.1)
    unasked = message(7, speaker="Tom", subject=1.0, lexical=0.1)
    signals = {one.hit.id.int: one.signals for one in rank([asked, answer, unasked], PRESETS["default"])}
    assert signals[5]["answer"] > 0
    assert signals[4]["answer"] == signals[7]["answer"] == 0


def test_a_sitting_is_lifted_by_its_best_turn():
    best, beside = message(1, session=1, vector=0.9), message(2, session=1, vector=0.30)
    elsewhere = message(3, session=2, vector=0.31)
    assert order([best, beside, elsewhere]) == [1, 2, 3]


def test_where_the_counterpart_is_long_winded_meaning_weighs_more_than_words():
    by_words, by_meaning = message(1, session=1, lexical=1.0, vector=0.01), message(2, session=2, vector=1.0)
    assert order([by_words, by_meaning], vector_preference=0.0) == [1, 2]
    assert order([by_words, by_meaning], vector_preference=1.0) == [2, 1]


def test_the_seed_preset_is_the_published_formula():
    traits = {"recency": 0.5, "graph": 1.0, "instance": 1.0}
    memory = Hit(uuid.UUID(int=1), "long_term", {"vector": 0.6}, traits)
    (ranked,) = rank([memory], PRESETS["seed"])
    assert ranked.score == pytest.approx(0.6 * 0.8 + 0.5 * 0.05 + 0.05 + 0.1)


@given(st.floats(0, 1e5), st.floats(0, 1e5))
def test_recency_falls_with_age(age, more):
    assert 0 < recency(age + more) <= recency(age) <= 1


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.floats(1, 1000))
def test_length_saturates(words, more, usual):
    assert 0 <= relative_length(words, usual) <= relative_length(words + more, usual) < 1


# Reading a query


@pytest.mark.parametrize(
    ("query", "subjects"),
    [
        ("When did Mira move?", {"Mira Holt"}),
        ("what is mira's job?", {"Mira Holt"}),
        ("Which book did I read?", {"Tom"}),
        ("What did you recommend?", {"Mira Holt"}),
        ("What did you recommend me?", set()),
        ("What did Tom give Mira?", set()),
        ("Who sold the ship?", set()),
        ("What did Miranda say?", set()),
    ],
)
def test_whom_a_query_is_about(query, subjects):
    assert subjects_of(query, [MIRA, TOM]) == subjects


def test_a_name_that_is_a_word_too_needs_its_capital_letter():
    will = Speaker("Will", is_user=False, turns=1, words=1)
    assert subjects_of("What will Tom do?", [will, TOM]) == {"Tom"}
    assert subjects_of("What did Will do?", [will, TOM]) == {"Will"}


def test_names_are_taken_out_of_what_is_looked_for():
    question = parse_query("Where did Mira Holt's sister meet Tom?", [MIRA, TOM], separate_names=True)
    assert question.text == "Where did sister meet ?"
    assert parse_query("Mira", [MIRA, TOM], separate_names=True).text == "Mira"
    assert parse_query("Where is Mira?", [MIRA], separate_names=False).text == "Where is Mira?"


def test_sentences_of_a_long_message_are_few_questions_first():
    assert sentences_of("Where is the key?") == ()
    said = [f"Sentence number {n} stands here." for n in range(9)]
    sentences = sentences_of(" ".join(["Where is the key?", *said]))
    assert sentences == ("Where is the key?", *reversed(said[5:]))


def test_a_long_message_of_quotations_that_nothing_closes_is_divided_in_no_time():
    with takes_at_most(5):
        sentences = sentences_of(f"{'“Ab. ' * 60_000} Where is the key?")
    assert sentences[0] == "Where is the key?"


@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=4))
def test_any_query_can_be_read(query, names):
    participants = [Speaker(name, is_user=False, turns=1, words=1) for name in names]
    question = parse_query(query, participants, separate_names=True)
    assert question.subjects <= set(names)
    assert question.text or not query.strip()


def test_vectors_lead_the_more_the_longer_the_replies_are():
    def lead(other):
        return vector_preference([TOM, Speaker("Assistant", is_user=False, turns=10, words=other)])

    assert lead(50) == lead(100) == 0 < lead(200) < lead(400) == lead(4000) == 1
    assert vector_preference([TOM]) == vector_preference([]) == 0


# Excerpts


def test_the_sentence_that_matched():
    text = "We had tea. The silver key lies under the stone. Then it rained."
    assert best_sentence(text, "Where are the silver keys?") == "The silver key lies under the stone."
    assert best_sentence(text, "Nothing alike") == "We had tea."


@given(st.text(max_size=30))
def test_short_texts_are_shown_whole(text):
    assert excerpt(text, best_sentence(text, "anything")) == text


@pytest.mark.parametrize("place", [0, 150, 299])
def test_of_a_long_text_the_surroundings_of_the_sentence_are_shown(place):
    sentences = ["Nothing of note happened on that day at sea."] * 300
    sentences[place] = "The silver key lies under the stone."
    text = " ".join(sentences)
    shown = excerpt(text, best_sentence(text, "Where is the silver key?"))
    assert "The silver key lies under the stone." in shown
    assert len(shown) <= MAX_EXCERPT_LENGTH + 4


@pytest.mark.parametrize("place", [0, 150, 299])
def test_of_a_long_text_without_spaces_the_surroundings_of_the_sentence_are_shown(place):
    sentences = ["その日は海で何も起こりませんでした。"] * 300
    sentences[place] = "銀の鍵は石の下にあります。"
    text = "".join(sentences)
    shown = excerpt(text, sentences[place])
    assert sentences[place] in shown
    assert MAX_EXCERPT_LENGTH <= len(shown) <= MAX_EXCERPT_LENGTH + 4


def test_a_single_space_does_not_cut_what_precedes_or_follows_it():
    text = f"はい {'海' * 1000} {'山' * 5000}"
    assert len(excerpt(text, "はい")) >= MAX_EXCERPT_LENGTH
    assert len(excerpt(text, "山" * 3000)) >= MAX_EXCERPT_LENGTH
