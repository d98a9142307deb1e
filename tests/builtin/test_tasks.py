"""Test the replies of the built-in backend to all tasks but memory extraction."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apps.builtin.tasks import TASKS
from apps.builtin.tasks import contradictions as contradicting
from apps.english.clauses import split_speaker
from apps.english.comparison import Comparison
from apps.english.words import content_words
from apps.extraction.memories.consolidation import parse_merges
from apps.extraction.memories.pair_questions import parse_relations
from apps.extraction.memories.relationships import parse_relationships
from apps.extraction.memories.triggers import parse_triggers
from apps.extraction.tiers.arcs import parse_arcs
from apps.extraction.tiers.continuity import parse_contradictions
from apps.extraction.tiers.epistemic import parse_knowledge
from apps.extraction.tiers.ledger import parse_states
from apps.extraction.tiers.profiles import parse_profiles
from apps.extraction.tiers.scenes import parse_yes_no
from apps.extraction.tiers.summary import parse_summary
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.generation import GenerationRequest
from apps.memories.candidates import LEDGER_FIELDS
from apps.memories.verdicts.known_statements import Relation
from tests.durations import takes_at_most

Fields = dict[str, str]
PEOPLE = ("Mira", "Tom")
ENTITIES = {
    "Mira": "character",
    "Tom": "character",
    "silver key": "object",
    "Port Salt": "place",
    "Tide Guild": "faction",
}


def turns_of(texts: Sequence[str], speakers: Sequence[str] = PEOPLE) -> list[dict[str, Any]]:
    """Return turns with the speakers in rotation; the second speaker is the user."""
    return [
        {"number": n, "speaker": speakers[n % len(speakers)], "is_user": n % len(speakers) == 1, "text": text}
        for n, text in enumerate(texts)
    ]


def ask(task: str, **material: Any) -> str:
    return TASKS[task](GenerationRequest(task=task, messages=[], material=material))


# The state ledger


def states(*texts: str, known: dict[str, Fields] | None = None) -> dict[str, Fields]:
    """Return the fields by entity after the turns; the value of a cleared field is "cleared"."""
    entities = [{"name": name, "type": kind, "fields": (known or {}).get(name, {})} for name, kind in ENTITIES.items()]
    reading = parse_states(ask("ledger", turns=turns_of(texts), participants=PEOPLE, entities=entities))
    assert reading.unused == []
    return {line.name: line.fields | dict.fromkeys(line.cleared, "cleared") for line in reading.items}


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("*Mira limps into the old mill.*", {"Mira": {"location": "old mill"}}),
        ("*I walk to the harbour.*", {"Mira": {"location": "harbour"}}),
        ("“I just arrived in Rome!”", {"Mira": {"location": "Rome"}}),
        ("I'm in Berlin this week.", {"Mira": {"location": "Berlin"}}),
        ("Mira drew her cloak closer and walked to the harbour.", {"Mira": {"location": "harbour"}}),
        ("*You slip into the chapel.*", {"Tom": {"location": "chapel"}}),
        ("*She is furious.*", {"Mira": {"mood": "furious"}}),
        ("I'm so excited about the trip!", {"Mira": {"mood": "excited"}}),
        ("My left arm is bleeding badly.", {"Mira": {"injuries": "bleeding left arm"}}),
        ("*Tom broke his right leg in the fall.*", {"Tom": {"injuries": "broken right leg"}}),
        ("“I am wounded in the side,” Tom says.", {"Tom": {"injuries": "wounded in the side"}}),
        ("I want to find my sister Anna before winter.", {"Mira": {"goal": "find my sister Anna before winter"}}),
        ("*Mira is looking for the lost map.*", {"Mira": {"goal": "looking for the lost map"}}),
        ("*Tom puts on a grey cloak.*", {"Tom": {"outfit": "grey cloak"}}),
        ("*Mira is disguised as a monk.*", {"Mira": {"outfit": "disguised as a monk"}}),
        ("*Mira takes the brass lantern from the shelf.*", {"Mira": {"carried": "brass lantern"}}),
        ("*Mira takes the dagger and hands it to Tom.*", {"Tom": {"carried": "dagger"}}),
        ("The silver key is broken.", {"silver key": {"condition": "broken"}}),
        ("The silver key belongs to Tom.", {"silver key": {"owner": "Tom"}}),
        ("*She hides the silver key under the floorboards.*", {"silver key": {"location": "under the floorboards"}}),
        ("Port Salt is under siege.", {"Port Salt": {"hazards": "under siege"}}),
        ("Port Salt fell to the Tide Guild.", {"Port Salt": {"control": "the Tide Guild"}}),
        ("The Tide Guild is led by Captain Reed.", {"Tide Guild": {"leadership": "Captain Reed"}}),
        ("The Tide Guild wants to close the harbour.", {"Tide Guild": {"objective": "close the harbour"}}),
        ("The Tide Guild has allied with House Vale.", {"Tide Guild": {"alliances": "House Vale"}}),
    ],
)
def test_the_ledger_records_stated_changes(text: str, state: dict[str, Fields]) -> None:
    assert states(text) == state


@pytest.mark.parametrize(
    "text",
    [
        "*She walked to the door and opened it.*",
        "If Mira arrives at the mill, she will be angry.",
        "*Mira will go to the castle.*",
        "I went to Paris last year with my mother.",
        "*Mira is in love.*",
        "Are you hurt, Tom?",
        "I'm not angry with you.",
        "I'm so proud of you!",
        "*Mira nearly broke her arm.*",
        "*She takes a deep breath and holds his hand.*",
        "I want to say thanks.",
        "*From that day Mira wore the key to the mill.*",
        "*Mira puts the letter into his hands.*",
        "*Somebody is bleeding.*",
        "Mira looked up at him. He was bleeding.",
        "(OOC: Mira is wounded in the leg, right?)",
        "Она вошла в старую мельницу. 她走进了旧磨坊。",
    ],
)
def test_the_ledger_ignores_denied_hypothetical_and_unclear_changes(text: str) -> None:
    assert states(text) == {}


def test_a_healed_wound_is_cleared_and_another_stays() -> None:
    assert states("“My arm has healed.”", known={"Mira": {"injuries": "broken arm"}}) == {
        "Mira": {"injuries": "cleared"}
    }
    hurt = {"Mira": {"injuries": "broken arm, bleeding leg"}}
    assert states("*Tom heals Mira's arm with a prayer.*", known=hurt) == {"Mira": {"injuries": "bleeding leg"}}
    assert states("*Mira's arm has not healed yet.*", known=hurt) == {}


def test_items_given_away_or_taken_off_are_removed() -> None:
    assert states("*Mira gives the dagger to Tom.*", known={"Mira": {"carried": "rope, dagger"}}) == {
        "Mira": {"carried": "rope"},
        "Tom": {"carried": "dagger"},
    }
    assert states("*Mira takes off the grey cloak.*", known={"Mira": {"outfit": "grey cloak"}}) == {
        "Mira": {"outfit": "cleared"}
    }


# Arcs


def threads(*texts: str, opened: Sequence[str] = ()) -> list[tuple[str, str, int | None]]:
    open_arcs = [{"number": number, "text": text} for number, text in enumerate(opened, 1)]
    reading = parse_arcs(ask("arcs", turns=turns_of(texts), open=open_arcs))
    assert reading.unused == []
    return [(line.kind, line.text, line.number) for line in reading.items]


@pytest.mark.parametrize(
    ("text", "thread"),
    [
        ("“We must find the silver key before the new moon.”", "We must find the silver key before the new moon."),
        ("“I swear to protect you.”", "I swear to protect you."),
        ("“I will come back for you, Mira.”", "I will come back for you, Mira."),
        ("“My brother Aldric is missing.”", "My brother Aldric is missing."),
        ("“Who killed King Aldric?”", "Who killed King Aldric?"),
        ("“Nobody knows who burned the mill.”", "Nobody knows who burned the mill."),
        ("“Nobody knows what sank the old ferry.”", "Nobody knows what sank the old ferry."),
        ("I need to find a new job this year.", "I need to find a new job this year."),
        ("I'm planning to open a bakery next spring.", "I'm planning to open a bakery next spring."),
    ],
)
def test_plans_promises_threats_and_mysteries_are_threads(text: str, thread: str) -> None:
    assert threads(text) == [("arc", f"Mira: “{thread}”", None)]


def test_narration_opens_threads() -> None:
    assert threads("*Tom owes Mira ten crowns.*") == [("arc", "Tom owes Mira ten crowns.", None)]


@pytest.mark.parametrize(
    "text",
    [
        "I'm going to bed.",
        "I have to go.",
        "I want to make their lives better.",
        "He had got to the word before she came.",
        "The clerk will swear to it.",
        "If I find the key, I will tell you.",
        "I don't have to find a job.",
        "Why?",
    ],
)
def test_small_talk_opens_no_thread(text: str) -> None:
    assert threads(text) == []


def test_a_thread_is_resolved_by_its_outcome() -> None:
    opened = ["Mira: “We have to find the silver key.”", "Tom owes Mira ten crowns.", "Mira: “I must find Anna.”"]
    assert threads("At last they found the silver key!", "*Tom paid Mira the ten crowns.*", opened=opened) == [
        ("resolved", "Mira: “At last they found the silver key!”", 1),
        ("resolved", "Tom paid Mira the ten crowns.", 2),
    ]


def test_a_thread_is_not_resolved_by_hope() -> None:
    opened = ["Mira: “We have to find the silver key.”"]
    for text in ("I hope they found the silver key.", "We will find the silver key.", "We never found the silver key."):
        assert [kind for kind, _, _ in threads(text, opened=opened)].count("resolved") == 0


def test_a_thread_resolved_in_the_same_turns_is_not_opened() -> None:
    assert threads("We must find the silver key.", "We found the silver key in the chapel.") == []


def test_at_most_four_threads_are_opened_at_a_time() -> None:
    names = ["Anna", "Aldric", "Berta", "Konrad", "Dora", "Emil", "Frida"]
    assert len(threads(*(f"“I must find {name} of {name}mere.”" for name in names))) == 4


def test_an_arc_summary_quotes_related_scenes_and_memories() -> None:
    summary = ask(
        "arc_summary",
        arc="Mira: “I must find my brother Aldric.”",
        scenes=["Mira looked for her brother Aldric in the harbour.", "Tom bought a boat."],
        memories=["Mira found Aldric in the lighthouse."],
    )
    assert summary == (
        "Mira: “I must find my brother Aldric.” Mira looked for her brother Aldric in the harbour. "
        "Mira found Aldric in the lighthouse."
    )


# Knowledge


def knowledge(*texts: str, known: Sequence[dict[str, Any]] = ()) -> list[tuple[str, ...]]:
    parsed = parse_knowledge(ask("epistemic", turns=turns_of(texts), participants=PEOPLE, known=list(known)))
    assert parsed.unused == []
    lines = [(line.kind, line.subject, line.target, line.text) for line in parsed.items]
    return [*lines, *(("retire", str(number)) for number in parsed.retired)]


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("I told Anna that Tom sold the blue boat.", ("knows", "Anna", "", "Tom sold the blue boat")),
        ("“Tom told me about the hidden cellar,” Anna says.", ("knows", "Anna", "", "the hidden cellar")),
        ("*Mira suspects that Tom stole the key.*", ("suspects", "Mira", "", "Tom stole the key")),
        ("*Mira is convinced that the Duke is dead.*", ("believes", "Mira", "", "the Duke is dead")),
        ("*Tom has no idea that the Captain is a spy.*", ("unaware", "Tom", "", "the Captain is a spy")),
        ("*Mira doesn't know where the key is hidden.*", ("unaware", "Mira", "", "where the key is hidden")),
        ("I lied to Anna about the money from the bank.", ("hiding", "Mira", "Anna", "the money from the bank")),
        ("*Mira hides the stolen letter from Tom.*", ("hiding", "Mira", "Tom", "the stolen letter")),
        (
            "I never told Anna about my baby.",
            ("hiding", "Mira", "Anna", "Mira: “I never told Anna about my baby.”"),
        ),
    ],
)
def test_stated_knowledge_is_recorded(text: str, entry: tuple[str, ...]) -> None:
    assert knowledge(text) == [entry]


def test_a_confession_is_known_to_the_listener() -> None:
    assert knowledge("I have to confess, I burned the mill.") == [
        ("knows", "Tom", "", "Mira: “I have to confess, I burned the mill.”")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "I don't know what to do.",
        "I don't know why I kicked you.",
        "*I don't know how.*",
        "I had a feeling of gratitude, sitting there with Anna.",
        "I think it's great.",
        "I believe in love.",
        "Do you know that Tom sold the boat?",
        "*Mira wants to tell Tom about the letter.*",
        "If Tom knew that the boat is sold, he would cry.",
    ],
)
def test_opinions_questions_and_plans_are_not_knowledge(text: str) -> None:
    assert knowledge(text) == []


def test_being_told_retires_ignorance_and_secrets() -> None:
    known = [
        {"number": 4, "kind": "unaware", "subject": "Tom", "target": "", "text": "the Captain is a spy"},
        {"number": 7, "kind": "hiding", "subject": "Mira", "target": "Tom", "text": "the Captain is a spy"},
        {"number": 9, "kind": "unaware", "subject": "Anna", "target": "", "text": "the Captain is a spy"},
    ]
    assert knowledge("*Mira told Tom that the Captain is a spy.*", known=known) == [
        ("knows", "Tom", "", "the Captain is a spy"),
        ("retire", "4"),
        ("retire", "7"),
    ]


# Relationships


def words(text: str, known: Fields | None = None) -> str:
    descriptors = [{"word": word, "magnitude": magnitude} for word, magnitude in (known or {}).items()]
    return ask(
        "relationships",
        turns=turns_of([text]),
        names=PEOPLE,
        known=[{"subject": "Mira", "target": "Tom", "descriptors": descriptors}],
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("I love you so much, Tom.", "Mira -> Tom: loving(high)"),
        ("*Mira trusts Tom completely.*", "Mira -> Tom: trusting(high)"),
        ("*Tom is a little afraid of Mira.*", "Tom -> Mira: fearful(low)"),
        ("I'm so proud of you!", "Mira -> Tom: proud(high)"),
        ("I don't trust you.", "Mira -> Tom: wary(medium)"),
        ("*Tom hated Mira.*", "Tom -> Mira: hateful(medium)"),
        ("I love the sea, and I love Paris.", "NONE"),
        ("*Mira hates Tom's boots.*", "NONE"),
        ("Trust me, Tom.", "NONE"),
        ("If you trust me, come.", "NONE"),
        ("I would love you to come.", "NONE"),
        ("Do you love me?", "NONE"),
    ],
)
def test_stated_relationships_are_recorded(text: str, line: str) -> None:
    assert words(text) == line


def test_a_descriptor_removes_its_opposite() -> None:
    assert words("I trust you.", {"wary": "medium"}) == "Mira -> Tom: trusting(medium), !wary"
    assert words("I'm angry with you, but I forgive you.", {"angry": "low"}) == "Mira -> Tom: forgiving(medium), !angry"
    assert words("*Mira no longer trusts Tom.*", {"trusting": "high"}) == "Mira -> Tom: !trusting"
    assert words("I trust you.", {"trusting": "medium"}) == "NONE"


# Merging, superseding, continuity


def merged(*texts: str) -> list[tuple[tuple[int, ...], str]]:
    entries = [{"number": number, "text": text, "consolidated": False} for number, text in enumerate(texts, 1)]
    reading = parse_merges(ask("consolidate", tier="long_term", kind="fact", entries=entries))
    assert reading.unused == []
    return [(line.numbers, line.text) for line in reading.items]


def test_an_entry_is_merged_into_a_longer_one_that_includes_it() -> None:
    assert merged("Mira lives in Port Salt.", "Tom has a dog.", "Mira lives in Port Salt with her aunt.") == [
        ((1, 3), "Mira lives in Port Salt with her aunt.")
    ]
    assert merged("Mira lives in Oslo.", "Mira: “I live in Oslo.”") == [((1, 2), "Mira lives in Oslo.")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mira lives in Port Salt.", "Mira lives in Rome."),
        ("Mira has three cats and a dog.", "Mira has four cats and a dog."),
        ("Mira likes red wine and cheese.", "Mira does not like red wine and cheese."),
        ("Mira works at the bakery in town.", "Tom works at the bakery in town."),
        ("Mira: “I sold the blue boat.”", "Tom: “I sold the blue boat.”"),
        ("Mira painted a lake at dawn.", "Mira painted a harbour at night."),
    ],
)
def test_different_statements_are_never_merged(one: str, other: str) -> None:
    assert merged(one, other) == []


@pytest.fixture
def incompatible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the learned comparison: different statements with two words in common contradict each other."""

    def compared(pairs: Sequence[tuple[str, str, str]], embed: object) -> list[Comparison]:
        words = [(content_words(old), content_words(new)) for old, new, _ in pairs]
        return [Comparison(float(one != two and len(one & two) > 1), 0.0, 0.0) for one, two in words]

    monkeypatch.setattr(contradicting, "compare", compared)


