"""A large file is sent, read in the background while one watches, and opened when it is there."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.chats.models import ImportJob
from apps.exchange.chats import import_jobs
from apps.exchange.views import chat_uploads as importing
from tests.e2e.test_chat_page import alice, chat_file, signed_in, turn

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

__all__ = ["alice", "signed_in"]


@pytest.fixture(autouse=True)
def kept_files(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    monkeypatch.setattr(importing, "MAX_SYNC_BYTES", 10)


def choose_file(page: Page, folder: Path, text: str) -> ImportJob:
    path = folder / "The heist.jsonl"
    path.write_text(text)
    page.goto("/")
    page.locator("#import-file").set_input_files(path)
    expect(page).to_have_url(re.compile("/imports/"))
    return ImportJob.objects.for_owner(User.objects.get()).get()


def test_a_large_file_is_watched_and_then_opened(signed_in: Page, tmp_path: Path) -> None:
    page = signed_in
    job = choose_file(page, tmp_path, chat_file(3))
    expect(page.get_by_role("heading", name="The heist.jsonl")).to_be_visible()
    ImportJob.objects.for_owner(job.owner_id).update(state="running", messages=2, done=job.total // 2)
    expect(page.get_by_text("2 messages read")).to_be_visible()
    expect(page.get_by_role("progressbar", name="Progress of the import")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Importing, 50 percent.")).to_be_attached()
    ImportJob.objects.for_owner(job.owner_id).update(state="queued")
    import_jobs.run_import_job(job.pk)
    expect(page).to_have_url(re.compile("/chats/"))
    expect(turn(page, 2)).to_contain_text("Line 2")


def test_what_was_left_out_is_listed_by_line(signed_in: Page, tmp_path: Path) -> None:
    page = signed_in
    job = choose_file(page, tmp_path, chat_file(3) + "\nbroken")
    import_jobs.run_import_job(job.pk)
    expect(page.get_by_text("3 messages imported")).to_be_visible()
    expect(page.locator("ol.skipped li[value='5']")).to_contain_text("Not valid JSON")
    page.get_by_role("link", name="The heist").click()
    expect(turn(page, 2)).to_contain_text("Line 2")


def test_an_import_is_called_off(signed_in: Page, tmp_path: Path) -> None:
    page = signed_in
    job = choose_file(page, tmp_path, chat_file(3))
    page.get_by_role("button", name="Cancel the import").click()
    expect(page.get_by_text("Cancelled. Nothing from the file was stored.")).to_be_visible()
    job.refresh_from_db()
    assert job.state == "cancelled"
