"""What a character doesn't know never stands in what that character is asked with."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.chats.models import Character, Chat, Message
from apps.chats.operations import add_participant, append_messages
from apps.extraction.models import ExtractionRun
from apps.memories.models import Arc, Entity, Knowledge, LedgerEntry, Relationship, Scene
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.texts import NewVersion, write_version
from apps.prompts.settings.stores import INJECTION_SETTINGS
from apps.search.indexing import index_messages
from tests.factories import make_character, make_chat, make_memory, parsed
from tests.lanes import paired

SECRET = "The chart is under the mill."
MODES = ["simple", "advanced", "unified", "macros"]


@pytest.fixture
def orr(alice: User) -> Character:
    return make_character(alice, "Orr")


@pytest.fixture
def story(alice: User, orr: Character) -> Chat:
    """A chat with Orr, in which the secret was told long before what the prompt's history has."""
    talk = [f"We walk on for mile {number} of the road." for number in range(28)]
    return make_chat(alice, "Go on.", f"Vera whispers. {SECRET}", *talk, "What about the chart?", character=orr)


def kept(chat: Chat, kind: str, subject: str, target: str = "", text: str = SECRET) -> Knowledge:
    people = [get_or_create_entity(chat, name, "character") if name else None for name in (subject, target)]
    return Knowledge.objects.create(
        owner=chat.owner, chat=chat, kind=kind, subject=people[0], target=people[1], text=text,
        source=chat.messages.get(index=1),
    )  # fmt: skip


def asked(api: APIClient, chat: Chat, character: Character | None = None, text: str | None = None) -> dict[str, Any]:
    body = {"text": text, "character": str(character.pk) if character else None, "context_tokens": 4000}
    reply = api.post(f"/api/v1/chats/{chat.pk}/prompt/", body)
    assert reply.status_code == 200, reply.content
    return reply.json()


def in_canon(chat: Chat, character: Character, source: Message) -> None:
    write_version(chat, "canon", NewVersion(f"Orr is a miller. {SECRET} He is old.", last=source), character=character)


def in_profile(chat: Chat, character: Character, source: Message) -> None:
    state = {"character_state": "Orr is tired.", "world_state": f"It is winter. {SECRET} It snows."}
    write_version(chat, "profile", NewVersion(parts=state, last=source), character=character)


def in_summary(chat: Chat, character: Character, source: Message) -> None:
    write_version(chat, "summary", NewVersion(f"They met. {SECRET} They went on.", last=source))


def in_long_term(chat: Chat, character: Character, source: Message) -> None:
    make_memory(chat, f"Vera said: “{SECRET}”", character=character, importance=3)


def in_session(chat: Chat, character: Character, source: Message) -> None:
    make_memory(chat, SECRET, tier="session", kind="detail", importance=3)


def in_arcs(chat: Chat, character: Character, source: Message) -> None:
    Arc.objects.create(owner=chat.owner, chat=chat, source=source, text="Fetch the chart from under the mill.")


def in_ledger(chat: Chat, character: Character, source: Message) -> None:
    chart = get_or_create_entity(chat, "The chart", "object")
    LedgerEntry.objects.create(
        owner=chat.owner, chat=chat, source=source, entity=chart, field="location", value="under the mill"
    )


def in_relationships(chat: Chat, character: Character, source: Message) -> None:
    vera, mill = (get_or_create_entity(chat, name, "character") for name in ("Vera", "The mill"))
    Relationship.objects.create(
        owner=chat.owner, chat=chat, source=source, subject=vera, target=mill, descriptor="hid the chart there"
    )


def in_scene(chat: Chat, character: Character, source: Message) -> None:
    Scene.objects.create(
        owner=chat.owner, chat=chat, source=source, name="At the mill", recap=f"Vera came. {SECRET}", recapped=2
    )


PLACES = [
    in_canon, in_profile, in_summary, in_long_term, in_session, in_arcs, in_ledger, in_relationships, in_scene
]  # fmt: skip


@pytest.mark.parametrize(("mode", "known"), paired(MODES, [("unaware", "Orr", ""), ("hiding", "Vera", "Orr")]))
def test_no_slot_tells_a_character_what_is_kept_from_them(
    api: APIClient, story: Chat, orr: Character, mode: str, known: tuple[str, str, str]
) -> None:
    INJECTION_SETTINGS.change(story.owner, {"mode": mode}, chat=story)
    for place in PLACES:
        place(story, orr, story.messages.get(index=1))
    index_messages(story.owner, story)
    assert "mill" in str(asked(api, story))
    kept(story, *known)
    body = asked(api, story)
    told = str([body["slots"], body["macros"], body["unified"], body["recall"]])
    assert "chart" not in told.replace("What about the chart?", "")
    assert "Orr is a miller. He is old." in told


@pytest.mark.parametrize("place", PLACES)
def test_each_slot_by_itself(
    api: APIClient, story: Chat, orr: Character, place: Callable[[Chat, Character, Message], None]
) -> None:
    place(story, orr, story.messages.get(index=1))
    assert "chart" in str(asked(api, story)["slots"])
    kept(story, "unaware", "Orr")
    assert "chart" not in str(asked(api, story)["slots"])


