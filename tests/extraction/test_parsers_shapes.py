"""What models write in place of the lines that they are asked for is read, or listed as unused."""

import json

import pytest

from apps.extraction.memories.lines import parse_memories
from apps.extraction.parsers.json_objects import extract_objects
from apps.extraction.parsers.records import has_lines
from apps.extraction.parsers.shapes import as_lines
from apps.extraction.reading.reply_parts import is_reading, parse_reading
from apps.extraction.tiers.epistemic import parse_knowledge
from apps.extraction.tiers.ledger import parse_states
from apps.memories.candidates import Candidate, KnowledgeLine, NamedEntity, StateLine
from tests.durations import takes_at_most

KINDS = ("fact", "relationship", "preference", "event")
TEXT = "Ada mends nets."

SAME = [
    "[kind:fact:importance:3] {}",
    "[kind=fact; importance=high] {}",
    "[importance:3:kind:fact] {}",
    "(fact:3) {}",
    "[fact|3] {}",
    "[fact 3] {}",
    "[fact, 3] {}",
    "[fact (3)] {}",
    "[fact:high] {}",
    "[[fact:3]] {}",
    "[fact] [3] [permanent] {}",
    "[fact:3: {}]",
    "{{fact:3}} {}",
    "<fact:3> {}",
    "「fact：3」{}",
    "『fact：3』{}",
    "《fact：3》{}",
    "〈fact：3〉{}",
    "〖fact：3〗{}",
    "（fact：3）{}",
    "｛fact｜3｝{}",
    "[ｆａｃｔ:3] {}",
    "[Fakt:3] {}",
    "[fait:3] {}",
    "[hecho:3] {}",
    "[факт:3] {}",
    "【事实：3】{}",
    "[fato:3] {}",
    "[fatto:3] {}",
    "[사실:3] {}",
    '"[fact:3] {}"',
    "- “[fact:3] {}”",
    '["[fact:3] {}"]',
    '```json\n[\n  "[fact:3] {}"\n]\n```',
    "fact (3): {}",
    "fact:3: {}",
    "fact:3:permanent {}",
    "\\[fact:3\\] {}",
    "**Fact (3):** {}",
    "fact [3]: {}",
    "fact | 3 | {}",
    "| kind | importance | text |\n|---|:-:|---|\n| fact | 3 | {} |",
    "| # | Type | Importance | Memory |\n|---|---|---|---|\n| 1 | Fact | 3 | {} |",
    '<memory kind="fact" importance="3">{}</memory>',
    "<memories>\n<fact importance='3'>{}</fact>\n</memories>",
    "<memory><kind>fact</kind><importance>3</importance><text>{}</text></memory>",
    "[{{'kind': 'fact', 'importance': 3, 'text': '{}',}}]",
    "[{{“kind”: “fact”, “importance”: 3, “text”: “{}”}}]",
    '{{"memories": {{"fact": [{{"text": "{}", "importance": "high"}}]}}}}',
    "<|channel|>analysis<|message|>Is [fact:1] Ada old?<|end|><|start|>assistant<|channel|>final<|message|>[fact:3] {}",
    "<|im_start|>assistant\n[fact:3] {}<|im_end|>",
    "[fact:3] {}<｜end▁of▁sentence｜>",
    "<s>[fact:3] {}</s>",
    "<ul>\n<li>[fact:3] {}</li>\n</ul>",
    "<ul><li>[fact:3] {}</li></ul>",
    "\u200f[fact:3]\u200f {}\u200f",
    "<fact><text>{}</text><importance>3</importance></fact>",
    '{{"answer": "{{\\"facts\\": [{{\\"text\\": \\"{}\\", \\"importance\\": 3}}]}}"}}',
    '"{{\\"facts\\": [{{\\"text\\": \\"{}\\", \\"importance\\": 3}}]}}"',
    '{{\n// what is new\n"facts": [{{"text": "{}", /* high */ "importance": 3}}]}}',
]


@pytest.mark.parametrize("shape", SAME)
@pytest.mark.parametrize("read", [lambda reply: parse_memories(reply, KINDS), parse_reading], ids=["tier", "reading"])
def test_a_memory_in_another_shape(shape: str, read: object) -> None:
    assert callable(read)
    parsed = read(shape.format(TEXT))
    assert (parsed.items, parsed.unused) == ([Candidate("fact", TEXT, 3)], [])


def test_named_parts_of_a_tag() -> None:
    [found] = parse_memories("[kind:fact:importance:1:source:4,5:entity:Ada/character:triggers:nets] One.", KINDS).items
    assert (found.importance, found.sources, found.triggers) == (1, (4, 5), ("nets",))
    assert found.entities == (NamedEntity("Ada", "character"),)