@pytest.mark.usefixtures("incompatible")
def test_a_change_is_an_update() -> None:
    pairs = [
        {"number": 1, "old": "Mira lives in Oslo.", "new": "Mira lives in Rome."},
        {"number": 2, "old": "Mira lives in Oslo.", "new": "Mira: “I live in Oslo.”"},
    ]
    assert parse_relations(ask("pairs", pairs=pairs)).items == [(1, Relation.UPDATE), (2, Relation.INDEPENDENT)]


def test_nothing_is_replaced_without_the_embedding_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(pairs: Sequence[tuple[str, str, str]], embed: object) -> list[Comparison]:
        raise EmbeddingUnavailable("no model")

    monkeypatch.setattr(contradicting, "compare", unavailable)
    pair = {"number": 1, "old": "Mira lives in Oslo.", "new": "Mira lives in Rome."}
    assert parse_relations(ask("pairs", pairs=[pair])).items == [(1, Relation.INDEPENDENT)]
    assert contradictions("I live in Rome.", "Mira lives in Port Salt.") == []


def contradictions(reply: str, *facts: str) -> list[int | None]:
    turn = {"number": 9, "speaker": "Mira", "is_user": False, "text": reply}
    numbered = [{"number": number, "text": text} for number, text in enumerate(facts, 1)]
    reading = parse_contradictions(ask("continuity", turn=turn, facts=numbered))
    assert reading.unused == []
    return [item.number for item in reading.items]


