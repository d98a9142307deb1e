"""Secrets and private text stay out of caches, logs and other users' folders, and stored keys follow SECRET_KEY."""

import json
import logging
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.core.management import CommandError, call_command
from django.test import Client
from rest_framework.test import APIClient

from apps.llm.models import Connection
from apps.llm.operations import create_connection
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_character

pytestmark = pytest.mark.django_db


@pytest.fixture
def lines(settings: Any, caplog: pytest.LogCaptureFixture) -> Any:
    """The lines of the log, as JSON."""
    caplog.set_level(logging.INFO)  # as in service
    written: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    handler = Handler()
    described = dict(settings.LOGGING["formatters"]["json"])
    handler.setFormatter(described.pop("()")(**described))
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


def test_replies_of_the_api_are_not_cached_and_pictures_as_they_say() -> None:
    alice: APIClient = client_of(UserFactory())
    for path, status in (("chats/", 200), ("chats/none/", 404), ("memories/", 200)):
        reply = alice.get(f"/api/v1/{path}")
        assert (reply.status_code, reply["Cache-Control"]) == (status, "no-store")
    assert APIClient().get("/api/v1/chats/")["Cache-Control"] == "no-store"
    character = make_character(alice.user)
    assert "no-store" in alice.get(f"/api/v1/characters/{character.pk}/export/")["Cache-Control"]


def test_neither_queries_nor_links_of_mails_are_logged(client: Client, lines: list[str]) -> None:
    user = UserFactory()
    client.force_login(user)
    client.get("/memories/search/", {"q": "my-private-words"})
    client.logout()
    client.post("/accounts/password/reset/", {"email": user.email})
    link = re.search(r"/accounts/password/reset/key/([\w-]+)/", mail.outbox[0].body)
    assert link is not None
    client.get(link[0])
    client.get(f"/accounts/confirm-email/{'x' * 20}secret/")
    client.get(f"/accounts/invitation/{'x' * 20}secret/")

    requests = [record["request"] for line in lines if "request" in (record := json.loads(line))]
    assert "GET /memories/search/" in requests
    assert "GET /accounts/password/reset/key/…/" in requests
    log = "\n".join(lines)
    assert "my-private-words" not in log
    assert link[1] not in log
    assert "secret" not in log


def test_uploads_are_closed_to_other_users_of_the_machine(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    stored = Path(storages["default"].path(storages["default"].save("imports/a.jsonl", ContentFile(b"x"))))
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (stored, stored.parent, settings.MEDIA_ROOT)]
    assert modes == [0o600, 0o700, 0o700]


def test_stored_keys_are_sealed_again_with_the_current_secret(settings: Any, capsys: Any) -> None:
    former = settings.SECRET_KEY
    for name in ("A", "B"):
        create_connection(UserFactory(), name=name, base_url="http://127.0.0.1:9/v1", api_key=f"sk-secret-{name}")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another" * 10, [former]
    call_command("rotate_keys")
    assert capsys.readouterr().out.startswith("2 keys are encrypted")

    settings.SECRET_KEY_FALLBACKS = []
    assert {row.api_key for row in Connection._base_manager.all()} == {"sk-secret-A", "sk-secret-B"}
    settings.SECRET_KEY = "a third one" * 10
    with pytest.raises(CommandError, match="2 can't be read"):
        call_command("rotate_keys")
