"""Parsers of arcs, ledger, knowledge, relationships and merges, on variants that models write."""

import pytest

from apps.extraction.memories.consolidation import MergeLine, parse_merges
from apps.extraction.memories.relationships import Descriptor, RelationshipLine, parse_relationships
from apps.extraction.tiers.arcs import ArcLine, parse_arcs
from apps.extraction.tiers.epistemic import KnowledgeLine, format_retired, parse_knowledge
from apps.extraction.tiers.ledger import StateLine, parse_states


@pytest.mark.parametrize(
    ("line", "arc"),
    [
        ("[arc] Who sank the ferry?", ArcLine("arc", "Who sank the ferry?")),
        ("[Open arc]: Who sank the ferry?", ArcLine("arc", "Who sank the ferry?")),
        ("[arc:2] Who sank the ferry?", ArcLine("arc", "Who sank the ferry?")),
        ("[resolved] The key was found.", ArcLine("resolved", "The key was found.")),
        ("[resolved:3] The key was found.", ArcLine("resolved", "The key was found.", 3)),
        ("[Resolved #3] The key was found.", ArcLine("resolved", "The key was found.", 3)),
        ("[arc resolved] The key was found.", ArcLine("resolved", "The key was found.")),
        ("【resolved：3】The key was found.", ArcLine("resolved", "The key was found.", 3)),
    ],
)
def test_arcs(line: str, arc: ArcLine) -> None:
    assert parse_arcs(line).items == [arc]


@pytest.mark.parametrize("line", ["[fact] Mira is tall.", "[arc]", "[resolved:3]", "[architect] Tom", "An arc opens."])
def test_other_lines_are_not_arcs(line: str) -> None:
    assert parse_arcs(line).items == []
    assert parse_arcs(line).unused == [line]


def test_states_of_entities_with_unusual_names() -> None:
    reply = """[state:Jean-Luc O’Neill:character] location=the old mill | mood = tense, tired
[state:Übersee, Haus am Wall:place] occupants=Mira | control=the guild
[STATE: The Salt Company : Faction] leadership=Dame Orla"""
    assert parse_states(reply).items == [
        StateLine("Jean-Luc O’Neill", "character", {"location": "the old mill", "mood": "tense, tired"}),
        StateLine("Übersee Haus am Wall", "place", {"occupants": "Mira", "control": "the guild"}),
        StateLine("The Salt Company", "faction", {"leadership": "Dame Orla"}),
    ]
    assert parse_states("[state:Ship: Dawn:object] owner=Tom").items == [
        StateLine("Ship Dawn", "object", {"owner": "Tom"})
    ]


def test_aliases_of_fields() -> None:
    [line] = parse_states(
        "[state:Mira:character] outfit_disguise=a nun's habit | Active Goal: find Tom | carried-items=a rope"
        " | **mood**=calm"
    ).items
    assert line.fields == {"outfit": "a nun's habit", "goal": "find Tom", "carried": "a rope", "mood": "calm"}
    assert parse_states("[state:Lamp:object] status=broken").items[0].fields == {"condition": "broken"}
    assert parse_states("[state:Port:place] political_control=the crown").items[0].fields == {"control": "the crown"}


def test_unknown_fields_are_listed_as_unused() -> None:
    parsed = parse_states("[state:Guild:faction] hostility_level=high | leadership=Orla\n[state:Mira:ghost] mood=calm")
    assert parsed.items == [StateLine("Guild", "faction", {"leadership": "Orla"})]
    assert parsed.unused == ["[state:Mira:ghost] mood=calm", "Guild: hostility_level=high"]


@pytest.mark.parametrize(
    "value",
    ["unknown", "Not mentioned", "none mentioned", "not specified", "N/A", "na", "unspecified", "?", "-", "(none)"],
)
def test_placeholders_are_skipped(value: str) -> None:
    parsed = parse_states(f"[state:Mira:character] mood={value} | location=inn")
    assert parsed.items == [StateLine("Mira", "character", {"location": "inn"})]
    assert parsed.unused == []
    assert parse_states(f"[state:Mira:character] mood={value}").items == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mood", "cleared"),
        ("location", "(cleared)"),
        ("goal", "[cleared]"),
        ("outfit", "Removed."),
        *(("injuries", value) for value in ("none", "healed", "fully healed", "**None**")),
        *((field, value) for field in ("carried", "outfit", "goal") for value in ("none", "nothing")),
    ],
)
def test_words_that_clear_a_field(field: str, value: str) -> None:
    assert parse_states(f"[state:Mira:character] {field}={value}").items == [
        StateLine("Mira", "character", {}, (field,))
    ]