@pytest.mark.parametrize(
    ("reply", "fact"),
    [
        ("I live in Rome.", "Mira lives in Port Salt."),
        ("Mira has black hair.", "Mira has red hair."),
        ("I am 30 years old.", "Mira is 27 years old."),
        ("“Good evening to you all,” says Aldric.", "Aldric died in the fire."),
    ],
)
@pytest.mark.usefixtures("incompatible")
def test_a_reply_that_contradicts_a_fact_is_reported(reply: str, fact: str) -> None:
    assert contradictions(reply, "Tom has a dog.", fact) == [2]


@pytest.mark.parametrize(
    ("reply", "fact"),
    [
        ("I moved to Rome last week.", "Mira lives in Port Salt."),
        ("I live in Rome now.", "Mira lives in Port Salt."),
        ("I live in Port Salt.", "Mira lives in Port Salt."),
        ("Do I live in Rome?", "Mira lives in Port Salt."),
        ("*Tom laughs at her.*", "Mira has red hair."),
    ],
)
@pytest.mark.usefixtures("incompatible")
def test_a_reply_that_reports_a_change_contradicts_nothing(reply: str, fact: str) -> None:
    assert contradictions(reply, fact) == []


def test_the_repair_note_states_the_facts() -> None:
    note = ask("repair", issues=["Mira: “I live in Rome.”"], facts=["Mira lives in Port Salt"])
    assert "Mira lives in Port Salt." in note


