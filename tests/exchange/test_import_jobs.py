"""Imports in the background: done once, whatever happens to the worker, or not at all."""

import datetime as dt
import io
import json
import os
import threading
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.chats.models import Chat, ImportJob
from apps.chats.operations import create_chat
from apps.chats.operations import messages as storing
from apps.common import jobs
from apps.common.jobs import progress
from apps.exchange.chats import import_jobs, imports
from apps.exchange.formats import sillytavern
from apps.exchange.tasks import request_import, sweep_import_jobs
from tests.contract.conftest import client_of
from tests.factories import UserFactory

SCENE = {"scene_break": True, "scene_break_name": "I"}
HEADER = {"user_name": "Alice", "character_name": "Mira", "chat_metadata": {}}


@pytest.fixture(autouse=True)
def kept_files(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory()


def content(count: int, *more: bytes) -> bytes:
    messages = [{"name": "Mira", "is_user": False, "mes": f"{n} said"} for n in range(count)]
    return b"\n".join([*(json.dumps(line).encode() for line in (HEADER, *messages)), *more])


def upload(data: bytes, name: str = "heist.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data)


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def chats_of(owner: User) -> list[Chat]:
    return list(Chat.objects.for_owner(owner))


# The work


def test_a_job_takes_in_its_file_and_removes_it(alice: User, kept_files: Path) -> None:
    job = request_import(alice, upload(content(3, b"not JSON")), title="The heist")
    assert len(files_in(kept_files)) == 1
    import_jobs.run_import_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.messages, job.done) == ("succeeded", 3, job.total)
    assert [line["line"] for line in job.report["skipped_lines"]] == [5]
    [chat] = job.chats.all()
    assert (chat.title, chat.message_count) == ("The heist", 3)
    assert files_in(kept_files) == []


def test_a_job_is_done_once(alice: User) -> None:
    job = request_import(alice, upload(content(2)))
    for _ in range(2):
        import_jobs.run_import_job(job.pk)
    assert len(chats_of(alice)) == 1


def test_a_file_that_is_no_chat_fails_with_the_reason(alice: User, kept_files: Path) -> None:
    job = request_import(alice, upload(b"no chat at all"))
    import_jobs.run_import_job(job.pk)
    job.refresh_from_db()
    assert job.state == "failed"
    assert job.error
    assert chats_of(alice) == []
    assert files_in(kept_files) == []


def test_a_job_that_was_cancelled_stores_nothing(alice: User, kept_files: Path) -> None:
    job = request_import(alice, upload(content(2)))
    assert jobs.cancel(job).state == "cancelled"
    import_jobs.run_import_job(job.pk)
    assert chats_of(alice) == []
    with time_machine.travel(timezone.now() + dt.timedelta(minutes=2)):
        sweep_import_jobs()
    assert files_in(kept_files) == []


def stopped_at(number: int, meanwhile: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every import do something else in front of a message, on another connection, for two beats of progress."""

    def slow(messages: Iterator[Any], on_progress: Callable[[int], None]) -> Iterator[Any]:
        for count, message in enumerate(messages, start=1):
            if count == number:
                beats()
                elsewhere(meanwhile)
                beats()
            yield message
            on_progress(count)

    monkeypatch.setattr(progress, "HEARTBEAT_INTERVAL", 0.01)
    monkeypatch.setattr(
        imports.SpeakerCollector, "collect", lambda self, messages, on_progress: slow(messages, on_progress)
    )


def beats() -> None:
    time.sleep(0.2)


def elsewhere(action: Callable[[], None]) -> None:
    def act() -> None:
        action()
        connection.close()

    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def test_a_job_under_way_shows_how_far_it_is_and_can_be_called_off(
    transactional_db: None, kept_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = UserFactory()
    job = request_import(alice, upload(content(200)))
    seen: list[int] = []

    def look_and_cancel() -> None:
        seen.extend([fresh(job).messages, Chat.objects.for_owner(alice).count()])
        jobs.cancel(job)

    stopped_at(100, look_and_cancel, monkeypatch)
    import_jobs.run_import_job(job.pk)
    assert seen == [99, 0]
    assert fresh(job).state == "cancelled"
    assert chats_of(alice) == []
    assert files_in(kept_files) == []


def test_a_worker_that_was_thought_dead_leaves_the_job_to_the_next(
    transactional_db: None, kept_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = UserFactory()
    job = request_import(alice, upload(content(200)))

    def claim_again() -> None:
        ImportJob.objects.for_owner(alice).update(claim=uuid.uuid4(), heartbeat_at=timezone.now())

    with monkeypatch.context() as patched:
        stopped_at(100, claim_again, patched)
        import_jobs.run_import_job(job.pk)
    assert (fresh(job).state, chats_of(alice), len(files_in(kept_files))) == ("running", [], 1)

    with time_machine.travel(timezone.now() + dt.timedelta(minutes=2)):
        import_jobs.run_import_job(job.pk)
    assert (fresh(job).state, len(chats_of(alice)), files_in(kept_files)) == ("succeeded", 1, [])


def test_an_import_waits_for_nobody_who_waits_for_it(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its progress can't be written while the account is being deleted, which waits for the import in its turn."""
    alice = UserFactory()
    job = request_import(alice, upload(content(200)))
    deletion = threading.Thread(target=lambda: (ImportJob.objects.for_owner(alice).delete(), connection.close()))
    stopped_at(100, deletion.start, monkeypatch)
    import_jobs.run_import_job(job.pk)
    deletion.join(timeout=20)
    assert not deletion.is_alive()
    assert not ImportJob.objects.for_owner(alice).exists()


def test_old_jobs_are_forgotten(alice: User) -> None:
    job = request_import(alice, upload(content(1)))
    import_jobs.run_import_job(job.pk)
    import_jobs.delete_ended_import_jobs(timezone.now() + dt.timedelta(days=6))
    assert ImportJob.objects.for_owner(alice).exists()
    import_jobs.delete_ended_import_jobs(timezone.now() + dt.timedelta(days=8))
    assert not ImportJob.objects.for_owner(alice).exists()
    assert len(chats_of(alice)) == 1


def test_a_job_that_every_worker_dies_of_is_given_up(alice: User, kept_files: Path) -> None:
    job = request_import(alice, upload(content(1)))
    for _ in range(jobs.MAX_CLAIMS):
        assert jobs.claim(ImportJob, job.pk) is not None
        ImportJob.objects.for_owner(alice).update(heartbeat_at=timezone.now() - dt.timedelta(minutes=2))
    assert jobs.take_lost(ImportJob, "indexing") == [job.pk]
    import_jobs.run_import_job(job.pk)
    assert fresh(job).state == "failed"
    assert chats_of(alice) == []
    with time_machine.travel(timezone.now() + dt.timedelta(minutes=2)):
        sweep_import_jobs()
    assert files_in(kept_files) == []


def test_a_job_that_waits_is_sent_to_a_worker_again_once_in_a_while(alice: User) -> None:
    job = request_import(alice, upload(content(1)))
    found = []
    for seconds in (30, 70, 80, 140):
        with time_machine.travel(job.created_at + dt.timedelta(seconds=seconds)):
            found.append(jobs.take_lost(ImportJob, "indexing"))
    assert found == [[], [job.pk], [], [job.pk]]


def test_files_without_a_job_are_removed(alice: User, kept_files: Path) -> None:
    job = request_import(alice, upload(content(1)))
    for name in ("old", "new"):
        (kept_files / "imports" / name).write_bytes(b"{}")
    yesterday = time.time() - 25 * 3600
    for name in ("old", str(job.pk)):
        os.utime(kept_files / "imports" / name, (yesterday, yesterday))
    import_jobs.delete_ended_import_jobs(timezone.now())
    assert {path.name for path in files_in(kept_files)} == {"new", str(job.pk)}


def fresh(job: ImportJob) -> ImportJob:
    job.refresh_from_db()
    return job


def wait_until(done: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.1)


# Over HTTP


def test_an_import_is_queued_watched_and_cancelled(alice: User) -> None:
    api = client_of(alice)
    reply = api.post("/api/v1/imports/", {"file": upload(content(2)), "title": "Hers"}, format="multipart")
    assert reply.status_code == 202
    document = reply.json()["import"]
    assert (document["state"], document["filename"], document["report"]) == ("queued", "heist.jsonl", None)
    import_jobs.run_import_job(document["id"])
    ended = api.get(f"/api/v1/imports/{document['id']}/").json()
    assert (ended["state"], ended["messages"], len(ended["chats"])) == ("succeeded", 2, 1)
    assert api.post(f"/api/v1/imports/{document['id']}/cancel/").json()["state"] == "succeeded"
    assert [job["id"] for job in api.get("/api/v1/imports/").json()["results"]] == [document["id"]]


@pytest.mark.parametrize("body", [{}, {"file": SimpleUploadedFile("a.jsonl", b"")}, {"file": "text"}])
def test_an_import_without_a_file_is_refused(alice: User, body: dict[str, Any]) -> None:
    reply = client_of(alice).post("/api/v1/imports/", body, format="multipart")
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"] == "/file"


def test_too_large_a_file_is_refused(alice: User, settings: Any) -> None:
    settings.IMPORT_MAX_BYTES = 50
    api: APIClient = client_of(alice)
    assert api.post("/api/v1/imports/", {"file": upload(content(2))}, format="multipart").status_code == 413


# On the page


def test_a_large_file_is_read_in_the_background(site: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.exchange.views.chat_uploads.MAX_SYNC_BYTES", 10)
    reply = site.post("/chats/import/", {"file": upload(content(2, b"{"))}, HTTP_HX_REQUEST="true")
    url = reply["HX-Redirect"]
    shown = site.get(url).content.decode()
    assert "Waiting for its turn" in shown
    assert 'every 1s"' in shown
    job_id = url.rstrip("/").rsplit("/", 1)[1]
    import_jobs.run_import_job(job_id)
    ended = site.get(url, HTTP_HX_REQUEST="true").content.decode()
    assert "2 messages imported" in ended
    assert "1 left out" in ended
    assert "heist.jsonl" in site.get("/imports/").content.decode()


def test_a_small_import_stands_among_the_recent_ones_and_its_message_leads_there(site: Client, alice: User) -> None:
    reply = site.post("/chats/import/", {"file": upload(content(2, b"{"), "small.jsonl")}, follow=True)
    [job] = ImportJob.objects.for_owner(alice)
    assert f'href="/imports/{job.pk}/"' in reply.content.decode()
    shown = site.get(f"/imports/{job.pk}/").content.decode()
    assert "2 messages imported" in shown
    assert "1 left out" in shown
    assert f"/chats/{chats_of(alice)[0].pk}/" in shown
    assert "small.jsonl" in site.get("/imports/").content.decode()


def test_what_was_no_import_is_not_among_the_recent_ones(site: Client, alice: User) -> None:
    chat = content(2, json.dumps({"name": "Alice", "is_user": True, "mes": "Who said that?"}).encode())
    for data in (b"{", chat, chat):  # the same once more: it asks first
        site.post("/chats/import/", {"file": upload(data)})
    jobs_of_alice = ImportJob.objects.for_owner(alice).order_by("pk")
    assert [job.state for job in jobs_of_alice] == ["succeeded", "paused"]


def test_when_all_went_well_the_page_goes_on_to_the_chat(site: Client, alice: User) -> None:
    job = request_import(alice, upload(content(2)))
    import_jobs.run_import_job(job.pk)
    reply = site.get(f"/imports/{job.pk}/", HTTP_HX_REQUEST="true")
    assert reply["HX-Redirect"] == f"/chats/{chats_of(alice)[0].pk}/"


def test_an_import_is_cancelled_on_its_page(site: Client, alice: User) -> None:
    job = request_import(alice, upload(content(2)))
    shown = site.get(site.post(f"/imports/{job.pk}/cancel/").url).content.decode()
    assert "Nothing from the file was stored" in shown


def test_a_card_dropped_among_the_chats_becomes_a_character(site: Client) -> None:
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira", "first_mes": "Hello."}}
    reply = site.post("/chats/import/", {"file": upload(json.dumps(card).encode(), "mira.json")})
    assert reply.url.startswith("/characters/")
    assert "Mira was added to your characters" in site.get(reply.url).content.decode()


def test_several_large_files_lead_to_the_list_of_imports(site: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.exchange.views.chat_uploads.MAX_SYNC_BYTES", 10)
    files = [upload(content(2), "one.jsonl"), upload(content(2), "two.jsonl")]
    reply = site.post("/chats/import/", {"file": files}, follow=True)
    assert reply.redirect_chain == [("/imports/", 302)]
    assert all(name in reply.content.decode() for name in ("one.jsonl", "two.jsonl"))


def test_what_is_packed_is_unpacked_in_the_background(site: Client, alice: User) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("heist.jsonl", content(2))
    reply = site.post("/chats/import/", {"file": upload(packed.getvalue(), "chats.zip")})
    job = ImportJob.objects.for_owner(alice).get()
    assert reply.url == f"/imports/{job.pk}/"
    import_jobs.run_import_job(job.pk)
    assert [chat.title for chat in chats_of(alice)] == ["heist"]


def test_a_large_card_becomes_a_character_too(site: Client, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.exchange.views.chat_uploads.MAX_SYNC_BYTES", 10)
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira", "first_mes": "Hello."}}
    assert site.post("/chats/import/", {"file": upload(json.dumps(card).encode(), "m.json")}).url.startswith("/char")
    assert not ImportJob.objects.for_owner(alice).exists()


def test_somebody_elses_import_does_not_exist(site: Client) -> None:
    job = request_import(UserFactory(), upload(content(2), "hers.jsonl"))
    assert site.get(f"/imports/{job.pk}/").status_code == 404
    assert site.post(f"/imports/{job.pk}/cancel/").status_code == 404
    assert "hers.jsonl" not in site.get("/imports/").content.decode()
    assert fresh(job).state == "queued"


# Memory


def test_messages_are_stored_in_batches_of_bounded_weight(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "MAX_BATCH_WEIGHT", 10_000)
    heavy = [{"name": "Mira", "mes": f"{n}", "extra": {"reasoning": "x" * 4000}} for n in range(7)]
    parsed = sillytavern.parse(io.BytesIO("\n".join(map(json.dumps, heavy)).encode()))
    chat = create_chat(alice, title="Heavy")
    assert [len(batch) for batch in storing.store_messages(chat, parsed.messages)] == [2, 2, 2, 1]
    assert [message.index for message in chat.messages.order_by("index")] == list(range(7))


# Exports


def test_a_chat_is_exported_in_four_formats(alice: User) -> None:
    lines = [
        HEADER,
        {"name": "Alice", "is_user": True, "mes": "Where?", "send_date": "2024-05-01T10:00:00Z"},
        {
            "name": "Mira",
            "mes": "There.",
            "extra": {"auto_recap_memory": {"scene_break": True, "scene_break_name": "I"}},
        },
        {"name": "Mira", "mes": "Unseen.", "is_system": True},
    ]
    file = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
    [chat] = imports.import_chats(alice, file, filename="The heist.jsonl").chats
    api = client_of(alice)
    url = f"/api/v1/chats/{chat.pk}/export/?format="

    def exported(query: str) -> str:
        reply = api.get(url + query)
        assert reply.status_code == 200
        return b"".join(reply.streaming_content).decode()

    assert exported("text") == "Alice: Where?\n\nMira: There.\n\n"
    assert exported("text&hidden=true").endswith("Mira: Unseen.\n\n")
    assert exported("markdown") == (
        "# The heist\n\n## 2024-05-01\n\n**Alice**\n\nWhere?\n\n**Mira**\n\nThere.\n\n* * *\n\n*I*\n\n"
    )
    document = json.loads(exported("json"))
    assert document["chat"]["title"] == "The heist"
    assert [message["mes"] for message in document["messages"]] == ["Where?", "There.", "Unseen."]
    assert 'filename="The heist.md"' in api.get(url + "markdown")["Content-Disposition"]
    assert api.get(url + "pdf").json()["errors"][0]["pointer"] == "/format"
