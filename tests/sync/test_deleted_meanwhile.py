"""What a request has read may be deleted, or written by another request, before it writes: that is no server error."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.chats.models import Avatar, Character, CharacterImage, Chat
from apps.chats.operations import create_lorebook, delete_character_image, purge_chat, set_character_image
from tests.contract.conftest import client_of
from tests.exchange.cards_made import png
from tests.factories import make_character, make_chat

PATIENCE = 60  # seconds
# Not pg_stat_activity, which a transaction reads once.
IS_WAITING = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))"


@pytest.fixture
def alice(transactional_db: None) -> User:
    return User.objects.create_user("alice@example.com")


@pytest.fixture
def mira(alice: User) -> Character:
    return make_character(alice)


class Rival:
    """Runs ``work`` on a connection of its own, before or after a statement that begins with ``sql`` is executed here.

    Go on here when the work is done, or waits for what is locked here.
    """

    def __init__(self, sql: str, work: Callable[[], object], *, is_before: bool = False) -> None:
        self.sql = sql
        self.is_before = is_before
        self.thread = threading.Thread(target=self._run, args=[work])
        self.error: Exception | None = None

    def __call__(self, execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        result = None if self.is_before else execute(sql, *arguments)
        if sql.startswith(self.sql) and self.thread.ident is None:
            self.thread.start()
            while self.thread.is_alive() and not self._is_waiting():
                self.thread.join(0.01)
        return execute(sql, *arguments) if self.is_before else result

    def _is_waiting(self) -> bool:
        with connection.connection.cursor() as cursor:
            return bool(cursor.execute(IS_WAITING).fetchone()[0])

    def _run(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:
            self.error = error
        finally:
            connection.close()

    def during(self, request: Callable[[], Any]) -> Any:
        with connection.execute_wrapper(self):
            reply = request()
        assert self.thread.ident is not None, "the rival never began"
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        return reply


def pictures_of(character: Character) -> tuple[int, int]:
    """Return the numbers of pictures and of avatars."""
    images, avatars = (model.objects.for_owner(character.owner_id) for model in (CharacterImage, Avatar))
    return images.filter(character=character).count(), avatars.filter(character=character).count()


def upload(character: Character) -> None:
    set_character_image(character, png(), "image/png")


@pytest.mark.parametrize(
    ("has_picture", "work", "statement"),
    [
        (False, upload, 'INSERT INTO "chats_characterimage"'),
        (True, upload, 'DELETE FROM "chats_avatar"'),
        (True, delete_character_image, 'DELETE FROM "chats_avatar"'),
    ],
    ids=["first picture", "another picture", "deletion"],
)
def test_a_picture_and_its_avatar_stay_together_if_another_is_uploaded_meanwhile(
    mira: Character, has_picture: bool, work: Callable[[Character], object], statement: str
) -> None:
    if has_picture:
        upload(mira)
    rival = Rival(statement, lambda: upload(mira), is_before=True)
    rival.during(lambda: work(mira))
    assert rival.error is None
    assert pictures_of(mira) == (1, 1)


def delete(model: str, pk: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {model} WHERE id = %s", [pk])


READ_CHARACTER = 'SELECT "chats_character"'


@pytest.mark.parametrize("headers", [{}, {"HTTP_IDEMPOTENCY_KEY": "k1"}], ids=["without a key", "with a key"])
@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("put", "characters/{}/image/", None, 404),
        ("patch", "characters/{}/", {"name": "Anna"}, 404),
        ("post", "chats/", {"title": "The heist", "character": "{}"}, 400),
        ("post", "lorebooks/", {"name": "World", "character": "{}"}, 400),
    ],
)
def test_a_character_deleted_while_it_is_used_is_not_there(
    alice: User, mira: Character, headers: dict[str, str], method: str, path: str, body: Any, status: int
) -> None:
    client: APIClient = client_of(alice)
    client.raise_request_exception = False
    url = "/api/v1/" + path.format(mira.pk)
    if body is None:
        send = lambda: client.put(url, png(), content_type="image/png", **headers)  # noqa: E731
    else:
        body = {key: value.format(mira.pk) for key, value in body.items()}
        send = lambda: getattr(client, method)(url, body, **headers)  # noqa: E731
    reply = Rival(READ_CHARACTER, lambda: delete("chats_character", mira.pk)).during(send)
    assert reply.status_code == status, reply.content
    assert not Chat.objects.for_owner(alice).exists()


def test_a_chat_purged_while_it_is_pinned_is_not_there(alice: User) -> None:
    chat, client = make_chat(alice, "Where is the key?"), client_of(alice)
    client.raise_request_exception = False
    rival = Rival('SELECT "chats_chat"', lambda: purge_chat(alice, chat.pk))
    reply = rival.during(lambda: client.patch(f"/api/v1/chats/{chat.pk}/", {"pinned": True}))
    assert reply.status_code == 404, reply.content


def test_a_lorebook_deleted_while_it_is_renamed_is_not_there(alice: User) -> None:
    book, client = create_lorebook(alice, name="World"), client_of(alice)
    client.raise_request_exception = False
    rival = Rival('SELECT "chats_lorebook"', lambda: delete("chats_lorebook", book.pk))
    reply = rival.during(lambda: client.patch(f"/api/v1/lorebooks/{book.pk}/", {"name": "Earth"}))
    assert reply.status_code == 404, reply.content