# Summary, scenes, profiles, canon, triggers

STORY = (
    "*Rain drums on the roof as Mira pushes the door open and walks into the Salt Wren.* “My brother is missing, Tom.”",
    "*Tom pours her a drink.* “Then we must find Aldric before the new moon.”",
    "“The truth is, Captain Reed lied to my brother Aldric in May.” *She takes the silver key.*",
    "“I sold my boat to Captain Reed in April for ninety crowns. I want to see the lighthouse at dawn.”",
)


def test_the_summary_has_events_and_the_current_situation() -> None:
    sections = parse_summary(ask("summary", turns=turns_of(STORY), summary="", known=[])).sections
    assert sections[1] == ("Rain drums on the roof as Mira pushes the door open and walks into the Salt Wren.")
    assert sections[2] == "Mira, Tom"
    assert "I sold my boat to Captain Reed in April for ninety crowns." in sections[3]
    assert "Captain Reed lied to my brother Aldric in May." in sections[5]
    assert "we must find Aldric before the new moon" in sections[6]
    assert "I want to see the lighthouse at dawn." in sections[7]
    assert "I want to see the lighthouse at dawn." in sections[8]


def test_a_summary_is_extended() -> None:
    first = parse_summary(ask("summary", turns=turns_of(STORY), summary="", known=[])).text
    later = ["*Mira and Tom reach the lighthouse.* “We found Aldric!”", "“I bought the lighthouse from Reed in June.”"]
    sections = parse_summary(ask("summary", turns=turns_of(later), summary=first, known=[])).sections
    assert "I sold my boat to Captain Reed" in sections[3]
    assert "I bought the lighthouse from Reed in June." in sections[3]
    assert "we must find Aldric" not in sections.get(6, "")
    assert sections[8].endswith("I bought the lighthouse from Reed in June.”")


