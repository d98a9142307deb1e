"""Undo of a write that the request names by its rev, and of the last one."""

from typing import Any
from uuid import UUID

import pytest
from django.db.models import F
from rest_framework.test import APIClient

from apps.chats.models import ChatChange
from apps.chats.operations import append_messages
from tests.contract.conftest import client_of
from tests.factories import parsed

NOW: dict[str, Any] = {"mes": "now"}


@pytest.fixture
def program(alice: APIClient) -> APIClient:
    """Another client of the same person, with a token of its own."""
    return client_of(alice.user)


class Talk:
    """A chat with the messages "0" to "4"."""

    def __init__(self, client: APIClient) -> None:
        self.client = client
        self.pk = client.post("/api/v1/chats/", {"title": "The heist"}).json()["id"]
        self.write("append", messages=[{"mes": str(n)} for n in range(5)])

    def write(self, route: str, client: APIClient | None = None, **body: Any) -> int:
        """Send a write with the current integrity. Return its rev."""
        body = {"integrity": self.get("")["integrity"]} | body
        reply = (client or self.client).post(f"/api/v1/chats/{self.pk}/{route}/", body)
        assert reply.status_code in (200, 201), reply.content
        return reply.json()["rev"]

    def patch(self, client: APIClient | None = None, **patch: Any) -> int:
        return self.write("patch", client, patches=[patch])

    def undo(self, rev: int | None = None, client: APIClient | None = None, **body: Any) -> Any:
        body = body if rev is None else {"rev": rev} | body
        return (client or self.client).post(f"/api/v1/chats/{self.pk}/undo/", body)

    def get(self, rest: str) -> Any:
        return self.client.get(f"/api/v1/chats/{self.pk}/{rest}").json()

    @property
    def texts(self) -> list[str]:
        window = self.get("messages/")
        assert [message["index"] for message in window["results"]] == list(range(window["total"]))
        return [message["mes"] for message in window["results"]]

    @property
    def ids(self) -> list[str]:
        return [message["id"] for message in self.get("messages/")["results"]]


@pytest.fixture
def talk(alice: APIClient) -> Talk:
    return Talk(alice)


def is_conflict(reply: Any) -> bool:
    return (reply.status_code, reply.json()["type"]) == (409, "/problems/undo-conflict")


def test_undo_by_rev_takes_back_that_write_and_no_later_one(talk: Talk, program: APIClient) -> None:
    deletion = talk.patch(index=3, delete=True)
    talk.patch(program, index=1, extra={"seen": True})
    talk.write("append", program, messages=[{"mes": "5"}])
    reply = talk.undo(deletion).json()
    assert (reply["undone"], reply["kind"]) == (deletion, "patch")
    assert talk.texts == ["0", "1", "2", "3", "4", "5"]
    assert talk.get("messages/")["results"][1]["extra"] == {"seen": True}


def test_undo_of_what_was_changed_since_is_a_conflict_that_shows_the_change(talk: Talk, program: APIClient) -> None:
    edit = talk.patch(index=1, set={"mes": "mine"})
    theirs = talk.patch(program, index=1, add_swipe={"mes": "theirs"})
    reply = talk.undo(edit)
    assert is_conflict(reply)
    assert [entry["theirs"]["mes"] for entry in reply.json()["conflicts"]] == ["theirs"]
    assert [change["rev"] for change in reply.json()["changes"]] == [theirs]
    assert talk.texts[1] == "theirs"
    assert talk.undo(theirs).status_code == 200
    assert talk.undo(edit).status_code == 200  # the later change is undone too
    assert talk.texts == ["0", "1", "2", "3", "4"]


def test_undo_of_a_message_deleted_since_is_a_conflict(talk: Talk) -> None:
    edit = talk.patch(index=1, set={"mes": "mine"})
    talk.patch(index=1, delete=True)
    reply = talk.undo(edit)
    assert is_conflict(reply)
    assert [entry["theirs"] for entry in reply.json()["conflicts"]] == [None]


@pytest.mark.parametrize("change", [{"delete": True}, {"move_to": 0}], ids=["deletion", "move"])
def test_undo_of_a_place_whose_surroundings_were_reordered_since_is_a_conflict(talk: Talk, change: Any) -> None:
    rev = talk.patch(index=3, **change)
    other = talk.patch(id=talk.ids[1], delete=True)
    before = talk.texts
    assert is_conflict(talk.undo(rev))
    assert talk.texts == before
    talk.undo(other)
    assert talk.undo(rev).status_code == 200
    assert talk.texts == ["0", "1", "2", "3", "4"]


def test_undo_of_a_text_leaves_the_order_as_it_is_by_now(talk: Talk) -> None:
    edit = talk.patch(index=4, set={"mes": "mine"})
    talk.patch(index=0, delete=True)
    assert talk.undo(edit).status_code == 200
    assert talk.texts == ["1", "2", "3", "4"]


