"""What the clients think, without a server."""

import datetime as dt
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loci_client import AsyncChatSession, AsyncLoci, ChatSession, Loci
from loci_client.errors import Gone, IntegrityConflict, Invalid, ProblemError, ServerError, Unavailable, error_of
from loci_client.events import Event, EventParser, concerns
from loci_client.messages import compact
from loci_client.reading import stay_in_place
from loci_client.rebase import metadata_clashes, operation_clashes, rebase_patches
from loci_client.requests import Reply, encoded, write
from loci_client.retries import RetryPolicy, answered, asked_pause
from loci_client.splices import splice_between, spliced
from loci_client.state import ChatState, Delta, messages_after

TEXT = st.text(alphabet="abcé👍🏽 ", max_size=12)


def message(id: str, index: int = 0, **fields: Any) -> Any:
    mes, extra, swipe_id = fields.pop("mes", id), fields.pop("extra", {}), fields.pop("swipe_id", 0)
    swipes = fields.pop("swipes", None) or [mes]
    info = [{"extra": extra if n == swipe_id else {}} for n in range(len(swipes))]
    known = {"id": id, "index": index, "rev": 1, "name": "Mira", "is_system": False, "is_user": False}
    return known | {"mes": mes, "extra": extra, "swipe_id": swipe_id, "swipes": swipes, "swipe_info": info} | fields


def change(rev: int, *messages: Any, deleted: Any = (), metadata: Any = None, **fields: Any) -> Any:
    return {
        "rev": rev, "integrity": str(rev), "messages": list(messages), "deleted": list(deleted), "metadata": metadata,
        **fields,
    }  # fmt: skip


# Calls


def calls_of(client: type) -> dict[str, Any]:
    return {name: call.__wrapped__ for name, call in vars(client).items() if hasattr(call, "__wrapped__")}


@pytest.mark.parametrize(("blocking", "asynchronous"), [(Loci, AsyncLoci), (ChatSession, AsyncChatSession)])
def test_both_clients_have_each_call_from_the_same_function(blocking: type, asynchronous: type) -> None:
    assert calls_of(blocking) == calls_of(asynchronous)
    assert len(calls_of(blocking)) >= 8


# Splices


@given(TEXT, TEXT)
def test_a_splice_leads_from_one_text_to_the_other(before: str, after: str) -> None:
    assert spliced(before, splice_between(before, after)) == after


def test_a_splice_counts_code_points() -> None:
    assert splice_between("a👍🏽b", "a👍🏽cb") == {"at": 3, "delete": 0, "insert": "c"}


def test_a_text_goes_as_a_splice_only_where_that_is_shorter() -> None:
    long = "The key lies under the blue stone by the old well. " * 3
    patch: Any = {"id": "x", "if_rev": 1, "set": {"mes": long + "Go."}}
    short: Any = compact(patch, message("x", mes=long))
    assert short == {"id": "x", "if_rev": 1, "splice": {"at": len(long), "delete": 0, "insert": "Go."}}
    small: Any = {"id": "x", "set": {"mes": "yes"}}
    assert compact(small, message("x", mes="no")) == small
    other: Any = patch | {"swipe_id": 1}
    assert compact(other, message("x", mes=long)) == other


# The state


def test_changes_are_applied_as_one_set() -> None:
    old = [message(name, n) for n, name in enumerate("abcd")]
    new = messages_after(old, Delta.of([change(2, message("d", 0), deleted=["b"]), change(3, message("e", 3))]))
    assert [(one["id"], one["index"]) for one in new] == [("d", 0), ("a", 1), ("c", 2), ("e", 3)]


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.permutations("abcdefgh"), st.data())
def test_a_set_of_changes_leads_to_the_new_order(old: list[str], order: list[str], data: st.DataObject) -> None:
    new = [name for name in order if name in old or data.draw(st.booleans())]
    kept: list[str] = []
    for name in (name for name in new if name in old):
        if not kept or old.index(name) > old.index(kept[-1]):
            kept.append(name)
    touched = [message(name, n) for n, name in enumerate(new) if name not in kept]
    delta = Delta.of([change(2, *touched, deleted=[name for name in old if name not in new])])
    result = messages_after([message(name, n) for n, name in enumerate(old)], delta)
    assert [one["id"] for one in result] == new
    assert [one["index"] for one in result] == list(range(len(new)))


def test_messages_read_while_others_write_are_whole_where_none_moved() -> None:
    read = [message(name, n) for n, name in enumerate("abc")]
    assert stay_in_place(read, 3, [change(2, message("b", 1), message("d", 3))])
    assert stay_in_place(read, 2, [change(2, message("c", 2))])
    assert not stay_in_place(read, 3, [change(2, deleted=["x"])])
    assert not stay_in_place(read, 3, [change(2, message("b", 0))])
    assert not stay_in_place(read, 3, [change(2, message("d", 1))])
    assert not stay_in_place([*read, message("a", 3)], 3, [change(2, message("d", 4))])
    assert not stay_in_place(read[1:], 2, [])