def test_a_summary_stays_short_and_keeps_its_beginning_and_the_moment() -> None:
    text = ""
    for month in range(60):
        turns = turns_of([f"“I sold boat number {month}{n} to Captain Reed in April.”" for n in range(8)])
        text = parse_summary(ask("summary", turns=turns, summary=text, known=[])).text
    sections = parse_summary(f"[SUMMARY]{text}[/SUMMARY]").sections
    assert len(text) < 9000
    assert "boat number 00 " in sections[3]
    assert "boat number 597 " in sections[8]


def test_a_summary_that_a_person_wrote_is_kept() -> None:
    summary = ask("summary", turns=turns_of(STORY), summary="They met in a storm, long ago.", known=[])
    assert "They met in a storm, long ago." in parse_summary(summary).sections[3]


def test_a_recap_begins_with_the_setting() -> None:
    recap = ask("scene_recap", turns=turns_of(STORY))
    assert recap.startswith("Rain drums on the roof as Mira pushes the door open and walks into the Salt Wren.")
    assert "I sold my boat to Captain Reed in April for ninety crowns." in recap
    assert ask("scene_recap", turns=[]) == "NONE"


def test_a_scene_break_is_a_yes_or_no() -> None:
    before, after = turns_of(["*Mira sits by the fire.*", "*The next morning, Tom wakes in the harbour.*"])
    assert parse_yes_no(ask("scene_break", previous=before, turn=after)) is True
    assert parse_yes_no(ask("scene_break", previous=after, turn=before)) is False


