"""Alice, whose things are reported, and two moderators."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.moderation.models import Case
from apps.moderation.operations.reports import report
from apps.moderation.roles import ADMINISTRATORS, MODERATORS, create_roles
from apps.moderation.targets import find_target
from tests.factories import UserFactory, make_chat

SECRET = "Nobody else reads this"


def make_staff(email: str, role: str) -> User:
    create_roles()
    user: User = User.objects.create_user(email, "a-long-password", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    return user


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory(email="alice@example.com")


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "Where is it?", SECRET, "I see.")


@pytest.fixture
def message(chat: Chat) -> Message:
    return Message.objects.for_owner(chat.owner_id).get(chat=chat, index=1)


@pytest.fixture
def case(alice: User, message: Message) -> Case:
    return report(alice, find_target(alice, "message", message.pk), reason="other", note="Look at that.").case


@pytest.fixture
def moderator(db: None) -> User:
    return make_staff("mod@example.com", MODERATORS)


@pytest.fixture
def administrator(db: None) -> User:
    return make_staff("admin@example.com", ADMINISTRATORS)
