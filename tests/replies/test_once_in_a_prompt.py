"""A prompt says each thing once, has room for its newest message, and is the same for another reply to a turn."""

import pytest

from apps.chats.operations import append_messages, create_lorebook
from apps.memories.models import Memory, Scene
from apps.prompts.operations import edit_recall, ensure_recall
from apps.search.indexing import index_messages
from tests.factories import make_character, make_chat, make_memory, parsed
from tests.prompts.requests import assemble
from tests.replies.test_group_secrets import run, sent
from tests.replies.test_whole_prompts import whole

SECRET = "My brother's name is Bartholomew and he keeps the silver key under the blue stone."


def set_up(api, chat, **values):
    assert api.patch(f"/api/v1/chats/{chat.pk}/injection-settings/", values, format="json").status_code == 200


def long_chat(owner, exchanges: int = 15):
    """Return a chat whose last turn asks about what was said before all these exchanges."""
    talk = ["We walk.", "Yes."] * exchanges
    chat = make_chat(
        owner, "Hello.", SECRET, *talk, "Where is the silver key of the brother?", character=make_character(owner)
    )
    index_messages(owner, chat)
    return chat


def many_memories(chat) -> None:
    kinds = {
        "long_term": ("fact", "event", "preference", "relationship"),
        "session": ("scene", "detail", "development", "revelation"),
    }
    for tier, names in kinds.items():
        for number in range(60):
            text = f"Number {number} of {tier}: " + "the tower of the north stands beside the river " * 4
            character = chat.character if tier == "long_term" else None
            make_memory(chat, text, tier=tier, kind=names[number % 4], character=character)


# Another reply to the same turn


def test_another_reply_has_the_scenes_of_the_first(connect, server, alice):
    connect()
    chat = make_chat(alice, *[f"Mile {n}." for n in range(10)], "Where is the well?", character=make_character(alice))
    Scene.objects.create(owner=alice, chat=chat, source=chat.messages.get(index=5), recap="They slept at the inn.")
    for text in ("The well is deep.", "The mill is old."):
        make_memory(chat, text)
    make_memory(chat, "They left the city at dawn.", tier="session", kind="scene", character=None)
    run(chat)
    first = sent(server)
    assert "They slept at the inn." in str(first)
    run(chat, "swipe")
    assert sent(server) == first


@pytest.mark.parametrize("template", ["Known: {{entries}}", "{{entries}}", "Known:\n{{entries}} (all)"])
def test_another_reply_tells_nothing_hidden_since_whatever_the_template(api, connect, server, alice, chat, template):
    connect()
    set_up(api, chat, long_term_template=template)
    hidden = make_memory(chat, "The well is deep.")
    make_memory(chat, "The mill is old.")
    run(chat)
    first = sent(server)
    run(chat, "swipe")
    assert sent(server) == first
    Memory.objects.for_owner(alice).filter(pk=hidden.pk).update(hidden=True)
    run(chat, "swipe")
    assert "The well is deep." in str(first)
    assert "The well is deep." not in str(sent(server))
    assert "The mill is old." in str(sent(server))


def test_a_stored_recall_whose_entries_no_longer_fit_leaves_no_bare_heading(api, connect, server, chat):
    connect()
    make_memory(chat, f"The well is {'very ' * 100}deep.")
    run(chat)
    assert "very very" in str(sent(server))
    set_up(api, chat, long_term_budget=20, adaptive=False)
    run(chat, "swipe")
    assert "Known from earlier" not in str(sent(server))


# Nothing twice


@pytest.mark.parametrize("context_tokens", [300, 350, 400, 500, 8000])
def test_a_message_is_in_the_history_or_quoted_but_not_both(alice, context_tokens):
    chat = long_chat(alice, exchanges=25)
    texts, _ = whole(chat, context_tokens=context_tokens)
    assert "\n".join(texts).count("under the blue stone") == 1


def test_another_reply_quotes_no_message_of_the_history(connect, server, alice):
    connect(context_tokens=8000)
    chat = long_chat(alice)
    ensure_recall(alice, chat.pk, chat.messages.order_by("-index").first().pk)
    for mode in ("reply", "swipe"):
        run(chat, mode)
        assert str(sent(server)).count("under the blue stone") == 1


