"""A group of a client that knows nothing of Loci: who speaks is told by names in many forms."""

import threading
from typing import Any

import pytest
from openai import OpenAI

from apps.accounts.models import User
from apps.chats.models import Character, Chat, Message
from apps.chats.operations import add_participant
from tests.factories import make_chat
from tests.llm.scripted_server import ScriptedServer

OPENING = {"role": "system", "content": "A group at the lock. Ada keeps it. Nils is her son."}
MEMBERS = {"role": "system", "content": "[Start a new group chat. Group members: Ada, Nils]"}
BOTH = [("Ada", False), ("Ben", True), ("Nils", False), ("Ben", True)]
TEXTS = ["Come closer.", "Good morning, both of you", "Morning, Ben.", "Who has the key?"]


def asked(name: str, role: str = "system") -> dict[str, str]:
    return {"role": role, "content": f"[Write the next reply only as {name}.]"}


def role_of(is_user: bool) -> str:
    return "user" if is_user else "assistant"


def with_fields(said: list[tuple[str, bool, str]], name: str) -> list[Any]:
    spoken = [{"role": role_of(is_user), "name": who, "content": text} for who, is_user, text in said]
    return [OPENING, *spoken, asked(name)]


def with_labels(said: list[tuple[str, bool, str]], name: str) -> list[Any]:
    spoken = [{"role": role_of(is_user), "content": f"{who}: {text}"} for who, is_user, text in said]
    return [OPENING, *spoken, asked(name)]


def with_labels_of_members(said: list[tuple[str, bool, str]], name: str) -> list[Any]:
    """As SillyTavern does it unless told otherwise."""
    spoken = [
        {"role": role_of(is_user), "content": text if is_user else f"{who}: {text}"} for who, is_user, text in said
    ]
    return [OPENING, MEMBERS, *spoken, asked(name)]


def semi_strict(said: list[tuple[str, bool, str]], name: str) -> list[Any]:
    messages = [OPENING]
    for message in [*with_labels(said, name)[1:-1], asked(name, "user")]:
        if messages[-1]["role"] == message["role"]:
            messages[-1] = {**message, "content": f"{messages[-1]['content']}\n\n{message['content']}"}
        else:
            messages.append(message)
    return messages


def single(said: list[tuple[str, bool, str]], name: str) -> list[Any]:
    lines = [
        OPENING["content"],
        MEMBERS["content"],
        *(f"{who}: {text}" for who, _, text in said),
        asked(name)["content"],
    ]
    return [{"role": "user", "content": "\n\n".join(lines)}]


FORMS = [with_fields, with_labels, with_labels_of_members, semi_strict, single]


def stored(owner: User) -> list[tuple[str, bool, str]]:
    messages = Message.objects.for_owner(owner).with_swipes().order_by("chat", "index")
    return [(message.name, message.is_user, message.mes) for message in messages]


@pytest.mark.parametrize("form", FORMS)
def test_a_group_is_stored_under_the_names_of_its_members(
    client: OpenAI, alice: User, upstream: ScriptedServer, form: Any
) -> None:
    said = [(name, is_user, text) for (name, is_user), text in zip(BOTH, TEXTS, strict=True)]
    answers = [("Nils", "I have it."), ("Ada", "Nils: lost it.\n\nAda has another."), ("Nils", "Sorry.")]
    for name, answer in answers:
        upstream.reply_with(f"{name}: {answer}" if name == "Nils" else answer)
        client.chat.completions.create(model="x", messages=form(said, name))
        said.append((name, False, answer))
        if name == "Ada":
            said.append(("Ben", True, "Is that so?"))
    chat = Chat.objects.for_owner(alice).get()
    assert chat.is_group
    assert [(one.name, one.character.name) for one in chat.participants.order_by("position")] == [
        ("Ada", "Ada"),
        ("Nils", "Nils"),
    ]
    names = [
        (name if not is_user or form is not with_labels_of_members else "User", is_user, text)
        for name, is_user, text in said
    ]
    assert stored(alice) == names
    assert not Message.objects.for_owner(alice).filter(is_user=False, participant=None)


def test_the_speaker_who_is_asked_is_told_what_they_know(client: OpenAI, alice: User, upstream: ScriptedServer) -> None:
    for form in FORMS:
        raw = client.chat.completions.with_raw_response.create(
            model="x",
            messages=form([("Ada", False, "Hm."), ("Nils", False, "Yes?"), ("Ben", True, "Hello there")], "Ada"),
        )
        assert raw.headers["X-Loci-Memory"] == "on"


