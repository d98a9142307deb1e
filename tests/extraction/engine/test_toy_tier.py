"""A tier is one module, one template and one switch: the real pipeline asks, reads and keeps what it declares."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.extraction.models import ExtractionProgress, RunStep
from apps.extraction.prompts.rendering import default_template
from apps.extraction.prompts.task import TASKS
from apps.extraction.prompts.transcript import neutralize
from apps.extraction.reading.registry import TIERS
from apps.extraction.settings import schema
from apps.extraction.settings.stores import change_settings
from apps.memories.models import LedgerEntry
from tests.extraction.engine import storyteller
from tests.extraction.engine.story import read, tell
from tests.extraction.toy import gifts
from tests.factories import UserFactory
from tests.llm.scripted_server import Request, ScriptedServer

TOLD = ("Mira gave Alice a compass.", "Thank you.", "Alice gave Tom a rope.", "Good.")
REPLY = "[gift:Alice] compass\n[gift:Tom] rope\n[gift] nothing of use"


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The tier, registered as those of the product are, with its switch."""
    monkeypatch.setitem(TIERS, "gifts", gifts.TIER)
    monkeypatch.setitem(TASKS, "gifts", gifts.GIFTS)
    monkeypatch.setattr(schema.Settings, "gifts", True, raising=False)
    schema.READING_TIERS.append("gifts")
    storyteller._pattern.cache_clear()
    yield
    schema.READING_TIERS.remove("gifts")


def answer_with_gifts(server: ScriptedServer, task: str, reply: str) -> None:
    server.reply_to(lambda request: is_asked(request, task), reply)


def is_asked(request: Request, task: str) -> bool:
    return storyteller.task_of(request) == task


def owners(chat: Chat) -> dict[str, str]:
    rows = LedgerEntry.objects.for_owner(chat.owner_id).filter(chat=chat, field="owner")
    return {row.entity.name: row.value for row in rows.select_related("entity")}


@pytest.mark.parametrize(("reading", "stage"), [("separate", "gifts"), ("one", "reading")])
def test_its_lines_are_asked_for_parsed_and_stored(
    owner: User, server: ScriptedServer, reading: str, stage: str
) -> None:
    change_settings(owner, {"reading": reading})
    answer_with_gifts(server, stage, REPLY)
    chat = tell(owner, *TOLD)
    run = read(chat)
    assert (run.state, run.error) == ("succeeded", "")
    assert "gifts" in run.tiers
    assert owners(chat) == {"compass": "Alice", "rope": "Tom"}
    assert run.counts["gifts"] == 2
    [step] = RunStep.objects.for_owner(owner).filter(run=run, stage=stage)
    assert "[gift] nothing of use" in step.unused_lines
    [request] = [one for one in server.of_kind("generation") if is_asked(one, stage)]
    assert "[gift:" in request.prompt
    for row in ExtractionProgress.objects.for_owner(owner).filter(chat=chat):
        assert "gifts" in row.tiers


def test_without_a_model_it_waits_for_one(db: None) -> None:
    owner = UserFactory()
    chat = tell(owner, *TOLD)
    run = read(chat)
    assert (run.state, run.error) == ("succeeded", "")
    assert "gifts" not in run.counts


def test_its_template_has_a_part_for_each_way_to_ask() -> None:
    assert default_template("gifts").startswith("Note who has been given what.")
    assert "brass lamp" not in default_template("gifts")


def test_a_message_can_not_imitate_its_lines() -> None:
    assert neutralize("[gift:Mira] the mill") == "⟦gift:Mira⟧ the mill"


def test_lines_that_nothing_reads_are_refused() -> None:
    with pytest.raises(ValueError, match="gifts"):
        replace(gifts.TIER, from_reading=None)
