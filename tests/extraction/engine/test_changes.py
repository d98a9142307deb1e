"""What was said is changed, while the model reads it or afterwards: what came from lost text is taken back, exactly."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.message_data.namespaces import leave_out_change
from apps.chats.models import Chat
from apps.chats.operations import branch_chat, purge_chat
from apps.chats.operations.patches import Patch
from apps.extraction import tasks
from apps.extraction.models import ExtractionRun, ModelCall
from apps.extraction.runs.operations import start_run
from apps.extraction.runs.queries import is_due
from apps.extraction.runs.settling import invalidate_if_exists
from apps.extraction.settings.stores import change_settings
from apps.memories.models import Arc, Knowledge, LedgerEntry, Memory, Relationship, Scene
from apps.memories.operations import edit_memory
from apps.moderation.operations.decisions import decide
from apps.moderation.operations.reports import report
from apps.moderation.roles import MODERATORS
from apps.moderation.targets import find_target
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import MEMORIES_ALONE, Meanwhile, tune
from tests.extraction.engine.layers import sources_of, state_hash, texts, told
from tests.extraction.engine.story import (
    STORY,
    append,
    delete,
    edit,
    message,
    patch,
    read,
    settle,
    swipe,
    swipe_back,
    tell,
    undo,
)
from tests.lanes import paired, sampled
from tests.llm.scripted_server import ScriptedServer
from tests.moderation.conftest import make_staff

PLAIN = ("Where do you live?", "FACT(2): Mira lives in Oslo.", "I see.", "Yes.", "Good.")
ROME = "FACT(2): Mira lives in Rome."
CHANGES: dict[str, Callable[[Chat], None]] = {
    "swiped": lambda chat: swipe(chat, 1, ROME),
    "edited": lambda chat: edit(chat, 1, ROME),
    "deleted": lambda chat: delete(chat, 1),
}


def memory(chat: Chat, text: str, **filters: Any) -> Memory:
    return Memory.objects.for_owner(chat.owner_id).filter(chat=chat, text=text, **filters).latest("pk")


# While the model is answering


@pytest.mark.parametrize(("change", "task"), paired(CHANGES, ["long_term", "profiles"]))
def test_a_message_changed_in_flight_leaves_nothing_of_its_old_text(
    change: str, task: str, meanwhile: Meanwhile, owner: User
) -> None:
    chat = tell(owner, *PLAIN)
    happened = meanwhile(task, lambda: CHANGES[change](chat))
    run = read(chat)
    assert (happened, run.state) == ([task], "succeeded")
    settle(chat)
    assert texts(chat) == ([] if change == "deleted" else ["Mira lives in Rome."])
    for old in Memory.objects.for_owner(owner).filter(chat=chat).exclude(state="active"):
        assert (old.text, old.retired_reason) == (
            "Mira lives in Oslo.", "source_gone" if change == "deleted" else "source_changed",
        )  # fmt: skip


def test_a_message_inserted_before_the_window_in_flight_mixes_nothing_up(meanwhile: Meanwhile, owner: User) -> None:
    chat = tell(owner, *PLAIN)
    meanwhile("long_term", lambda: delete(chat, 0))
    run = read(chat)
    assert run.state == "succeeded"
    assert sources_of(memory(chat, "Mira lives in Oslo.")) == [0]
    settle(chat)
    assert texts(chat) == ["Mira lives in Oslo."]


@pytest.mark.parametrize(("index", "task"), paired([1, 0], ["long_term", "profiles"]))
def test_a_message_hidden_in_flight_is_neither_stored_nor_told(
    index: int, task: str, meanwhile: Meanwhile, owner: User, server: ScriptedServer
) -> None:
    """A moderator's decision changes neither the chat's rev nor the message's."""
    chat = tell(owner, "FACT(2): Alice lives in Bonn.", "FACT(2): Mira lives in Oslo.", "I see.", "Yes.", "Good.")
    hidden = message(chat, index)
    moderator = make_staff("mod@example.com", MODERATORS)

    def hide() -> None:
        case = report(owner, find_target(owner, "message", hidden.pk), reason="other").case
        decide(moderator, case.pk, "hide", reason="It is against rule 3.")

    happened = meanwhile(task, hide)
    asked = len(server.requests)
    run = read(chat)
    settle(chat)
    assert (happened, run.state) == ([task], "succeeded")
    assert texts(chat) == ["Alice lives in Bonn." if index else "Mira lives in Oslo."]
    word = "Oslo" if index else "Bonn"
    assert not any(word in repr(row) for row in told(chat) if "retired" not in row)
    asked_after = [one for one in server.requests[asked:] if one.kind != "embeddings"]
    while storyteller.task_of(asked_after.pop(0)) != task:
        pass
    assert asked_after
    assert not any(word.encode() in one.raw for one in asked_after)


