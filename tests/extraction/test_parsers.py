"""All reply parsers: round trips through printers, markup around lines, robustness and speed."""

import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from apps.extraction.memories.consolidation import MergeLine, format_merge, parse_merges
from apps.extraction.memories.lines import (
    ENTITY_KINDS,
    EXPIRATIONS,
    MAX_ENTITIES,
    Candidate,
    NamedEntity,
    format_memory,
    parse_memories,
)
from apps.extraction.memories.pair_questions import parse_relations
from apps.extraction.memories.relationships import (
    MAGNITUDES,
    Descriptor,
    RelationshipLine,
    format_relationship,
    parse_relationships,
)
from apps.extraction.memories.triggers import format_triggers, parse_triggers
from apps.extraction.parsers.free_text import parse_free_text
from apps.extraction.parsers.records import MAX_ITEMS, MAX_UNUSED
from apps.extraction.parsers.text_cleanup import MAX_REPLY
from apps.extraction.tiers.arcs import ArcLine, format_arc, parse_arcs
from apps.extraction.tiers.canon import LABELS, parse_canon
from apps.extraction.tiers.continuity import Contradiction, format_contradiction, parse_contradictions
from apps.extraction.tiers.epistemic import KINDS, KnowledgeLine, format_knowledge, parse_knowledge
from apps.extraction.tiers.ledger import StateLine, format_state, parse_states
from apps.extraction.tiers.profiles import Profile, format_profile, parse_profiles
from apps.extraction.tiers.scenes import parse_yes_no
from apps.extraction.tiers.summary import SECTIONS, format_summary, parse_summary
from apps.memories.candidates import LEDGER_FIELDS
from tests.lanes import sampled

MEMORY_KINDS = ("fact", "relationship", "preference", "event")
SECONDS = 2.0

SAYING_NOTHING = {"none", "unknown", "unchanged", "nothing"}  # which hypothesis finds in the code
words = st.text("abcdefghijklmnopqrstuvwxyzäéñßčжש漢", min_size=3, max_size=10).filter(
    lambda word: word not in SAYING_NOTHING
)
names = st.lists(
    st.sampled_from(["Mira", "O’Neill", "Jean-Luc", "Zoë", "D'Arc", "Port", "Salt", "Łukasz", "李", "Vale"]),
    min_size=1,
    max_size=3,
    unique=True,
).map(" ".join)
pieces = st.one_of(words, st.sampled_from(["[sic]", "“no”", "3:15", "a/b", "—", "(x)", "12", "it's", "他说：你好。"]))
texts = st.tuples(words, st.lists(pieces, max_size=15)).map(lambda parts: " ".join(["The", parts[0], *parts[1]]))
numbers = st.lists(st.integers(1, 10**6), min_size=2, max_size=5, unique=True).map(tuple)

candidates = st.builds(
    Candidate,
    kind=st.sampled_from(MEMORY_KINDS),
    text=texts,
    importance=st.integers(1, 3),
    expiration=st.sampled_from(EXPIRATIONS),
    sources=numbers,
    entities=st.lists(
        st.builds(NamedEntity, names, st.sampled_from(ENTITY_KINDS)),
        max_size=MAX_ENTITIES,
        unique_by=lambda entity: entity.name.casefold(),
    ).map(tuple),
)
arcs = st.one_of(
    st.builds(ArcLine, st.just("arc"), texts),
    st.builds(ArcLine, st.just("resolved"), texts, st.none() | st.integers(0, 999)),
)
knowledge = st.one_of(
    st.builds(KnowledgeLine, st.sampled_from(KINDS), names, st.just(""), texts),
    st.builds(KnowledgeLine, st.just("hiding"), names, names, texts),
)
descriptors = st.lists(
    st.builds(Descriptor, words, st.sampled_from(MAGNITUDES)), min_size=1, max_size=4, unique_by=lambda one: one.word
).map(tuple)
relationships = st.builds(
    RelationshipLine, names, names, descriptors, st.lists(words, max_size=2, unique=True).map(tuple)
)
merges = st.builds(MergeLine, numbers, texts)
contradictions = st.builds(Contradiction, texts, st.none() | st.integers(0, 999))


@st.composite
def states(draw: st.DrawFn) -> StateLine:
    kind = draw(st.sampled_from(list(LEDGER_FIELDS)))
    chosen = draw(st.lists(st.sampled_from(LEDGER_FIELDS[kind]), min_size=1, unique=True))
    known = draw(st.integers(0, len(chosen)))
    return StateLine(draw(names), kind, {name: draw(texts) for name in chosen[:known]}, tuple(chosen[known:]))


