"""What a reading finds out beside memories is not lost: people, profiles, ends of arcs; and where it ends."""

import time
from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import add_participant, append_messages, create_chat
from apps.extraction.models import ModelCall
from apps.extraction.progress import READING_TIERS, messages_to_extract
from apps.extraction.runs.modes import start_fresh, undo_fresh_start
from apps.extraction.runs.operations import request_run
from apps.extraction.runs.settling import invalidate_if_exists
from apps.extraction.settings.stores import change_settings
from apps.memories.models import Arc, Memory, Relationship, VersionedText
from apps.memories.operations.arcs import create_arc
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.queries.arcs import open_arcs_in
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import tune
from tests.extraction.engine.story import append, edit, read, settle, swipe, tell
from tests.factories import UserFactory, make_character, make_chat, parsed
from tests.lanes import further, sampled
from tests.llm.scripted_server import Reply, Request, ScriptedServer


@pytest.fixture(params=sampled(["one", "separate"], 1))
def reading(request: pytest.FixtureRequest, owner: User) -> str:
    change_settings(owner, {"reading": request.param})
    return str(request.param)


@pytest.fixture
def one_call(owner: User) -> None:
    change_settings(owner, {"reading": "one"})


def is_task(*names: str) -> Any:
    return lambda request: storyteller.task_of(request) in names


def feelings(owner: User) -> set[tuple[str, str, str]]:
    rows = Relationship.objects.for_owner(owner).filter(state="current")
    return {(row.subject.name, row.target.name, row.descriptor) for row in rows.select_related("subject", "target")}


@pytest.mark.usefixtures("reading")
def test_feelings_about_somebody_who_first_appears_are_kept(owner: User) -> None:
    chat = tell(owner, "Orla came in.\nFACT(2): Orla sells maps.\nFEELS: Mira -> Orla: fond(high)", "Good.", "Yes.")
    read(chat)
    assert feelings(owner) == {("Mira", "Orla", "fond")}


def test_feelings_about_nobody_in_the_story_are_not(owner: User, server: ScriptedServer, one_call: None) -> None:
    chat = tell(owner, "Hello from Marrow, said the baker.", "Good.", "Yes.")
    get_or_create_entity(chat, "Marrow", "place")
    lines = ["Mira -> Zed: fond(high)", "Mira -> Marrow: fond(high)", "Mira -> baker: fond(high)"]
    server.reply_to(is_task("reading"), "\n".join(f"[feels] {line}" for line in lines))
    read(chat)
    assert feelings(owner) == set()


def test_a_memory_whose_model_names_nobody_has_the_people_in_its_text(
    owner: User, server: ScriptedServer, one_call: None
) -> None:
    chat = tell(owner, "Hello.", "Good.", "Yes.")
    get_or_create_entity(chat, "Orla", "character")
    server.reply_to(is_task("reading"), "[detail:2:source=0] Alice gave Orla a brass key.")
    read(chat)
    (memory,) = Memory.objects.for_owner(owner)
    assert sorted(memory.entity_names) == ["Alice", "Orla"]


def test_a_reading_asks_for_the_names_in_session_memories(owner: User, server: ScriptedServer, one_call: None) -> None:
    read(tell(owner, "DETAIL(1): Orla carries a brass key.", "Good.", "Yes."))
    (request,) = [one for one in server.requests if storyteller.task_of(one) == "reading"]
    session = storyteller.value_of(request, "forms").partition("scene (where")[0]
    assert "entity=" in session
    assert Memory.objects.for_owner(owner).get().entity_names == ["Orla"]


def profile_of(chat: Chat) -> VersionedText:
    return VersionedText.objects.for_owner(chat.owner_id).get(chat=chat, kind="profile", state="current")


@pytest.mark.usefixtures("reading")
def test_a_profile_is_made_again_for_a_new_scene_and_a_resolved_arc(owner: User) -> None:
    chat = tell(owner, "FACT(2): Mira lives in Marrow.\nARC: Mira is looking for her brother Tom.", "Good.", "Yes.")
    tune(chat, scene_min_messages=1)
    read(chat)
    first = profile_of(chat)
    append(chat, "FACT(2): Mira owns a ferry.", "Good.", is_user=True)
    read(chat)
    assert profile_of(chat) == first
    append(chat, "Three days later, they stood on the quay.", "Good.", is_user=True)
    read(chat)
    second = profile_of(chat)
    assert second != first
    append(chat, "RESOLVED: Mira found her brother Tom.", "Good.", is_user=True)
    read(chat)
    third = profile_of(chat)
    assert third != second
    append(chat, "FACT(2): Mira sings.", "Good.", is_user=True)
    read(chat)
    assert profile_of(chat) == third


@pytest.mark.parametrize(("profile", "is_told"), [("B", True), ("A", False)])
def test_a_resolved_arc_gets_a_summary_where_the_model_is_large(
    owner: User, profile: str, is_told: bool, one_call: None
) -> None:
    chat = tell(owner, "ARC: Mira is looking for her brother Tom.", "Good.", "Yes.")
    tune(chat, profile=profile)
    read(chat)
    append(chat, "RESOLVED: Mira found her brother Tom.", "Good.", is_user=True)
    read(chat)
    (arc,) = Arc.objects.for_owner(owner).filter(state="resolved")
    assert arc.summary.startswith("It came to its end: ") is is_told


