"""The whole prompt of a chat, as its preview shows it."""

import io
import time

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from apps.chats.macros import resolve_card_text
from apps.chats.models import Chat, Lorebook
from apps.chats.operations import branch_chat, create_lorebook, create_persona, update_chat
from apps.exchange.chats.exports import export_jsonl
from apps.exchange.chats.imports import import_chats
from apps.prompts.lorebooks.lorebook import matching_lore
from apps.prompts.models import Recall
from apps.replies.presets import create_preset
from tests.factories import UserFactory, make_character, make_chat
from tests.prompts.conftest import client_of
from tests.prompts.requests import assemble_whole


@pytest.fixture
def alice(db):
    return UserFactory()


@pytest.fixture
def api(alice) -> APIClient:
    return client_of(alice)


@pytest.fixture
def chat(alice) -> Chat:
    mira = make_character(
        alice,
        description="{{char}} guards the well. {{smartmemory-unknown}}",
        system_prompt="Be brief. {{original}}",
        scenario="{{user}} comes by.",
        post_history_instructions="Never lie.",
    )
    entry = {"keys": ["Well"], "content": "The well is dry.", "enabled": True, "insertion_order": 1}
    create_lorebook(alice, name="Hers", character=mira, document={"entries": [{**entry, "position": "before_char"}]})
    return make_chat(alice, "Where is the well?", "Over there.", "Show me.", character=mira)


def preview(api, chat, status=200, **body):
    response = api.post(f"/api/v1/chats/{chat.pk}/prompt/preview/", body, format="json")
    assert response.status_code == status, response.content
    return response.json()


def test_the_prompt_has_card_lore_history_and_instructions_in_order(api, chat):
    shown = preview(api, chat)
    names = [part["name"] for part in shown["parts"]]
    assert names == ["system_prompt", "lore_before", "description", "scenario", "post_history"]
    texts = [message["content"] for message in shown["messages"]]
    assert texts[0].startswith("Be brief. Write the next reply of Mira")
    assert texts[1:4] == [
        "The well is dry.",
        "Mira guards the well. {{smartmemory-unknown}}",
        "Scenario:\nAlice comes by.",
    ]
    assert texts[-4:] == ["Where is the well?", "Over there.", "Show me.", "Never lie."]
    assert shown["total_tokens"] == sum(message["tokens"] for message in shown["messages"])


def test_a_preview_leaves_no_trace(api, chat):
    before = Chat.objects.for_owner(chat.owner_id).get(pk=chat.pk).rev
    Recall.objects.for_owner(chat.owner_id).delete()
    preview(api, chat)
    assert not Recall.objects.for_owner(chat.owner_id).exists()
    assert Chat.objects.for_owner(chat.owner_id).get(pk=chat.pk).rev == before


@pytest.mark.parametrize("has_recall", [True, False])
def test_the_card_of_a_turn_records_the_lorebook_entries_of_its_prompt(api, alice, chat, client, has_recall):
    if not has_recall:
        Recall.objects.for_owner(alice).delete()
    for _ in range(2):
        assemble_whole(chat, context_tokens=8000)
    [recall] = api.get(f"/api/v1/chats/{chat.pk}/recalls/").json()["results"]
    assert recall["lore"] == [
        {
            "name": "Well",
            "keys": ["Well"],
            "text": "The well is dry.",
            "tokens": 5,
            "place": "lore_before",
            "constant": False,
        }
    ]
    client.force_login(alice)
    assert "1 lorebook entry" in client.get(f"/chats/{chat.pk}/").content.decode()
    [again] = import_chats(alice, io.BytesIO(b"".join(export_jsonl(chat))), filename="chat.jsonl").chats
    assert Recall.objects.for_owner(alice).get(chat=again).lore == recall["lore"]
    Lorebook.objects.for_owner(alice).update(document={"entries": []})
    assemble_whole(chat, context_tokens=8000)
    assert Recall.objects.for_owner(alice).get(chat=chat).lore == []


def test_the_persona_and_the_authors_note_are_in_the_prompt(api, alice, chat):
    chat = update_chat(chat, persona=create_persona(alice, name="Alia", description="{{user}} is a thief."))
    Chat.objects.for_owner(alice).filter(pk=chat.pk).update(metadata={"note_prompt": "It rains.", "note_depth": 1})
    texts = [message["content"] for message in preview(api, chat)["messages"]]
    assert "Alia is a thief." in texts
    assert texts[-3:] == ["It rains.", "Show me.", "Never lie."]


def test_a_text_not_yet_sent_is_the_last_turn(api, chat):
    texts = [message["content"] for message in preview(api, chat, text="And now?")["messages"]]
    assert texts[-2:] == ["And now?", "Never lie."]