def test_a_chat_that_changes_at_every_try_fails_its_run_and_is_read_later(
    server: ScriptedServer, owner: User, transactional_db: None
) -> None:
    chat = tell(owner, *PLAIN)
    count: list[int] = []

    def change(request: Any) -> str:
        from django.db import connection

        count.append(1)
        edit(chat, 1, f"FACT(2): Mira lives in house {len(count)}.")
        connection.close()
        return storyteller.answer(request)

    server.reply_to(lambda request: storyteller.task_of(request) == "session" and len(count) < 3, change)
    run = read(chat)
    assert (run.state, len(count)) == ("failed", 3)
    assert "kept changing" in run.error
    assert texts(chat) == []
    settle(chat)
    assert texts(chat) == ["Mira lives in house 3."]


def test_the_newest_reply_is_never_read_and_a_swipe_of_it_teaches_nothing(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "Where do you live?", "FACT(2): Mira lives in Oslo.")
    for text in (ROME, "FACT(2): Mira lives in Lima."):
        settle(chat)
        swipe(chat, 1, text)
    settle(chat)
    assert texts(chat) == []
    append(chat, "Good.", is_user=True)
    settle(chat)
    assert texts(chat) == ["Mira lives in Lima."]
    shown = [text for one in server.requests for text in storyteller.turns_in(one).values()]
    assert not any("Oslo" in text or "Rome" in text for text in shown)
    assert Memory.objects.for_owner(owner).count() == 1


def test_a_chat_deleted_in_flight_ends_its_run_and_leaves_no_rows(meanwhile: Meanwhile, owner: User) -> None:
    for task in ("session", "long_term", "profiles"):
        chat = tell(owner, *STORY[:7])
        pk = chat.pk
        meanwhile(task, lambda pk=pk: purge_chat(owner, pk))
        run, _ = start_run(owner, chat)
        tasks.run_extraction(run_id=str(run.pk))
        assert not ExtractionRun.objects.for_owner(owner).filter(chat_id=pk).exists()
        assert not ModelCall.objects.for_owner(owner).filter(run_id=run.pk).exists()
        for model in (Scene, Knowledge, LedgerEntry):
            assert not model.objects.for_owner(owner).filter(chat_id=pk).exists()
        tasks.run_extraction(run_id=str(run.pk))
        tasks.sweep_runs()
    other = tell(owner, *PLAIN)
    assert read(other).state == "succeeded"


# Afterwards


def learnt(owner: User) -> Chat:
    """Mira lived in Oslo, and lives in Rome since message 3."""
    chat = tell(owner, "Hello.", "FACT(2): Mira lives in Oslo.", "I see.", "FACT(2): Mira lives in Rome now.", "Good.")
    tune(chat, **MEMORIES_ALONE)
    read(chat)
    old, new = memory(chat, "Mira lives in Oslo."), memory(chat, "Mira lives in Rome now.")
    assert (old.state, old.superseded_by_id, new.state) == ("superseded", new.pk, "active")
    return chat