@dataclass(frozen=True)
class Format:
    """Parser, printer and example lines of a line format."""

    read: Callable[[str], tuple[list[Any], list[str]]]
    show: Callable[[Any], str]
    lines: st.SearchStrategy[Any]


def reader(parse: Callable[[str], Any], field: str = "items") -> Callable[[str], tuple[list[Any], list[str]]]:
    def read(reply: str) -> tuple[list[Any], list[str]]:
        parsed = parse(reply)
        return getattr(parsed, field), parsed.unused

    return read


def read_memories(reply: str) -> Any:
    return parse_memories(reply, MEMORY_KINDS)


FORMATS = {
    "memories": Format(reader(read_memories), format_memory, candidates),
    "arcs": Format(reader(parse_arcs), format_arc, arcs),
    "ledger": Format(reader(parse_states), format_state, states()),
    "epistemic": Format(reader(parse_knowledge), format_knowledge, knowledge),
    "relationships": Format(reader(parse_relationships), format_relationship, relationships),
    "merges": Format(reader(parse_merges), format_merge, merges),
    "continuity": Format(reader(parse_contradictions), format_contradiction, contradictions),
}
TAGGED = [name for name in FORMATS if name != "relationships"]
PARSERS: dict[str, Callable[[str], Any]] = {
    **{name: form.read for name, form in FORMATS.items()},
    "summary": parse_summary,
    "profiles": parse_profiles,
    "triggers": lambda reply: parse_triggers(reply, [3, 4]),
    "triggers of one": lambda reply: parse_triggers(reply, [3]),
    "canon": lambda reply: parse_canon(reply, LABELS, 500),
    "yes or no": parse_yes_no,
    "relations": parse_relations,
    "prose": lambda reply: parse_free_text(reply, 500),
}
each_format = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
each_parser = pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)


@each_format
@given(data=st.data())
def test_printed_items_are_parsed_back(form: Format, data: st.DataObject) -> None:
    items = data.draw(st.lists(form.lines, max_size=5))
    assert form.read("\n".join(map(form.show, items))) == (items, [])


DRESSES = {
    "dash": "- {}",
    "star": "* {}",
    "dot": "• {}",
    "number": "1. {}",
    "number and bracket": "12) {}",
    "number in brackets": "(3) {}",
    "number in bold": "**1.** {}",
    "indented": " \t  {}",
    "quoted": "> {}",
    "bullet in a quote": "> - {}",
    "bold": "**{}**",
    "bold bullet": "- **{}**",
    "italics": "*{}*",
    "underscores": "__{}__",
    "code": "`{}`",
    "fence": "```\n{}\n```",
    "fence with a language": "```text\n{}\n```",
    "fence of tildes": "~~~\n{}\n~~~",
    "tag": "<output>\n{}\n</output>",
    "no-break spaces": "\u00a0{}\u3000",
    "byte-order mark": "\ufeff{}",
    "lines of another system": "\r\n{}\r\n",
}


@each_format
@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)
@settings(max_examples=8)
@given(data=st.data())
def test_markup_around_a_line_is_ignored(form: Format, dress: str, data: st.DataObject) -> None:
    item = data.draw(form.lines)
    assert form.read(dress.format(form.show(item))) == ([item], [])


@each_format
@given(data=st.data())
def test_wrapped_lines_are_joined(form: Format, data: st.DataObject) -> None:
    item = data.draw(form.lines)
    line = form.show(item)
    begins = max(line.find("]"), line.find(": ") if form.show is format_relationship else 0) + 20
    gaps = [match.start() for match in re.finditer(r"(?<![。.!?！？]) (?=[^\[\s—])", line) if match.start() > begins]
    for gap in data.draw(st.lists(st.sampled_from(gaps), max_size=4, unique=True)) if gaps else []:
        line = f"{line[:gap]}\n{line[gap + 1 :]}"
    assert form.read(data.draw(st.sampled_from(["{}", "- {}", "> {}", "**{}**"])).format(line)) == ([item], [])