def test_fields_on_separate_lines_or_behind_commas() -> None:
    fields = {"location": "the inn, upstairs", "mood": "calm"}
    for body in (
        "location=the inn, upstairs, mood=calm",
        "location=the inn, upstairs; mood=calm",
        "\n- location: the inn, upstairs\n- mood: calm",
        "\n- **location** = the inn, upstairs\n- **mood** = calm",
        "\nlocation=the inn, upstairs\nmood=calm",
        "location＝the inn, upstairs ｜ mood＝calm",
    ):
        assert parse_states(f"[state:Mira:character] {body}").items == [StateLine("Mira", "character", fields)]


def test_the_last_value_of_a_field_counts() -> None:
    [line] = parse_states("[state:Mira:character] mood=calm | mood=cleared").items
    assert line == StateLine("Mira", "character", {}, ("mood",))


@pytest.mark.parametrize(
    ("line", "item"),
    [
        ("[knows] Mira | the key is false", KnowledgeLine("knows", "Mira", "", "the key is false")),
        ("[Knows] **Mira**: the key is false", KnowledgeLine("knows", "Mira", "", "the key is false")),
        ("[suspects] Jean-Luc – the key is false", KnowledgeLine("suspects", "Jean-Luc", "", "the key is false")),
        ("[suspects] Jean-Luc - the key is false", KnowledgeLine("suspects", "Jean-Luc", "", "the key is false")),
        ("[believes] Zoë Vale ｜ Tom: dead", KnowledgeLine("believes", "Zoë Vale", "", "Tom: dead")),
        ("[unaware of] Tom | the theft", KnowledgeLine("unaware", "Tom", "", "the theft")),
        ("[hiding] Mira from Tom Vale | the theft", KnowledgeLine("hiding", "Mira", "Tom Vale", "the theft")),
        ("[hiding] Mira FROM Tom: the theft", KnowledgeLine("hiding", "Mira", "Tom", "the theft")),
        ("[hiding] Mira | the theft", KnowledgeLine("hiding", "Mira", "", "the theft")),
        ("- [hides] Mira from Tom | a letter from home", KnowledgeLine("hiding", "Mira", "Tom", "a letter from home")),
    ],
)
def test_knowledge(line: str, item: KnowledgeLine) -> None:
    assert parse_knowledge(line).items == [item]


@pytest.mark.parametrize(
    "line",
    ["[knows] the key is false", "[dreams] Mira | of the sea", "[knows] | of the sea", "[knows] Mira |", "# Who knows"],
)
def test_other_lines_are_not_knowledge(line: str) -> None:
    assert parse_knowledge(line).items == []
    assert len(parse_knowledge(line).unused) == 1


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("[retire] 1, 3", (1, 3)),
        ("[retire] #4", (4,)),
        ("[Retire] 2 and 5", (2, 5)),
        ("[retire] 2, 3 and 5.", (2, 3, 5)),
        ("[retire:1,3]", (1, 3)),
        ("[retire] 3 (Mira now knows of 20 ships)", (3,)),
        ("[retired] 2-4", (2, 3, 4)),
        ("[retire] 1\n[retire] 2\n[retire] 1", (1, 2)),
        ("[retire] Mira is 30", ()),
        (format_retired((7, 9)), (7, 9)),
    ],
)
def test_entries_are_retired_by_number(reply: str, numbers: tuple[int, ...]) -> None:
    assert parse_knowledge(reply).retired == numbers
    assert bool(parse_knowledge(reply).unused) == (not numbers)


