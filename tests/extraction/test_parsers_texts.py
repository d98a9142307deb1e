"""Parsers of summaries, profiles, contradictions, triggers, prose and one-word answers, on variants of replies."""

import pytest

from apps.extraction.memories.pair_questions import parse_relations
from apps.extraction.memories.triggers import parse_triggers
from apps.extraction.parsers.free_text import parse_free_text
from apps.extraction.tiers.continuity import Contradiction, is_all_clear, parse_contradictions
from apps.extraction.tiers.profiles import Profile, parse_profiles
from apps.extraction.tiers.scenes import parse_yes_no
from apps.extraction.tiers.summary import parse_summary
from apps.memories.verdicts.known_statements import Relation

BODY = "1. Scene and setting: an inn at night.\n2. Who is present: Mira and Tom."
PARTS = {1: "an inn at night.", 2: "Mira and Tom."}


@pytest.mark.parametrize(
    "reply",
    [
        f"[SUMMARY]\n{BODY}\n[/SUMMARY]",
        f"[summary]{BODY}",
        f"<summary>\n{BODY}\n</summary>\nLet me know!",
        f"**[SUMMARY]**\n{BODY}\n**[/SUMMARY]**",
        f"<analysis>1. Tom came.</analysis>\n[SUMMARY]{BODY}[/SUMMARY]",
        f"<analysis>1. Tom came.\n[SUMMARY]{BODY}[/SUMMARY]",
        f"<Analysis>hm</Analysis>{BODY}",
        f"Here is the summary:\n\n{BODY}",
        f"```\n[SUMMARY]\n{BODY}\n[/SUMMARY]\n```",
        f"I put it in [SUMMARY] tags.\n[SUMMARY]\n{BODY}\n[/SUMMARY]",
        "[SUMMARY]\n1. **Scene and setting**: an inn at night.\n2. **Who is present:** Mira and Tom.[/SUMMARY]",
        "[SUMMARY]\n## 1. Scene and setting\nan inn\nat night.\n\n## 2. Present\nMira and Tom.".replace(
            "Present", "**Cast**"
        ),
        "[SUMMARY]\n1. an inn at <b>night</b>.\n2) Mira and Tom.\n[/SUMMARY]",
    ],
)
def test_variants_of_a_summary(reply: str) -> None:
    summary = parse_summary(reply)
    assert summary.sections == PARTS
    assert "Tom" in summary.text
    assert not any(mark in summary.text for mark in ("SUMMARY", "analysis", "<", "```"))


@pytest.mark.parametrize(
    "reply", ["", "NONE", "I can't help with that.", "<analysis>1. Tom came.", "[SUMMARY][/SUMMARY]"]
)
def test_replies_without_a_summary(reply: str) -> None:
    assert parse_summary(reply).text == ""
    assert parse_summary(reply).sections == {}


def test_a_summary_without_sections_is_a_text() -> None:
    assert parse_summary("[SUMMARY]Mira met Tom.[/SUMMARY]").text == "Mira met Tom."
    assert parse_summary("[SUMMARY]Mira met Tom.[/SUMMARY]").sections == {}


def test_a_numbered_list_within_a_section_is_part_of_it() -> None:
    summary = parse_summary(
        "[SUMMARY]\n3. Key events:\n   1. Tom came.\n   4. Tom left.\n4. Relationships: warm.[/SUMMARY]"
    )
    assert summary.sections == {3: "1. Tom came.\n4. Tom left.", 4: "warm."}


@pytest.mark.parametrize(
    "reply",
    [
        "<character_state>Calm.</character_state><world_state>War.</world_state>"
        "<relationship_matrix>Tom: fond</relationship_matrix>",
        "<CHARACTER_STATE>\nCalm.\n<World State>\nWar.\n</World State>\n<relationship-matrix>Tom: fond",
        "## Character state\nCalm.\n\n## World State\nWar.\n\n## Relationship matrix\nTom: fond",
        "**Character State:** Calm.\n**World State:** War.\n**Relationship Matrix:**\nTom: fond",
        "```xml\n<character_state>\nCalm.\n</character_state>\n<world_state>War.</world_state>\nSo:\n"
        "[relationship_matrix]Tom: fond[/relationship_matrix]\n```",
    ],
)
def test_variants_of_a_profile(reply: str) -> None:
    assert parse_profiles(reply) == Profile("Calm.", "War.", "Tom: fond")


