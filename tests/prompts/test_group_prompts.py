"""A group member's prompt tells only what that member has heard."""

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.chats.models import Character, Chat, Participant
from apps.chats.operations import add_participant, append_messages
from apps.llm.embeddings import get_embedder
from apps.memories.models import Arc, Memory, VersionedText
from apps.memories.operations.texts import NewVersion, write_version
from apps.prompts.models import Recall
from apps.prompts.retrieval.service import search_related
from apps.prompts.turns import find_turn
from apps.search.indexing import index_messages
from apps.text.lexemes import Lexemes
from tests.factories import make_character, make_chat, make_memory, parsed

SECRET = "The silver key lies under the blue stone beside the well."


@pytest.fixture
def members(alice: User) -> list[Character]:
    return [make_character(alice, name) for name in ("Mira", "Tom")]


@pytest.fixture
def group(alice: User, members: list[Character]) -> Chat:
    """A group in which only Mira hears the secret, so long ago that it isn't in the prompt's history any more."""
    chat = make_chat(alice)
    for member in members:
        add_participant(alice, chat.pk, name=member.name, character=member)
    heard_by_mira = {"name": "Mira", "extra": {"loci": {"witnesses": ["Mira"]}}}
    talk = [parsed(f"We walk on for mile {number} of the road.", name="Tom") for number in range(30)]
    messages = [parsed(SECRET, **heard_by_mira), *talk, parsed("Where does the silver key lie?", is_user=True)]
    return append_messages(alice, chat.pk, messages).chat


def witness(group: Chat, member: Character) -> Participant:
    return group.participants.get(character=member)


def remember(group: Chat, text: str, witnesses: list[Participant], **fields: Any) -> Memory:
    embedder = get_embedder()
    vector = {"embedding": embedder.embed([text])[0], "embedding_model": embedder.model}
    return make_memory(group, text, witnessed_by=[member.pk for member in witnesses], **vector, **fields)


def prompt(
    api: APIClient, group: Chat, member: Character | None, text: str | None = None, *, history: bool = False
) -> dict[str, Any]:
    body = {"character": str(member.pk) if member else None, "text": text, "history": history}
    reply = api.post(f"/api/v1/chats/{group.pk}/prompt/", body)
    assert reply.status_code == 200, reply.content
    return reply.json()


def told(api: APIClient, group: Chat, member: Character, text: str | None = None) -> str:
    return " ".join(slot["text"] for slot in prompt(api, group, member, text)["slots"])


@pytest.mark.parametrize("tier", ["long_term", "session"])
def test_what_others_know_does_not_take_the_place_of_what_a_member_knows(
    api: APIClient, group: Chat, members: list[Character], tier: str
) -> None:
    mira, tom = members
    for character, text in [*[(mira, "The silver key lies under the stone.")] * 101, (tom, "The silver key is old.")]:
        owner = {"character": character if tier == "long_term" else None}
        remember(group, text, [witness(group, character)], tier=tier, lexemes=Lexemes(text), **owner)
    related = search_related(find_turn(group, "Where does the silver key lie?", tom), tom)
    assert [result.memory.text for result in related.results if result.memory] == ["The silver key is old."]


def test_a_member_is_quoted_no_message_that_they_did_not_hear(
    api: APIClient, alice: User, group: Chat, members: list[Character]
) -> None:
    mira, tom = members
    index_messages(alice, group)
    assert SECRET in told(api, group, mira)
    assert "blue stone" not in told(api, group, tom)


@pytest.mark.parametrize("tier", ["session", "long_term"])
@pytest.mark.parametrize("text", ["Where does the silver key lie?", "Good morning."])
def test_a_member_is_told_no_memory_that_they_did_not_witness(
    api: APIClient, group: Chat, members: list[Character], tier: str, text: str
) -> None:
    """Neither one that the search finds for the turn, nor one that always stands in the prompt.

    Long-term memories belong to those who witnessed them, and details of the chat name them.
    """
    mira, tom = members
    remember(group, SECRET, [witness(group, mira)], tier=tier, character=mira if tier == "long_term" else None)
    for member in members:
        remember(group, "The harbour is closed.", [], tier=tier, character=member if tier == "long_term" else None)
    assert SECRET in told(api, group, mira, text)
    assert "blue stone" not in told(api, group, tom, text)
    assert "harbour is closed" in told(api, group, tom, text)


