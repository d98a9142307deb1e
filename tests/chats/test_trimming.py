"""The log of changes is kept for a time and for a number of writes; what is older is gone for good."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.locking import Guard, lock_chat
from apps.chats.models import Chat, ChatChange
from apps.chats.operations import Patch, append_messages, create_chat, patch_messages, trim_change_logs
from apps.chats.operations.undo import NothingToUndo, undo_change
from apps.chats.queries.changes import HistoryGone, changes_since
from tests.factories import parsed

DAY = dt.timedelta(days=1)


def written(owner: User, writes: int) -> Chat:
    chat = create_chat(owner, title="Long")
    for number in range(writes - 1):
        chat = append_messages(owner, chat.pk, [parsed(str(number))]).chat
    return chat


def revs(chat: Chat) -> list[int]:
    return list(chat.changes.order_by("rev").values_list("rev", flat=True))


def age(chat: Chat, days: int, up_to: int) -> None:
    ChatChange.objects.for_owner(chat.owner_id).filter(chat=chat, rev__lte=up_to).update(at=timezone.now() - days * DAY)


def trim_in_another_connection() -> int:
    try:
        return trim_change_logs(timezone.now())
    finally:
        connection.close()


@pytest.fixture
def alice(db: None, settings: Any) -> User:
    settings.CHANGE_LOG_DAYS, settings.CHANGE_LOG_MIN = 30, 3
    return User.objects.create_user("alice@example.com")


def test_what_is_old_is_forgotten_but_for_the_last_writes(alice: User) -> None:
    busy, quiet = written(alice, 6), written(alice, 2)
    age(busy, 31, up_to=6)
    age(quiet, 400, up_to=2)
    assert trim_change_logs(timezone.now()) == 3
    assert (revs(busy), revs(quiet)) == ([4, 5, 6], [1, 2])
    assert trim_change_logs(timezone.now()) == 0


def test_deleted_text_is_gone_once_the_time_for_an_undo_is_over(alice: User) -> None:
    chat = append_messages(alice, create_chat(alice, title="Short").pk, [parsed("A secret.")]).chat
    patch = Patch(id=chat.messages.get().pk, delete=True)
    chat = patch_messages(alice, chat.pk, [patch], Guard(optional=True)).chat
    log = ChatChange.objects.for_owner(alice).filter(chat=chat, before__icontains="A secret.")
    age(chat, 29, up_to=chat.rev)
    trim_change_logs(timezone.now())
    assert log.exists()
    age(chat, 31, up_to=chat.rev)
    trim_change_logs(timezone.now())
    assert not log.exists()
    assert revs(chat) == list(range(1, chat.rev + 1))
    with pytest.raises(NothingToUndo):
        undo_change(alice, chat.pk, Guard(optional=True), rev=chat.rev)


def test_what_is_young_is_kept_whatever_its_number(alice: User) -> None:
    chat = written(alice, 6)
    age(chat, 29, up_to=6)
    assert trim_change_logs(timezone.now()) == 0
    assert len(revs(chat)) == 6


def test_a_client_from_before_has_to_read_anew(alice: User) -> None:
    chat = written(alice, 6)
    age(chat, 31, up_to=2)
    trim_change_logs(timezone.now())
    assert [entry.rev for entry in changes_since(chat, 2).entries] == [3, 4, 5, 6]
    with pytest.raises(HistoryGone):
        changes_since(chat, 1)


@pytest.mark.django_db(transaction=True)
def test_the_log_of_a_chat_in_use_stays_as_it_is(settings: Any) -> None:
    """Replies are read in several statements under the chat's lock, and must not miss what goes between two."""
    settings.CHANGE_LOG_DAYS, settings.CHANGE_LOG_MIN = 30, 3
    used, other = (written(User.objects.create_user(f"{name}@example.com"), 6) for name in ("alice", "bob"))
    for chat in (used, other):
        age(chat, 31, up_to=6)
    with ThreadPoolExecutor(1) as executor, transaction.atomic():
        lock_chat(used.owner_id, used.pk)
        assert executor.submit(trim_in_another_connection).result() == 3
        assert (len(revs(used)), len(revs(other))) == (6, 3)
    assert trim_change_logs(timezone.now()) == 3