def test_missing_sections_are_empty() -> None:
    assert parse_profiles("<world_state>War.</world_state><character_state>NONE</character_state>") == Profile(
        "", "War.", ""
    )
    assert parse_profiles("Mira is calm, and the character state is good.") is None
    assert parse_profiles("<character_state></character_state>") is None
    assert parse_profiles("NONE") is None


@pytest.mark.parametrize(
    "reply",
    [
        "No contradictions.",
        "No contradictions were found.",
        "There are no conflicts with the established facts.",
        "- The reply does not contradict any of the facts.",
        "The response doesn't conflict with facts 1, 2 or 3.",
        "Everything is consistent with what is known. Mira is still in Oslo.",
        "The message aligns with the facts.",
        "**No issues found.**\n\nMira lives in Oslo, as fact 1 has it.",
        "I found no significant inconsistencies.",
        "NONE",
        "[contradiction] none",
        "[contradiction:1] No contradiction.",
    ],
)
def test_replies_that_report_no_contradiction(reply: str) -> None:
    assert parse_contradictions(reply).items == []


@pytest.mark.parametrize(
    "text",
    [
        "This is not consistent with fact 2.",
        "The reply isn't consistent with the facts.",
        "It is inconsistent with fact 2.",
        "There are no issues with the inn, but Tom is dead.",
        "Tom is dead; no problem is said to be left.",
        "Fact 3 says that there are no problems, and the bridge fell.",
        "Tom is dead. Otherwise no contradictions.",
    ],
)
def test_replies_that_report_a_contradiction(text: str) -> None:
    assert not is_all_clear(text)
    assert [item.text for item in parse_contradictions(text).items] == [text]


def test_contradictions_with_and_without_numbers() -> None:
    parsed = parse_contradictions("Two things:\n\n- [contradiction:2] Tom is dead.\n- [contradiction] 12 guards vs 2.")
    assert parsed.items == [Contradiction("Tom is dead.", 2), Contradiction("12 guards vs 2.")]
    assert parsed.unused == ["Two things:"]
    assert parse_contradictions("[Contradiction: fact 3] Tom is dead.").items == [Contradiction("Tom is dead.", 3)]


def test_untagged_lines_keep_their_leading_numbers() -> None:
    parsed = parse_contradictions("Contradictions:\n- 12 guards vs 2\n2. Tom is dead\n* 3.5 miles, not 2")
    assert [item.text for item in parsed.items] == ["12 guards vs 2", "Tom is dead", "3.5 miles, not 2"]
    assert parsed.unused == ["Contradictions:"]


@pytest.mark.parametrize(
    ("reply", "numbers", "words"),
    [
        ("3: rope, Lantern, well-known", [3, 4], {3: ("rope", "lantern", "well-known")}),
        ("- **3:** rope\n- **4:** lantern", [3, 4], {3: ("rope",), 4: ("lantern",)}),
        ("1. 3: rope\n2. 4: lantern", [3, 4], {3: ("rope",), 4: ("lantern",)}),
        ("[3] rope\n(4) lantern", [3, 4], {3: ("rope",), 4: ("lantern",)}),
        ("Memory 3: rope\n#4 - lantern", [3, 4], {3: ("rope",), 4: ("lantern",)}),
        ("3：rope，lantern", [3, 4], {3: ("rope", "lantern")}),
        ("9: rope", [3, 4], {}),
        ("rope, lantern", [3, 4], {}),
        ("rope, lantern\nknife", [3], {3: ("rope", "lantern", "knife")}),
        ("Here are some words:\n1. rope\n2. lantern", [3], {3: ("rope", "lantern")}),
        ("3: rope; ROPE! rope's, an, 1990, " + "x" * 41, [3], {3: ("rope", "rope's")}),
        ("3: one, two, three, four, five, six, seven", [3], {3: ("one", "two", "three", "four", "five", "six")}),
        ("NONE", [3], {}),
    ],
)
def test_triggers(reply: str, numbers: list[int], words: dict[int, tuple[str, ...]]) -> None:
    assert parse_triggers(reply, numbers).words == words