@pytest.mark.parametrize("tokens", [1, 20])
def test_a_context_smaller_than_the_card_is_refused(api, chat, tokens):
    problem = preview(api, chat, 400, context_tokens=tokens)
    assert "context_tokens" in str(problem)


def test_the_prompt_never_exceeds_the_context_less_the_reply(api, alice, chat):
    assert preview(api, chat, context_tokens=200)["total_tokens"] <= 100
    whole = preview(api, chat, context_tokens=10_000)["total_tokens"]
    create_preset(alice, name="Short", max_tokens=10)
    assert preview(api, chat, context_tokens=whole + 10)["total_tokens"] == whole
    assert preview(api, chat, context_tokens=whole + 9)["total_tokens"] < whole


def test_macros_are_resolved_once_and_values_are_inert():
    assert (
        resolve_card_text("{{char}} <USER> {{Other}}", {"char": "{{user}}", "user": r"\1$&"})
        == r"{{user}} \1$& {{Other}}"
    )


def lore(entry, *recent, budget=100, **book):
    entries = [
        {"keys": ["key"], "content": "Lore.", **item} for item in ([entry] if isinstance(entry, dict) else entry)
    ]
    found = matching_lore({"entries": entries, **book}, recent, budget, len)
    return tuple(item.text for item in found.at("lore_before") + found.at("lore_after"))


@pytest.mark.parametrize(
    ("entry", "recent", "found"),
    [
        ({}, "The KEY.", True),
        ({}, "A door.", False),
        ({"case_sensitive": True}, "The KEY.", False),
        ({"enabled": False}, "key", False),
        ({"constant": True}, "A door.", True),
        ({"selective": True, "secondary_keys": ["door"]}, "key", False),
        ({"selective": True, "secondary_keys": ["door"]}, "key door", True),
        ({"keys": [""]}, "key", False),
        *[
            ({"selective": True, "secondary_keys": ["a", "b"], "extensions": {"selectiveLogic": logic}}, text, found)
            for logic, text, found in [
                (0, "key a", True),
                (0, "key", False),
                (1, "key a", True),
                (1, "key a b", False),
                (2, "key", True),
                (2, "key b", False),
                (3, "key a b", True),
                (3, "key a", False),
            ]
        ],
        ({"extensions": {"match_whole_words": True}}, "The keyhole.", False),
        ({"extensions": {"match_whole_words": True}}, "The key!", True),
        # Scripts without spaces have no whole words, and Korean adds particles to a word.
        *[
            ({"keys": [key], "extensions": {"match_whole_words": True}}, text, True)
            for key, text in [
                ("龙胆", "他在山上采了龙胆花。"),
                ("灯台", "古い灯台守が笑った。"),
                ("등대", "등대에서 만나자."),
                ("ประภาคาร", "เจอกันที่ประภาคารนะ"),
            ]
        ],
        ({"extensions": {"selectiveLogic": "x", "role": {}, "depth": "y", "scan_depth": []}}, "key", True),
        ({"use_regex": True, "keys": ["k[ae]ys?"]}, "The KAYS.", True),
        ({"use_regex": True, "keys": ["key"]}, "The KEY.", True),
        *[
            ({"keys": [key]}, text, found)
            for key, text, found in [
                ("/k.y/", "The key.", True),
                ("/k.y/", "The KEY.", False),
                ("/k.y/i", "The KEY.", True),
                (r"/\bkey\b/", "A keyhole.", False),
                (r"/\bkey\b/", "Ein Schlüßkey", True),
                (r"/^key$/", "A door.\nkey\nA well.", False),
                (r"/^key$/m", "A door.\nkey\nA well.", True),
                (r"/^key$/", "key\n", False),
                ("/a.b/s", "a\nb", True),
                (r"/[\d[]+%/", "5[0%", True),
                (r"/\d/", "٣", False),
                (r"/and\/or/g", "and/or", True),
                ("/and/or/", "and", False),
                ("/and/or/", "It is /and/or/.", True),
                ("/(/", "a", False),
                ("/(/", "a /(/ b", True),
            ]
        ],
        ({"keys": ["/KEY/"], "case_sensitive": False, "extensions": {"match_whole_words": True}}, "KEYS", True),
        ({"keys": ["/k/"], "selective": True, "secondary_keys": ["/d[o0]+r/"]}, "k d0or", True),
    ],
)
def test_an_entry_matches_by_its_keys(entry, recent, found):
    assert bool(lore(entry, recent)) == found


def test_expressions_that_take_forever_match_nothing_and_hold_up_nothing():
    begun = time.monotonic()
    endless = [{"keys": ["/(a|a|aa)+$/"], "content": str(number)} for number in range(100)]
    assert lore([*endless, {}], "key " + "a" * 5000 + "b") == ("Lore.",)
    assert time.monotonic() - begun < 5