def test_a_fresh_start_leaves_what_persists_across_the_chats_of_a_character(owner: User) -> None:
    mira = make_character(owner)
    here, elsewhere = (make_chat(owner, "Hello.", "Good.", character=mira) for _ in range(2))
    lasting = create_arc(here, "Mira is looking for her brother Tom.", editor="alice", persistent=True)
    create_arc(here, "The ferry is late.", editor="alice")
    other = UserFactory()
    theirs = create_arc(make_chat(other, "Hello.", character=make_character(other)), "Theirs.", editor="x")
    start_fresh(owner, here)
    assert list(open_arcs_in(elsewhere)) == list(open_arcs_in(here)) == [lasting]
    undo_fresh_start(owner, here)
    assert open_arcs_in(here).count() == 2
    theirs.refresh_from_db()
    assert theirs.state == "open"


# Where a window ends


def group(owner: User) -> Chat:
    chat = create_chat(owner, title="The council", user_name="Alice")
    for name in ("Ada", "Ben"):
        add_participant(owner, chat.pk, name=name, character=make_character(owner, name))
    return Chat.objects.for_owner(owner).get(pk=chat.pk)


def unread(chat: Chat) -> list[int]:
    return list(messages_to_extract(chat, READING_TIERS, 0, 100).values_list("index", flat=True))


def test_what_a_group_s_run_reads_ends_with_the_round(owner: User) -> None:
    chat = group(owner)
    tune(chat, continuity=False)
    said = [parsed("Well?", is_user=True), parsed("FACT(2): Ada sings.", name="Ada"), parsed("Yes.", name="Ben")]
    append_messages(owner, chat.pk, said)
    assert settle(chat) == []  # others may still answer
    append_messages(owner, chat.pk, [parsed("And now?", is_user=True), parsed("FACT(2): Ada paints.", name="Ada")])
    (run,) = settle(chat)
    assert run.state == "succeeded"
    assert unread(chat) == [3, 4]
    append_messages(owner, chat.pk, [parsed("FACT(2): Ben cooks.", name="Ben")])
    assert settle(chat) == []
    append_messages(owner, chat.pk, [parsed("Good night.", is_user=True)])
    settle(chat)
    assert unread(chat) == [6]


def test_a_person_may_have_a_round_read_that_is_under_way(owner: User) -> None:
    chat = group(owner)
    said = [parsed("Well?", is_user=True), parsed("FACT(2): Ada sings.", name="Ada"), parsed("Yes.", name="Ben")]
    append_messages(owner, chat.pk, said)
    read(chat)
    assert unread(chat) == [2]


def test_a_person_may_have_the_round_added_to_a_run_that_is_queued(owner: User) -> None:
    chat = group(owner)
    said = [parsed("Well?", is_user=True), parsed("FACT(2): Ada sings.", name="Ada"), parsed("Yes.", name="Ben")]
    append_messages(owner, chat.pk, [*said, parsed("And now?", is_user=True), parsed("We sing.", name="Ada")])
    run, _ = request_run(owner, chat, tiers=["session"], automatic=True)
    assert run.last is not None
    assert run.last.index == 2
    run, created = request_run(owner, chat, tiers=["session"], asked=True)
    assert run.last is not None
    assert (created, run.last.index) == (False, 3)


# What is changed during a call


@pytest.mark.parametrize("change", [edit, further(swipe)])
def test_a_call_that_reads_a_changed_message_is_given_up(
    owner: User, server: ScriptedServer, transactional_db: None, one_call: None, change: Any
) -> None:
    from django.db import connection

    chat = tell(owner, "FACT(2): Mira lives in Marrow.", "Good.", "Yes.")
    changed: list[float] = []

    def change_and_answer_late(request: Request) -> Reply:
        if changed:
            return Reply(storyteller.answer(request))
        change(chat, 0, "FACT(2): Mira lives in Oslo.")
        connection.close()
        changed.append(time.monotonic())
        return Reply(storyteller.answer(request), delay=30)

    server.reply_to(is_task("reading"), change_and_answer_late)
    run = read(chat)
    assert time.monotonic() - changed[0] < 15  # seconds
    assert (run.state, run.error) == ("succeeded", "")
    assert [row.text for row in Memory.objects.for_owner(owner).active()] == ["Mira lives in Oslo."]
    assert not ModelCall.objects.for_owner(owner).filter(reply__contains="Marrow").exists()


def test_an_edit_elsewhere_gives_no_call_up(
    owner: User, server: ScriptedServer, transactional_db: None, one_call: None
) -> None:
    from django.db import connection

    chat = tell(owner, "FACT(2): Mira lives in Marrow.", "Good.", "Yes.", "And?")
    calls: list[str] = []

    def swipe_the_newest(request: Request) -> Reply:
        calls.append("reading")
        if len(calls) == 1:
            swipe(chat, 3, "And then?")
            connection.close()
        return Reply(storyteller.answer(request), delay=2)

    server.reply_to(is_task("reading"), swipe_the_newest)
    read(chat, tiers=["long_term"])
    assert calls == ["reading"]
    invalidate_if_exists(chat)
    assert Memory.objects.for_owner(owner).active().count() == 1
