"""Sessions: what is written through them is stored exactly once, whatever is lost on the way and whoever writes too."""

import datetime as dt
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.utils import timezone
from loci_client import (
    EditConflict,
    IntegrityConflict,
    KeyReused,
    Loci,
    LociError,
    NothingToUndo,
    RetryPolicy,
    Unavailable,
    UnknownMessage,
)

from apps.accounts.models import User
from apps.chats.models import Chat, ChatChange
from apps.common.scoping import system_scope
from apps.sync.idempotency import drop_old_bodies
from tests.clients.conftest import PLAIN
from tests.clients.unreliable import Lost, Passing, Proxy, losing_replies

pytestmark = pytest.mark.django_db(transaction=True)

Messages = Callable[[], list[Any]]


@pytest.fixture
def replica(client: Any) -> bool:
    """One client with, one without: what they think is the same."""
    return not isinstance(client, Loci)


@pytest.fixture
def session(client: Any, chat: dict[str, Any], replica: bool) -> Any:
    return client.session(chat["id"], replica=replica)


@pytest.fixture
def other(loci: Loci, chat: dict[str, Any]) -> Any:
    """Somebody else, who knows all."""
    other = loci.session(chat["id"], replica=True)
    other.load()
    return other


def agrees(session: Any, messages: Messages) -> bool:
    """Whether the session knows what the server has."""
    session.load()
    state = session.state
    return state.messages is None or list(state.messages) == messages()


def texts(messages: Messages) -> list[str]:
    return [message["mes"] for message in messages()]


def bodies(proxy: Proxy, route: str) -> list[Any]:
    return [passing.body for passing in proxy.seen if passing.path.endswith(f"/{route}/")]


# One writer


def test_messages_are_added_changed_and_deleted(session: Any, messages: Messages) -> None:
    [place] = session.append({"name": "Mira", "mes": "Wait."})
    added = messages()[3]
    assert (place["index"], place["id"]) == (3, added["id"])
    changed = session.change(added, {"mes": "Wait here.", "is_system": True}, extra={"mood": "tense"})
    assert {**changed, "updated_at": None} == {**messages()[3], "updated_at": None}
    again = session.edit(changed, "Wait there.")
    assert {**again, "updated_at": None} == {**messages()[3], "updated_at": None}
    session.delete(again)
    assert texts(messages) == ["Where is the key?", "Under the blue stone.", "Then let us go."]
    assert agrees(session, messages)


def test_a_small_edit_goes_as_a_splice(session: Any, proxy: Proxy, messages: Messages) -> None:
    first = "The key lies under the blue stone by the old well. " * 20 + "👍🏽"
    session.edit(messages()[0], first)
    session.edit(messages()[0], first + "!")
    assert messages()[0]["mes"] == first + "!"
    assert len(bodies(proxy, "patch")[-1]) < 300


def test_swipes_places_and_inserts_go_as_patches(session: Any, messages: Messages) -> None:
    second = messages()[1]["id"]
    session.patch({"id": second, "add_swipe": {"mes": "Under the red stone."}})
    session.patch({"id": second, "insert_before": {"mes": "Hm.", "name": "Mira"}}, {"id": second, "move_to": 0})
    assert texts(messages) == ["Under the red stone.", "Where is the key?", "Hm.", "Then let us go."]
    assert agrees(session, messages)
    with pytest.raises(ValueError, match="by id"):
        session.patch({"index": 0, "set": {"mes": "x"}})


def test_metadata(session: Any, loci: Loci, chat: dict[str, Any]) -> None:
    assert session.patch_metadata({"lamp": {"lit": True}}) == {"mood": "calm", "lamp": {"lit": True}}
    operations: list[Any] = [{"op": "add", "path": "/tags", "value": [1]}, {"op": "remove", "path": "/mood"}]
    assert session.operate_on_metadata(*operations) == {"lamp": {"lit": True}, "tags": [1]}
    session.load()
    assert session.state.metadata == loci.get_chat(chat["id"])["metadata"]


def test_undo(session: Any, messages: Messages) -> None:
    session.append({"mes": "On."})
    session.edit(messages()[0], "Where?")
    assert session.undo()["kind"] == "patch"
    assert session.undo()["kind"] == "append"
    assert texts(messages) == ["Where is the key?", "Under the blue stone.", "Then let us go."]
    assert agrees(session, messages)
    session.undo()
    with pytest.raises(NothingToUndo):
        session.undo()


def test_branch(session: Any) -> None:
    assert session.branch(1, title="Other end")["message_count"] == 2