@pytest.mark.parametrize("form", [FORMATS[name] for name in TAGGED], ids=TAGGED)
@given(data=st.data())
def test_tags_in_bold_capitals_or_full_width_are_accepted(form: Format, data: st.DataObject) -> None:
    item = data.draw(form.lines)
    tag, _, text = form.show(item).partition("]")
    wide = tag.replace("[", "【").replace(":", "：").replace("=", "＝").replace(",", "，") + "】"
    word, colon, rest = tag.partition(":")
    for dressed in (f"**{tag}]**", f"`{tag}]`", wide, f"{word.upper()}{colon}{rest}]", f"[ {tag[1:]} ]", f"{tag}]:"):
        assert form.read(f"{dressed} {text.strip()}") == ([item], [])


@each_format
@given(data=st.data())
def test_remarks_around_the_lines_are_listed_as_unused(form: Format, data: st.DataObject) -> None:
    first, second = data.draw(form.lines), data.draw(form.lines)
    reply = "\n".join(
        ["Sure! Here they are:", "", form.show(first), "## More of them", form.show(second), "", "Shall I go on?"]
    )
    items, unused = form.read(reply)
    assert items == [first, second]
    assert [line.lstrip("# ") for line in unused] == ["Sure! Here they are:", "More of them", "Shall I go on?"]


@each_format
@pytest.mark.parametrize(
    "reply",
    ["", "\n \n", "NONE", "none", " None. ", "**NONE**", "[NONE]", "- none", "(None)", "```\nNONE\n```", "NONE."],
)
def test_none_gives_no_items_and_no_unused_lines(form: Format, reply: str) -> None:
    assert form.read(reply) == ([], [])


@each_format
def test_items_beyond_the_limit_are_counted(form: Format) -> None:
    line = SAMPLES[form.show]
    items, unused = form.read("\n".join([line] * 1000))
    assert (len(items), unused) == (MAX_ITEMS, [f"… and {1000 - MAX_ITEMS} more lines."])


SAMPLES: dict[Callable[[Any], str], str] = {
    format_memory: "[fact:2] Mira lives in Paris.",
    format_arc: "[arc] Mira looks for her brother.",
    format_state: "[state:Mira:character] mood=tense",
    format_knowledge: "[knows] Mira | the key is false",
    format_relationship: "Mira -> Tom: warm(high)",
    format_merge: "[merge:1,4] Mira lives in Paris with Tom.",
    format_contradiction: "[contradiction:2] Tom is dead.",
}

FRAGMENTS = [
    *'[]()<>|:=,/-*_`#!\n\n \t{}"',
    *"［】：｜",
    *[
        "fact",
        "arc",
        "resolved",
        "state",
        "Mira",
        "character",
        "location",
        "mood=",
        "knows",
        "hiding",
        " from ",
        "retire",
    ],
    *["merge", "1", "3", "12", "contradiction", "->", "→", "warm", "(high)", "(", "very ", "cleared", "none", "NONE"],
    *["[SUMMARY]", "[/SUMMARY]", "<analysis>", "</analysis>", "1. ", "2) ", "**", "```", "<character_state>", "</x>"],
    *["## World state", "yes", "no", "UPDATE", "not ", "\u0000", "\u2028", "\ud800", "é", "😀", "no contradictions"],
    *[
        "[fact:2] ",
        "[state:Mira:character] ",
        "[hiding] ",
        "[arc] ",
        "Mira -> Tom: ",
        "[merge:1,2] ",
        "[contradiction] ",
    ],
]
anything = st.one_of(
    st.text(max_size=200),
    st.text(st.characters(), max_size=100),
    st.text(st.characters(categories=["Cs", "Cc", "P", "L"]), max_size=100),
    st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join),
)


