"""Parser of memories: round trips, and variants that models write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.extraction.memories.lines import (
    ENTITY_KINDS,
    EXPIRATIONS,
    MAX_ENTITIES,
    UNKNOWN_KIND,
    Candidate,
    NamedEntity,
    format_memory,
    parse_memories,
)
from tests.durations import takes_at_most

KINDS = ("fact", "relationship", "preference", "event")

words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
names = st.lists(words, min_size=1, max_size=3).map(" ".join)
texts = st.lists(
    st.one_of(words, st.sampled_from(["[sic]", "“no”", "3:15", "a/b", "—", "(x)"])), min_size=1, max_size=20
)
entities = st.lists(
    st.builds(NamedEntity, names, st.sampled_from([*ENTITY_KINDS, UNKNOWN_KIND])),
    max_size=MAX_ENTITIES,
    unique_by=lambda entity: entity.name.casefold(),
)
candidates = st.builds(
    Candidate,
    kind=st.sampled_from(KINDS),
    text=st.tuples(words, texts).map(lambda parts: " ".join([parts[0], *parts[1]])),
    importance=st.integers(1, 3),
    expiration=st.sampled_from(EXPIRATIONS),
    sources=st.lists(st.integers(0, 10**6), max_size=5, unique=True).map(tuple),
    entities=entities.map(tuple),
)


def read(reply: str) -> list[Candidate]:
    return parse_memories(reply, KINDS).items


@given(st.lists(candidates, max_size=5))
def test_printed_memories_are_parsed_back(items: list[Candidate]) -> None:
    parsed = parse_memories("\n".join(map(format_memory, items)), KINDS)
    assert parsed.items == items
    assert parsed.unused == []


@given(st.text())
def test_no_reply_raises_and_parsed_memories_are_printable(reply: str) -> None:
    for candidate in read(reply):
        assert candidate.kind in KINDS
        assert candidate.importance in (1, 2, 3)
        assert candidate.text.strip() == candidate.text != ""
        assert len(candidate.entities) <= MAX_ENTITIES


tags = st.text(alphabet="[]fact:23 =,/entitysource*_`-#【】：ab", max_size=40)


@given(st.lists(st.builds("[fact{}]{}".format, tags, st.one_of(st.text(), tags)), max_size=3))
def test_parsed_memories_survive_a_round_trip(lines: list[str]) -> None:
    found = read("\n".join(lines))
    assert read("\n".join(map(format_memory, found))) == found


@pytest.mark.parametrize(
    "reply",
    ["[" * 100_000, "[fact" + " " * 100_000 + "x] y", "[fact] x\n" + "y\n" * 10_000, "-" * 100_000, "*`" * 50_000],
    ids=["brackets", "spaces", "continuations", "dashes", "marks"],
)
def test_repetitive_replies_are_parsed_fast(reply: str) -> None:
    with takes_at_most(3):  # seconds
        parse_memories(reply, KINDS)


@given(st.text(alphabet="[]fact:23 =,/entity*`-\n1.#【】：ab", max_size=60))
def test_malformed_tags_do_not_raise(reply: str) -> None:
    parse_memories(reply, KINDS)


@pytest.mark.parametrize(
    "line",
    [
        "[fact] Mira lives in Paris.",
        "  [fact:2] Mira lives in Paris.",
        "- [fact:2:permanent] Mira lives in Paris.",
        "* [Fact : 2 : Permanent]   Mira lives in Paris.",
        "• [FACT]Mira lives in Paris.",
        "1. [fact] Mira lives in Paris.",
        "12) [facts:2] Mira lives in Paris.",
        "**[fact:2]** Mira lives in Paris.",
        "**[fact:2] Mira lives in Paris.**",
        "> [fact] Mira lives in Paris.",
        "`[fact]` Mira lives in Paris.",
        "[fact]: Mira lives in Paris.",
        "[fact:2] - Mira lives in Paris.",
        "【fact：2：permanent】Mira lives in Paris.",
        "［fact］ Mira lives in Paris.",
        "```\n[fact] Mira lives in Paris.\n```",
        "[fact] Mira lives\n  in Paris.",
        "[fact:permanent:2] Mira lives in Paris.",
    ],
)
def test_variants_of_a_line_give_the_same_memory(line: str) -> None:
    assert read(line) == [Candidate("fact", "Mira lives in Paris.")]


def test_modifiers_in_any_order_and_defaults_for_invalid_ones() -> None:
    [candidate] = read("[event:source=4, 7:entity=Mira/character,Port Salt/place,Bob/king:scene:3] They met.")
    assert candidate == Candidate(
        "event",
        "They met.",
        3,
        "scene",
        (4, 7),
        (NamedEntity("Mira", "character"), NamedEntity("Port Salt", "place"), NamedEntity("Bob", "unknown")),
    )
    assert [item.importance for item in read("[fact:13] One.\n[fact:0] Two.\n[fact:high] Three.")] == [2, 2, 3]
    assert [item.expiration for item in parse_memories("[fact:2:forever] One.", KINDS, expiration="session").items] == [
        "session"
    ]


def test_unusable_lines_are_listed() -> None:
    parsed = parse_memories(
        "Here is what I found:\n\n[mood:2] Mira is sad.\n[fact:2]\n[fact] Mira is tall.\n\nNONE", KINDS
    )
    assert [item.text for item in parsed.items] == ["Mira is tall."]
    assert parsed.unused == ["Here is what I found:", "[mood:2] Mira is sad.", "[fact:2]"]


@pytest.mark.parametrize("reply", ["NONE", "none", " None. ", "**NONE**", "[NONE]", "", "\n\n", "```\nNONE\n```"])
def test_none_gives_no_memories_and_no_unused_lines(reply: str) -> None:
    assert parse_memories(reply, KINDS).items == []
    assert parse_memories(reply, KINDS).unused == []


def test_a_remark_after_a_blank_line_does_not_continue_a_memory() -> None:
    parsed = parse_memories("[fact] Mira is tall.\n\nLet me know if you need more.", KINDS)
    assert [item.text for item in parsed.items] == ["Mira is tall."]
    assert parsed.unused == ["Let me know if you need more."]


def test_marks_within_the_text_stay() -> None:
    assert read("[fact] Mira is **tall**")[0].text == "Mira is **tall**"
    assert read("**[fact] Mira is tall**")[0].text == "Mira is tall"


def test_a_text_keeps_its_full_width_punctuation() -> None:
    assert read("【fact：2】他说：你好，米拉／汤姆。")[0].text == "他说：你好，米拉／汤姆。"


@pytest.mark.parametrize(
    "line", ["[fact: 3] Mira is tall.", "[fact:3]Mira is tall.", "[fact:3:sources=2-4] Mira is tall."]
)
def test_variants_of_importance_and_sources(line: str) -> None:
    [candidate] = read(line)
    assert (candidate.importance, candidate.text) == (3, "Mira is tall.")
    assert candidate.sources in ((), (2, 3, 4))


def test_a_list_below_a_line_and_a_heading_after_it() -> None:
    parsed = parse_memories("[fact] Mira owns:\n- a rope\n- a lamp\n## Events\n[event] She left.", KINDS)
    assert [item.text for item in parsed.items] == ["Mira owns: a rope a lamp", "She left."]
    assert parsed.unused == []


MEMORY = '{"Type": "facts", "content": "Mira is tall.", "importance": 3, "source": [2, 4], "entities": %s}'
ENTITY_OBJECTS = MEMORY % '[{"name": "Mira", "type": "character"}]'


@pytest.mark.parametrize(
    "reply",
    [
        f"[{ENTITY_OBJECTS}]",
        ENTITY_OBJECTS,
        f'{{"memories": [{ENTITY_OBJECTS}]}}',
        f"```json\n[\n{ENTITY_OBJECTS}\n]\n```",
        f"Here you are:\n{ENTITY_OBJECTS}",
        f'{{"memories": [{ENTITY_OBJECTS}, {{"type": "fact", "content": "Tom i',
        "[" + MEMORY % '["Mira/character"]' + "]",
        "[" + MEMORY % '"Mira/character"' + "]",
    ],
)
def test_json_objects_instead_of_lines(reply: str) -> None:
    candidate = Candidate("fact", "Mira is tall.", 3, "permanent", (2, 4), (NamedEntity("Mira", "character"),))
    assert read(reply) == [candidate]


def test_unusable_json_objects_are_listed() -> None:
    parsed = parse_memories('[{"kind": "fact", "text": "Mira is tall."}, {"kind": "mood", "text": "Sad."}]', KINDS)
    assert [item.text for item in parsed.items] == ["Mira is tall."]
    assert parsed.unused == ["[mood] Sad."]
    for reply in ('{"a": 1}', "{", '{"a": {"a": ' * 5000, '[{"kind": "fact"}]', '{"kind": ["fact"], "text": {"a": 1}}'):
        parsed = parse_memories(reply, KINDS)
        assert parsed.items == []
        assert parsed.unused != []