def test_lorebooks_of_the_chat_and_the_persona_are_used_too_also_in_branches(api, alice, chat):
    persona, stranger = create_persona(alice, name="Alia"), make_chat(alice, "Where is the well?")
    chat = update_chat(chat, persona=persona)
    entry = {"keys": ["well"], "content": "", "enabled": True, "position": "before_char"}
    made = {}
    for order, (field, of) in enumerate({"persona": persona, "chat": chat, "character": None}.items(), 2):
        body = {"name": field, "entries": [{**entry, "content": f"Of the {field}.", "insertion_order": order}]}
        response = api.post("/api/v1/lorebooks/", body | {field: of and str(of.pk)}, format="json")
        assert response.status_code == 201, response.content
        made[field] = response.json()
    assert (made["chat"]["chat"], made["chat"]["persona"]) == (str(chat.pk), None)
    for used_in in (chat, branch_chat(alice, chat.pk, 2)):
        lore = next(part["text"] for part in preview(api, used_in)["parts"] if part["name"] == "lore_before")
        assert lore == "The well is dry.\nOf the persona.\nOf the chat."
    assert "Of the" not in str(preview(api, stranger))
    api.patch(f"/api/v1/lorebooks/{made['chat']['id']}/", {"chat": None}, format="json")
    assert "Of the chat" not in str(preview(api, chat))
    foreign = make_chat(UserFactory(), "Hi")
    response = api.patch(f"/api/v1/lorebooks/{made['chat']['id']}/", {"chat": str(foreign.pk)}, format="json")
    assert response.status_code == 400
    assert "chat" in str(response.json())


def test_the_page_of_a_lorebook_binds_it_to_a_persona_and_a_chat(alice, chat, client):
    book, persona = chat.character.lorebooks.get(), create_persona(alice, name="Alia")
    client.force_login(alice)
    url = reverse("characters:lorebook", args=[book.pk])
    assert client.post(url, {"persona": str(persona.pk), "chat": str(chat.pk)}).status_code == 302
    book.refresh_from_db()
    assert (book.persona, book.chat, book.character) == (persona, chat, chat.character)
    assert client.post(url, {"chat": str(make_chat(UserFactory(), "Hi").pk)}).status_code == 400
    assert "selected>Alia" in client.get(url).content.decode()


def test_an_entry_found_in_another_counts_in_a_recursive_book_a_few_times():
    chain = [{"keys": [f"k{n}."], "content": f"k{n + 1}."} for n in range(9)]
    assert lore(chain, "k0.") == ("k1.",)
    assert lore(chain, "k0.", recursive_scanning=True) == tuple(f"k{n}." for n in range(1, 7))
    loop = [{"keys": ["a"], "content": "b"}, {"keys": ["b"], "content": "a"}]
    assert lore(loop, "a", recursive_scanning=True) == ("b", "a")
    ends = [{"keys": ["a"], "content": "b", "extensions": {"prevent_recursion": True}}, loop[1]]
    assert lore(ends, "a", recursive_scanning=True) == ("b",)
    excluded = [loop[0], loop[1] | {"extensions": {"exclude_recursion": True}}]
    assert lore(excluded, "a", recursive_scanning=True) == ("b",)
    delayed = [loop[0], loop[1] | {"extensions": {"delay_until_recursion": True}}]
    assert lore(delayed, "a", "b", recursive_scanning=True) == ("b", "a")
    assert lore(delayed[1:], "b", recursive_scanning=True) == ()


def test_an_entry_at_a_depth_stands_in_the_conversation(api, alice, chat):
    entry = {"keys": ["well"], "content": "{{char}} is thirsty.", "enabled": True, "insertion_order": 2}
    entry["extensions"] = {"position": 4, "depth": 1, "role": 1}
    book = chat.character.lorebooks.get()
    book.document = {"entries": [*book.document["entries"], entry]}
    book.save()
    shown = preview(api, chat)
    assert [(item["role"], item["content"]) for item in shown["messages"][-3:-1]] == [
        ("user", "Mira is thirsty."),
        ("user", "Show me."),
    ]
    assert "lore_at_depth" in [part["name"] for part in shown["parts"]]
    assert shown["total_tokens"] == sum(message["tokens"] for message in shown["messages"])


def test_only_the_scanned_messages_count():
    deeper = {"extensions": {"scan_depth": 2}}
    assert lore(deeper, "A door.", "The key.", scan_depth=1)
    assert not lore({}, "A door.", "The key.", scan_depth=1)
    assert lore({}, "A door.", "The key.", scan_depth=2)


def test_lore_stays_within_its_budget_in_the_order_of_the_book():
    entries = [{"content": "bb", "insertion_order": 2, "priority": 9}, {"content": "a", "insertion_order": 1}]
    assert lore([*entries, {"content": "cccc"}], "key", budget=3) == ("a", "bb")
    assert lore(entries, "key", budget=9, token_budget=2) == ("bb",)
