"""The admin site: for staff, with figures and dates, without what people wrote."""

import pytest
from django.conf import settings
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import ApiToken, User
from apps.accounts.operations import create_token
from apps.accounts.sign_in.invitations import create_invitation
from apps.chats.models import Chat
from apps.chats.operations import append_messages
from apps.extraction.models import ExtractionRun
from apps.llm.operations import record_usage, set_daily_limit
from apps.moderation.models import Rule
from apps.moderation.operations.decisions import decide
from apps.moderation.operations.looks import look_at_case
from apps.moderation.operations.reports import report
from apps.moderation.targets import find_target
from tests.factories import make_chat, parsed

PRIVATE = "Nobody else may read this"
OURS = [model for model in admin.site._registry if model.__module__.startswith("apps.")]


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice@example.com")


@pytest.fixture
def chat(alice: User) -> Chat:
    chat = make_chat(alice, PRIVATE)
    Chat.objects.for_owner(alice).update(title=PRIVATE, metadata={"note": PRIVATE})
    create_token(alice, name="laptop")
    create_invitation("", timezone.now())
    ExtractionRun.objects.create(owner_id=alice.pk, chat=chat)
    record_usage(alice, "small", 3, 4)
    set_daily_limit(alice, 500)
    Rule.objects.create(name="words", text="nothing")
    root = User.objects.create_superuser("moderator@example.com")
    message = append_messages(alice, chat.pk, [parsed(PRIVATE)]).messages[0]
    case = report(alice, find_target(alice, "message", message.pk), reason="other").case
    look_at_case(root, case.pk)
    decide(root, case.pk, "hide", reason="As it was reported.")
    return chat


@pytest.fixture
def staff(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("root@example.com", "root-password"))
    return client


def changelist(model: type) -> str:
    return reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")


@pytest.mark.parametrize("model", OURS)
def test_lists_and_entries_show_nothing_private(staff: Client, chat: Chat, model: type) -> None:
    listed = staff.get(changelist(model), {"q": "alice"})
    entries = model._base_manager.all()
    assert entries
    pages = [listed, *(staff.get(f"{changelist(model)}{entry.pk}/change/") for entry in entries)]
    for page in pages:
        assert page.status_code == 200
        assert PRIVATE not in page.content.decode()


@pytest.mark.parametrize("model", OURS)
def test_it_is_for_staff_only(client: Client, alice: User, model: type) -> None:
    client.force_login(alice)
    assert client.get(changelist(model)).status_code == 302


def test_what_people_wrote_is_not_registered() -> None:
    assert {"Message", "Swipe", "Memory", "Character", "Recall", "Connection"}.isdisjoint(
        model.__name__ for model in OURS
    )


def test_a_user_is_added_and_deleted_with_everything(staff: Client, chat: Chat, alice: User) -> None:
    fields = {"email": "new@example.com", "usable_password": "true"}
    fields |= {"password1": "long-enough-9", "password2": "long-enough-9"}
    staff.post(f"{changelist(User)}add/", fields)
    assert User.objects.filter(email="new@example.com").exists()
    staff.post(f"{changelist(User)}{alice.pk}/delete/", {"post": "yes"})
    assert not User.objects.filter(pk=alice.pk).exists()
    assert not Chat._base_manager.exists()


def test_a_token_is_revoked(staff: Client, chat: Chat, alice: User) -> None:
    token = ApiToken.objects.for_owner(alice).get()
    staff.post(changelist(ApiToken), {"action": "revoke", "_selected_action": [str(token.pk)]})
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_it_lies_where_the_settings_say(staff: Client) -> None:
    assert reverse("admin:index") == f"/{settings.ADMIN_PATH}"
