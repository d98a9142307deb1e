"""A character with another name is still the person whom memories know."""

import pytest

from apps.accounts.models import User
from apps.chats.operations import add_participant, create_persona, update_character, update_chat, update_persona
from apps.common.scoping import system_scope
from apps.memories.models import Entity, Knowledge, Memory
from apps.memories.operations.entities import edit_entity, get_or_create_entity
from tests.factories import UserFactory, make_character, make_chat, make_memory
from tests.prompts.requests import assemble

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return UserFactory()


def test_what_a_character_knows_stays_in_the_prompt_under_another_name(alice: User) -> None:
    mira = make_character(alice, "Mira")
    chat = make_chat(alice, "Hello.", "Hi.", "And now?", character=mira)
    person = get_or_create_entity(chat, "Mira", "character")
    Knowledge.objects.create(owner_id=alice.pk, chat=chat, subject=person, kind="knows", text="the code is 1234")
    update_character(mira, name="Mirabel")
    chat.refresh_from_db()
    prompt = assemble(chat, text=None, character=None, context_tokens=8000, with_history=False)
    (known,) = [filled.text for filled in prompt.slots if filled.slot.name == "epistemic"]
    assert "Mirabel knows: the code is 1234" in known
    assert get_or_create_entity(chat, "Mira") == get_or_create_entity(chat, "mirabel") == person


def test_in_a_group_too(alice: User) -> None:
    mira, chat = make_character(alice, "Mira"), make_chat(alice)
    for name, character in (("Mira", mira), ("Tom", make_character(alice, "Tom"))):
        add_participant(alice, chat.pk, name=name, character=character)
    person = get_or_create_entity(chat, "Mira", "character")
    update_character(mira, name="Mirabel")
    person.refresh_from_db()
    assert (person.name, person.aliases) == ("Mirabel", ["Mira"])


def test_neither_others_nor_things_of_the_name_are_renamed(alice: User) -> None:
    mira, other = make_character(alice, "Mira"), make_character(alice, "Tom")
    rows = [
        Entity.objects.create(owner_id=alice.pk, character=mira, name="mira", kind="place"),
        Entity.objects.create(owner_id=alice.pk, character=other, name="Mira", kind="character"),
    ]
    update_character(mira, name="Mirabel")
    for row in rows:
        row.refresh_from_db()
    assert [row.name for row in rows] == ["mira", "Mira"]


def test_two_people_of_whom_one_has_the_new_name_stay_two(alice: User) -> None:
    mira = make_character(alice, "Mira")
    for name in ("Mira", "Mirabel"):
        Entity.objects.create(owner_id=alice.pk, character=mira, name=name, kind="character")
    update_character(mira, name="Mirabel")
    assert mira.name == "Mirabel"
    assert {person.name for person in Entity.objects.for_owner(alice)} == {"Mira", "Mirabel"}


def test_memories_have_the_new_name(alice: User) -> None:
    mira = make_character(alice, "Mira")
    chat = make_chat(alice, "Hello.", character=mira)
    get_or_create_entity(chat, "Mira", "character")
    said = make_memory(chat, "Mira: “I was born in Oslo.”", triggers=["mira", "oslo"])
    whole = make_memory(chat, "Miranda met Mira's brother.", tier="session", kind="detail")
    elsewhere = make_memory(make_chat(alice, "Hello.", character=make_character(alice, "Tom")), "Mira sings.")
    update_character(mira, name="Mirabel")
    texts = {row.pk: row.text for row in Memory.objects.for_owner(alice)}
    assert texts == {
        said.pk: "Mirabel: “I was born in Oslo.”",
        whole.pk: "Miranda met Mirabel's brother.",
        elsewhere.pk: "Mira sings.",
    }
    said.refresh_from_db()
    assert "mirabel" in said.triggers
    assert Memory.objects.for_owner(alice).filter(lexemes="mirabel").exists()


def test_and_somebody_whom_the_story_names(alice: User) -> None:
    chat = make_chat(alice, "Hello.")  # without a character
    tom = get_or_create_entity(chat, "Tom", "character")
    make_memory(chat, "Tom sold the ferry.", tier="session", kind="development")
    make_memory(make_chat(UserFactory(), "Hello."), "Tom sold the ferry.", tier="session", kind="development")
    edit_entity(tom, name="Thomas \\1")  # no reference to a group
    with system_scope():
        texts = set(Memory.objects.values_list("text", flat=True))
    assert texts == {"Thomas \\1 sold the ferry.", "Tom sold the ferry."}


def test_and_the_user(alice: User) -> None:
    persona = create_persona(alice, name="Sam")
    chat = make_chat(alice, "Hello.", character=make_character(alice))
    update_chat(chat, persona=persona, user_name="Sam")
    get_or_create_entity(chat, "Sam", "character")
    memory = make_memory(chat, "Sam: “I live in Bonn.”")
    update_persona(persona, name="Alex")
    memory.refresh_from_db()
    assert memory.text == "Alex: “I live in Bonn.”"