def test_members_without_a_character_get_the_one_of_their_name(
    client: OpenAI, alice: User, upstream: ScriptedServer
) -> None:
    chat = make_chat(alice)
    for name in ("Ada", "Nils"):
        add_participant(alice, chat.pk, name=name)
    headers = {"X-Loci-Chat": str(chat.pk)}
    messages: Any = [{"role": "user", "content": "Who has the key?"}]
    raw = client.chat.completions.with_raw_response.create(
        model="x", messages=[*messages, asked("Ada")], extra_headers=headers
    )
    assert raw.headers["X-Loci-Memory"] == "on"
    raw = client.chat.completions.with_raw_response.create(
        model="x", messages=messages, extra_headers=headers | {"X-Loci-Character": "Nils"}
    )
    assert raw.headers["X-Loci-Memory"] == "on"
    assert {one.character.name for one in chat.participants.all()} == {"Ada", "Nils"}
    assert Character.objects.for_owner(alice).count() == 2


def test_two_people_may_speak_to_one_character(client: OpenAI, alice: User, upstream: ScriptedServer) -> None:
    messages: Any = [
        {"role": "system", "content": "You are Ada."},
        {"role": "user", "name": "Ben", "content": "Hi"},
        {"role": "assistant", "name": "Ada", "content": "Hi Ben"},
        {"role": "user", "name": "Eva_2", "content": "Where is the lamp?"},
    ]
    client.chat.completions.create(model="x", messages=messages)
    assert stored(alice) == [
        ("Ben", True, "Hi"),
        ("Ada", False, "Hi Ben"),
        ("Eva_2", True, "Where is the lamp?"),
        ("Ada", False, "Hello."),
    ]
    assert not Chat.objects.for_owner(alice).get().is_group


def test_a_name_of_which_the_api_takes_only_letters_is_the_whole_one(
    client: OpenAI, alice: User, upstream: ScriptedServer
) -> None:
    said = [("Ada_of_the_Lock", False, "Come in."), ("J_rg", False, "Hello."), ("Ben", True, "Who has the key?")]
    messages = with_fields(said, "Jörg")
    messages.insert(1, {"role": "system", "content": "[Start a new group chat. Group members: Ada of the Lock, Jörg]"})
    client.chat.completions.create(model="x", messages=messages)
    assert [name for name, *_ in stored(alice)] == ["Ada of the Lock", "Jörg", "Ben", "Jörg"]


@pytest.mark.parametrize(
    "texts",
    [
        ["Question: what is a lock?", "Answer: a chamber with two gates.", "Question: and a weir?"],
        ["Note: I am late.", "I see.", "Note: very late."],
    ],
)
def test_a_colon_makes_no_name(client: OpenAI, alice: User, texts: list[str]) -> None:
    messages: Any = [{"role": role_of(place % 2 == 0), "content": text} for place, text in enumerate(texts)]
    opening = {"role": "system", "content": "Each Question gets an Answer. A Note gets none."}
    client.chat.completions.create(model="x", messages=[opening, *messages])
    assert [text for *_, text in stored(alice)][:3] == texts


def test_two_equal_requests_of_a_group_at_once_make_one(client: OpenAI, alice: User, upstream: ScriptedServer) -> None:
    said = [(name, is_user, text) for (name, is_user), text in zip(BOTH, TEXTS, strict=True)]

    def ask() -> None:
        client.chat.completions.create(model="x", messages=with_fields(said, "Nils"))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [text for *_, text in stored(alice)] == [*TEXTS, "Hello."]
    assert Chat.objects.for_owner(alice).get().participants.count() == 2


def test_a_name_that_the_model_puts_before_its_reply_is_no_part_of_it(
    client: OpenAI, alice: User, upstream: ScriptedServer
) -> None:
    """The client sends it back, though."""
    messages: Any = [{"role": "user", "content": "Who has the key?"}]
    for answer in ("Ada: I have it.", "Ada: Here."):
        upstream.reply_with(answer)
        client.chat.completions.create(model="x", messages=messages, extra_headers={"X-Loci-Character": "Ada"})
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": "Show me."}]
    assert stored(alice) == [
        ("User", True, "Who has the key?"),
        ("Ada", False, "I have it."),
        ("User", True, "Show me."),
        ("Ada", False, "Here."),
    ]


def test_who_replies_in_a_group_is_who_the_model_says_if_nobody_was_asked(
    client: OpenAI, alice: User, upstream: ScriptedServer
) -> None:
    said = [(name, is_user, text) for (name, is_user), text in zip(BOTH, TEXTS, strict=True)]
    upstream.reply_with("Nils: I have it.")
    client.chat.completions.create(model="x", messages=with_labels(said, "Nils")[:-1])
    assert stored(alice)[-1] == ("Nils", False, "I have it.")