def leave_out(chat: Chat, index: int, out: bool = True) -> None:
    patch(chat, Patch(index=index, data=leave_out_change(out)))


@pytest.mark.parametrize("reading", sampled(["separate", "one"], 1))
def test_a_message_that_is_left_out_teaches_nothing_until_it_is_taken_back(
    owner: User, server: ScriptedServer, reading: str
) -> None:
    chat = tell(
        owner, "Hello.", "FACT(2): Mira lives in Oslo.\nARC: Mira is looking for Tom.", "I see.", "Yes.", "Good."
    )
    tune(chat, reading=reading)
    read(chat)
    assert texts(chat) == ["Mira lives in Oslo."]
    leave_out(chat, 1)
    settle(chat)
    left = memory(chat, "Mira lives in Oslo.")
    assert (texts(chat), left.retired_reason) == ([], "source_changed")
    assert not Arc.objects.for_owner(owner).filter(chat=chat, state=Arc.State.OPEN).exists()
    server.requests.clear()
    append(chat, "DETAIL(1): Mira yawns.", "Fine.", is_user=True)
    settle(chat)
    assert texts(chat) == ["Mira yawns."]
    assert not any("Oslo" in text for one in server.requests for text in storyteller.turns_in(one).values())
    leave_out(chat, 1, False)
    settle(chat)
    assert sorted(texts(chat)) == ["Mira lives in Oslo.", "Mira yawns."]


def test_leaving_out_and_taking_back_are_undone(owner: User) -> None:
    chat = tell(owner, *PLAIN)
    settle(chat)
    for expected in ([], ["Mira lives in Oslo."]):
        leave_out(chat, 1) if not expected else undo(chat)
        settle(chat)
        assert texts(chat) == expected


def test_messages_left_out_make_no_run_due(owner: User) -> None:
    chat = tell(owner, *PLAIN)
    read(chat)
    append(chat, "FACT(2): Mira has a dog.", "Yes.", "FACT(2): Mira has a cat.", "No.", is_user=True)
    tune(chat, extract_every=4)
    leave_out(chat, 6)
    invalidate_if_exists(chat)
    assert not is_due(chat)


def test_a_branch_leaves_out_what_its_parent_does(owner: User) -> None:
    chat = tell(owner, *PLAIN)
    leave_out(chat, 1)
    branch = branch_chat(owner, chat.pk, 4)
    settle(branch)
    assert texts(branch) == []


def test_a_swipe_takes_back_what_it_taught_and_what_that_replaced_holds_again(owner: User) -> None:
    chat = learnt(owner)
    swipe(chat, 3, "DETAIL(1): Mira yawns.")
    settle(chat)
    new, old = memory(chat, "Mira lives in Rome now."), memory(chat, "Mira lives in Oslo.")
    assert (new.state, new.retired_reason) == ("retired", "source_changed")
    assert (old.state, old.superseded_by, old.valid_to) == ("active", None, None)
    assert texts(chat) == ["Mira lives in Oslo.", "Mira yawns."]


def test_a_swipe_back_derives_it_anew_and_nothing_twice(owner: User) -> None:
    chat = learnt(owner)
    for _ in range(2):
        swipe(chat, 3, "DETAIL(1): Mira yawns.")
        settle(chat)
        swipe_back(chat, 3)
        settle(chat)
        assert texts(chat) == ["Mira lives in Rome now."]
        old = memory(chat, "Mira lives in Oslo.")
        assert (old.state, old.superseded_by) == ("superseded", memory(chat, "Mira lives in Rome now."))
        patch(chat, _delete_swipes_beyond_first())
        settle(chat)
        assert texts(chat) == ["Mira lives in Rome now."]


def _delete_swipes_beyond_first() -> Any:
    from apps.chats.operations.patches import Patch

    return Patch(index=3, delete_swipe=1)