def test_a_prompt_with_its_history_quotes_nothing_of_it(alice):
    prompt = assemble(long_chat(alice), text=None, character=None, context_tokens=8000, with_history=True)
    assert str(prompt.messages).count("under the blue stone") == 1


@pytest.mark.parametrize("again", ["scenario", "authors note", "lore at a depth"])
def test_a_macro_that_stands_twice_tells_its_memory_once(alice, chat, again):
    make_memory(chat, "The well is deep.")
    macro = "{{smartmemory-longterm}}"
    chat.character.description = f"Known: {macro}"
    chat.character.scenario = f"In short: {macro}" if again == "scenario" else ""
    chat.character.save()
    if again == "authors note":
        chat.metadata = {"note_prompt": f"Mind this: {macro}", "note_depth": 1}
        chat.save()
    if again == "lore at a depth":
        extensions = {"position": 4, "depth": 1}
        entry = {"keys": [], "constant": True, "content": f"Lore: {macro}", "enabled": True, "insertion_order": 1}
        document = {"entries": [entry | {"extensions": extensions}]}
        create_lorebook(alice, name="b", character=chat.character, document=document)
    texts, _ = whole(chat)
    assert "\n".join(texts).count("The well is deep.") == 1
    assert macro not in "\n".join(texts)


def test_a_macro_in_the_authors_note_takes_the_memory_from_its_slot(chat):
    make_memory(chat, "The well is deep.")
    chat.metadata = {"note_prompt": "Mind this: {{smartmemory-longterm}}", "note_depth": 1}
    chat.save()
    texts, _ = whole(chat)
    assert "The well is deep." in texts[-2]
    assert texts[-2].startswith("Mind this:")
    assert "\n".join(texts).count("The well is deep.") == 1


# Room for the newest message


def test_a_long_reply_can_be_continued_in_a_small_context(connect, server, alice):
    connect(context_tokens=4096)
    chat = make_chat(alice, "Hi.", character=make_character(alice, description="word " * 1400))
    many_memories(chat)
    append_messages(alice, chat.pk, [parsed("Go on.", is_user=True), parsed("reply " * 1100)])
    generation = run(chat, "continue")
    assert generation.state == "succeeded", generation.error


def test_memory_leaves_the_newest_message_its_room_in_the_call_too(alice):
    chat = make_chat(alice, "Hi.", character=make_character(alice))
    many_memories(chat)
    append_messages(alice, chat.pk, [parsed("word " * 1500, is_user=True)])
    chat.refresh_from_db()
    prompt = assemble(chat, text=None, character=None, context_tokens=2000, with_history=True)
    assert [message["role"] for message in prompt.messages or []][-1] == "user"
    assert prompt.total_tokens <= 2000


def test_an_edited_text_above_the_context_says_so_in_whole_numbers(connect, server, alice, chat):
    connect(context_tokens=2048)
    make_memory(chat, "The well is deep.")
    recall = ensure_recall(alice, chat.pk, chat.messages.get(index=2).pk)
    edit_recall(recall, "word " * 4000, turn_hash=recall.turn_hash)
    generation = run(chat)
    assert generation.state == "failed"
    assert generation.error.endswith("the rest of the prompt leaves it 0.")


def test_an_edited_text_is_used_although_the_slot_of_other_text_is_off(api, alice, chat):
    make_memory(chat, "The well is deep.")
    recall = ensure_recall(alice, chat.pk, chat.messages.get(index=2).pk)
    edit_recall(recall, "Remember the ruby.", turn_hash=recall.turn_hash)
    set_up(api, chat, triggered_enabled=False)
    texts, _ = whole(chat)
    assert "Remember the ruby." in "\n".join(texts)


# A continuation


def test_a_sentence_that_continues_a_reply_is_set_off(connect, server, chat):
    connect()
    server.reply_with("It is here.", "She smiles", "ing.")
    for mode in ("reply", "continue", "continue"):
        run(chat, mode)
    assert chat.messages.order_by("index").last().mes == "It is here. She smilesing."