def test_what_others_witnessed_takes_no_place_among_what_is_recalled(
    api: APIClient, group: Chat, members: list[Character]
) -> None:
    """The search has many better results, which the member did not witness; they are not counted for its limit."""
    mira, tom = members
    for number in range(8):
        remember(group, f"The silver key lies under stone {number}.", [witness(group, mira)], tier="session")
    own = remember(group, "Somebody lost a silver key a year ago.", [witness(group, tom)], tier="session")
    recalled = prompt(api, group, tom)["recall"]["memories"]
    assert [(memory["id"], bool(memory["signals"].get("recency"))) for memory in recalled] == [(str(own.pk), True)]


WHISPER = {"extra": {"loci": {"witnesses": ["Mira"]}}}


def test_a_whisper_stands_only_in_the_history_of_those_who_heard_it(
    api: APIClient, alice: User, group: Chat, members: list[Character]
) -> None:
    append_messages(alice, group.pk, [parsed("A bell rings.", name="Mira", **WHISPER), parsed("Hm?", is_user=True)])
    for member, hears in zip(members, (True, False), strict=True):
        body = {"character": str(member.pk), "history": True}
        messages = api.post(f"/api/v1/chats/{group.pk}/prompt/", body).json()["messages"]
        assert any("A bell rings." in message["content"] for message in messages) == hears


def test_what_the_user_whispers_recalls_nothing_for_those_who_did_not_hear_it(
    api: APIClient, alice: User, group: Chat, members: list[Character]
) -> None:
    mira, tom = members
    append_messages(alice, group.pk, [parsed("Did the lighthouse burn down?", is_user=True, **WHISPER)])
    for member in members:
        remember(group, "The lighthouse burnt down.", [], tier="long_term", character=member, importance=1)
    found = [prompt(api, group, member)["recall"] for member in (mira, tom)]
    triggered = [[memory["triggered"] for memory in (recall or {"memories": []})["memories"]] for recall in found]
    assert triggered[0] == [True]
    assert not any(triggered[1])


def test_an_edited_recall_tells_no_other_member_what_they_did_not_witness(
    api: APIClient, group: Chat, members: list[Character]
) -> None:
    """Not even in other words than those of the memory. Who witnessed all of it gets the text as it was edited."""
    mira, tom = members
    remember(group, SECRET, [witness(group, mira)], tier="session")
    remember(group, "The harbour is closed.", [], tier="session")
    assert SECRET in told(api, group, mira)
    recall = Recall.objects.for_owner(group.owner_id).get()
    url = f"/api/v1/chats/{group.pk}/messages/{recall.message_id}/recall/"
    assert api.patch(url, {"text": "Look below the stone that is blue."}).status_code == 200
    assert "Look below the stone" not in told(api, group, tom)
    assert "harbour is closed" in told(api, group, tom)
    assert "Look below the stone" in told(api, group, mira)


def test_the_recall_of_one_member_is_not_handed_out_with_the_prompt_of_another(
    api: APIClient, group: Chat, members: list[Character]
) -> None:
    """Of what a prompt falls back to, the reply has only what the member may be told, in each of its fields."""
    mira, tom = members
    remember(group, "The silver key is below.", [witness(group, mira)], tier="session", kind="scene")
    remember(group, "The road is long.", [witness(group, mira)], tier="session", kind="scene")
    assert "silver key is below" in prompt(api, group, mira)["recall"]["text"]
    row = Recall.objects.for_owner(group.owner).get()
    row.left_out, row.left_out_count = [row.memories[0] | {"budget": 400}], 1
    row.save()
    assert "silver key is below" not in json.dumps(prompt(api, group, tom))
    assert "silver key is below" in prompt(api, group, mira)["recall"]["text"]