@pytest.mark.parametrize("place", [in_long_term, in_session])
def test_a_recall_of_nothing_else_tells_nothing(
    api: APIClient, story: Chat, orr: Character, place: Callable[[Chat, Character, Message], None]
) -> None:
    """The recall that was stored for the turn has the secret, and nothing is found that could take its place."""
    place(story, orr, story.messages.get(index=1))
    assert SECRET in asked(api, story)["recall"]["text"]
    kept(story, "unaware", "Orr")
    assert SECRET not in str(asked(api, story))


def test_what_was_deleted_since_is_no_part_of_the_recall(api: APIClient, story: Chat) -> None:
    memory = make_memory(story, SECRET, tier="session", kind="detail", importance=3)
    assert SECRET in asked(api, story)["recall"]["text"]
    assert api.delete(f"/api/v1/memories/{memory.pk}/").status_code == 204
    assert SECRET not in str(asked(api, story))


@pytest.mark.parametrize("kind", ["knows", "suspects", "believes", "hiding"])
def test_what_is_in_the_character_s_own_mind_is_told(api: APIClient, story: Chat, kind: str) -> None:
    kept(story, kind, "Orr", "Vera" if kind == "hiding" else "")
    assert SECRET in str(asked(api, story)["slots"])


@pytest.mark.parametrize("kind", ["knows", "suspects", "believes", "unaware", "hiding"])
def test_what_is_in_another_s_mind_is_not_told(api: APIClient, story: Chat, kind: str) -> None:
    kept(story, kind, "Vera", "Orr" if kind == "hiding" else "")
    assert SECRET not in str(asked(api, story)["slots"])


def test_what_the_character_has_learnt_since_is_told(api: APIClient, story: Chat, orr: Character) -> None:
    in_summary(story, orr, story.messages.get(index=1))
    kept(story, "unaware", "Orr")
    assert SECRET not in str(asked(api, story))
    kept(story, "knows", "Orr", text="The chart lies under the mill.")
    assert SECRET in str(asked(api, story)["slots"])


def test_an_alias_of_the_character_is_the_character(api: APIClient, story: Chat, orr: Character) -> None:
    in_summary(story, orr, story.messages.get(index=1))
    kept(story, "unaware", "the old miller")
    Entity.objects.for_owner(story.owner).filter(name="the old miller").update(aliases=["ORR"])
    assert SECRET not in str(asked(api, story))


@pytest.mark.parametrize(
    ("secret", "told", "other"),
    [
        ("海图藏在磨坊下面", "他们说海图就藏在磨坊下面。", "他们走了很远的路。"),
        ("Die Karte liegt unter der Mühle", "Die Karte liegt noch immer unter der Mühle.", "Sie gingen weiter."),
    ],
)
def test_secrets_in_other_languages(api: APIClient, story: Chat, secret: str, told: str, other: str) -> None:
    write_version(story, "summary", NewVersion(f"{other} {told}", last=story.messages.get(index=1)))
    assert told in str(asked(api, story)["slots"])
    kept(story, "unaware", "Orr", text=secret)
    slots = str(asked(api, story)["slots"])
    assert told not in slots
    assert other in slots


def test_of_a_group_each_member_is_told_what_is_not_kept_from_them(api: APIClient, alice: User, orr: Character) -> None:
    """A recall that was stored for one member tells the other nothing, and without a member nobody's secret is told."""
    vera = make_character(alice, "Vera")
    chat = make_chat(alice)
    for member in (orr, vera):
        add_participant(alice, chat.pk, name=member.name, character=member)
    append_messages(alice, chat.pk, [parsed("Hm."), parsed("Yes."), parsed("Where is the chart?", is_user=True)])
    in_session(chat, orr, chat.messages.get(index=1))
    kept(chat, "hiding", "Vera", "Orr")
    to_vera, to_orr, to_anyone, again = (asked(api, chat, member) for member in (vera, orr, None, vera))
    assert SECRET in str(to_vera["slots"])
    assert SECRET in str(again["slots"])
    assert SECRET not in str(to_orr)
    assert SECRET not in str(to_anyone)


@pytest.mark.parametrize("slot", ["arcs", "state_ledger"])
def test_the_mark_of_a_guess_does_not_outlive_the_secret_that_it_marks(api: APIClient, story: Chat, slot: str) -> None:
    run = ExtractionRun.objects.create(owner=story.owner, chat=story, backend="builtin", state="succeeded")
    common = {"owner": story.owner, "chat": story, "source": story.messages.get(index=1), "run": run}
    if slot == "arcs":
        Arc.objects.create(**common, text=SECRET)
    else:
        chart = get_or_create_entity(story, "The chart", "object")
        LedgerEntry.objects.create(**common, entity=chart, field="location", value="under the mill.")
    assert "(unsure)" in str(asked(api, story)["slots"])
    kept(story, "unaware", "Orr")
    assert "unsure" not in str(asked(api, story)["slots"])


def test_a_guessed_thread_that_a_memory_tells_stands_in_the_prompt_once(api: APIClient, story: Chat) -> None:
    run = ExtractionRun.objects.create(owner=story.owner, chat=story, backend="builtin", state="succeeded")
    text = make_memory(story, "Vera lives in the old mill.", character=story.character, importance=3).text
    Arc.objects.create(owner=story.owner, chat=story, source=story.messages.get(index=1), run=run, text=text)
    assert str([item["text"] for item in asked(api, story)["slots"]]).count(text) == 1
