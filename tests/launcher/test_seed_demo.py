"""Test ``manage.py seed_demo``."""

import io
import json
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command
from pytest_django.plugin import DjangoDbBlocker

from apps.accounts.models import User
from apps.chats.models import Character, Chat, Message
from apps.extraction.models import ExtractionRun
from apps.extraction.runs import pipeline
from apps.launcher.demo import readings, seeding
from apps.memories.candidates import LEDGER_FIELDS
from apps.memories.models import Arc, Entity, JournalEntry, Memory, Passage
from apps.prompts.models import Recall
from tests.database import stored_for_a_module

SHORTER, PATH = list(seeding.STORY_FILES.items())[-1]


@pytest.fixture
def short(monkeypatch):
    """Load only the shorter story."""
    monkeypatch.setattr(seeding, "STORY_FILES", {SHORTER: PATH})


@pytest.fixture(scope="module")
def seeded_once(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """What is printed when the shorter story is loaded, once for all tests, each of which undoes what it changes."""
    with stored_for_a_module(django_db_blocker):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(seeding, "STORY_FILES", {SHORTER: PATH})
            printed = seed()
        yield printed


@pytest.fixture
def seeded(seeded_once, short, db) -> str:
    return seeded_once


def seed(**options) -> str:
    printed = io.StringIO()
    call_command("seed_demo", stdout=printed, **options)
    return printed.getvalue()


def demo() -> User:
    return User.objects.get(email="demo@loci.example")


@pytest.mark.explore
def test_the_stories_are_imported_and_get_memories_and_recalls(db, settings):
    seed()
    user = demo()
    assert user.check_password(settings.DEMO_PASSWORD)
    story = Chat.objects.for_owner(user).get(title="The Salt Road")
    assert story.message_count >= 120
    tiers = Memory.objects.for_owner(user).filter(chat=story).values_list("tier", flat=True)
    assert set(tiers) == {"session", "long_term"}
    assert Passage.objects.for_owner(user).filter(chat=story).count() == story.message_count
    recalls = list(Recall.objects.for_owner(user).filter(chat=story).select_related("message"))
    assert sum(any(item["triggered"] for item in row.memories) for row in recalls) >= 12
    dailies = JournalEntry.objects.for_owner(user).filter(granularity="daily")
    assert dailies.count() >= 3
    assert f"[chat:{story.pk}]" in "\n".join(dailies.values_list("text", flat=True))
    places = Message.objects.for_owner(user).filter(chat=story).values_list("pk", "index")
    where = {str(pk): index for pk, index in places}
    for row in recalls:
        said = [where[item["message"]] for item in row.memories if item["message"] in where]
        assert all(index < row.message.index for index in said)


def test_it_runs_once_completes_missing_parts_and_can_be_reset(seeded, monkeypatch, tmp_path):
    assert SHORTER in seeded
    beginning = tmp_path / "beginning.jsonl"
    beginning.write_text("".join(PATH.read_text(encoding="utf-8").splitlines(keepends=True)[:9]), encoding="utf-8")
    monkeypatch.setattr(seeding, "STORY_FILES", {SHORTER: beginning})
    assert SHORTER in seed(reset=True)
    before = set(Recall.objects.for_owner(demo()).values_list("pk", "updated_at"))
    assert seed() == ""
    assert set(Recall.objects.for_owner(demo()).values_list("pk", "updated_at")) == before

    Recall.objects.for_owner(demo()).delete()
    ExtractionRun.objects.for_owner(demo()).delete()
    assert "Extracted" in seed()
    assert Recall.objects.for_owner(demo()).exists()
    first = Chat.objects.for_owner(demo()).get()

    assert "Imported" in seed(reset=True)
    assert Chat.objects.for_owner(demo()).get().pk != first.pk
    assert Character.objects.for_owner(demo()).count() == 1
    assert not Memory.objects.for_owner(demo()).filter(chat=None).exists()


def test_a_failed_extraction_is_an_error(seeded, monkeypatch):
    ExtractionRun.objects.for_owner(demo()).delete()

    def fail(run_id):
        ExtractionRun.objects.for_owner(demo()).filter(pk=run_id).update(state="failed")

    monkeypatch.setattr(pipeline, "execute", fail)
    with pytest.raises(CommandError, match="could not be extracted"):
        call_command("seed_demo")


def test_the_derived_pages_of_the_demo_have_what_a_model_read(seeded, client):
    assert not Arc.objects.for_owner(demo()).filter(embedding_model="").exists(), "check_integrity would tell of them"
    client.force_login(demo())
    chat = Chat.objects.for_owner(demo()).get()
    assert list(
        Arc.objects.for_owner(demo()).filter(state="open").order_by("source__index").values_list("text", flat=True)
    ) == [
        "Ione has promised to visit Hester Groat in her cell on Thursday.",
        "Who ordered a third key to the Lamp House on the twenty-sixth of February, and what for?",
        "Emlyn is to be examined for the pilot’s badge on the eighth of January.",
    ]
    for tab in ("arcs", "ledger", "knowledge", "relationships"):
        html = client.get(f"/memories/chats/{chat.pk}/book/{tab}/").content.decode()
        assert "Read by a model, whose reading comes with the demo." in html
        assert "rough guess" not in html
    names = Entity.objects.for_owner(demo())
    hester = names.get(name="Hester Groat")
    assert (hester.kind, "Captain Groat" in hester.aliases) == ("character", True)
    assert not names.filter(name__in=["Hester", "Captain", "Christmas", "Misery"]).exists()


def test_a_story_of_which_messages_are_gone_keeps_its_guesses(seeded):
    chat = Chat.objects.for_owner(demo()).get()
    ExtractionRun.objects.for_owner(demo()).filter(backend=readings.BACKEND).delete()
    Message.objects.for_owner(demo()).filter(chat=chat, index__gte=20).delete()
    assert readings.write_reading(demo(), chat, SHORTER) is False


def test_each_line_of_the_readings_names_somebody_who_is_known():
    document = json.loads(readings.FILE.read_text(encoding="utf-8"))
    for story in document["stories"].values():
        for part in ("ledger", "knowledge", "relationships"):
            for row in story[part]:
                assert {row["of"], row.get("to", row["of"]), row.get("from", row["of"])} <= set(document["names"])
        for row in story["ledger"]:
            assert set(row["set"]) <= set(LEDGER_FIELDS[document["names"][row["of"]][0]])