MEMORIES = [
    "Mira: “I'm afraid of the sea.”",
    "Tom is the best friend of Mira.",
    "Mira: “I must find my brother Aldric.”",
    "Mira sold the blue boat in May.",
]


def test_a_profile_sorts_the_memories() -> None:
    profile = parse_profiles(
        ask("profiles", subject="Mira", names=["Mira", "Tom"], memories=MEMORIES, turns=turns_of(STORY))
    )
    assert profile is not None
    assert "Fears: Mira: “I'm afraid of the sea.”" in profile.character_state
    assert "Goals: Mira: “I must find my brother Aldric.”" in profile.character_state
    assert "Location: Rain drums" in profile.world_state
    assert profile.relationship_matrix == "Mira -> Tom: Tom is the best friend of Mira."
    assert ask("profiles", subject="Mira", names=[], memories=[], turns=[]) == "NONE"


def profile_of(*texts: str, names: Sequence[str] = PEOPLE, subject: str = "Mira", memories: Sequence[str] = ()) -> Any:
    turns = turns_of(texts)
    return parse_profiles(ask("profiles", subject=subject, names=names, memories=list(memories), turns=turns))


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("*It is already past midnight.*", "It is already past midnight."),
        ("*The next morning, Mira opens the window and looks at the sea.*", "The next morning, Mira opens the window"),
        ("*Three days later, they meet in the harbour.*", "Three days later, they meet in the harbour."),
        ("It's Monday, and the shop is closed.", "It's Monday, and the shop is closed."),
        ("I was born in March in a small village.", None),
        ("I met Tom two years ago, in the summer.", None),
        ("We will leave tomorrow in the morning.", None),
        ("My birthday is in October, on a Sunday.", None),
    ],
)
def test_the_time_of_a_profile_is_when_the_story_plays(text: str, time: str | None) -> None:
    profile = profile_of("*Rain drums on the roof of the Salt Wren.*", "Hello.", text)
    found = [line for line in (profile.world_state if profile else "").splitlines() if line.startswith("Time: ")]
    assert len(found) == (time is not None)
    assert all(time in line for line in found if time)


@pytest.mark.parametrize(
    ("text", "mood"),
    [
        ("I'm nervous about the ball tonight.", "nervous"),
        ("*Mira looks cheerful.*", "cheerful"),
        ("I am so proud today.", "proud"),
        ("I am calm and patient with children.", ""),
        ("I'm afraid of heights.", ""),
        ("I'm terrified of spiders, and always was.", ""),
        ("I am cheerful by nature.", ""),
        ("I am proud, stubborn and fond of horses.", ""),
    ],
)
def test_what_somebody_is_like_is_no_mood(text: str, mood: str) -> None:
    profile = profile_of("Well.", "Hello.", text)
    moods = [line for line in (profile.character_state if profile else "").splitlines() if line.startswith("Mood: ")]
    assert moods == ([f"Mood: {mood}"] if mood else [])


@pytest.mark.parametrize("subject", ["Mira", "Mira Hale", "Captain Mira Hale", "mira"])
def test_a_profile_does_not_list_its_subject_among_the_others(subject: str) -> None:
    memories = ["Tom is the best friend of Mira.", "Mira is the daughter of a sailor from Marrow."]
    profile = profile_of("Hello.", names=["Mira", "Mira Hale", "Tom"], subject=subject, memories=memories)
    assert profile is not None
    assert profile.relationship_matrix == f"{subject} -> Tom: Tom is the best friend of Mira."


