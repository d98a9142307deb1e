"""What workers stored in English is shown in the language of the reader."""

import pytest
from django.utils import translation

from apps.chats.models import ImportJob
from apps.common.jobs import Job
from apps.common.stored_texts import translated
from tests.factories import UserFactory
from tests.moderation.conftest import signed_in

GERMAN = {
    "The model said nothing.": "Das Modell hat nichts gesagt.",
    "Its worker stopped 3 times at the same step.": "Der Prozess ist 3 Mal am selben Schritt stehen geblieben.",
    "The file ends too early. The rest of the file was left out.": (
        "Die Datei endet zu früh. Der Rest der Datei wurde ausgelassen."
    ),
    "There is no message in it. Not a JSON object.": "Es ist keine Nachricht darin. Kein JSON-Objekt.",
    "The page could not run the model. It says: out of memory": (
        "Die Seite konnte das Modell nicht ausführen. Sie meldet: out of memory"
    ),
    "The page could not run the model. It says: Successfully deleted 3 files.": (
        "Die Seite konnte das Modell nicht ausführen. Sie meldet: Successfully deleted 3 files."
    ),
}
OTHERS = [
    "",
    "CUDA error 7",
    "Mira said nothing. She left.",
    "100 % (of it)s",
    "Successfully deleted 3 files.",
    "x object with primary key %(key)r does not exist.",
    "The page could not run the model. It says: " * 500,
]


@pytest.mark.parametrize(("stored", "german"), GERMAN.items())
def test_a_stored_text_is_shown_in_the_language_of_the_reader(stored: str, german: str) -> None:
    assert translated(stored) == stored
    with translation.override("de"):
        assert translated(stored) == german


@pytest.mark.parametrize("text", OTHERS)
def test_what_others_wrote_stays_as_it_is(text: str) -> None:
    with translation.override("de"):
        assert translated(text) == text


@pytest.mark.django_db
def test_the_page_of_an_import_says_in_german_what_was_left_out() -> None:
    reader = UserFactory(language="de")
    report = {"warnings": [], "skipped_lines": [{"line": 3, "reason": "Nested too deeply."}], "imported": 1}
    common = {"owner_id": reader.pk, "filename": "a.jsonl", "finished_at": "2026-01-01T00:00Z"}
    failed = ImportJob.objects.create(state=Job.State.FAILED, error="The archive is damaged.", **common)
    partial = ImportJob.objects.create(state=Job.State.SUCCEEDED, report=report, **common)
    browser = signed_in(reader)
    assert "Das Archiv ist beschädigt." in browser.get(f"/imports/{failed.pk}/").content.decode()
    assert "Zu tief verschachtelt." in browser.get(f"/imports/{partial.pk}/").content.decode()
