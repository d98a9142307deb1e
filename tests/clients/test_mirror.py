"""A local copy of a chat that is synced by hand."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from loci_client import EditConflict, Loci, Mirror, RetryPolicy, Unavailable, UnknownMessage

from tests.clients.conftest import PLAIN
from tests.clients.unreliable import Proxy, losing_replies

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def chat(loci: Loci) -> str:
    made = loci.create_chat("The heist", user_name="Alice", metadata={"note": "old"})
    loci.append(made["id"], [{"mes": text} for text in ("one", "two", "three")])
    return made["id"]


def texts(messages: Any) -> list[str]:
    return [message["mes"] for message in messages]


def stored(loci: Loci, chat: str) -> list[str]:
    return texts(loci.get_messages(chat)["results"])


def pulled(loci: Loci, chat: str, path: Path | None = None) -> Mirror:
    mirror = Mirror(loci, chat, path)
    mirror.pull()
    return mirror


def test_nothing_is_sent_or_read_but_by_a_push_and_a_pull(loci: Loci, chat: str, tmp_path: Path) -> None:
    mirror = pulled(loci, chat, tmp_path / "chat.json")
    first, second, third = (message["id"] for message in mirror.messages)
    other = loci.session(chat, replica=True)
    other.load()
    other.edit(second, "theirs")
    mirror.edit(first, "mine")
    mirror.edit(first, "mine again")
    mirror.delete(third)
    mirror.append({"mes": "four"})
    mirror.set_data(first, "notes", {"a": None, "b": 1}, clear=["b"])
    mirror.patch_metadata({"note": "new"})
    assert (texts(mirror.messages), mirror.metadata, mirror.pending) == (
        ["mine again", "two", "four"],
        {"note": "new"},
        6,
    )
    assert stored(loci, chat) == ["one", "theirs", "three"]
    mirror = Mirror(loci, chat, tmp_path / "chat.json")  # the file has it all
    assert (texts(mirror.messages), mirror.pending) == (["mine again", "two", "four"], 6)
    mirror.pull()
    assert texts(mirror.messages) == ["mine again", "theirs", "four"]
    mirror.push()
    assert (stored(loci, chat), mirror.pending) == (["mine again", "theirs", "four"], 0)
    assert loci.get_data(chat, first, "notes") == {"a": None}
    assert loci.get_chat(chat)["metadata"] == {"note": "new"}


def test_what_others_changed_too_waits_for_a_decision(loci: Loci, chat: str) -> None:
    mirror = pulled(loci, chat)
    first = mirror.messages[0]["id"]
    other = loci.session(chat, replica=True)
    other.load()
    other.edit(first, "theirs")
    mirror.edit(first, "mine")
    mirror.append({"mes": "four"})
    for _ in range(2):
        with pytest.raises(EditConflict) as caught:
            mirror.push()
        assert (caught.value.base, caught.value.mine, caught.value.theirs) == ("one", "mine", "theirs")
        assert mirror.pending == 2
    mirror.discard()
    mirror.push()
    assert stored(loci, chat) == ["theirs", "two", "three", "four"]


def test_a_push_whose_replies_were_lost_is_repeated_for_nothing(
    loci: Loci, proxy: Proxy, chat: str, token: str
) -> None:
    impatient = Loci(proxy.url, token, retry=RetryPolicy(tries=2, first=0.01), http=httpx.Client(**PLAIN))
    mirror = pulled(impatient, chat)
    mirror.append({"mes": "four"})
    mirror.edit(mirror.messages[0]["id"], "mine")
    proxy.rule = losing_replies(100)
    with pytest.raises(Unavailable):
        mirror.push()
    proxy.rule = lambda passing: passing.send()
    mirror.push()
    assert (stored(loci, chat), mirror.pending) == (["mine", "two", "three", "four"], 0)


def test_a_message_that_is_not_there_is_not_changed(loci: Loci, chat: str) -> None:
    mirror = pulled(loci, chat)
    first = mirror.messages[0]["id"]
    mirror.delete(first)
    with pytest.raises(UnknownMessage):
        mirror.edit(first, "mine")
    assert mirror.pending == 1
