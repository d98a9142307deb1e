"""In a group nobody speaks with what another one knows."""

from apps.chats.operations import add_member, add_participant, append_messages, create_chat
from apps.memories.models import Knowledge, Relationship
from apps.memories.operations.entities import get_or_create_entity
from apps.replies.operations import request_generation
from apps.replies.tasks import run_generation
from tests.factories import make_character, make_chat, parsed


def run(chat, mode="reply", **f):
    g = request_generation(chat.owner_id, chat.pk, mode=mode, **f)
    run_generation(generation_id=str(g.pk))
    g.refresh_from_db()
    return g


def sent(server):
    return server.of_kind("generation")[-1].messages


def test_a_member_who_is_new_does_not_speak_as_another(connect, server, alice, chat):
    connect()
    chat.character.description = "Mira is secretly the thief."
    chat.character.save()
    mira = get_or_create_entity(chat, "Mira", "character")
    Knowledge.objects.create(
        owner=alice, chat=chat, source=chat.messages.get(index=1), kind="hiding", subject=mira, text="She took the key."
    )
    add_member(alice, chat.pk, "Tom")  # by name on the members page; no character Tom exists
    whisper = {"extra": {"loci": {"witnesses": ["Mira"]}}}
    append_messages(
        alice,
        chat.pk,
        [parsed("The vault opens at nine.", name="Mira", **whisper), parsed("Tom, what do you know?", is_user=True)],
    )
    g = run(chat)
    text = "\n".join(m["content"] for m in sent(server))
    assert g.speaker == "Tom"
    found = [
        s
        for s in ("Write the next reply of Mira", "secretly the thief", "She took the key", "vault opens at nine")
        if s in text
    ]
    assert found == []


def test_members_of_an_imported_group_hear_no_whispers_to_others(connect, server, alice):
    connect()
    chat = create_chat(alice, title="g", user_name="Alice")
    for name in ("Mira", "Tom"):
        add_participant(alice, chat.pk, name=name)
    whisper = {"extra": {"loci": {"witnesses": ["Mira"]}}}
    append_messages(
        alice,
        chat.pk,
        [parsed("The vault opens at nine.", name="Mira", **whisper), parsed("Tom, what do you know?", is_user=True)],
    )
    run(chat)
    text = "\n".join(m["content"] for m in sent(server))
    assert "vault opens at nine" not in text


def test_a_relationship_of_a_private_chat_reaches_no_other_member(api, alice):
    mira, tom = make_character(alice, "Mira"), make_character(alice, "Tom")
    private = make_chat(alice, "Do you love me?", "I do, but Tom must not know.", character=mira, title="private")
    names = [get_or_create_entity(private, name, "character") for name in ("Mira", "Alice")]
    Relationship.objects.create(
        owner=alice,
        chat=private,
        story=private.story,
        source=private.messages.get(index=1),
        subject=names[0],
        target=names[1],
        descriptor="secret lover",
    )
    group = create_chat(alice, title="party", character=mira, user_name="Alice")
    for member in (mira, tom):
        add_participant(alice, group.pk, name=member.name, character=member)
    append_messages(alice, group.pk, [parsed("Tom, good evening.", is_user=True)])
    shown = api.post(f"/api/v1/chats/{group.pk}/prompt/", {"character": str(tom.pk)}).json()
    text = {s["name"]: s["text"] for s in shown["slots"] if s["text"]}
    assert "secret lover" not in str(text)


def test_the_message_written_for_the_user_knows_no_secrets(connect, server, alice, chat):
    connect()
    mira = get_or_create_entity(chat, "Mira", "character")
    me = get_or_create_entity(chat, "Alice", "character")
    Knowledge.objects.create(
        owner=alice,
        chat=chat,
        source=chat.messages.get(index=1),
        kind="hiding",
        subject=mira,
        target=me,
        text="She poisoned the well.",
    )
    run(chat, "impersonate")
    text = "\n".join(m["content"] for m in sent(server))
    assert "She poisoned the well" not in text


def test_an_imported_group_goes_on_in_turn(alice, connect, server):
    import io
    import json

    from apps.exchange.chats.imports import import_chats
    from apps.replies.panel import panel_of

    connect()
    lines = [
        {"user_name": "Alice", "character_name": "unused", "chat_metadata": {}},
        {"name": "Alice", "is_user": True, "mes": "Hello, both.", "send_date": "2026-01-01T10:00:00Z"},
        {"name": "Mira", "is_user": False, "mes": "Hello.", "send_date": "2026-01-01T10:00:01Z"},
        {"name": "Tom", "is_user": False, "mes": "Hi.", "send_date": "2026-01-01T10:00:02Z"},
    ]
    [chat] = import_chats(alice, io.BytesIO("\n".join(map(json.dumps, lines)).encode()), filename="group.jsonl").chats
    run(chat)
    assert "reply" in panel_of(chat).modes
