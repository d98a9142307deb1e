"""A character with another name is still the person whom memories know."""

import pytest

from apps.accounts.models import User
from apps.chats.operations import add_participant, update_character
from apps.injection.prompts.assembly import assemble
from apps.memories.models import Entity, Knowledge
from apps.memories.operations.entities import get_or_create_entity
from tests.factories import UserFactory, make_character, make_chat

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