def test_undo_of_two_deletions_in_one_write_restores_both_places(talk: Talk) -> None:
    rev = talk.write("patch", patches=[{"index": 3, "delete": True}, {"index": 0, "delete": True}])
    talk.write("append", messages=[{"mes": "5"}])
    assert talk.undo(rev).status_code == 200
    assert talk.texts == ["0", "1", "2", "3", "4", "5"]


def test_clients_learn_that_an_undo_shifted_messages(talk: Talk) -> None:
    first = talk.write("append", messages=[{"mes": "5"}])
    talk.write("append", messages=[{"mes": "6"}])
    known = talk.get("")["integrity"]
    assert talk.undo(first).status_code == 200
    assert talk.texts[-1] == "6"
    body = {"integrity": known, "on_conflict": "rebase", "patches": [{"index": 5, "set": NOW}]}
    assert talk.client.post(f"/api/v1/chats/{talk.pk}/patch/", body).status_code == 409


def test_undo_of_metadata_restores_its_keys_alone(talk: Talk, program: APIClient) -> None:
    first = talk.write("patch-metadata", metadata={"a": 1, "b": 1})
    mine = talk.write("patch-metadata", metadata={"a": 2})
    talk.write("patch-metadata", program, metadata={"b": 2, "c": 2})
    assert talk.undo(mine).json()["metadata"] == {"a": 1}
    assert talk.get("")["metadata"] == {"a": 1, "b": 2, "c": 2}
    reply = talk.undo(first)
    assert is_conflict(reply)
    assert reply.json()["conflicts"] == [{"key": "b", "theirs": 2}]


def test_undo_by_rev_happens_once(talk: Talk) -> None:
    rev = talk.patch(index=0, delete=True)
    first = talk.undo(rev).json()
    assert talk.undo(rev).json() == first
    talk.patch(index=0, set={"mes": "later"})
    assert talk.undo(rev).json()["undone"] == rev
    assert talk.texts[0] == "later"


def test_a_forced_undo_sent_twice_takes_back_one_write(talk: Talk) -> None:
    talk.write("append", messages=[{"mes": "5"}])
    talk.write("append", messages=[{"mes": "6"}])
    body = {"integrity": talk.get("")["integrity"], "force": True}
    replies = [talk.undo(**body) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert replies[0].json()["undone"] == replies[1].json()["undone"]
    assert talk.texts == ["0", "1", "2", "3", "4", "5"]


def test_a_rev_that_can_not_be_undone_is_refused(talk: Talk) -> None:
    now = talk.get("")["rev"]
    beyond = talk.undo(now + 1)
    assert (beyond.status_code, beyond.json()["errors"][0]["pointer"]) == (400, "/rev")
    assert talk.undo(0).status_code == 400
    assert talk.undo(1).json()["type"] == "/problems/nothing-to-undo"  # the creation
    undone = talk.undo(now).json()["rev"]
    assert talk.undo(undone).json()["type"] == "/problems/nothing-to-undo"
    ChatChange.objects.for_owner(talk.client.user).filter(rev__lt=F("chat__rev")).delete()
    assert talk.undo(now).status_code == 410


def test_undo_without_a_rev_is_of_the_last_write_if_it_is_the_callers_own(talk: Talk, program: APIClient) -> None:
    talk.patch(index=0, set={"mes": "mine"})
    theirs = talk.patch(program, index=1, set={"mes": "theirs"})
    integrity = talk.get("")["integrity"]
    reply = talk.undo(integrity=integrity)
    assert is_conflict(reply)
    assert [change["rev"] for change in reply.json()["changes"]] == [theirs]
    assert talk.undo(client=program, integrity=integrity).json()["undone"] == theirs
    assert talk.undo(integrity=talk.get("")["integrity"]).status_code == 200
    assert talk.texts == ["0", "1", "2", "3", "4"]


def test_undo_without_a_rev_takes_back_no_write_of_a_worker(talk: Talk) -> None:
    edit = talk.patch(index=0, set={"mes": "mine"})
    append_messages(talk.client.user, UUID(talk.pk), [parsed("A reply.")])
    reply = talk.undo(integrity=talk.get("")["integrity"])
    assert is_conflict(reply)
    assert [conflict["theirs"]["mes"] for conflict in reply.json()["conflicts"]] == ["A reply."]
    assert talk.texts == ["mine", "1", "2", "3", "4", "A reply."]
    assert talk.undo(edit).status_code == 200


def test_an_undo_repeated_after_the_log_was_trimmed_is_gone(talk: Talk) -> None:
    edit = talk.patch(index=0, set={"mes": "mine"})
    assert talk.client.post(f"/api/v1/chats/{talk.pk}/participants/", {"name": "Tom"}).status_code == 201
    known = talk.get("")["integrity"]
    assert talk.undo(integrity=known).json()["undone"] == edit
    ChatChange.objects.for_owner(talk.client.user).filter(rev__lte=edit).delete()
    assert talk.undo(integrity=known).status_code == 410
    assert talk.texts[0] == "0"


def test_strangers_undo_nothing(talk: Talk, charlie: APIClient) -> None:
    rev = talk.patch(index=0, delete=True)
    assert talk.undo(rev, client=charlie).status_code == 404
