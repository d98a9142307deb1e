"""A form that is refused after it was filled in comes back as it was, and a page without it shows the texts."""

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Chat
from apps.chats.operations import Patch, patch_messages
from apps.memories.models import Arc
from apps.moderation.operations.decisions import decide
from apps.moderation.operations.reports import report
from apps.moderation.targets import find_target
from tests.factories import UserFactory, make_character, make_chat
from tests.moderation.conftest import make_staff

WRITTEN = "A text that took a while to write."


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory()


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "Where is it?", "Here.", character=make_character(alice))


def test_what_no_room_is_left_for(site: Client, chat: Chat, settings: Any) -> None:
    settings.QUOTA_MESSAGES = settings.QUOTA_CHATS = 1
    message = chat.messages.get(index=0)
    forms = {
        f"/chats/{chat.pk}/messages/{message.pk}/insert/": {"text": WRITTEN, "name": "Alice", "speaker": "user"},
        f"/chats/{chat.pk}/write/": {"text": WRITTEN},
        "/chats/new/": {"title": WRITTEN, "user_name": "Alice"},
    }
    for url, form in forms.items():
        reply = site.post(url, form)
        assert (reply.status_code, WRITTEN in reply.content.decode()) == (400, True), url


def test_a_group_member_who_is_one_already(site: Client, chat: Chat) -> None:
    url = f"/chats/{chat.pk}/people/"
    site.post(url, {"name": "Tom Sawyer"})
    reply = site.post(url, {"name": "Tom Sawyer"})
    assert (reply.status_code, 'value="Tom Sawyer"' in reply.content.decode()) == (400, True)


def test_a_significant_day_that_is_too_long(site: Client, alice: User) -> None:
    form = {"day": "2026-11-21", "title": WRITTEN, "text": "x" * 200_000}
    reply = site.post("/journal/", form)
    assert (reply.status_code, WRITTEN in reply.content.decode()) == (400, True)


@pytest.mark.parametrize("part", ["arc", "scene"])
def test_a_correction_without_a_form_of_its_own(site: Client, chat: Chat, part: str) -> None:
    arc = Arc.objects.create(owner_id=chat.owner_id, chat=chat, source=chat.messages.get(index=0), text="Find it.")
    scene = chat.messages.get(index=0)
    breaks = Patch(id=scene.pk, extra={"auto_recap_memory": {"scene_break": True}})
    patch_messages(chat.owner_id, chat.pk, [breaks], Guard(optional=True))
    forms = {
        "arc": (f"/memories/arcs/{arc.pk}/edit/", {"text": "x" * 1001, "summary": WRITTEN}),
        "scene": (f"/chats/{chat.pk}/scenes/{scene.pk}/", {"name": "x" * 201, "recap": WRITTEN}),
    }
    reply = site.post(*forms[part])
    page = reply.content.decode()
    assert (reply.status_code, WRITTEN in page, "was not saved" in page) == (400, True, True)


def test_an_answer_to_moderators_that_is_too_long(site: Client, alice: User, chat: Chat) -> None:
    case = report(alice, find_target(alice, "message", chat.messages.get(index=1).pk), reason="other").case
    decide(make_staff("mod@example.com", "Moderators"), case.pk, "hide", reason="Rule 3.")
    notice = case.notices.get(is_about_report=False)
    reply = site.post(f"/settings/moderation/notices/{notice.pk}/answer/", {"text": f"{WRITTEN} {'x ' * 3000}"})
    assert (reply.status_code, WRITTEN in reply.content.decode()) == (400, True)


def test_a_page_without_the_form_shows_no_secret(site: Client, chat: Chat) -> None:
    arc = Arc.objects.create(owner_id=chat.owner_id, chat=chat, source=chat.messages.get(index=0), text="Find it.")
    form = {"text": "", "summary": WRITTEN, "password": "a secret phrase", "api_key": "another secret"}
    page = site.post(f"/memories/arcs/{arc.pk}/edit/", form).content.decode()
    assert WRITTEN in page
    assert "secret" not in page


def test_within_a_page_the_reason_is_a_message_and_the_form_stays(site: Client, chat: Chat) -> None:
    """The part of the page with the form is not replaced."""
    arc = Arc.objects.create(owner_id=chat.owner_id, chat=chat, source=chat.messages.get(index=0), text="Find it.")
    reply = site.post(f"/memories/arcs/{arc.pk}/edit/", {"text": ""}, headers={"HX-Request": "true"})
    assert (reply.status_code, reply["HX-Retarget"]) == (400, "#toasts")
