"""A chat that is imported again is recognised, and updated or copied as the person chooses."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.chats import operations
from apps.chats.locking import Guard
from apps.chats.models import Chat, ImportJob
from apps.chats.queries import message_window
from apps.exchange.chats import import_jobs
from apps.exchange.chats.imports import AlreadyImported, import_chats
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_memory

pytestmark = pytest.mark.django_db

STORY = [f"Turn {number}." for number in range(8)]


@pytest.fixture(autouse=True)
def kept_files(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


@pytest.fixture
def alice() -> User:
    return UserFactory()


def content(texts: list[str], character: str = "Mira") -> bytes:
    lines: list[dict[str, Any]] = [{"user_name": "Alice", "character_name": character}]
    for number, text in enumerate(texts):
        is_user = number % 2 == 1
        lines.append({"name": "Alice" if is_user else character, "is_user": is_user, "mes": text})
    return "\n".join(map(json.dumps, lines)).encode()


def take_in(owner: User, texts: list[str], existing: str = "copy", **rest: Any) -> Chat:
    return import_chats(owner, io.BytesIO(content(texts, **rest)), filename="story.jsonl", existing=existing).chats[0]


def texts_of(chat: Chat) -> list[str]:
    return [message.mes for message in message_window(chat.owner, chat.pk, 0, 200).messages]


def upload(site: Client, texts: list[str]) -> Any:
    return site.post("/chats/import/", {"file": SimpleUploadedFile("story.jsonl", content(texts))})


# What is the same chat


@pytest.mark.parametrize("texts", [STORY, [*STORY, "More."], STORY[:5], [*STORY[:6], "Other.", "End."], STORY[:2]])
def test_the_same_beginning_with_the_same_character_is_recognised(alice: User, texts: list[str]) -> None:
    chat = take_in(alice, STORY)
    with pytest.raises(AlreadyImported) as found:
        take_in(alice, texts, existing="ask")
    assert [match.chat for match in found.value.matches] == [str(chat.pk)]
    assert Chat.objects.for_owner(alice).count() == 1


@pytest.mark.parametrize(
    ("texts", "character"),
    [
        ([STORY[0], "Another answer.", "And on."], "Mira"),  # the greeting is the same in all chats
        ([STORY[0]], "Mira"),
        (STORY, "Ione"),
        (["Elsewhere.", *STORY], "Mira"),
    ],
)
def test_another_chat_is_imported_without_a_question(alice: User, texts: list[str], character: str) -> None:
    take_in(alice, STORY)
    take_in(alice, texts, existing="ask", character=character)
    assert Chat.objects.for_owner(alice).count() == 2


def test_chats_of_others_and_deleted_ones_are_not_the_same(alice: User) -> None:
    take_in(UserFactory(), STORY)
    operations.delete_chat(take_in(alice, STORY))
    take_in(alice, STORY, existing="ask")
    assert Chat.objects.for_owner(alice).count() == 1


def test_of_two_branches_the_nearer_one_is_meant(alice: User) -> None:
    take_in(alice, [*STORY[:5], "Left."])
    right = take_in(alice, [*STORY[:5], "Right.", "On."])
    take_in(alice, [*STORY[:4], "Up."])
    with pytest.raises(AlreadyImported) as found:
        take_in(alice, [*STORY[:5], "Right.", "On.", "And on."], existing="ask")
    assert [match.chat for match in found.value.matches] == [str(right.pk)]


# The update


@pytest.mark.parametrize(
    "texts",
    [
        STORY,
        [*STORY, "More.", "And more."],
        [*STORY[:7], "Swiped."],
        [*STORY[:5], "Edited.", *STORY[6:], "More."],
        [*STORY[:4], *STORY[6:]],
        [*STORY[:4], "New.", "New too.", *STORY[4:]],
        STORY[:4],
        [*STORY[:4], "A", "B", STORY[6], "C"],
    ],
)
def test_an_updated_chat_has_the_messages_of_the_file_and_keeps_the_equal_ones(alice: User, texts: list[str]) -> None:
    chat = take_in(alice, STORY)
    ids = {message.mes: message.pk for message in chat.messages.all()}
    before = Chat.objects.for_owner(alice).get().integrity
    updated = take_in(alice, texts, existing="update")
    assert Chat.objects.for_owner(alice).get().pk == updated.pk == chat.pk
    assert texts_of(updated) == texts
    kept = {message.mes: message.pk for message in updated.messages.all() if message.mes in ids}
    speakers = {message.index: message.is_user for message in updated.messages.all()}
    assert all(ids[text] == pk for text, pk in kept.items() if speakers[texts.index(text)] == (STORY.index(text) % 2))
    assert (updated.integrity == before) == (texts == STORY)


def test_memories_of_equal_messages_stay_and_the_update_is_undone(alice: User) -> None:
    chat = take_in(alice, STORY)
    memory = make_memory(chat, "Mira lost the key.", valid_from=chat.messages.get(index=2))
    updated = take_in(alice, [*STORY[:6], "Other."], existing="update")
    memory.refresh_from_db()
    assert memory.valid_from is not None
    for _ in range(2):  # the appended message, then the deleted ones
        operations.undo_change(alice, updated.pk, Guard(optional=True))
    assert texts_of(updated) == STORY


# The choice


def test_the_page_asks_before_it_stores_anything(alice: User, site: Client) -> None:
    chat = take_in(alice, STORY)
    reply = upload(site, [*STORY[:7], "Swiped.", "More."])
    job = ImportJob.objects.for_owner(alice).get()
    assert (reply["Location"], job.state) == (f"/imports/{job.pk}/", "paused")
    html = site.get(reply["Location"]).content.decode()
    assert "You have this chat already." in html
    assert "2 other messages" in html
    assert "1 of yours is not in it" in html
    assert Chat.objects.for_owner(alice).get() == chat


def test_a_file_that_brings_nothing_new_is_not_offered_as_an_update_first(alice: User, site: Client) -> None:
    take_in(alice, [*STORY, "Written here."])
    html = site.get(upload(site, STORY)["Location"]).content.decode()
    assert "the file has nothing new, 1 of yours is not in it" in html
    assert re.findall(r'class="button primary"[^>]*>\s*([^<]*[^<\s])', html) == ["Keep my chat as it is"]
    assert "Update this chat" in html


@pytest.mark.parametrize(("existing", "count"), [("update", 1), ("copy", 2)])
def test_the_choice_goes_on_with_the_import(alice: User, site: Client, existing: str, count: int) -> None:
    take_in(alice, STORY)
    reply = upload(site, [*STORY, "More."])
    site.post(f"{reply['Location']}decide/", {"existing": existing})
    job = ImportJob.objects.for_owner(alice).get()
    assert job.state == "queued"
    import_jobs.run_import_job(job.pk)
    job.refresh_from_db()
    assert job.state == "succeeded"
    assert Chat.objects.for_owner(alice).count() == count
    assert texts_of(job.chats.get()) == [*STORY, "More."]
    assert not job.file


def test_a_background_import_asks_too_and_keeps_its_file(alice: User) -> None:
    take_in(alice, STORY)
    file = SimpleUploadedFile("story.jsonl", content([*STORY, "More."]))
    job = import_jobs.create_import_job(alice, file, existing=ImportJob.Existing.ASK)
    import_jobs.run_import_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.matches[0]["added"], bool(job.file)) == ("paused", 1, True)


def test_an_import_that_nobody_decides_on_is_cancelled_after_a_week(alice: User, site: Client) -> None:
    take_in(alice, STORY)
    upload(site, STORY)
    job = ImportJob.objects.for_owner(alice).get()
    import_jobs.delete_ended_import_jobs(timezone.now() + import_jobs.JOB_RETENTION)
    job.refresh_from_db()
    assert job.state == "cancelled"


def test_a_strangers_import_is_not_decided_on(alice: User, site: Client) -> None:
    take_in(alice, STORY)
    reply = upload(site, STORY)
    stranger = Client()
    stranger.force_login(UserFactory())
    assert stranger.post(f"{reply['Location']}decide/", {"existing": "copy"}).status_code == 404
    assert site.post(f"{reply['Location']}decide/", {"existing": "ask"}).status_code == 302
    assert ImportJob.objects.for_owner(alice).get().state == "paused"


def test_the_api_copies_unless_it_is_asked_to_update(alice: User) -> None:
    api = client_of(alice)

    def post(texts: list[str], **fields: str) -> Any:
        file = SimpleUploadedFile("story.jsonl", content(texts))
        return api.post("/api/v1/chats/import/", {"file": file, **fields}, format="multipart")

    first = post(STORY).json()
    assert (post(STORY).json()["updated"], Chat.objects.for_owner(alice).count()) == ([], 2)
    latest = Chat.objects.for_owner(alice).order_by("-last_used").first()
    updated = post([*STORY, "More."], existing="update")
    assert (updated.status_code, updated.json()["updated"]) == (201, [str(latest.pk)])
    assert updated.json()["chats"][0]["message_count"] == 9
    assert first["updated"] == []
    assert post(STORY, existing="ask").status_code == 400
