"""The gallery of a new chat: one character, a greeting of theirs, several, or none."""

import pytest
from django.urls import reverse

from apps.chats.models import Character, Chat, Message
from apps.chats.operations import create_persona
from tests.conftest import site  # noqa: F401
from tests.factories import UserFactory, make_character

NEW = "/chats/new/"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def alice(db):
    return UserFactory()


@pytest.fixture
def mira(alice):
    return make_character(
        alice, name="Mira", first_mes="Welcome.", alternate_greetings=["Go away."], tags=["stone"], extensions={"a": 1}
    )


@pytest.fixture
def salt(alice):
    return make_character(alice, name="Salt", first_mes="Hm.", group_only_greetings=["Hm, all of you."])


def first_messages(alice) -> list[str]:
    chat = Chat.objects.for_owner(alice).get()
    return [message.mes for message in Message.objects.for_owner(alice).filter(chat=chat).with_swipes()]


def names_on(page) -> list[str]:
    return [character.name for character in page.context["page"]]


def test_a_character_in_the_gallery_starts_a_chat_as_the_chosen_persona(site, alice, mira):  # noqa: F811
    persona = create_persona(alice, name="Al")
    assert f'value="{mira.pk}"' in site.get(NEW).content.decode()
    reply = site.post(NEW, {"start": mira.pk, "persona": persona.pk})
    chat = Chat.objects.for_owner(alice).get()
    assert reply.url == reverse("chats:detail", args=[chat.pk])
    assert (chat.character, chat.persona, chat.user_name) == (mira, persona, "Al")
    assert first_messages(alice) == ["Welcome."]


def test_another_greeting_is_chosen_and_the_others_stay_its_versions(site, alice, mira):  # noqa: F811
    site.post(NEW, {"start": f"{mira.pk}:1"})
    assert first_messages(alice) == ["Go away."]
    greeting = Message.objects.for_owner(alice).with_swipes().get()
    assert [swipe.mes for swipe in greeting.ordered_swipes] == ["Welcome.", "Go away."]


def test_those_who_are_ticked_form_a_group_in_which_each_greets(site, alice, mira, salt):  # noqa: F811
    site.post(NEW, {"group": "on", "member": [mira.pk, salt.pk], "user_name": "Al"})
    chat = Chat.objects.for_owner(alice).get()
    assert (chat.is_group, chat.title) == (True, "Mira, Salt")
    assert set(chat.participants.values_list("name", "character")) == {("Mira", mira.pk), ("Salt", salt.pk)}
    assert first_messages(alice) == ["Welcome.", "Hm, all of you."]


@pytest.mark.parametrize(
    "fields", [{"start": "x"}, {"start": "01a21ce4-4237-78c8-99e0-b45684e320cc"}, {"group": "on"}], ids=str
)
def test_what_does_not_exist_is_refused_on_the_page(site, alice, mira, fields):  # noqa: F811
    page = site.post(NEW, fields)
    assert page.status_code == 400
    assert 'role="alert"' in page.content.decode()
    assert not Chat.objects.for_owner(alice).exists()


def test_somebody_elses_character_starts_nothing(site, alice):  # noqa: F811
    theirs = make_character(UserFactory(), name="Theirs")
    assert site.post(NEW, {"start": theirs.pk}).status_code == 400
    assert site.post(NEW, {"group": "on", "member": [theirs.pk]}).status_code == 400
    assert site.post(reverse("characters:favourite", args=[theirs.pk])).status_code == 404


def test_the_gallery_is_searched_and_keeps_who_is_ticked(site, mira, salt):  # noqa: F811
    assert names_on(site.get(NEW, {"q": "mir"}, headers=HTMX)) == ["Mira"]
    assert names_on(site.get(NEW, {"tag": "stone"})) == ["Mira"]
    assert names_on(site.get(NEW, {"tag": "sto"})) == []
    page = site.get(NEW, {"q": "mir", "member": [salt.pk]}, headers=HTMX)
    assert [character.name for character in page.context["chosen"]] == ["Salt"]
    assert "<html" not in page.content.decode()


def test_favourites_come_first_and_are_told_to_other_programs_as_sillytavern_does(site, mira, salt):  # noqa: F811
    url = reverse("characters:favourite", args=[salt.pk])
    assert 'aria-pressed="true"' in site.post(url, headers=HTMX).content.decode()
    assert names_on(site.get(NEW)) == ["Salt", "Mira"]
    assert names_on(site.get("/characters/")) == ["Salt", "Mira"]
    salt.refresh_from_db()
    assert salt.extensions == {"fav": True}
    site.post(url)
    assert names_on(site.get(NEW)) == ["Mira", "Salt"]
    assert Character.objects.for_owner(mira.owner_id).get(pk=mira.pk).extensions == {"a": 1}
