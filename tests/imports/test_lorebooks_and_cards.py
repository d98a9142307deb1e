"""Lorebooks and cards of other programs, in `data/`: which entries a prompt has, and what macros become."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.macros import Draws, resolve_choices
from apps.chats.models import Chat
from apps.chats.operations import append_messages, create_lorebook, start_conversation, update_lorebook
from apps.exchange.cards import import_card, import_lorebook
from apps.exchange.formats.lorebooks import read, write
from apps.exchange.memories.reading.lorebooks import read_book
from apps.prompts.lorebooks.lorebook import matching_lore
from tests.factories import UserFactory, make_character, make_chat, parsed
from tests.prompts.requests import assemble_whole

DATA = Path(__file__).parent / "data"


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory()


def opened(name: str) -> io.BytesIO:
    return io.BytesIO((DATA / name).read_bytes())


def chat_of(owner: User, *texts: str) -> Chat:
    """Return a chat of Bodo with Ilse, who answers."""
    card = {"description": "A baker.", "mes_example": "Yes?"}
    chat = make_chat(owner, *texts, character=make_character(owner, name="Ilse", **card))
    Chat.objects.for_owner(owner).filter(pk=chat.pk).update(user_name="Wanda")
    chat.refresh_from_db()
    return chat


def prompt_with(owner: User, name: str, *texts: str) -> tuple[dict[str, str], list[dict[str, str]], list[str]]:
    """Return the parts and messages of a prompt with a lorebook of `data/`, and the warnings of its import."""
    chat = chat_of(owner, *texts)
    result = import_lorebook(owner, opened(name), filename=name)
    update_lorebook(result.lorebooks[0], chat=chat)
    prompt = assemble_whole(chat, context_tokens=8000)
    return {part.name: part.text for part in prompt.parts}, prompt.messages, result.report["warnings"]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("chub", "The oven is on.", ["ON"]),
        ("chub", "It rains.", []),
        ("sillytavern", "Two loaves.", ["REGEX"]),
        ("sillytavern", "The crust!", ["REGEX"]),
        ("sillytavern", "Half a loafer.", []),
        ("sillytavern", "In /home/user there is", ["SLASHES"]),
        ("sillytavern", "AC/DC plays.", ["SLASHES"]),
        ("sillytavern", "He writes C++ well.", ["PLAIN"]),
        ("sillytavern", "He writes CCC.", []),
        ("sillytavern", "This is Wanda's apron.", ["USER-KEY of Wanda"]),
        ("sillytavern", "Whose apron is it?", []),
        ("sillytavern", "我喝龍井茶。", ["CJK"]),
        ("sillytavern", "Modern art.", ["WHOLE"]),
        ("sillytavern", "A start.", []),
        ("sillytavern", "In the café", ["NFC"]),
        ("sillytavern", "In the cafe\u0301", ["NFC"]),
        ("v3", "Two loaves.", ["BARE"]),
        ("v3", "(((", []),
    ],
)
def test_an_entry_stands_in_the_prompt_where_its_program_would_have_it(
    alice: User, name: str, text: str, found: list[str]
) -> None:
    parts, _, _ = prompt_with(alice, f"lorebook-{name}.json", text)
    lore = [line for part, lines in parts.items() if part.startswith("lore") for line in lines.split("\n")]
    always = ["DO"] if name == "v3" else []
    assert sorted(lore) == sorted([*found, *always])


@pytest.mark.parametrize(("speaker", "found"), [("Ilse", "CHAR-KEY"), ("Bodo", "NAME-KEY"), ("Kurt", None)])
def test_the_name_of_who_speaks_is_found(alice: User, speaker: str, found: str | None) -> None:
    chat = chat_of(alice, "One.")
    chat = append_messages(alice, chat.pk, [parsed("Hm.", name=speaker)]).chat
    update_lorebook(import_lorebook(alice, opened("lorebook-sillytavern.json"), filename="b").lorebooks[0], chat=chat)
    parts = {part.name: part.text for part in assemble_whole(chat, context_tokens=8000).parts}
    assert parts.get("lore_before") == found


def test_positions_of_sillytavern_and_what_is_not_supported_is_told(alice: User) -> None:
    parts, messages, warnings = prompt_with(alice, "lorebook-sillytavern.json", "The oven.")
    assert list(parts) == [
        "system_prompt",
        "lore_before",
        "description",
        "examples",
        "lore_after_examples",
        "lore_before_note",
    ]
    assert parts["lore_before"] == "GROUP\nMACRO xyabc"
    assert (parts["lore_after_examples"], parts["lore_before_note"]) == ("AFTER-EXAMPLES", "BEFORE-NOTE")
    assert "OUTLET" not in str(messages)
    assert "NEVER" not in str(messages)
    assert len(warnings) == 3
    for words in ("1 of the lorebook's entries have an unknown position", "an inclusion group", "timed effects"):
        assert any(words in warning for warning in warnings)


def test_decorators_are_followed_and_never_shown(alice: User) -> None:
    parts, messages, warnings = prompt_with(alice, "lorebook-v3.json", "The oven is hot.")
    assert set(parts["lore_before"].split("\n")) == {"CELLAR", "DO", "MORE", "FALLBACK", "GREETING"}
    assert messages[-1] == {"role": "assistant", "content": "DEEP"}
    assert "@@" not in str(messages)
    assert warnings == ["Not supported: 1 of the lorebook's entries have the decorator @@is_greeting. It is ignored."]
    parts, _, _ = prompt_with(alice, "lorebook-v3.json", "The oven stands in the rain, cold.")
    assert "MORE" not in parts["lore_before"]
    parts, _, _ = prompt_with(alice, "lorebook-v3.json", *["Hot oven."] * 11)
    assert "LATER" in parts["lore_before"]


def test_what_is_exported_is_what_was_imported(alice: User) -> None:
    for name, form in [("chub", "sillytavern"), ("sillytavern", "sillytavern"), ("v3", "v3")]:
        [book] = import_lorebook(alice, opened(f"lorebook-{name}.json"), filename="b.json").lorebooks
        assert write(book.document, form, book.original) == json.loads(opened(f"lorebook-{name}.json").read())
        again = read(write(book.document, form), lambda text: None)
        assert again is not None
        kept = ("keys", "content", "enabled", "insertion_order", "priority", "name", "use_regex", "position")
        for before, after in zip(book.document["entries"], again.document["entries"], strict=True):
            assert [after[key] for key in kept] == [before[key] for key in kept]


def test_a_lorebook_of_chub_is_one(alice: User) -> None:
    result = import_card(alice, opened("lorebook-chub.json"), filename="x.json")
    assert (result.characters, [book.name for book in result.lorebooks]) == ([], ["Bakery"])
    on, off = result.lorebooks[0].document["entries"]
    assert (on["name"], on["position"], on["insertion_order"], on["priority"]) == ("Oven", "after_char", 10, 3)
    assert (on["enabled"], off["enabled"]) == (True, False)


def test_macros_of_a_card_are_resolved_or_removed(alice: User) -> None:
    [ilse] = import_card(alice, opened("card-macros.json"), filename="x.json").characters
    seen = set()
    chosen = set()
    for _ in range(12):
        chat = start_conversation(alice, ilse, user_name="Wanda")
        greeting = chat.messages.with_swipes().get().mes
        texts = [assemble(chat) for _ in range(2)]
        assert texts[0] == texts[1]  # a prompt that is shown is the one that is sent
        append_messages(alice, chat.pk, [parsed("Hello.", name="Wanda", is_user=True)])
        later = assemble(chat)
        picks = [text.split("; ")[2:4] for text in (texts[0], later)]
        assert picks[0] == picks[1]  # for all of a chat
        assert greeting == f"Hello Wanda, {picks[0][0]}?"
        chosen.add(picks[0][0])
        seen.update(texts[0].split("; ")[:2])
        assert texts[0].endswith("; Fun for Wanda and Ilse.")
        assert "{" not in texts[0]
    assert chosen == {"rye", "oat"}
    assert {"rain", "hail, snow"} <= seen
    rolls = {text for text in seen if text.startswith("Ilse bakes. Wanda throws ")}
    assert 1 < len(rolls) <= 6


def assemble(chat: Chat) -> str:
    chat.refresh_from_db()
    prompt = assemble_whole(chat, context_tokens=8000)
    return next(part.text for part in prompt.parts if part.name == "description")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{random:a}}", "a"),
        ("{{RANDOM: a }}", "a"),
        ("{{random::a::a}}", "a"),
        (r"{{pick:a\,b}}", "a,b"),
        ("{{pick:{{user}},{{user}}}}", "{{user}}"),
        ("{{roll:1}} {{roll:d1}} {{roll:3d1}} {{roll 1}} {{roll:x}}{{roll:0}}", "1 1 3 1 "),
        ("a{{// b }}c{{comment: d}}e{{hidden_key:f}}", "ace"),
        ("{{reverse:Hello}}", "olleH"),
        ("{{char}} {{pick}} {{other:x}} {{//", "{{char}} {{pick}} {{other:x}} {{//"),
        ("{{random:{a},{a}}}", "{a}"),
        ("{{random:{{pick:a,a}},{{random:a,a}}}}b{{reverse:{{pick::cd::cd}}}}", "abdc"),
        ("a{{// see {{random:b,c}} }}d", "ad"),
    ],
)
def test_macros_with_an_argument(text: str, result: str) -> None:
    assert resolve_choices(text, Draws()) == result


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"probability": "0", "useProbability": True}, None),
        ({"position": "4", "depth": "0", "role": "1"}, "lore_at_depth"),
        ({"position": "1"}, "lore_after"),
        ({"position": "after_char"}, "lore_after"),
        ({"keysecondary": ["warm"], "selective": True, "selectiveLogic": "2"}, None),
        ({"key": [r"/\u{1f956}/u"]}, "lore_before"),
        ({"key": [r"/\u{1f957}/u"]}, None),
    ],
)
def test_numbers_may_be_written_as_texts(alice: User, fields: dict[str, Any], place: str | None) -> None:
    entry = {"uid": 0, "key": ["oven"], "content": "Lore.", **fields}
    book = read({"entries": {"0": entry}}, lambda text: None)
    assert book is not None
    chat = chat_of(alice, "The oven is warm. 🥖")
    create_lorebook(alice, name="b", chat=chat, document=book.document)
    prompt = assemble_whole(chat, context_tokens=8000)
    assert [part.name for part in prompt.parts if part.text == "Lore."] == ([place] if place else [])
    if place == "lore_at_depth":
        assert prompt.messages[-1] == {"role": "user", "content": "Lore."}


@pytest.mark.parametrize("form", ["sillytavern", "card"])
def test_a_position_of_another_program_is_told(form: str) -> None:
    entry = {"uid": 0, "key" if form == "sillytavern" else "keys": ["oven"], "content": "Lore.", "position": "margin"}
    warnings: list[str] = []
    book = read({"entries": [entry]}, warnings.append)
    assert book is not None
    assert book.format == form
    assert len(warnings) == 1
    assert "an unknown position" in warnings[0]
    assert not matching_lore(book.document, ["The oven."], 100, len).texts


def test_a_probability_is_drawn_for_each_state_of_the_chat(alice: User) -> None:
    found = 0
    entry = {"keys": [], "constant": True, "content": "Rare.", "extensions": {"probability": 50}}
    chat = chat_of(alice, "Hello.")
    create_lorebook(alice, name="b", chat=chat, document={"entries": [entry]})
    for number in range(20):
        append_messages(alice, chat.pk, [parsed("And?", name="Wanda", is_user=True)])
        chat.refresh_from_db()
        drawn = ["Rare." in str(assemble_whole(chat, context_tokens=8000).messages) for _ in range(1 + (number < 5))]
        assert len(set(drawn)) == 1
        found += drawn[0]
    assert 3 <= found <= 17


def test_an_entry_that_sillytavern_wrote_into_a_card_keeps_plain_keys(alice: User) -> None:
    entry: dict[str, Any] = {"keys": ["C++"], "content": "Plain.", "use_regex": True, "enabled": True}
    entry["extensions"] = {"selectiveLogic": 0, "useProbability": True, "probability": 100}
    chat = chat_of(alice, "CCC")
    book = create_lorebook(alice, name="b", chat=chat, document={"entries": [entry]})
    assert book.document["entries"][0]["use_regex"] is False
    assert "Plain." not in str(assemble_whole(chat, context_tokens=8000).messages)


def test_memories_of_a_lorebook_have_no_decorators_and_remarks() -> None:
    entries = [
        {"keys": ["oven"], "content": "@@depth 3\nThe oven is old.{{// check}}", "enabled": True},
        {"keys": ["oven"], "content": "@@dont_activate\nA draft.", "enabled": True},
    ]
    found = read_book({"entries": entries}, {})
    assert [(memory.text, memory.hidden) for memory in found.memories] == [
        ("The oven is old.", False),
        ("A draft.", True),
    ]


@pytest.mark.parametrize(
    ("key", "text", "is_found"),
    [
        ("Ivan’s oven", "It is Ivan's oven.", True),
        ("don't", "Don’t go!", True),
        ("the gate", "They reach the\n gate.", True),
        ("the gate", "They reach the\u00a0gate.", True),
        ("larks", "Two la\u00adrks and an o\u200bwl.", True),
        ("ＡＢＣ", "abc", True),
        ("テスト", "ﾃｽﾄだ", True),
        ("STRASSE", "Auf der Straße.", True),
        ("\u200b", "Nothing.", False),
        ("/warm[^]*oven/", "A warm\nbig oven.", True),
        ("/[^]/", "", False),
        ("/oven[]/", "The oven.", False),
        (r"/[\]x]y/", "x]y", True),
    ],
)
def test_a_key_is_found_however_it_is_written(key: str, text: str, is_found: bool) -> None:
    book = {"entries": [{"keys": [key], "content": "Lore."}]}
    assert bool(matching_lore(book, [text], 100, len).texts) is is_found


def test_a_book_whose_numbers_nobody_set_is_used(alice: User) -> None:
    [book] = import_lorebook(alice, opened("lorebook-chub.json"), filename="b.json").lorebooks
    unset = book.document | {"scan_depth": 0, "token_budget": 0}
    assert [item.text for item in matching_lore(unset, ["The oven is on."], 100, len).texts] == ["ON"]
