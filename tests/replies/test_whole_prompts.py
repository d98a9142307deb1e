"""What a whole prompt holds, and what stays out of it."""

import pytest

from apps.chats.models import Chat
from apps.chats.operations import Patch, append_messages, create_lorebook, create_persona, patch_messages, update_chat
from apps.prompts.settings.stores import INJECTION_SETTINGS
from apps.replies.operations import UNCHECKED
from apps.search.indexing import index_messages
from tests.factories import make_character, make_chat, make_memory, parsed
from tests.prompts.requests import assemble_whole
from tests.replies.test_group_secrets import run, sent


def whole(chat, **f):
    p = assemble_whole(Chat.objects.for_owner(chat.owner_id).get(pk=chat.pk), **({"context_tokens": 8000} | f))
    return [m["content"] for m in p.messages], p


@pytest.mark.parametrize("where", ["persona", "lore"])
def test_a_macro_in_persona_or_lore_holds_the_memory_alone(alice, chat, where):
    make_memory(chat, "The well is deep.")
    if where == "persona":
        chat = update_chat(
            chat, persona=create_persona(alice, name="Alia", description="I know: {{smartmemory-longterm}}")
        )
    else:
        create_lorebook(
            alice,
            name="b",
            character=chat.character,
            document={
                "entries": [
                    {
                        "keys": [],
                        "constant": True,
                        "content": "Lore: {{smartmemory-longterm}}",
                        "enabled": True,
                        "insertion_order": 1,
                    }
                ]
            },
        )
    texts, _ = whole(chat)
    assert "\n".join(texts).count("The well is deep.") == 1


def test_memory_leaves_the_turn_its_room(connect, server, alice):
    connect(context_tokens=4096)
    chat = make_chat(alice, "Hi.", "Hello.", character=make_character(alice))
    for n in range(60):
        make_memory(
            chat,
            f"Fact number {n}: " + "the tower of the north stands beside river " * 4,
            kind=("fact", "event", "preference", "relationship")[n % 4],
        )
        make_memory(
            chat,
            f"Scene number {n}: " + "they rode along the coast for many days " * 4,
            tier="session",
            kind=("scene", "detail", "development", "revelation")[n % 4],
            character=None,
        )
    append_messages(alice, chat.pk, [parsed("word " * 2400, is_user=True)])
    g = run(Chat.objects.for_owner(alice).get(pk=chat.pk))
    INJECTION_SETTINGS  # noqa
    assert g.state == "succeeded", g.error


def test_a_hidden_message_is_recalled_however_near(api, alice):
    texts = (
        ["Hello.", "My brother's name is Bartholomew and he keeps the silver key under the blue stone."]
        + ["We walk.", "Yes."] * 3
        + ["Where is the silver key of the brother kept?"]
    )
    chat = make_chat(alice, *texts, character=make_character(alice))
    pk = chat.messages.get(index=1).pk
    patch_messages(alice, chat.pk, [Patch({"is_system": True}, id=pk)], UNCHECKED)
    index_messages(alice, chat)
    shown, _ = whole(chat)
    assert "blue stone" in "\n".join(shown)


def test_a_disabled_slot_stays_empty_in_another_reply_to_the_turn(api, connect, server, alice, chat):
    connect()
    make_memory(chat, "The well is deep.")
    run(chat)
    api.patch(f"/api/v1/chats/{chat.pk}/injection-settings/", {"long_term_enabled": False}, format="json")
    run(chat, "swipe")
    assert "The well is deep." not in str(sent(server))


def test_a_hidden_message_is_recalled_from_far_back(api, alice):
    texts = (
        ["Hello.", "My brother's name is Bartholomew and he keeps the silver key under the blue stone."]
        + ["We walk.", "Yes."] * 12
        + ["Where is the silver key of the brother kept?"]
    )
    chat = make_chat(alice, *texts, character=make_character(alice))
    pk = chat.messages.get(index=1).pk
    patch_messages(alice, chat.pk, [Patch({"is_system": True}, id=pk)], UNCHECKED)
    index_messages(alice, chat)
    shown, _ = whole(chat)
    assert "blue stone" in "\n".join(shown)