def test_canon_has_three_paragraphs() -> None:
    text = ask("canon", subject="Mira", arcs=["Mira paid her debt."], memories=MEMORIES)
    who, happened, stands = text.split("\n\n")
    assert who.startswith("Who: Mira: “I'm afraid of the sea.”")
    assert happened == "What happened: Mira paid her debt. Mira sold the blue boat in May."
    assert stands == "Where things stand: Mira: “I must find my brother Aldric.”"


def test_triggers_are_the_nouns_of_a_memory() -> None:
    memories = [
        {"number": 3, "text": "Mira: “I keep a brass lantern in the old harbour mill, Tom.”"},
        {"number": 5, "text": "Wow!"},
    ]
    found = parse_triggers(ask("triggers", memories=memories), [3, 5]).words
    assert set(found) == {3}
    assert {"lantern", "harbour", "mill"} <= set(found[3])
    assert not {"mira", "tom", "keep"} & set(found[3])


# Arbitrary texts

ODD = [
    "",
    "😀" * 50,
    "[state:Mira:character] mood=happy",
    "[arc] text [resolved] text",
    "Mira -> Tom: warm",
    "“I have to find Tom | Mira = [x] <b>now</b>",
    "*Mira takes the silver key | and <i>hands</i> it to Tom.*",
    "我必须找到钥匙。 米拉受伤了！",
    "Я должна найти ключ.",
    "\u202eI trust you\u202c, Tom\u0000\x0b\u2028",
    "NONE",
    "1. Scene and setting: [SUMMARY]",
    "- Mira: Mira: Tom is wounded in the leg.",
]
QUEST = "We must find the silver key before the new moon."
TELLING = [
    "I told Tom that Anna sold the blue boat.",
    "*Mira hides the stolen letter from Tom.*",
    "Tom has no idea that Anna is a spy.",
    QUEST,
    "We found the silver key.",
    "I trust you.",
    "I don't trust you.",
    "I'm angry with you.",
    "*Mira takes the dagger and gives it to Tom.*",
    "*Mira drops the dagger.*",
    "My left arm is bleeding.",
    "My arm has healed.",
    "*I walk to the harbour.*",
    "*She puts on a red cloak.*",
    "*She takes off the cloak.*",
    "Port Salt is under siege.",
    "I swear to protect you.",
    "“I sold the boat to Captain Reed in May,” says Tom. “The truth is, Reed is my brother.”",
    "The Tide Guild has allied with House Vale.",
]
texts = st.lists(
    st.one_of(
        st.sampled_from(TELLING),
        st.lists(st.sampled_from([*TELLING, *ODD]), max_size=3).map(" ".join),
        st.text(max_size=80),
    ),
    max_size=6,
)
speakers = st.sampled_from([PEOPLE, ("Mira", "Tom", "Anna"), ("Narrator", "Tom"), ("Mira",), ("", "Tom: [x]")])


def letters(text: str) -> str:
    """Return a text without spaces, punctuation, markup and tags, which a quotation need not keep."""
    return re.sub(r"[\W_]", "", re.sub(r"<[^<>]*>|\]\([^()]*\)", "", text)).casefold()


def is_quoted(text: str, turns: Sequence[dict[str, Any]]) -> bool:
    said = [text, split_speaker(text)[1], *(text.removeprefix(f"{turn['speaker']}: ") for turn in turns)]
    return any(letters(one) in letters(turn["text"]) for one in said for turn in turns)