def test_an_unknown_message_is_told(session: Any, replica: bool, messages: Messages) -> None:
    with pytest.raises(UnknownMessage):
        session.edit("0192-unknown", "x")
    if replica:
        session.edit(messages()[0]["id"], "By id.")
        assert messages()[0]["mes"] == "By id."


def test_a_session_knows_nothing_at_first(session: Any) -> None:
    with pytest.raises(LociError, match="load"):
        _ = session.state


# Two writers


def test_appends_commute(session: Any, other: Any, messages: Messages) -> None:
    session.load()
    other.append({"mes": "Same."})
    session.append({"mes": "Same."})
    assert texts(messages)[3:] == ["Same.", "Same."]
    assert agrees(session, messages)
    assert agrees(other, messages)


def test_edits_of_other_messages_and_other_fields_go_together(session: Any, other: Any, messages: Messages) -> None:
    session.load()
    first, second, _ = messages()
    other.change(second, {"name": "Nira"}, extra={"n": 2})
    other.edit(first, "Where?")
    session.change(second, {"mes": "Under the red stone."}, extra={"model": "x"})
    found = messages()
    assert [message["mes"] for message in found] == ["Where?", "Under the red stone.", "Then let us go."]
    assert (found[1]["name"], found[1]["extra"]) == ("Nira", {"model": "x", "n": 2})
    assert agrees(session, messages)


def test_the_same_field_changed_by_both_is_a_conflict(session: Any, other: Any, messages: Messages) -> None:
    session.load()
    base = messages()[1]
    other.edit(base, "Under the red stone.")
    with pytest.raises(EditConflict) as caught:
        session.edit(base, "Under the green stone.")
    clash = caught.value
    assert (clash.field, clash.base, clash.mine) == ("/mes", "Under the blue stone.", "Under the green stone.")
    assert clash.theirs == messages()[1]["mes"] == "Under the red stone."
    session.edit(clash.message, "Under the green stone, not the red one.")
    assert messages()[1]["mes"] == "Under the green stone, not the red one."
    assert agrees(session, messages)


def test_a_conflict_holds_the_whole_batch_back(session: Any, other: Any, messages: Messages) -> None:
    session.load()
    first, second, third = messages()
    other.delete(third)
    with pytest.raises(EditConflict) as caught:
        session.patch(
            {"id": first["id"], "if_rev": first["rev"], "set": {"mes": "x"}},
            {"id": third["id"], "if_rev": third["rev"], "set": {"mes": "y"}},
        )
    assert [(clash.message_id, clash.mine, clash.theirs) for clash in caught.value.clashes] == [
        (third["id"], "y", None)
    ]
    assert [message["mes"] for message in messages()] == [first["mes"], second["mes"]]


def test_what_others_deleted_is_deleted(session: Any, other: Any, messages: Messages) -> None:
    session.load()
    first = messages()[0]
    other.delete(first)
    session.delete(first)
    assert len(messages()) == 2
    assert agrees(session, messages)


def test_metadata_of_both_are_kept(session: Any, other: Any, loci: Loci, chat: dict[str, Any]) -> None:
    session.load()
    other.patch_metadata({"lamp": {"oil": 3}})
    assert session.patch_metadata({"lamp": {"lit": True}})["lamp"] == {"lit": True, "oil": 3}
    other.patch_metadata({"mood": "tense"})
    with pytest.raises(EditConflict) as caught:
        session.patch_metadata({"mood": "bright", "x": 1})
    clash = caught.value
    assert (clash.field, clash.base, clash.mine, clash.theirs) == ("/mood", "calm", "bright", "tense")
    assert "x" not in loci.get_chat(chat["id"])["metadata"]
    session.operate_on_metadata({"op": "replace", "path": "/mood", "value": "bright"})
    other.load()
    other.patch_metadata({"mood": "sad"})
    with pytest.raises(EditConflict):
        session.operate_on_metadata({"op": "replace", "path": "/mood", "value": "wild"})


def test_data_of_both_is_kept_by_key(session: Any, other: Any, loci: Loci, messages: Messages) -> None:
    session.load()
    second = messages()[1]
    other.set_data(second, "notes", {"theirs": 1, "both": 1})
    session.set_data(second, "notes", {"mine": None})
    assert messages()[1]["extra"]["notes"] == {"theirs": 1, "both": 1, "mine": None}
    with pytest.raises(EditConflict) as caught:
        session.set_data(second, "notes", {"both": None}, clear=["other"])
    assert [(clash.field, clash.mine, clash.theirs) for clash in caught.value.clashes] == [
        ("/extra/notes/both", None, 1)
    ]
    session.set_data(messages()[1], "notes", {}, clear=["both"])
    session.move_data(messages()[1], "notes", "theirs", "new")
    session.move_data(messages()[1], "notes", "none", "newer")
    assert messages()[1]["extra"]["notes"] == {"mine": None, "new": 1}
    assert agrees(session, messages)