@pytest.mark.parametrize(
    ("words", "added", "removed"),
    [
        ("warm(medium), !wary", {"warm": "medium"}, ("wary",)),
        ("Warm", {"warm": "medium"}, ()),
        ("warm ( low )", {"warm": "low"}, ()),
        ("warm(LOW)", {"warm": "low"}, ()),
        ("warm(extreme)", {"warm": "medium"}, ()),
        ("slightly wary, a bit proud, a little cold, mildly amused, somewhat shy", dict.fromkeys(
            ("wary", "proud", "cold", "amused", "shy"), "low"), ()),
        ("very fond, deeply loyal, intensely jealous", dict.fromkeys(("fond", "loyal", "jealous"), "high"), ()),
        ("very deeply fond", {"fond": "high"}, ()),
        ("slightly wary(high)", {"wary": "high"}, ()),
        ("warm(low), warm(high), warm", {"warm": "high"}, ()),
        ("warm: high; proud = low", {"warm": "high", "proud": "low"}, ()),
        ("**warm**(high), `proud`", {"warm": "high", "proud": "medium"}, ()),
        ("！wary（high）、warm（low）", {"warm": "low"}, ("wary",)),
        ("no longer wary, in love(high)", {"in love": "high"}, ("wary",)),
        ("warm(medium, and growing), proud", {"warm": "medium", "proud": "medium"}, ()),
        ("very", {"very": "medium"}, ()),
    ],
)  # fmt: skip
def test_descriptors(words: str, added: dict[str, str], removed: tuple[str, ...]) -> None:
    [line] = parse_relationships(f"Mira -> Tom: {words}").items
    assert {one.word: one.magnitude for one in line.added} == added
    assert line.removed == removed


@pytest.mark.parametrize("arrow", ["->", " -> ", " → ", " => ", " ⟶ ", " --> "])
@pytest.mark.parametrize("names", [("Jean-Luc", "Zoë O’Neill"), ("Ana-Lucía", "Mr. Vale")])
def test_arrows_and_names(arrow: str, names: tuple[str, str]) -> None:
    line = RelationshipLine(*names, (Descriptor("warm", "low"),))
    for dress in ("{}", "- {}", "2. {}", "**{}**"):
        assert parse_relationships(dress.format(f"{names[0]}{arrow}{names[1]}: warm(low)")).items == [line]
    assert parse_relationships(f"**{names[0]}{arrow}{names[1]}**: warm(low)").items == [line]


def test_descriptors_in_a_list_below() -> None:
    reply = "Mira -> Tom:\n- warm (high)\n- !wary\n\nTom → Mira: proud"
    assert parse_relationships(reply).items == [
        RelationshipLine("Mira", "Tom", (Descriptor("warm", "high"),), ("wary",)),
        RelationshipLine("Tom", "Mira", (Descriptor("proud"),)),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Mira and Tom are close.",
        "Mira -> Tom",
        "Mira -> Tom: none",
        "-> Tom: warm",
        "Mira <-> Tom: warm",
        "A -> B -> C: warm",
    ],
)
def test_other_lines_are_not_relationships(line: str) -> None:
    assert parse_relationships(line).items == []
    assert len(parse_relationships(line).unused) == 1


@pytest.mark.parametrize(
    "tag",
    [
        "[merge:1,4]",
        "[merge 1, 4]",
        "[merged:1+4]",
        "[1,4]",
        "[Merge: #1 and #4]",
        "**[merge:1,4]**",
        "【merge：1，4】",
    ],
)
def test_merges(tag: str) -> None:
    assert parse_merges(f"{tag} Mira lives in Oslo.").items == [MergeLine((1, 4), "Mira lives in Oslo.")]


@pytest.mark.parametrize(
    "line", ["[4] Mira lives.", "[merge] Mira lives.", "[merge:1,4]", "[fact:2] Mira lives.", "1 and 4"]
)
def test_other_lines_are_not_merges(line: str) -> None:
    assert parse_merges(line).items == []
    assert parse_merges(line).unused == [line]


def test_a_range_of_entries() -> None:
    assert parse_merges("[merge:2-4] Mira lives.").items == [MergeLine((2, 3, 4), "Mira lives.")]
    assert parse_merges("[merge:1-999999] Mira lives.").items == [MergeLine((1, 999999), "Mira lives.")]