def test_what_a_person_pinned_or_corrected_stays(owner: User) -> None:
    said = "FACT(2): Mira lives in Oslo.\nEVENT(2): Mira won a race.\nPREFERENCE(2): Mira loves tea."
    chat = tell(owner, "Hello.", said, "I see.", "Yes.", "Good.")
    read(chat)
    edit_memory(memory(chat, "Mira lives in Oslo."), editor=owner.email, text="Mira lives in Bergen.")
    edit_memory(memory(chat, "Mira won a race."), editor=owner.email, pinned=True)
    swipe(chat, 1, "Never mind.")
    settle(chat)
    assert texts(chat) == ["Mira lives in Bergen.", "Mira won a race."]
    assert memory(chat, "Mira loves tea.").retired_reason == "source_changed"


def test_a_message_that_is_deleted_and_brought_back(owner: User) -> None:
    chat = learnt(owner)
    delete(chat, 3)
    settle(chat)
    assert texts(chat) == ["Mira lives in Oslo."]
    assert memory(chat, "Mira lives in Rome now.").retired_reason == "source_gone"
    undo(chat)
    settle(chat)
    assert texts(chat) == ["Mira lives in Rome now."]
    assert memory(chat, "Mira lives in Oslo.").superseded_by == memory(chat, "Mira lives in Rome now.")


@pytest.mark.parametrize("index", sampled([2, 5, 6, 8], 1))
def test_every_layer_takes_back_what_a_swipe_took_away_and_derives_it_anew(index: int, owner: User) -> None:
    full, without = tell(owner, *STORY), tell(owner, *_without(index))
    for chat in (full, without):
        tune(chat, chunk=5)
        assert read(chat).state == "succeeded"
    whole = standing(full)
    swipe(full, index, "They talked on.")
    settle(full)
    assert standing(full) == standing(without)
    swipe_back(full, index)
    settle(full)
    assert standing(full) == whole


def _without(index: int) -> list[str]:
    return [*STORY[:index], "They talked on.", *STORY[index + 1 :]]


def standing(chat: Chat) -> list[Any]:
    """What holds, without what held once."""
    holds = {"active", "open", "resolved", "found", "current"}
    layers = {"memory": 5, "arc": 2, "scene": 1, "ledger": 4, "knowledge": 5, "relationship": 5}
    return [row for row in told(chat) if row[0] in layers and row[layers[row[0]]] in holds]


def test_settling_twice_changes_nothing(owner: User) -> None:
    chat = learnt(owner)
    swipe(chat, 3, "DETAIL(1): Mira yawns.")
    settle(chat)
    before = state_hash(chat)
    assert settle(chat) == []
    assert state_hash(chat) == before


# Branches


def known(chat: Chat) -> list[str]:
    """What bears on a chat, as it stands there."""
    chat = Chat.objects.for_owner(chat.owner_id).get(pk=chat.pk)
    return sorted(Memory.objects.for_owner(chat.owner_id).active_in(chat).values_list("text", flat=True))


def test_a_branch_begins_with_what_its_parent_knew_there_and_goes_its_own_way(
    owner: User, server: ScriptedServer
) -> None:
    chat = tell(owner, "Hello.", "FACT(2): Mira lives in Oslo.", "I see.", "EVENT(2): Mira won a race.", "Good.")
    change_settings(owner, MEMORIES_ALONE)
    read(chat)
    child = branch_chat(owner, chat.pk, 2)
    assert (known(chat), known(child)) == (["Mira lives in Oslo.", "Mira won a race."], ["Mira lives in Oslo."])
    server.requests.clear()
    assert settle(child) == []
    assert server.requests == []

    append(child, "FACT(2): Mira lives in Rome now.", "Good.", is_user=True)
    settle(child)
    assert known(child) == ["Mira lives in Rome now."]
    assert known(chat) == ["Mira lives in Oslo.", "Mira won a race."]
    append(chat, "FACT(2): Mira lives in Lima now.", "Fine.", is_user=True)
    settle(chat)
    assert known(chat) == ["Mira lives in Lima now.", "Mira won a race."]
    assert known(child) == ["Mira lives in Rome now."]
    prompts = [one.prompt for one in server.requests if storyteller.task_of(one) == "long_term"]
    assert not any("Rome" in prompt and "race" in prompt for prompt in prompts)

    grandchild = branch_chat(owner, child.pk, 3)
    assert known(grandchild) == ["Mira lives in Rome now."]
    early = branch_chat(owner, child.pk, 2)
    assert known(early) == ["Mira lives in Oslo."]


