"""Files of other programs, in `data/`: each becomes chats in which nothing is lost and everybody keeps their words."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.chats.models import Chat, ImportJob
from apps.common.problems import Invalid
from apps.exchange.chats.imports import AlreadyImported, ImportResult, import_chats
from apps.exchange.formats.cards.reading import UnreadableCard, read
from tests.exchange.cards_made import V2_CARD, png, text
from tests.factories import UserFactory

DATA = Path(__file__).parent / "data"

# The chats of each file in order, branches after their chat. A message is "name: text" or, of the person, "name> text";
# several swipes stand in brackets, the active one first. A branch begins with the number of its parent's messages.
CHATS: dict[str, list[list[str]]] = {
    "chatgpt-branches.json": [
        ["You> Which bread shall I bake?", "ChatGPT: Rye or wheat?", "You> Wheat.", "ChatGPT: Then yeast will do."],
        [
            *("2 of Bread", "You> Rye.", "ChatGPT: Then you need sourdough.", "You> I have some."),
            "ChatGPT: Feed it today. [Feed it tonight.]",
        ],
        ["4 of Bread - Branch #1", "You> I have none.", "ChatGPT: Ask the baker."],
    ],
    "chatgpt-one.json": [["You> Which bread shall I bake?", "ChatGPT: Rye or wheat?"]],
    "chatgpt-first-edited.json": [
        ["You> Tea or coffee?", "ChatGPT: Tea."],
        ["0 of Tea", "You> Tea or cofee?", "ChatGPT: Do you mean coffee?"],
    ],
    "chatgpt-citations.json": [
        [
            "You> Who built the bridge?",
            "ChatGPT: Ada Brück did ([Bridges](https://example.org/b)), in May. See plan.pdf and 【left†alone】.",
        ]
    ],
    "claude-attachments.json": [
        ["You> Read this.\n\noven.txt:\nMy oven is called Berta.", "Claude: Here it is.\n\n# Berta"]
    ],
    "claude-one.json": [["You> Is it hot?", "Claude: Very."]],
    "openwebui.json": [
        ["You> How much flour?\n\nscale.txt:\nIt weighs to 2 kg.", "some-model:4b: A pound."],
        ["1 of Flour", "some-model:4b: A kilo.", "You> So much?"],
    ],
    "openwebui-bare.json": [
        ["You> How much flour?\n\nscale.txt:\nIt weighs to 2 kg.", "some-model:4b: A pound."],
        ["1 of Flour", "some-model:4b: A kilo.", "You> So much?"],
    ],
    "librechat.json": [["You> How much salt?", "Small Model: A pinch. [A lot.]"]],
    "librechat-nested.json": [["You> How much salt?", "Small Model: A pinch."]],
    "librechat-tree.json": [
        ["You> How much salt?", "Small Model: A lot."],
        ["1 of Salt", "Small Model: A pinch.", "You> So little?"],
    ],
    "openai-request.json": [["System: Answer briefly.", "You> Is it baked?", "Baker: It is."]],
    "openai-list.json": [["System: Answer briefly.", "You> Is it baked?", "Assistant: It is."]],
    "openai-lines.jsonl": [["You> One?", "Assistant: Two."], ["You> Three?", "Assistant: Four."]],
    "llama-cpp.json": [
        ["System: Answer briefly.", "You> Is it risen?", "Assistant: Wait.", "You> How long?", "Assistant: An hour."],
        ["2 of Dough", "Assistant: It is.", "You> Shall I bake it?"],
    ],
    "sharegpt.json": [["You> One?", "Assistant: Two."]],
    "sillytavern-personas.jsonl": [["Wanda> I am Wanda.", "Ilse: I see.", "Willem> And now Willem."]],
    "kobold-adventure.json": [
        [
            *("Narrator: A locked door.", "Rita> I knock.", "Rita> Twice.", "Narrator: Silence. 3 > 2, says the wall."),
            "Rita> I leave",
        ]
    ],
    "kobold-instruct.json": [
        ["Rita> Where is User: in this?", "Bot: In the middle.", "Rita> Thanks", "Bot: Gladly."],
    ],
    "oobabooga-metadata.json": [
        [": Good day", "You> Is 1 < 2?\n\nsums.txt:\n1 < 2", ": Yes. [Surely & truly.]"],
    ],
    "oobabooga-unshown.json": [[": Good day", "You> Is it hot?", ": Very."]],
    "agnai-tree.json": [
        ["Ilse: Is it risen?", "Wanda> It is.", "Ilse: Fine. [Good.] [Well.]"],
        ["3 of Dough", "Wanda> Shall I bake it?"],
        ["2 of Dough", "Bodo: Let me see."],
    ],
    "agnai-list.json": [["Ilse: Is it risen?", "Wanda> It is."], ["Ilse: Sweep."]],
    "risu-group.json": [["Speaker 1: You are late.", "You> Sorry.", "Bodo: Bodo nods."]],
}
# What the report of a file says, where something was not read.
WARNINGS = {
    "claude-attachments.json": ["Tool calls in a message", "has no text"],
    "openai-request.json": ["only as a reference", "Tool calls in a message"],
    "risu-group.json": ["no names of the group's members"],
}


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory()


def brought(owner: User, name: str, **options: Any) -> ImportResult:
    return import_chats(owner, io.BytesIO((DATA / name).read_bytes()), filename=name, **options)


def whole(chat: Chat) -> list[str]:
    """Return the messages of a chat as in `CHATS`."""
    lines: list[str] = []
    for message in chat.messages.with_swipes().order_by("index"):
        others = [swipe.mes for swipe in message.ordered_swipes if swipe.position != message.swipe_id]
        sign = ">" if message.is_user else ":"
        lines.append(f"{message.name}{sign} {message.mes}" + "".join(f" [{text}]" for text in others))
    return lines


def told(chat: Chat) -> list[str]:
    """Return a chat, or what a branch adds to its parent, as in `CHATS`."""
    if chat.parent is None:
        return whole(chat)
    kept = 0 if chat.parent_index is None else chat.parent_index + 1
    assert whole(chat)[:kept] == whole(chat.parent)[:kept]
    assert chat.story == chat.parent.story
    return [f"{kept} of {chat.parent.title}", *whole(chat)[kept:]]


@pytest.mark.parametrize("name", CHATS)
def test_every_file_becomes_its_chats(alice: User, name: str) -> None:
    result = brought(alice, name)
    assert [told(Chat.objects.for_owner(alice).get(pk=chat.pk)) for chat in result.chats] == CHATS[name]
    assert not any("branch" in warning for warning in result.report.warnings)
    for words in WARNINGS.get(name, []):
        assert any(words in warning for warning in result.report.warnings)
    assert bool(WARNINGS.get(name)) == bool(result.report.warnings)
    assert result.report.skipped_lines == []


def test_every_file_is_in_the_table() -> None:
    assert {path.name for path in DATA.iterdir() if not path.name.startswith(("lorebook", "card"))} == set(CHATS)


def test_the_order_of_keys_says_nothing(alice: User) -> None:
    for name in sorted(CHATS):
        if name.endswith(".json"):
            document = json.loads((DATA / name).read_text())
            turned = json.dumps(turned_round(document)).encode()
            again = import_chats(alice, io.BytesIO(turned), filename=name).chats
            # Branches stand in the order of the file: only the chat itself is compared.
            assert whole(again[0]) == CHATS[name][0], name


def turned_round(value: Any) -> Any:
    """Return a value with the keys of its objects in the reverse order."""
    if isinstance(value, dict):
        return {key: turned_round(value[key]) for key in reversed(value)}
    return [turned_round(item) for item in value] if isinstance(value, list) else value


def test_times_reasoning_and_notes_are_kept(alice: User) -> None:
    [chat] = brought(alice, "oobabooga-metadata.json").chats
    assert [message.send_date for message in chat.messages.order_by("index")][1:] == [
        "2026-03-02T09:05:00Z",
        "2026-03-02T09:06:00Z",
    ]
    for name, at, thought in [
        ("openwebui.json", 1, "Hm"),
        ("librechat.json", 1, "Hm."),
        ("risu-group.json", 0, "He is late."),
    ]:
        chat = brought(alice, name).chats[0]
        assert chat.messages.with_swipes().get(index=at).active_swipe.extra["reasoning"] == thought
    assert chat.metadata["note_prompt"] == "It is hot."
    assert brought(alice, "kobold-adventure.json").chats[0].metadata["note_prompt"] == "Keep it dark."


def test_the_lore_of_a_chat_becomes_its_lorebook(alice: User) -> None:
    for name, keys, content in [
        ("risu-group.json", ["stove", "hob"], "The stove smokes."),
        ("kobold-adventure.json", ["door", "/lock(ed|s)?/"], "The door is oak."),
    ]:
        [entry] = brought(alice, name).chats[0].lorebooks.get().document["entries"]
        assert (entry["keys"], entry["content"], entry["enabled"]) == (keys, content, True)


def test_the_last_persona_is_the_person(alice: User) -> None:
    assert brought(alice, "sillytavern-personas.jsonl").chats[0].user_name == "Willem"


def test_speakers_are_the_members_of_a_group(alice: User) -> None:
    for name, members in [("risu-group.json", ["Speaker 1", "Bodo"]), ("agnai-tree.json", [])]:
        chat = brought(alice, name).chats[0]
        assert [member.name for member in chat.participants.order_by("position")] == members
        assert chat.is_group == bool(members)


def test_a_profile_of_sillytavern_has_its_groups(alice: User) -> None:
    turns = [
        {"name": "Ilse", "is_user": False, "mes": "Good morning."},
        {"name": "Bodo", "is_user": False, "mes": "Hm."},
    ]
    lines = "\n".join(map(json.dumps, turns)).encode()
    group = {
        "name": "The bakery",
        "members": ["ilse.png", "file7.png", "Kurt.png"],
        "disabled_members": ["file7.png"],
        "chat_id": "2026-01-02",
        "chats": ["2026-01-02"],
    }
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("user/groups/17.json", json.dumps(group))
        archive.writestr("user/groups/18.json", "{broken")
        archive.writestr("user/group chats/2026-01-02.jsonl", lines)
        archive.writestr(
            "user/characters/ilse.png", png(text({**V2_CARD, "data": {**V2_CARD["data"], "name": "Ilse"}}))
        )
        archive.writestr("user/characters/file7.png", b"\x89PNG")
        archive.writestr("user/characters/Kurt.png", b"no picture")
    [chat] = import_chats(alice, target, filename="user.zip").chats
    members = [(member.name, member.muted) for member in chat.participants.order_by("position")]
    assert (chat.title, chat.is_group) == ("The bakery", True)
    assert members == [("Ilse", False), ("file7", True), ("Kurt", False), ("Bodo", False)]
    assert chat.messages.get(index=1).participant.name == "Bodo"


def test_branches_of_a_file_that_is_imported_again_are_updated(alice: User) -> None:
    first = brought(alice, "chatgpt-branches.json")
    with pytest.raises(AlreadyImported):
        brought(alice, "chatgpt-branches.json", existing=ImportJob.Existing.ASK)
    again = brought(alice, "chatgpt-branches.json", existing=ImportJob.Existing.UPDATE)
    assert {chat.pk for chat in again.chats} == {chat.pk for chat in first.chats} == set(again.updated)
    assert Chat.objects.for_owner(alice).count() == 3


def test_what_a_branch_costs_that_is_imported_again_does_not_grow_with_their_number(alice: User) -> None:
    def queries(count: int) -> int:
        messages = [{"role": "user", "content": f"Hello {count}.", "id": "0", "parent": None}]
        for number in range(count):
            messages += [
                {"role": "assistant", "content": f"Reply {number}.", "id": f"a{number}", "parent": "0"},
                {"role": "user", "content": f"Why {number}?", "id": f"u{number}", "parent": f"a{number}"},
            ]
        file = json.dumps({"messages": messages}).encode()
        made = import_chats(alice, io.BytesIO(file), filename="x.json").chats
        with CaptureQueriesContext(connection) as captured:
            again = import_chats(alice, io.BytesIO(file), filename="x.json", existing=ImportJob.Existing.UPDATE)
        assert {chat.pk for chat in again.chats} == {chat.pk for chat in made}
        assert len(made) == count
        return len(captured)

    few, some, many = map(queries, (2, 6, 10))
    assert many - some < some - few + 8


@pytest.mark.parametrize(
    "document",
    [{"a": 1}, [{"a": 1}], {"messages": []}, {"messages": [{"words": "x"}]}, b"Ilse: Good morning."],
)
def test_the_error_names_the_formats_that_are_known(alice: User, document: Any) -> None:
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    with pytest.raises(Invalid) as caught:
        import_chats(alice, io.BytesIO(content), filename="x.json")
    reason = str(caught.value.errors)
    assert "/file" in reason
    assert all(program in reason for program in ("SillyTavern", "Open WebUI", "LibreChat", "RisuAI", "KoboldAI"))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"RIFF\x10\0\0\0WEBPVP8 ", "a WebP image"),
        (b"\xff\xd8\xff\xe0", "a JPEG image"),
        (b"RIFF\x10\0\0\0WAVEfmt ", "a media file"),
        (b"GIF89a", "a GIF image"),
    ],
)
def test_a_picture_is_named_as_what_it_is(alice: User, content: bytes, kind: str) -> None:
    with pytest.raises(Invalid) as caught:
        import_chats(alice, io.BytesIO(content), filename="x.json")
    assert kind in str(caught.value.errors)
    with pytest.raises(UnreadableCard, match=kind):
        read(content)