def test_several_tags_in_a_line() -> None:
    found = parse_memories("- [fact:3] Ada mends nets. [preference:2] She likes rain. [event|1] She left.", KINDS).items
    assert [(one.kind, one.importance, one.text) for one in found] == [
        ("fact", 3, "Ada mends nets."),
        ("preference", 2, "She likes rain."),
        ("event", 1, "She left."),
    ]


@pytest.mark.parametrize(
    "reply",
    [
        "### Facts\n\n- One.\n- Two.\n\nThat is all.",
        "**Facts:**\n1. One.\n2. Two.",
        '{"facts": ["One.", "Two."]}',
        '[{"fact": "One."}, {"fact": "Two."}]',
        "Fact: One.\nFact: Two.",
        "<facts><fact>One.</fact><fact>Two.</fact></facts>",
        "<facts>\n<text>One.</text>\n<text>Two.</text>\n</facts>",
    ],
)
def test_facts_of_which_only_the_kind_is_said(reply: str) -> None:
    assert [(one.kind, one.text) for one in parse_memories(reply, KINDS).items] == [("fact", "One."), ("fact", "Two.")]


def test_explanations_are_no_part_of_a_memory() -> None:
    reply = (
        "[fact:3] Ada mends nets.\n(She said so in message 4.)\n[fact:2] Bo is tall.\nReason: he hit\nhis head.\n"
        "- [fact:1] Cy is old.\n- He told Ada."
    )
    parsed = parse_memories(reply, KINDS)
    assert [one.text for one in parsed.items] == ["Ada mends nets.", "Bo is tall.", "Cy is old."]
    assert parsed.unused == ["(She said so in message 4.)", "Reason: he hit", "his head.", "He told Ada."]


def test_what_of_json_cannot_be_read_is_unused() -> None:
    reply = '[{"kind": "fact", "text": "One."}, {"note": "Two."}, {"kind": "fact", "text": "Thr'
    parsed = parse_memories(reply, KINDS)
    assert [one.text for one in parsed.items] == ["One."]
    assert [("Two." in line, "Thr" in line) for line in parsed.unused] == [(True, False), (False, True)]


@pytest.mark.parametrize(
    "reply",
    [
        "<fact><text>{}</text><entity>Ada</entity><entity>Cork</entity><source>3</source><source>4</source></fact>",
        "<memory><kind>fact</kind><source>3</source><source>4</source><text>{}</text><entities>Ada</entities>"
        "<entities>Cork</entities></memory>",
    ],
)
def test_elements_that_are_fields_are_no_memories(reply: str) -> None:
    parsed = parse_memories(reply.format(TEXT), KINDS)
    [found] = parsed.items
    assert (found.text, found.sources, [entity.name for entity in found.entities]) == (TEXT, (3, 4), ["Ada", "Cork"])
    assert parsed.unused == []


@pytest.mark.parametrize(
    ("reply", "unused"),
    [
        ("<fact><source>3</source><statement>One.</statement></fact>", "source = 3, statement = One."),
        (
            "<fact><subject>Ada</subject><predicate>mends</predicate><object>nets</object></fact>",
            "subject = Ada, predicate = mends, object = nets",
        ),
        ("<facts><item>One.</item><item>Two.</item></facts>", "item = One., item = Two."),
        ("<fact><text>One.</text><text>Two.</text><source>3</source></fact>", "text = One., text = Two., source = 3"),
    ],
)
def test_elements_without_a_text_are_unused(reply: str, unused: str) -> None:
    parsed = parse_memories(f"[event:3] Bo came\n{reply}", KINDS)
    assert ([one.text for one in parsed.items], parsed.unused) == (["Bo came"], [unused])


def test_a_break_of_html_ends_no_memory() -> None:
    found = parse_memories("[fact:3] Ada mends<br>\nnets.<br/>[fact:2] Bo sings.</li>\nThat is all.", KINDS)
    assert ([one.text for one in found.items], found.unused) == ([TEXT, "Bo sings."], ["That is all."])


def test_json_in_the_text_of_a_memory_stays() -> None:
    [found] = parse_memories(json.dumps({"kind": "fact", "text": '{"hp": 3}'}), KINDS).items
    assert found.text == '{"hp": 3}'


def test_json_of_many_lines_is_read_as_whole_objects() -> None:
    item = {"type": "fact", "text": TEXT, "importance": 3, "source": [3], "entities": [{"name": "Ada", "type": "x"}]}
    parsed = parse_memories(json.dumps({"notes": [item, {**item, "source": [4, 5]}]}, indent=1), KINDS)
    assert [(one.text, one.sources) for one in parsed.items] == [(TEXT, (3,)), (TEXT, (4, 5))]
    assert [entity.name for one in parsed.items for entity in one.entities] == ["Ada", "Ada"]
    assert parsed.unused == []