def test_metadata_follow_their_changes() -> None:
    state = ChatState("1", 1, {"a": 1, "b": {"c": 1}})
    later = state.after([change(2, metadata={"a": None, "b": {"d": 2}})], "2", 2)
    assert later.metadata == {"b": {"c": 1, "d": 2}}
    whole = later.after([change(2, metadata={"z": 1}), change(3, metadata={"n": None}, metadata_replaced=True)], "3", 3)
    assert whole.metadata == {"n": None}
    assert whole.after([change(2, metadata={"z": 1})], "2", 2) is whole


# Rebase


def rebased(patch: Any, base: Any, theirs: Any) -> tuple[list[Any], list[str]]:
    again, clashes = rebase_patches([patch], {base["id"]: base}, Delta({theirs["id"]: theirs}))
    return list(again), [clash.field for clash in clashes]


EDIT: Any = {"id": "x", "if_rev": 1, "set": {"mes": "mine"}}


def test_an_edit_goes_again_over_a_change_of_another_field() -> None:
    theirs = message("x", mes="old", name="Nira", extra={"mood": "calm"}, rev=2)
    assert rebased(EDIT, message("x", mes="old"), theirs) == ([EDIT | {"if_rev": 2}], [])


def test_an_edit_clashes_with_another_of_the_same_field() -> None:
    base, theirs = message("x", mes="old"), message("x", mes="theirs", rev=2)
    _, [clash] = rebase_patches([EDIT], {"x": base}, Delta({"x": theirs}))
    assert (clash.base, clash.mine, clash.theirs, clash.message) == ("old", "mine", "theirs", theirs)


def test_the_same_edit_by_both_does_not_clash() -> None:
    assert rebased(EDIT, message("x", mes="old"), message("x", mes="mine", rev=2))[1] == []


def test_a_splice_that_both_made_is_not_made_twice() -> None:
    splice: Any = {"id": "x", "if_rev": 1, "splice": {"at": 3, "delete": 0, "insert": "er"}}
    assert rebased(splice, message("x", mes="old"), message("x", mes="older", rev=2)) == ([], [])
    assert rebased(splice, message("x", mes="old"), message("x", mes="olden", rev=2))[1] == ["/mes"]


def test_extra_clashes_leaf_by_leaf() -> None:
    patch: Any = {"id": "x", "extra": {"memory": {"text": "mine", "n": None}}}
    base = message("x", extra={"memory": {"text": "old", "n": 1}})
    other = message("x", extra={"memory": {"text": "old", "n": 1, "m": 2}})
    assert rebased(patch, base, other) == ([patch], [])
    assert rebased(patch, base, message("x", extra={"memory": {"text": "old"}})) == ([patch], [])
    assert rebased(patch, base, message("x", extra={"memory": {"text": "theirs", "n": 2}}))[1] == [
        "/extra/memory/text",
        "/extra/memory/n",
    ]
    assert rebased(patch, base, message("x", extra={"memory": 5}))[1] == ["/extra/memory/text", "/extra/memory/n"]


def test_a_text_is_not_put_into_another_swipe() -> None:
    base = message("x", mes="a", swipes=["a", "b"])
    theirs = message("x", mes="b", swipes=["a", "b"], swipe_id=1, rev=2)
    assert rebased(EDIT, base, theirs)[1] == ["/mes"]
    assert rebased(EDIT | {"swipe_id": 0}, base, theirs)[1] == ["/swipe_id"]
    new: Any = {"id": "x", "add_swipe": {"mes": "c"}}
    assert rebased(new, base, theirs) == ([new], [])


def test_swipes_are_reordered_only_as_they_were_seen() -> None:
    order: Any = {"id": "x", "swipe_order": [1, 0]}
    base = message("x", mes="a", swipes=["a", "b"])
    assert rebased(order, base, message("x", mes="a", swipes=["a", "b"], name="N")) == ([order], [])
    assert rebased(order, base, message("x", mes="a", swipes=["a", "b", "c"]))[1] == ["/swipes"]


def test_what_is_deleted_is_not_edited_and_not_deleted_twice() -> None:
    gone = Delta(deleted=frozenset("x"))
    base = message("x", mes="old")
    assert rebase_patches([{"id": "x", "delete": True}], {"x": base}, gone) == ([], [])
    _, [clash] = rebase_patches([EDIT], {"x": base}, gone)
    assert (clash.base, clash.mine, clash.theirs, clash.message) == ("old", "mine", None, None)


def test_a_text_that_was_changed_is_not_deleted_unseen() -> None:
    delete: Any = {"id": "x", "if_rev": 1, "delete": True}
    assert rebased(delete, message("x", mes="old"), message("x", mes="new", rev=2))[1] == ["/mes"]
    moved = message("x", mes="old", index=4, rev=2)
    assert rebased(delete, message("x", mes="old"), moved) == ([delete | {"if_rev": 2}], [])


def test_without_a_base_every_difference_counts() -> None:
    theirs = message("x", mes="theirs", rev=2)
    assert [clash.base for clash in rebase_patches([EDIT], {}, Delta({"x": theirs}))[1]] == [None]


