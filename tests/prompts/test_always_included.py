"""Which memories stand in every prompt, and which come back when a turn touches them."""

import pytest

from apps.chats.locking import Guard
from apps.chats.models import Message
from apps.chats.operations import Patch, add_participant, append_messages, patch_messages
from apps.chats.scenes import scene_break_change, scene_change, scenes_of
from apps.extraction.settings.stores import change_settings
from apps.memories.models import Memory, Scene
from apps.memories.operations.texts import NewVersion, write_version
from apps.memories.trigger_words import trigger_words
from tests.factories import make_character, make_chat, make_memory, parsed

UNRELATED = [f"{name} sells barrels of salted herring." for name in ("Ada", "Ben", "Cleo", "Dora", "Emil", "Finn")]


def slots(api, chat, text=None):
    reply = api.post(f"/api/v1/chats/{chat.pk}/prompt/", {"text": text})
    assert reply.status_code == 200, reply.content
    return {slot["name"]: slot["text"] for slot in reply.json()["slots"]}


def recalled(api, chat, text=None):
    return "\n".join(slots(api, chat, text).values())


def test_a_cap_bounds_what_always_stands_and_the_best_of_each_kind_are_chosen(api, chat, remember):
    change_settings(chat.owner, {"long_term_cap": 8, "session_cap": 4}, chat=chat)
    for number, text in enumerate(UNRELATED):
        remember(text, importance=3 if number in (1, 4) else 1)
        remember(
            f"A gull stole the hat of {text[:4]}", tier="session", kind="detail", importance=3 if number == 2 else 1
        )
    remember("Mira never eats plums.", kind="preference", importance=1)
    filled = slots(api, chat, "Hm.")
    kept = filled["long_term"].splitlines()[1:]
    assert kept == [f"- {UNRELATED[1]}", f"- {UNRELATED[4]}", "- Mira never eats plums."]
    assert len(filled["session"].splitlines()) == 5
    assert UNRELATED[2][:4] in filled["session"]
    assert Memory.objects.for_owner(chat.owner).active().count() == 13


def test_what_is_beyond_the_cap_is_found_by_the_search(api, chat, remember):
    change_settings(chat.owner, {"long_term_cap": 4}, chat=chat)
    for text in UNRELATED:
        remember(text, importance=3)
    remember("The lighthouse keeper Osric is afraid of the dark.", importance=1)
    assert "Osric" not in recalled(api, chat, "Hm.")
    assert "Osric" in recalled(api, chat, "What is the lighthouse keeper Osric afraid of?")


def test_a_trigger_word_of_the_turn_recalls_a_memory_beyond_the_cap(api, chat, remember):
    change_settings(chat.owner, {"long_term_cap": 4}, chat=chat)
    for text in UNRELATED:
        remember(text, importance=3)
    remember("Tom cannot stand the smell of tar.", importance=1, triggers=["ferry", "voyage"])
    assert "tar" not in recalled(api, chat, "Hm.")
    body = api.post(f"/api/v1/chats/{chat.pk}/prompt/", {"text": "Shall we book a Voyage?"}).json()
    [item] = [item for item in body["recall"]["memories"] if "tar" in item["text"]]
    assert item["triggered"]
    assert "triggered by voyage" in item["why"]


@pytest.mark.parametrize("form", ["NFC", "NFD", "full width"])
def test_a_trigger_word_is_recognized_however_its_letters_are_written(api, chat, remember, form):
    remember("Tom cannot stand the smell of tar.", importance=1, triggers=trigger_words("un café, or a ferry"))
    words = {"NFC": "caf\u00e9", "NFD": "cafe\u0301", "full width": "\uff26\uff25\uff32\uff32\uff39"}
    body = api.post(f"/api/v1/chats/{chat.pk}/prompt/", {"text": f"Is there a {words[form]}?"}).json()
    [item] = body["recall"]["memories"]
    assert f"triggered by {'ferry' if form == 'full width' else 'café'}" in item["why"]


def test_the_names_of_the_character_and_the_persona_trigger_nothing(api, chat, remember):
    remember("The ferry leaves at dawn.", importance=1, triggers=["mira", "alice", "dawn"])
    by_turn = {}
    for text in ("Mira, are you there? It is me, Alice.", "Mira, what happens at dawn?"):
        body = api.post(f"/api/v1/chats/{chat.pk}/prompt/", {"text": text}).json()
        by_turn[text] = next(item["why"] for item in body["recall"]["memories"] if "ferry" in item["text"])
    named, asked = by_turn.values()
    assert "triggered by" not in named
    assert "triggered by dawn" in asked


