"""What a member of a group was told reaches nobody else, and the member keeps it in branches and other chats."""

from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.models import Character, Chat
from apps.chats.operations import add_participant, append_messages, branch_chat, create_chat
from apps.memories.models import Knowledge, Memory, Relationship
from apps.prompts.retrieval.found import chosen_memories
from apps.prompts.turns import find_turn
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import tune
from tests.extraction.engine.story import append, read
from tests.factories import make_character, make_chat, parsed
from tests.lanes import sampled
from tests.llm.scripted_server import ScriptedServer

NAMES = ("Ada", "Ben", "Cid")
WHISPERED = {"loci": {"witnesses": ["Ada", "Ben"]}}
STOLEN, MILL = "Ada stole nine horses.", "The horses stand in the old mill."


@pytest.fixture
def characters(owner: User) -> dict[str, Character]:
    return {name: make_character(owner, name) for name in NAMES}


def group(owner: User, characters: dict[str, Character], *said: dict[str, Any], names: tuple[str, ...] = NAMES) -> Chat:
    chat = create_chat(owner, title="Group", user_name="Alice")
    for name in names:
        add_participant(owner, chat.pk, name=name, character=characters[name])
    append_messages(owner, chat.pk, [parsed(**one) for one in said])
    return Chat.objects.for_owner(owner).get(pk=chat.pk)


@pytest.fixture
def chat(owner: User, characters: dict[str, Character], server: ScriptedServer) -> Chat:
    """Ada tells Ben alone what she did; Cid isn't there."""
    secret = f"EVENT(3): {STOLEN}\nDETAIL(2): {MILL}\nFEELS: Ada -> Ben: loves(high)"
    return group(
        owner,
        characters,
        {"mes": "FACT(1): Alice is here.", "is_user": True},
        {"mes": secret, "name": "Ada", "extra": WHISPERED},
        {"mes": "Go on.", "is_user": True},
        {"mes": "Yes.", "name": "Cid"},
    )


def in_prompt(chat: Chat, character: Character) -> set[str]:
    """The texts that always stand in the character's prompt."""
    found = chosen_memories(find_turn(chat, "What did Ada do?"), ["long_term", "session"], character, [])
    return {one.text for tier in found.values() for one in tier}


@pytest.mark.parametrize("reading", sampled(["one", "separate"], 1))
def test_only_who_was_there_learns_how_somebody_feels(owner: User, chat: Chat, reading: str) -> None:
    tune(chat, reading=reading)
    assert read(chat, tiers=["long_term"]).state == "succeeded"
    rows = Relationship.objects.for_owner(owner).select_related("subject__character")
    assert {row.subject.character.name for row in rows} == {"Ada", "Ben"}


def test_a_member_knows_in_a_branch_what_it_witnessed(
    owner: User, chat: Chat, characters: dict[str, Character]
) -> None:
    read(chat, tiers=["long_term", "session"])
    branch = Chat.objects.for_owner(owner).get(pk=branch_chat(owner, chat.pk, 3).pk)
    for told in (chat, branch):
        assert {STOLEN, MILL} <= in_prompt(told, characters["Ben"])
        assert not {STOLEN, MILL} & in_prompt(told, characters["Cid"])


def test_a_member_takes_along_to_other_chats_what_it_learnt(
    owner: User, chat: Chat, characters: dict[str, Character]
) -> None:
    read(chat, tiers=["long_term", "session"])
    asked = {"mes": "What did Ada do?", "is_user": True}
    other = group(owner, characters, asked, names=("Ben", "Cid"))
    alone = make_chat(owner, "What did Ada do?", character=characters["Ben"])
    for elsewhere in (other, alone):
        assert STOLEN in in_prompt(elsewhere, characters["Ben"])
        assert MILL not in in_prompt(elsewhere, characters["Ben"]), "a detail stays in its chat"
    assert STOLEN not in in_prompt(other, characters["Cid"])


@pytest.mark.parametrize("reading", sampled(["separate", "one"], 1))
def test_a_secret_that_is_told_to_all_is_one_no_longer(owner: User, chat: Chat, reading: str) -> None:
    tune(chat, reading=reading)
    read(chat, tiers=["session"])
    assert Memory.objects.for_owner(owner).get(text=MILL).witnessed_by
    append(chat, f"DETAIL(2): {MILL}", "Yes.", is_user=True)
    append(chat, "Good.")
    read(chat, tiers=["session"])
    assert Memory.objects.for_owner(owner).get(text=MILL).witnessed_by == []


def test_without_witnesses_all_members_know_all(owner: User, chat: Chat, characters: dict[str, Character]) -> None:
    tune(chat, witnesses_only=False)
    read(chat, tiers=["long_term", "session"])
    assert {STOLEN, MILL} <= in_prompt(chat, characters["Cid"])


@pytest.mark.parametrize(
    "names",
    sampled(
        [
            "[unaware] Ben, Cid",
            "[unaware] Ben and Cid",
            "[unaware: Ben, Cid]",
            "[ahnungslos] Ben und Cid",
            "[hiding] Ada from Ben and Cid",
            "[hides] Ada -> Ben & Cid",
            "[verbirgt] Ada vor Ben und Cid",
        ],
        2,
    ),
)
def test_what_is_kept_from_several_is_kept_from_each(
    owner: User, characters: dict[str, Character], server: ScriptedServer, names: str
) -> None:
    server.reply_to(lambda request: storyteller.task_of(request) == "epistemic", f"{names} | {MILL}")
    later = ["Three days later, they stood on the quay.", "Well.", "So.", "Good."]
    said = [MILL, "I see.", "Aye.", "Hm.", "Yes.", *later]
    chat = group(owner, characters, *({"mes": text, "name": "Ada"} for text in said))
    read(chat)
    rows = Knowledge.objects.for_owner(owner).filter(chat=chat).select_related("subject", "target")
    assert sorted((row.target or row.subject).name for row in rows) == ["Ben", "Cid"]
    assert {row.text for row in rows} == {MILL}