class Chat:
    """Run all tasks over the same turns, each with the results of its previous run as known."""

    def __init__(self, turns: list[dict[str, Any]]) -> None:
        self.turns = turns
        self.fields: dict[tuple[str, str], Fields] = {(name, kind): {} for name, kind in ENTITIES.items()}
        self.arcs: list[str] = []
        self.known: list[dict[str, Any]] = []
        self.words: dict[tuple[str, str], Fields] = {}
        self.summary = ""

    def ledger(self) -> bool:
        entities = [{"name": n, "type": kind, "fields": fields} for (n, kind), fields in self.fields.items()]
        reading = parse_states(ask("ledger", turns=self.turns, participants=PEOPLE, entities=entities))
        assert reading.unused == []
        for line in reading.items:
            assert set(line.fields) | set(line.cleared) <= set(LEDGER_FIELDS[line.type])
            fields = self.fields.setdefault((line.name, line.type), {})
            fields.update(line.fields)
            for name in line.cleared:
                fields.pop(name)
        return bool(reading.items)

    def threads(self) -> bool:
        opened = [{"number": number, "text": text} for number, text in enumerate(self.arcs)]
        reading = parse_arcs(ask("arcs", turns=self.turns, open=opened))
        assert reading.unused == []
        assert all(is_quoted(line.text, self.turns) for line in reading.items)
        closed = {line.number for line in reading.items if line.kind == "resolved"}
        self.arcs = [text for number, text in enumerate(self.arcs) if number not in closed]
        self.arcs += [line.text for line in reading.items if line.kind == "arc"]
        return bool(reading.items)

    def knowledge(self) -> bool:
        known = [entry | {"number": number} for number, entry in enumerate(self.known)]
        parsed = parse_knowledge(ask("epistemic", turns=self.turns, participants=PEOPLE, known=known))
        assert parsed.unused == []
        assert all(is_quoted(line.text, self.turns) for line in parsed.items)
        self.known = [entry for number, entry in enumerate(self.known) if number not in parsed.retired]
        self.known += [
            {"kind": line.kind, "subject": line.subject, "target": line.target, "text": line.text}
            for line in parsed.items
        ]
        return bool(parsed.items or parsed.retired)

    def relationships(self) -> bool:
        known = [
            {"subject": a, "target": b, "descriptors": [{"word": w, "magnitude": m} for w, m in words.items()]}
            for (a, b), words in self.words.items()
        ]
        reading = parse_relationships(ask("relationships", turns=self.turns, names=PEOPLE, known=known))
        assert reading.unused == [] or reading.unused == ["NONE"]
        for line in reading.items:
            assert {line.subject, line.target} <= set(PEOPLE)
            words = self.words.setdefault((line.subject, line.target), {})
            words.update({one.word: one.magnitude for one in line.added})
            for word in line.removed:
                words.pop(word)
        return bool(reading.items)

    def summed_up(self) -> bool:
        before = self.summary
        summary = parse_summary(ask("summary", turns=self.turns, summary=before, known=[]))
        self.summary = summary.text
        return summary.text != before

    def pass_over(self) -> list[bool]:
        return [self.ledger(), self.threads(), self.knowledge(), self.relationships(), self.summed_up()]


@settings(max_examples=50)
@given(texts, speakers)
@example(TELLING, PEOPLE)
@example([QUEST, f"FOUND:SILVER:KEY.{QUEST}"], ("Mira",))
@example([*TELLING[::-1], *ODD], PEOPLE)
def test_lines_parse_quotations_are_exact_and_a_second_pass_adds_nothing(said: list[str], who: Sequence[str]) -> None:
    chat = Chat(turns_of(said, who))
    chat.pass_over()
    assert chat.pass_over() == [False] * 5


@settings(max_examples=50)
@given(texts, st.lists(st.one_of(st.sampled_from([*TELLING, *ODD]), st.text(max_size=60)), max_size=6))
def test_no_text_makes_the_other_tasks_raise(said: list[str], memories: list[str]) -> None:
    turns = turns_of(said)
    numbered = [{"number": number, "text": text, "consolidated": False} for number, text in enumerate(memories, 1)]
    ask("scene_recap", turns=turns)
    ask("profiles", subject="Mira", names=PEOPLE, memories=memories, turns=turns)
    ask("canon", subject="Mira", arcs=memories[:2], memories=memories)
    ask("arc_summary", arc=memories[0] if memories else "", scenes=memories, memories=memories)
    ask("repair", issues=memories, facts=memories)
    assert not parse_triggers(ask("triggers", memories=numbered), range(1, 7)).unused
    merges = parse_merges(ask("consolidate", tier="session", kind="detail", entries=numbered)).items
    members = [number for line in merges for number in line.numbers]
    assert len(members) == len(set(members))
    for turn in turns[:1]:
        assert not parse_contradictions(ask("continuity", turn=turn, facts=numbered)).unused


LONG = {
    "prose": "I must find Anna of Lyon, and I told Tom that she is wounded in the leg. ",
    "names": "Anna Vale and Tom Reed ",
    "quotes": '"I trust you," said Mira Vale. ',
    "hiding": "hides the hides the ",
    "to": "promised to to to to ",
    "stars": "*Mira takes ",
    "one word": "a",
    "brackets": "[state:Mira:character] ",
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("task", ["summary", "scene_recap", "arcs", "ledger", "epistemic", "relationships", "profiles"])
def test_a_long_message_takes_no_time(task: str, name: str) -> None:
    turns = turns_of([LONG[name] * (20_000 // len(LONG[name]))])
    with takes_at_most(5):  # seconds; quadratic time would be a minute
        ask(
            task,
            turns=turns,
            participants=PEOPLE,
            names=PEOPLE,
            known=[],
            open=[],
            entities=[],
            subject="Mira",
            memories=[],
        )
