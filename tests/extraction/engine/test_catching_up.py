"""A long imported chat is read window by window; paused, resumed, cancelled and begun again, it misses nothing."""

import io
import json

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common import jobs
from apps.exchange.chats.imports import import_chats
from apps.extraction import tasks
from apps.extraction.models import ExtractionRun
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import resume_run, start_run
from apps.extraction.settings.stores import change_settings
from apps.memories.models import Memory
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import Meanwhile
from tests.extraction.engine.layers import state_hash, texts, told
from tests.extraction.engine.story import read, settle, taken
from tests.llm.scripted_server import ScriptedServer

MESSAGES = 60
KINDS = ("FACT", "EVENT", "PREFERENCE", "RELATIONSHIP")
MERGES = ("fact", "event", "preference", "relationship", "session")
WIDE = {"long_term_cap": 4000, "session_cap": 4000, "new_per_kind": 50} | {
    f"consolidate_{kind}": 100 for kind in MERGES
}
SYLLABLES = ("Ba", "Cle", "Do", "Fri", "Gun", "Hu", "Ire", "Jos", "Kla", "Lo", "Mar", "Nep")


def name_of(n: int) -> str:
    return SYLLABLES[n // 12 % 12] + SYLLABLES[n % 12].lower() + "rad"


def said(n: int) -> str:
    """What is remembered of a message; each of other people."""
    deeds = ("paints", "fears", "married", "robbed", "cured", "betrayed")
    return f"{name_of(n)} {deeds[n % 6]} {name_of(n + 71)}."


def imported(owner: User, messages: int = MESSAGES) -> Chat:
    lines: list[dict[str, object]] = [{"user_name": "Alice", "character_name": "Mira"}]
    for n in range(messages):
        marker = KINDS[n % 4] if n % 3 else "DETAIL"
        lines.append({"name": "Mira", "is_user": False, "mes": f"{marker}(2): {said(n)}"})
    lines.append({"name": "Alice", "is_user": True, "mes": "And now?"})
    [chat] = import_chats(owner, io.BytesIO("\n".join(map(json.dumps, lines)).encode()), filename="long.jsonl").chats
    return chat


def everything() -> list[str]:
    return sorted(map(said, range(MESSAGES)))


def test_a_long_chat_is_read_in_windows_with_progress(owner: User, server: ScriptedServer) -> None:
    change_settings(owner, WIDE)
    chat = imported(owner)
    run, _ = start_run(owner, chat)
    assert run.first is not None
    assert run.last is not None
    assert (run.first.index, run.last.index) == (0, MESSAGES)
    run = taken(run)
    assert (run.state, run.error, run.done) == ("succeeded", "", run.total)
    assert texts(chat) == everything()
    windows = [storyteller.turns_in(one) for one in server.requests if storyteller.task_of(one) == "session"]
    assert [number for window in windows for number in window] == [*range(MESSAGES + 1)]
    assert len(windows) == 3
    assert settle(chat) == []


def test_paused_resumed_cancelled_and_begun_again_nothing_is_lost_or_doubled(
    meanwhile: Meanwhile, owner: User, server: ScriptedServer
) -> None:
    change_settings(owner, WIDE)
    whole = imported(owner, 30)
    read(whole)
    expected = [row[:5] for row in told(whole) if row[0] == "memory"]

    chat = imported(owner, 30)
    Memory.objects.for_owner(owner).filter(chat=whole).update(character=None)  # nothing is known of them here
    run, _ = start_run(owner, chat)
    server.requests.clear()

    def stop(how: str) -> None:
        (jobs.pause if how == "pause" else jobs.cancel)(chat.runs.get())

    for task, how, state in (("long_term", "pause", "paused"), ("arcs", "cancel", "cancelled")):
        happened = meanwhile(task, lambda how=how: stop(how))
        assert pipeline.execute(run.pk) is False
        run.refresh_from_db()
        assert (happened, run.state) == ([task], state)
        if how == "pause":
            assert start_run(owner, chat) == (run, False)  # it is still the chat's run
            tasks.sweep_runs()
            assert pipeline.execute(run.pk) is False
            run.refresh_from_db()
            assert run.state == "paused"
            run = resume_run(run)
    stored = Memory.objects.for_owner(owner).filter(chat=chat).count()
    assert stored
    assert resume_run(run).state == "cancelled"
    run, made = start_run(owner, chat)
    assert made
    assert taken(run).state == "succeeded"
    assert [row[:5] for row in told(chat) if row[0] == "memory"] == expected
    before = state_hash(chat)
    assert settle(chat) == []
    assert state_hash(chat) == before
    assert ExtractionRun.objects.for_owner(owner).filter(chat=chat).count() == 2