def strings_in(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if hasattr(value, "__dataclass_fields__"):
        value = asdict(value)
    if isinstance(value, dict):
        return [text for pair in value.items() for item in pair for text in strings_in(item)]
    return [text for item in value for text in strings_in(item)] if isinstance(value, list | tuple) else []


@each_parser
@given(reply=anything)
def test_no_reply_raises_and_parsed_texts_can_be_stored(parse: Callable[[str], Any], reply: str) -> None:
    for text in strings_in(parse(reply)):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", text)
        assert text == text.strip()
        assert text == "" or len(text) <= 4000


@each_format
@settings(max_examples=300)
@given(reply=anything)
def test_parsed_items_survive_a_round_trip(form: Format, reply: str) -> None:
    items, _ = form.read(reply)
    assert form.read("\n".join(map(form.show, items)))[0] == items


WILD = {
    "brackets": "[",
    "closed brackets": "[]",
    "round brackets": "(",
    "dashes": "-",
    "stars": "*",
    "stars and blanks": "* ",
    "underscores": "_",
    "backticks": "`",
    "blanks": " ",
    "line feeds": "\n",
    "colons": ":",
    "bars": "|",
    "equals": "=",
    "braces": "{",
    "arrays": '[{"a":',
    "angles": "<",
    "arrows": "->",
    "letters": "a",
    "words": "a b ",
    "names": "Mira Vale ",
    "numbers": "1. ",
    "digits": "1",
    "none": "none ",
    "noes": "no ",
    "nots": "not ",
    "hedges": "very ",
    "here": "here is ",
    "quotes": "“",
    "tags": "[fact] x\n",
    "tags in a line": "[fact] ",
    "open tags": "[fact:",
    "states": "[state:Mira:character] mood=",
    "fields": "mood=x ",
    "relationships": "Mira -> Tom: warm(",
    "commas": ", ",
    "analyses": "<analysis>",
    "summaries": "[SUMMARY]",
    "sections": "<character_state>",
    "headings": "# a\n",
    "labels": "A:\n",
    "continuations": "y\n",
    "merges": "[merge:1,",
    "from": " from ",
    "no contradiction": "no a b c ",
}
BEGINNINGS = {
    "memories": "[fact] ",
    "arcs": "[arc] ",
    "ledger": "[state:Mira:character] mood=",
    "epistemic": "[hiding] ",
    "relationships": "Mira -> Tom: ",
    "merges": "[merge:1,2] ",
    "continuity": "[contradiction] ",
    "summary": "[SUMMARY]1. ",
    "profiles": "<world_state>",
    "triggers": "3: ",
    "prose": "Here is ",
}


# Of these the gate tries some, and of all parsers the replies of the next test: what they share is found by any.
@pytest.mark.parametrize("name", sampled(PARSERS, 4))
def test_repetitive_replies_are_parsed_fast(name: str) -> None:
    slow = {}
    for wild, unit in WILD.items():
        reply = BEGINNINGS.get(name, "") + unit * (MAX_REPLY // len(unit) - 10) + "x"
        began = time.process_time()
        PARSERS[name](reply)
        taken = time.process_time() - began
        if taken > SECONDS:
            slow[wild] = round(taken, 1)
    assert not slow


@each_parser
def test_long_replies_are_parsed_fast(parse: Callable[[str], Any]) -> None:
    for unit in ("[", "-", "*", "[fact] x\n", " "):
        began = time.process_time()
        parse(unit * (1_000_000 // len(unit)))
        assert time.process_time() - began < SECONDS


def test_characters_beyond_the_limit_are_counted() -> None:
    _, unused = FORMATS["arcs"].read("\n".join(["Prose."] * 1000))
    assert len(unused) == MAX_UNUSED + 1
    assert unused[-1] == f"… and {1000 - MAX_UNUSED} more lines."
    assert FORMATS["arcs"].read("x" * (MAX_REPLY + 7))[1][-1] == "… and 7 more characters."


sections = st.dictionaries(
    st.sampled_from(list(SECTIONS)), st.lists(texts, min_size=1, max_size=3).map("\n\n".join), min_size=1
)


@given(sections)
def test_a_printed_summary_is_parsed_back(printed: dict[int, str]) -> None:
    assert parse_summary(format_summary(printed)).sections == printed


profiles = st.builds(Profile, *[st.just("") | st.lists(texts, min_size=1, max_size=3).map("\n\n".join)] * 3)


@given(profiles)
def test_a_printed_profile_is_parsed_back(profile: Profile) -> None:
    assume(any(asdict(profile).values()))
    assert parse_profiles(format_profile(profile)) == profile


@given(
    st.dictionaries(st.integers(1, 99), st.lists(words, min_size=1, max_size=6, unique=True).map(tuple), max_size=5),
    st.sampled_from(["{}", "- {}", "**{}**", "  {}", "> {}", "1) {}"]),
)
def test_printed_triggers_are_parsed_back(found: dict[int, tuple[str, ...]], dress: str) -> None:
    reply = "\n".join(dress.format(line) for line in format_triggers(found).splitlines())
    assert parse_triggers(reply, list(found)).words == found


@given(st.lists(texts, min_size=1, max_size=3).map("\n\n".join))
def test_plain_prose_is_unchanged(text: str) -> None:
    for dressed in (text, f"```\n{text}\n```", f"“{text}”" if "“" not in text else text, f"**Recap:** {text}"):
        assert parse_free_text(dressed, 10_000) == text