@pytest.mark.parametrize("found_by", ["a run", "a person"])
def test_a_memory_of_a_scene_is_recalled_until_the_scene_has_ended_unless_searched_for(api, chat, remember, found_by):
    message = chat.messages.get(index=3)
    torch = remember("The torch is lit.", tier="session", kind="detail", expiration="scene", valid_from=message)
    last = chat.messages.get(index=28)
    assert torch.text in recalled(api, chat, "Hm.")
    if found_by == "a run":
        Scene.objects.create(owner=chat.owner, chat=chat, source=last)
    else:
        Message.objects.for_owner(chat.owner).filter(pk=last.pk).update(ends_scene=True)
    assert torch.text not in recalled(api, chat, "Hm.")
    assert torch.text in recalled(api, chat, "Is the torch lit?")


def test_what_expires_with_its_session_is_not_carried_to_other_chats(api, alice, chat, remember):
    remember("Mira wears a borrowed coat.", expiration="session")
    remember("Mira fears dogs.")
    other = make_chat(alice, "Hello.", character=chat.character)
    assert "coat" in recalled(api, chat, "Which coat does Mira wear?")
    assert "dogs" in recalled(api, other, "Which coat does Mira wear?")
    assert "coat" not in recalled(api, other, "Which coat does Mira wear?")
    found = api.post("/api/v1/memories/search/", {"query": "borrowed coat", "chat": str(other.pk)}).json()["results"]
    assert "coat" not in str(found)


def test_queries_do_not_grow_with_the_memories(api, chat, remember, django_assert_max_num_queries):
    [first] = [remember(UNRELATED[0])]
    rows = [
        Memory(
            owner=chat.owner, chat=chat, story=chat.story, character=chat.character, tier="long_term", kind="fact",
            text=f"Number {n}.",
            embedding=first.embedding, embedding_model=first.embedding_model,
        )
        for n in range(1000)
    ]  # fmt: skip
    Memory.objects.bulk_create(rows)
    append_messages(chat.owner, chat.pk, [parsed("Good.", is_user=True)])
    make_memory(chat, "They met at sea.", tier="session", kind="scene")
    with django_assert_max_num_queries(65):
        recalled(api, chat, "Hm.")


def test_recaps_of_the_last_scenes_stand_in_the_prompt(api, chat):
    for index in (3, 6, 9, 12, 15, 18):
        Scene.objects.create(
            owner=chat.owner, chat=chat, source=chat.messages.get(index=index), recap=f"Recap {index}."
        )
    patch = Patch(index=20, data=scene_break_change(name="The inn"))
    patch_messages(chat.owner, chat.pk, [patch], Guard(optional=True))
    [*_, by_hand] = scenes_of(chat)
    for include in (False, True):
        change = scene_change(by_hand, recap="They sleep at the inn.", include=include)
        patch_messages(chat.owner, chat.pk, [Patch(index=20, data=change)], Guard(optional=True))
        assert ("The inn: They sleep at the inn." in slots(api, chat)["scenes"]) is include
    assert [line for line in slots(api, chat)["scenes"].splitlines() if "Recap" in line] == [
        "- Recap 9.", "- Recap 12.", "- Recap 15.", "- Recap 18."
    ]  # fmt: skip


def test_a_repair_note_stands_in_the_next_prompt_only(api, chat):
    reply = append_messages(chat.owner, chat.pk, [parsed("Mira, who is dead, waves.")]).messages[0]
    write_version(chat, "repair", NewVersion("Let it turn out to be her twin.", last=reply))
    for _ in range(2):  # also when the prompt is made again
        assert "her twin" in slots(api, chat, "Who is that?")["repair"]
    append_messages(chat.owner, chat.pk, [parsed("Who is that?", is_user=True)])
    assert "her twin" in slots(api, chat)["repair"]
    append_messages(chat.owner, chat.pk, [parsed("Her twin."), parsed("I see.", is_user=True)])
    assert slots(api, chat)["repair"] == ""


def test_a_member_is_told_no_scene_that_they_did_not_witness_whole(api, alice):
    mira, tom = make_character(alice), make_character(alice, "Tom")
    chat = make_chat(alice)
    for character in (mira, tom):
        add_participant(alice, chat.pk, name=character.name, character=character)
    away = {"extra": {"loci": {"witnesses": ["Mira"]}}}
    append_messages(alice, chat.pk, [parsed("We hide the key.", **away), parsed("Good."), parsed("And?", is_user=True)])
    Scene.objects.create(owner=alice, chat=chat, source=chat.messages.get(index=1), recap="They hid the key.")

    def told(character):
        body = api.post(f"/api/v1/chats/{chat.pk}/prompt/", {"character": str(character.pk)}).json()
        return {slot["name"]: slot["text"] for slot in body["slots"]}["scenes"]

    assert "hid the key" in told(mira)
    assert told(tom) == ""