def test_fields_in_lines_are_no_records() -> None:
    assert parse_memories('- kind: fact\n  text: Ada.\n- kind: fact\n  text: "Bo."', KINDS).items == []
    [found] = parse_memories('[fact:3] On the door stands\nText: "No entry"', KINDS).items
    assert found.text == 'On the door stands Text: "No entry"'


@pytest.mark.parametrize(
    "line",
    [
        "[knows:Ada] The gate is shut.",
        "[knows|Ada] The gate is shut.",
        "[Ada knows] The gate is shut.",
        "[Ada: knows] The gate is shut.",
        "[knows | Ada | The gate is shut.]",
        "(knows) Ada | The gate is shut.",
        "knows (Ada): The gate is shut.",
        "[weiß] Ada | The gate is shut.",
    ],
)
def test_who_knows_may_stand_in_the_tag(line: str) -> None:
    for parsed in (parse_knowledge(line), parse_reading(line)):
        assert (parsed.items, parsed.unused) == ([KnowledgeLine("knows", "Ada", "", "The gate is shut.")], [])


@pytest.mark.parametrize("tag", ["[hiding:Ada from Bo]", "[hiding:Ada:Bo]"])
def test_from_whom_something_is_hidden_may_too(tag: str) -> None:
    assert parse_knowledge(f"{tag} A key.").items == [KnowledgeLine("hiding", "Ada", "Bo", "A key.")]


@pytest.mark.parametrize(
    "line",
    [
        "[state:Ada:character] mood: angry; location: mill",
        "[state:Ada:character] mood: angry, location: mill",
        "[state|Ada|character] mood=angry | location=mill",
        "[state:Ada:character]\n- mood: angry\n- location: mill",
        "（state：Ada：character）mood＝angry｜location＝mill",
    ],
)
def test_fields_of_a_state_may_have_colons(line: str) -> None:
    for parsed in (parse_states(line), parse_reading(line)):
        assert (parsed.items, parsed.unused) == (
            [StateLine("Ada", "character", {"mood": "angry", "location": "mill"}, ())],
            [],
        )


NOTHING = [
    "[]",
    "{}",
    '{"facts": [], "events": []}',
    "Nothing new.",
    "No new memories.",
    "N/A",
    "Keine neuen Erinnerungen.",
    "Rien de nouveau.",
    "Nada nuevo.",
    "Нет новых воспоминаний.",
    "没有新的记忆。",
    "新しい記憶はありません。",
    "없음",
]


@pytest.mark.parametrize("reply", NOTHING)
def test_nothing_new_in_other_words_is_an_answer(reply: str) -> None:
    assert has_lines(reply)
    assert is_reading(reply)
    assert parse_memories(reply, KINDS).unused == []


@pytest.mark.parametrize(
    "reply",
    [
        "I can't help with that.",
        "Keine Ahnung, worum es geht; Ada hat einen Hund.",
        "Ada mends nets. She has no children.",
        "no",
        "<rumour:3> Ada mends nets.",
        "Rumour: Ada mends nets.",
        "There is no new ship in the harbour of Cork.",
    ],
)
def test_what_says_something_else_is_asked_for_again(reply: str) -> None:
    assert not has_lines(reply)
    assert parse_memories(reply, KINDS).unused == [reply]


@pytest.mark.parametrize(
    "reply",
    [
        "fact" + " " * 100_000 + "x",
        "fact:" * 20_000,
        "[fact:3]" * 12_000,
        "[fact:3] x " * 9_000,
        "<a>" * 33_000,
        "<a><b>x</b>" * 9_000,
        "<fact a='" * 10_000,
        "| fact " * 14_000,
        "{'kind': " * 11_000,
        "### Facts" + " " * 100_000,
        "- fact (" * 12_000,
        "<|channel|>analysis" * 5_000,
    ],
    ids=lambda reply: reply[:12],
)
def test_no_shape_takes_long(reply: str) -> None:
    with takes_at_most(5):  # seconds
        parse_memories(reply, KINDS)
        parse_reading(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "<br>" * 25_000 + " x",
        "<br/> " * 16_000 + "x",
        "<p>" * 33_000 + "x",
        "x<p>" * 25_000,
        "<ul> \t" * 16_000 + "x",
        " " * 100_000 + "<p",
        "{ " + '\\"' * 49_000 + "\n//",
        "{ " + '\\"' * 49_000 + "\n//\\",
        "{ " + "/*a" * 33_000,
        "{ " + "//" * 50_000,
        '"' + '\\"' * 50_000,
        "\u200e" * 100_000,
        "<fact>" + "<text>x</text>" * 7_000,
        "<fact>" + "<text>x</text>" * 7_000 + "</fact>",
    ],
    ids=lambda reply: reply[:12],
)
def test_no_mark_is_looked_through_from_each_place(reply: str) -> None:
    with takes_at_most(0.5):  # seconds
        as_lines(reply)
        extract_objects(reply)