def test_an_edited_recall_that_all_witnessed_is_used_for_all(
    api: APIClient, group: Chat, members: list[Character]
) -> None:
    remember(group, "The harbour is closed.", [], tier="session")
    assert "harbour is closed" in told(api, group, members[0])
    recall = Recall.objects.for_owner(group.owner_id).get()
    api.patch(f"/api/v1/chats/{group.pk}/messages/{recall.message_id}/recall/", {"text": "The harbour is shut."})
    assert all("The harbour is shut." in told(api, group, member) for member in members)


def test_who_is_not_in_the_group_gets_no_prompt(api: APIClient, alice: User, group: Chat) -> None:
    """Nothing says what they witnessed."""
    for path in ("prompt/", "prompt/preview/"):
        answer = api.post(f"/api/v1/chats/{group.pk}/{path}", {"character": str(make_character(alice, "Spy").pk)})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/character")


@pytest.fixture
def narrated(alice: User, group: Chat, members: list[Character]) -> Chat:
    """The group, whose own character is a narrator who takes no part, with memories of each kind of Mira's secret."""
    narrator = make_character(alice, "Narrator")
    group.character = narrator
    group.save()
    mira, secret = members[0], group.messages.get(index=0)
    heard = [witness(group, mira)]
    remember(group, f"At dawn: {SECRET}", heard, tier="session", pinned=True)
    remember(group, f"Mira knows: {SECRET}", [], tier="long_term", character=mira, pinned=True)
    remember(group, f"The narrator knows: {SECRET}", [], tier="long_term", character=narrator, pinned=True)
    Arc.objects.create(owner=alice, chat=group, source=secret, text=f"Who finds it? {SECRET}")
    for kind in VersionedText.Kind:
        VersionedText.objects.create(owner=alice, chat=group, source=secret, kind=kind, text=f"In short: {SECRET}")
    remember(group, "The harbour is closed.", [], tier="session")
    index_messages(alice, group)
    return group


def test_without_a_character_a_group_is_told_what_all_its_members_know(api: APIClient, narrated: Chat) -> None:
    """Nobody is named who speaks, and the chat's own character takes no part: anyone may."""
    for _ in range(2):  # the second time with the recall that is stored by then
        answer = prompt(api, narrated, None)
        assert answer["recall"]
        assert "blue stone" not in json.dumps(answer)
        assert "harbour is closed" in json.dumps(answer["slots"])
        whole = json.dumps(prompt(api, narrated, None, history=True)["messages"])
        assert ("blue stone" in whole, "mile 29 of the road" in whole) == (False, True)


def test_a_member_who_is_muted_does_not_keep_the_others_from_what_they_said(
    api: APIClient, narrated: Chat, members: list[Character]
) -> None:
    """Whoever is muted does not speak."""
    narrated.participants.filter(character=members[1]).update(muted=True)
    append_messages(narrated.owner_id, narrated.pk, [parsed("Tom is asleep.", name="Mira")])
    assert "Tom is asleep." in json.dumps(prompt(api, narrated, None, history=True)["messages"])


def test_a_chats_own_character_who_takes_part_speaks_where_nobody_is_named(
    api: APIClient, narrated: Chat, members: list[Character]
) -> None:
    narrated.character = members[0]
    narrated.save()
    assert SECRET in json.dumps(prompt(api, narrated, None)["slots"])


def test_a_repair_note_reaches_the_members_who_heard_the_reply(
    api: APIClient, alice: User, group: Chat, members: list[Character]
) -> None:
    mira, tom = members
    heard_by_mira = {"name": "Mira", "extra": {"loci": {"witnesses": ["Mira"]}}}
    (whispered,) = append_messages(alice, group.pk, [parsed("The dead captain waves.", **heard_by_mira)]).messages
    for parts, known in (({"for_all": True}, True), ({}, False)):  # without it, it may tell what others know
        write_version(group, "repair", NewVersion("Let it be his twin.", last=whispered, parts=parts))
        assert ("his twin" in told(api, group, mira, "Who is that?")) is known
        assert "his twin" not in told(api, group, tom, "Who is that?")