def test_what_a_branch_took_over_goes_where_its_own_copy_is_swiped_away(owner: User) -> None:
    chat = tell(owner, "Hello.", "FACT(2): Mira lives in Oslo.", "I see.", "Well.", "Good.")
    change_settings(owner, MEMORIES_ALONE)
    read(chat)
    child = branch_chat(owner, chat.pk, 2)
    swipe(child, 1, ROME)
    settle(child)
    assert (known(child), known(chat)) == (["Mira lives in Rome."], ["Mira lives in Oslo."])
    swipe_back(child, 1)
    settle(child)
    assert (known(child), known(chat)) == (["Mira lives in Oslo."], ["Mira lives in Oslo."])
    assert Memory.objects.for_owner(owner).filter(chat=chat).count() == 1


def test_a_branch_of_a_chat_under_way_reads_the_rest_itself(meanwhile: Meanwhile, owner: User) -> None:
    chat = tell(owner, *PLAIN)
    made: list[Chat] = []
    meanwhile("long_term", lambda: made.append(branch_chat(owner, chat.pk, 4)))
    assert read(chat).state == "succeeded"
    [child] = made
    settle(child)
    assert known(chat) == known(child) == ["Mira lives in Oslo."]


def test_relationships_and_arcs_of_a_branch_are_its_own(owner: User) -> None:
    chat = tell(owner, *STORY[:4], "Good.")
    read(chat)
    child = branch_chat(owner, chat.pk, 4)
    append(child, *STORY[4:9], "Good.", is_user=True)
    settle(child)
    assert list(Arc.objects.for_owner(owner).order_by("pk").values_list("chat", "state")) == [
        (chat.pk, "open"), (child.pk, "resolved"),
    ]  # fmt: skip
    ledger = LedgerEntry.objects.for_owner(owner).filter(state="current", field="location")
    assert dict(ledger.values_list("chat", "value")) == {chat.pk: "harbour", child.pk: "quay"}
    append(chat, "Fine.", is_user=True)
    settle(chat)
    stand = Relationship.objects.for_owner(owner).filter(chat=chat)
    assert list(stand.values_list("descriptor", "state")) == [("wary", "current")]


def test_a_message_moved_before_another_one_is_no_longer_what_was_said_last(owner: User) -> None:
    homes = [f"FACT(2): Mira lives in {city}." for city in ("Oslo", "Rome now", "Bergen now")]
    chat = tell(owner, homes[0], "I see.", homes[1], "Yes.", homes[2], "Good.", "And you?", "Fine.")
    settle(chat)
    oslo, rome, bergen = (home.removeprefix("FACT(2): ") for home in homes)
    assert texts(chat) == [bergen]
    before = state_hash(chat)
    patch(chat, Patch(index=4, move_to=0))
    assert settle(chat) == []  # nothing is read again
    assert texts(chat) == [rome]
    chain = [memory(chat, text) for text in (bergen, oslo, rome)]
    for earlier, later in pairwise(chain):
        assert (earlier.superseded_by, earlier.valid_to) == (later, later.valid_from)
    assert (chain[-1].superseded_by, chain[-1].valid_to) == (None, None)
    undo(chat)
    settle(chat)
    assert state_hash(chat) == before