def test_metadata_clash_value_by_value() -> None:
    before = {"a": 1, "b": {"c": 1, "d": 1}}
    assert metadata_clashes({"b": {"c": 2}}, before, {"a": 9, "b": {"c": 1, "d": 9}}) == []
    [clash] = metadata_clashes({"a": None, "b": {"c": 2}}, before, {"b": {"c": 3}})
    assert (clash.field, clash.base, clash.mine, clash.theirs) == ("/b/c", 1, 2, 3)
    assert metadata_clashes({"a": True}, {"a": 0}, {"a": 1})[0].theirs == 1


def test_operations_clash_by_top_level_keys() -> None:
    operations: Any = [{"op": "move", "from": "/a~1b/0", "path": "/c"}]
    assert operation_clashes(operations, {"a/b": [1], "x": 1}, {"a/b": [1], "x": 2}) == []
    assert [clash.field for clash in operation_clashes(operations, {"a/b": [1]}, {"a/b": [2]})] == ["/a~1b"]
    assert [clash.field for clash in operation_clashes([{"op": "test", "path": ""}], {}, {"a": 1})] == [""]


# Requests, retries, errors


def test_a_large_body_is_packed() -> None:
    small, large = write("POST", "x/", {"mes": "a" * 60_000}), write("POST", "x/", {"mes": "a" * 64_000})
    assert "Content-Encoding" not in small.headers
    assert large.headers["Content-Encoding"] == "gzip"
    assert len(large.content or b"") < 1000


def test_each_write_has_a_key_of_its_own() -> None:
    assert write("POST", "x/").key != write("POST", "x/").key
    assert write("POST", "x/", key="mine").key == "mine"


def test_what_is_not_unicode_is_left_to_the_server_to_refuse() -> None:
    assert encoded({"mes": "\ud800"}) == b'{"mes":"\\ud800"}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        encoded({"n": float("nan")})


def test_pauses_grow_to_a_bound_and_end() -> None:
    policy = RetryPolicy(tries=5, first=1, longest=3, patience=100)
    assert [policy.pause(n, 0, None, lambda: 0) for n in range(1, 6)] == [1, 2, 3, 3, None]
    assert policy.pause(1, 0, None, lambda: 1) == 0.5
    assert policy.pause(1, 0, 40) == 40
    assert policy.pause(1, 61, 40) is None


def test_a_try_without_a_reply_may_have_been_stored_whatever_later_ones_say() -> None:
    steps = answered(write("POST", "chats/", {}, key="mine"), RetryPolicy(tries=2))
    next(steps)
    steps.send(httpx.ReadError("lost"))
    with pytest.raises(Unavailable) as caught:
        steps.send(Reply(503, {}))
    assert caught.value.key == "mine"


def test_the_pause_that_the_server_asks_for() -> None:
    def asked(header: str | None) -> float | None:
        return asked_pause(Reply(429, {} if header is None else {"retry-after": header}))

    assert (asked("7"), asked(None), asked("soon")) == (7, None, None)
    later = asked(format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=30)))
    assert later is not None
    assert 25 < later <= 30
    assert asked("Wed, 21 Oct 2015 07:28:00 GMT") == 0


@pytest.mark.parametrize(
    ("status", "type", "kind"),
    [
        (400, "/problems/validation", Invalid),
        (409, "/problems/integrity-conflict", IntegrityConflict),
        (410, "/problems/history-gone", Gone),
        (418, "/problems/teapot", ProblemError),
        (503, "", ServerError),
    ],
)
def test_a_problem_is_told_by_its_type(status: int, type: str, kind: type[ProblemError]) -> None:
    error = error_of(Reply(status, {}, encoded({"type": type, "title": "No", "detail": "Really"})))
    assert error.__class__ is kind
    assert (error.status, error.type, str(error)) == (status, type, f"{status} No: Really")


def test_an_error_page_is_an_error_too() -> None:
    assert error_of(Reply(502, {}, b"<h1>Bad Gateway</h1>")).__class__ is ServerError


# Server-sent events

STREAM = 'retry: 2000\n\nevent: chat\ndata: {"a":\r\ndata: 1}\r\n\r\n: hush\n\ndata:x\n\nevent: lost\n\n'
EVENTS = [Event("chat", '{"a":\n1}'), Event("message", "x")]


@given(st.lists(st.integers(0, len(STREAM))))
def test_events_come_whole_however_the_stream_is_cut(cuts: list[int]) -> None:
    parser = EventParser()
    at = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in pairwise(at)]
    assert [event for piece in pieces for event in parser.feed(piece)] == EVENTS


def test_events_of_other_chats_do_not_concern_one() -> None:
    assert concerns(Event("chat", '{"chat": "a", "rev": 2}'), "a")
    assert concerns(Event("resync", "{}"), "a")
    assert not concerns(Event("chat", '{"chat": "b"}'), "a")
    assert not concerns(Event("settings", '{"rev": 2}'), "a")
    assert not concerns(Event("chat", "["), "a")