def test_undo_takes_back_only_what_was_seen(session: Any, other: Any, messages: Messages) -> None:
    session.append({"mes": "Mine."})
    session.load()
    other.append({"mes": "Theirs."})
    with pytest.raises(IntegrityConflict):
        session.undo()
    assert texts(messages)[3:] == ["Mine.", "Theirs."]
    session.undo()
    assert texts(messages)[3:] == ["Mine."]
    assert agrees(session, messages)


def test_a_chat_whose_log_is_gone_is_read_anew(session: Any, other: Any, messages: Messages) -> None:
    session.load()
    first, second, _ = messages()
    other.edit(second, "Under the red stone.")
    other.append({"mes": "On."})
    with system_scope():
        ChatChange.objects.all().delete()
    session.edit(first, "Where?")
    with pytest.raises(EditConflict):
        session.edit(second, "Under the green stone.")
    assert texts(messages) == ["Where?", "Under the red stone.", "Then let us go.", "On."]
    assert agrees(session, messages)


# What is lost on the way


def test_nothing_is_lost_or_twice_where_replies_are_lost(session: Any, proxy: Proxy, messages: Messages) -> None:
    session.load()
    proxy.rule = every_other_reply_lost()
    session.append({"mes": "One."}, {"mes": "Two."})
    session.append({"mes": "Two."})
    session.edit(messages()[3], "One!")
    session.patch({"id": messages()[4]["id"], "insert_before": {"mes": "One and a half."}})
    session.patch({"id": messages()[0]["id"], "add_swipe": {"mes": "Where was it?"}})
    session.patch_metadata({"n": 1})
    session.delete(messages()[1])
    assert texts(messages) == ["Where was it?", "Then let us go.", "One!", "One and a half.", "Two.", "Two."]
    assert messages()[0]["swipes"] == ["Where is the key?", "Where was it?"]
    session.undo()
    assert len(messages()) == 7
    assert agrees(session, messages)


def every_other_reply_lost() -> Any:
    count = iter(range(10_000))

    def rule(passing: Passing) -> httpx.Response:
        reply = passing.send()
        if next(count) % 2 == 0:
            raise Lost
        return reply

    return rule


def test_requests_that_arrive_twice_count_once(session: Any, proxy: Proxy, messages: Messages) -> None:
    def rule(passing: Passing) -> httpx.Response:
        passing.send()
        return passing.send()

    proxy.rule = rule
    session.append({"mes": "One."})
    session.patch({"id": messages()[0]["id"], "add_swipe": {"mes": "Where was it?"}})
    session.patch_metadata({"n": 1})
    assert texts(messages) == ["Where was it?", "Under the blue stone.", "Then let us go.", "One."]
    assert len(messages()[0]["swipes"]) == 2


def test_a_request_that_arrives_late_does_nothing(session: Any, other: Any, proxy: Proxy, messages: Messages) -> None:
    """Its sender has given it up, brought the edit onto a newer state, and sent that."""
    session.load()
    late: list[Passing] = []

    def rule(passing: Passing) -> httpx.Response:
        if passing.method == "POST" and not late:
            late.append(passing)
            other.change(messages()[0], {"name": "Alicia"})
            raise Lost
        return passing.send()

    first = messages()[0]
    proxy.rule = rule
    session.patch({"id": first["id"], "if_rev": first["rev"], "add_swipe": {"mes": "Where was it?"}})
    assert late[0].send().status_code == 422
    assert (messages()[0]["swipes"], messages()[0]["name"]) == (["Where is the key?", "Where was it?"], "Alicia")


def test_a_write_that_is_in_does_not_fail_after_all(
    session: Any, proxy: Proxy, messages: Messages, chat: dict[str, Any]
) -> None:
    """Where only the reading of its effect fails."""
    session.load()

    def rule(passing: Passing) -> httpx.Response:
        if "/changes/" in passing.path:
            raise Lost
        return passing.send()

    proxy.rule = rule
    assert len(session.append({"mes": "One."})) == 1
    proxy.rule = lambda passing: passing.send()
    session.edit(messages()[3], "One!")
    assert agrees(session, messages)