def test_another_reply_to_the_same_turn_has_the_same_recall(connect, server, alice, chat):
    connect()
    make_memory(chat, "The well is deep.")
    server.reply_with("First.", "Second.")
    run(chat)
    first = sent(server)
    make_memory(chat, "The well was dug by giants.")
    run(chat, "swipe")
    second = sent(server)
    assert first == second


def test_a_turn_that_was_deleted_meanwhile_gets_no_reply(connect, alice, chat):
    from apps.common import jobs
    from apps.replies import running
    from apps.replies.models import Generation
    from apps.replies.operations import request_generation

    connect()
    g = jobs.claim(Generation, request_generation(alice, chat.pk, mode="reply").pk)
    running.update_fields(g, follows=chat.messages.get(index=2))  # as _request does
    patch_messages(alice, chat.pk, [Patch(id=chat.messages.get(index=2).pk, delete=True)], UNCHECKED)
    running._keep(g, "It is here.")
    assert chat.messages.count() == 2


def test_the_preview_of_a_group_is_what_the_model_gets(api, connect, server, alice, chat):
    from apps.chats.operations import add_participant

    connect()
    for name in ("Mira", "Tom"):
        add_participant(
            alice, chat.pk, name=name, character=chat.character if name == "Mira" else make_character(alice, "Tom")
        )
    whisper = {"extra": {"loci": {"witnesses": ["Mira"]}}}
    append_messages(
        alice,
        chat.pk,
        [parsed("The vault opens at nine.", name="Mira", **whisper), parsed("Tom, what do you know?", is_user=True)],
    )
    shown = api.post(f"/api/v1/chats/{chat.pk}/prompt/preview/", {}, format="json").json()
    run(chat)
    assert [m["content"] for m in shown["messages"]] == [m["content"] for m in sent(server)]


def test_who_is_addressed_answers_although_they_spoke_last(connect, server, alice, chat):
    from apps.chats.operations import add_participant

    connect()
    for name in ("Mira", "Tom"):
        add_participant(
            alice, chat.pk, name=name, character=chat.character if name == "Mira" else make_character(alice, "Tom")
        )
    append_messages(alice, chat.pk, [parsed("I saw a light.", name="Tom"), parsed("Tom, where was it?", is_user=True)])
    g = run(chat)
    assert g.speaker == "Tom"


def test_a_disabled_slot_stays_empty(api, connect, server, alice, chat):
    connect()
    make_memory(chat, "The well is deep.")
    api.patch(f"/api/v1/chats/{chat.pk}/injection-settings/", {"long_term_enabled": False}, format="json")
    run(chat)
    assert "The well is deep." not in str(sent(server))


def test_a_session_memory_that_differs_in_the_decisive_word_is_told(alice, chat):
    make_memory(chat, "Mira keeps the silver key of the harbour gate in the north tower.")
    make_memory(
        chat,
        "Mira keeps the silver key of the harbour gate in the south tower.",
        tier="session",
        kind="development",
        character=None,
    )
    texts, _p = whole(chat)
    assert "south tower" in "\n".join(texts)


def test_stable_tokens_are_those_of_the_whole_prompt(connect, server, alice, chat):
    connect()
    make_memory(chat, "The well is deep.")
    document = {"entries": [{"keys": ["dragon"], "content": "Dragons sleep.", "enabled": True, "insertion_order": 1}]}
    create_lorebook(alice, name="b", character=chat.character, document=document)
    chat.character.description = "Mira is tall."
    chat.character.save()
    server.reply_with("Here.", "There.")
    run(chat)
    append_messages(alice, chat.pk, [parsed("And the mill?", is_user=True)])
    first, prompt = whole(chat, leave_trace=False)
    assert prompt.stable_tokens == sum(prompt.tokens[: len(first) - 2])  # all but the reply and the new turn
    append_messages(alice, chat.pk, [parsed("A dragon!", is_user=True)])
    _, prompt = whole(chat, leave_trace=False)
    assert prompt.stable_tokens < sum(prompt.tokens[:3])  # what the lorebook adds stands before memory
