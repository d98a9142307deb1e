"""What is not in the search index yet is found by its words, and the page says that indexing goes on."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.chats import operations
from apps.chats.locking import Guard
from apps.chats.operations import Patch
from apps.search.indexing import index_messages
from apps.search.unindexed import find_unindexed
from tests.factories import UserFactory, make_chat

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return UserFactory()


def test_a_message_that_waits_for_the_index_is_found_by_its_words(alice: User) -> None:
    chat = make_chat(alice, "Where is it?", "Under the BLUE stone.", title="The heist")
    site = Client()
    site.force_login(alice)
    html = site.get("/memories/search/", {"q": "stone blue"}).content.decode()
    assert "2 messages are still being indexed." in html
    assert "Under the BLUE stone." in html
    assert f"/chats/{chat.pk}/?at=1" in html
    assert "Nothing found" not in html


def test_once_all_is_indexed_nothing_is_said(alice: User) -> None:
    chat = make_chat(alice, "Under the blue stone.")
    index_messages(alice, chat)
    assert find_unindexed(alice, "blue stone").count == 0
    operations.patch_messages(alice, chat.pk, [Patch({"mes": "Under the red stone."}, index=0)], Guard(optional=True))
    unindexed = find_unindexed(alice, "red stone")
    assert (unindexed.count, [message.mes for message in unindexed.found]) == (1, ["Under the red stone."])
    assert find_unindexed(alice, "blue stone").found == []


def test_messages_of_others_and_of_deleted_chats_are_not_found(alice: User) -> None:
    make_chat(UserFactory(), "Under the blue stone.")
    operations.delete_chat(make_chat(alice, "Under the blue stone."))
    assert find_unindexed(alice, "blue").count == 0