def test_what_could_not_be_sent_can_be_sent_again(
    proxy: Proxy, token: str, chat: dict[str, Any], messages: Messages
) -> None:
    policy = RetryPolicy(tries=2, first=0.01)
    with Loci(proxy.url, token, retry=policy, http=httpx.Client(**PLAIN)) as loci:
        session = loci.session(chat["id"])
        proxy.rule = losing_replies(2)
        with pytest.raises(Unavailable) as caught:
            session.append({"mes": "One."})
        session.append({"mes": "One."}, key=caught.value.key)
    assert texts(messages)[3:] == ["One."]


@pytest.mark.parametrize(
    "parts",
    [{"insert_before": {"mes": "Before."}}, {"add_swipe": {"mes": "Or so."}}],
    ids=["insert", "add_swipe"],
)
def test_a_patch_repeated_after_days_happens_once(
    session: Any, other: Any, proxy: Proxy, messages: Messages, parts: dict[str, Any]
) -> None:
    """By its key, although it is made anew for another state."""
    session.load()
    patch = {"id": messages()[0]["id"], **parts}
    proxy.rule = losing_replies(100, of="patch")
    with pytest.raises(Unavailable) as caught:
        session.patch(patch)
    proxy.rule = lambda passing: passing.send()
    other.append({"mes": "On."})
    stored = messages()
    drop_old_bodies(timezone.now() + dt.timedelta(days=400))
    with pytest.raises(KeyReused):
        session.patch(patch, key=caught.value.key)
    assert messages() == stored
    assert len(stored) + len(stored[0]["swipes"]) == 6


def test_an_append_repeated_after_days_happens_once(session: Any, messages: Messages) -> None:
    session.append({"mes": "On."}, key="mine")
    assert session.append({"mes": "On."}, key="mine")[0]["index"] == 3
    drop_old_bodies(timezone.now() + dt.timedelta(days=400))
    with pytest.raises(KeyReused):
        session.append({"mes": "On."}, key="mine")
    assert texts(messages)[3:] == ["On."]


# Many writers

THREADS = 6


def at_once(work: Callable[[int], Any]) -> None:
    barrier = threading.Barrier(THREADS)

    def begin(n: int) -> None:
        barrier.wait()
        work(n)

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(begin, range(THREADS)))


@pytest.mark.parametrize("shared", [True, False], ids=["one session", "a session each"])
def test_threads_write_everything_exactly_once(
    loci: Loci, proxy: Proxy, chat: dict[str, Any], messages: Messages, alice: User, shared: bool
) -> None:
    one = loci.session(chat["id"])
    sessions = [one if shared else loci.session(chat["id"], replica=True) for _ in range(THREADS)]
    first = messages()[0]
    loses = threading.Lock()
    count = iter(range(100_000))

    def rule(passing: Passing) -> httpx.Response:
        reply = passing.send()
        with loses:
            is_lost = next(count) % 7 == 0
        if is_lost:
            raise Lost
        return reply

    def write(n: int) -> None:
        session = sessions[n]
        for _ in range(2):
            session.append({"name": "Alice", "is_user": True, "mes": "Same."})
        [place] = session.append({"name": "Alice", "is_user": True, "mes": f"{n} said."})
        [mine] = [message for message in messages() if message["id"] == place["id"]]
        session.edit(mine, f"{n} said and edited.")
        session.change(first, extra={f"thread{n}": n})
        session.patch_metadata({f"thread{n}": n})

    proxy.rule = rule
    at_once(write)
    proxy.rule = lambda passing: passing.send()
    found = Counter(texts(messages)[3:])
    assert found == {"Same.": 2 * THREADS} | {f"{n} said and edited.": 1 for n in range(THREADS)}
    own = {f"thread{n}": n for n in range(THREADS)}
    assert messages()[0]["extra"] == own
    assert loci.get_chat(chat["id"])["metadata"] == chat["metadata"] | own
    assert Chat.objects.for_owner(alice).get().rev == chat["rev"] + 6 * THREADS
    assert all(agrees(session, messages) for session in sessions)


def test_a_move_to_an_index_is_a_clash_once_the_order_has_changed(session: Any, other: Any, messages: Messages) -> None:
    other.append(*[{"mes": f"e{n}"} for n in range(4)])
    session.load()
    before = [message["id"] for message in messages()]
    other.load()
    other.patch({"id": before[0], "insert_before": {"mes": "new"}})
    with pytest.raises(EditConflict) as conflict:
        session.patch({"id": before[-1], "move_to": 2})
    assert (conflict.value.field, conflict.value.mine) == ("/index", 2)
    assert [message["id"] for message in messages()][1:] == before
    session.patch({"id": before[-1], "move_to": 3})
    assert messages()[3]["id"] == before[-1]