def test_triggers_of_unknown_memories_are_listed() -> None:
    assert parse_triggers("Words:\n9: rope\n3: lantern", [3, 4]).unused == ["Words:", "9: rope"]


@pytest.mark.parametrize(
    "reply",
    [
        "Mira left. Tom stayed.",
        "Here is the recap: Mira left. Tom stayed.",
        "Sure! Here's a short recap of the scene:\n\nMira left.\nTom stayed.",
        "**Recap:** Mira left. Tom stayed.",
        "## Scene recap\nMira left. Tom stayed.",
        "[RECAP] Mira left. Tom stayed. [/RECAP]",
        "<recap>Mira left. Tom stayed.</recap>",
        '"Mira left. Tom stayed."',
        "```text\nMira left. Tom stayed.\n```",
        "> Mira left.\n> Tom stayed.",
        "Mira left. Tom stayed.\n\nLet me know if you want it shorter.",
        "Mira\u0000 left.\r\n  Tom\tstayed.",
    ],
)
def test_remarks_around_prose_are_removed(reply: str) -> None:
    assert parse_free_text(reply, 500) == "Mira left. Tom stayed."


def test_prose_keeps_paragraphs_and_lists() -> None:
    text = "Who: Mira, a smith.\nWhat happened: she left.\n\nWhere things stand: far away."
    assert parse_free_text(text, 500) == text
    assert parse_free_text("- one\n- two", 500) == "- one\n- two"
    assert parse_free_text("“Go,” she said. “Go.”", 500) == "“Go,” she said. “Go.”"


@pytest.mark.parametrize("reply", ["", "NONE", "**None.**", "```\n```", "<recap></recap>"])
def test_replies_without_prose(reply: str) -> None:
    assert parse_free_text(reply, 500) == ""


def test_long_prose_ends_with_a_sentence_or_at_least_a_word() -> None:
    assert parse_free_text("Mira left. Tom stayed. Anna slept.", 25) == "Mira left. Tom stayed."
    assert parse_free_text("Mira went over the hills and far away", 20) == "Mira went over the"
    assert parse_free_text("x" * 50, 20) == "x" * 20


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("YES", True),
        ("no.", False),
        ("**Yes**", True),
        ("Yes, because no time was left.", True),
        ("The scene goes on. Answer: NO", False),
        ("I would say YES here, as they travel.", True),
        ("YES or NO? NO", None),
        ("There is no break to be seen.", None),
        ("", None),
        ("Oui", None),
    ],
)
def test_yes_or_no(reply: str, answer: bool | None) -> None:
    assert parse_yes_no(reply) is answer


UPDATE, SAME, INDEPENDENT = Relation.UPDATE, Relation.SAME, Relation.INDEPENDENT


@pytest.mark.parametrize(
    ("reply", "relations", "unused"),
    [
        ("[1] UPDATE\n[2] SAME", [(1, UPDATE), (2, SAME)], 0),
        ("1. UPDATE\n2. Independent.", [(1, UPDATE), (2, INDEPENDENT)], 0),
        ("- **[pair:3]** same", [(3, SAME)], 0),
        ("Pair 2: UPDATE, since she moved.", [(2, UPDATE)], 0),
        ("2 -> not UPDATE but INDEPENDENT", [(2, INDEPENDENT)], 0),
        ("Here are the answers:\n\n(12) UPDATED", [(12, UPDATE)], 1),
        ("[1] UPDATE or INDEPENDENT", [], 1),
        ("UPDATE", [], 1),
        ("I don't know.", [], 1),
        ("", [], 0),
    ],
)
def test_relations_of_pairs(reply: str, relations: list[tuple[int, Relation]], unused: int) -> None:
    parsed = parse_relations(reply)
    assert (parsed.items, len(parsed.unused)) == (relations, unused)
