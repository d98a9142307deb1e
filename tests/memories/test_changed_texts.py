"""What was written of messages goes when they change: summaries, recaps of scenes, passages of the search index."""

import pytest

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.message_data.namespaces import DataChange
from apps.chats.models import Chat, Message
from apps.chats.operations import Patch, patch_messages
from apps.extraction.progress import invalidate_chat, record_read
from apps.memories.models import Passage, Scene, VersionedText
from apps.search.indexing import index_messages
from tests.factories import UserFactory, make_chat, parsed

TEXTS = [f"Message {number}." for number in range(6)]


@pytest.fixture
def chat(db: None) -> Chat:
    """A chat whose messages a run has read."""
    owner: User = UserFactory()
    chat = make_chat(owner, *TEXTS)
    record_read(chat, list(chat.messages.with_swipes().order_by("index")), ["long_term"])
    return chat


def change(chat: Chat, *patches: Patch) -> None:
    patch_messages(chat.owner_id, chat.pk, list(patches), Guard(optional=True))
    invalidate_chat(chat.owner_id, chat.pk)


def at(chat: Chat, index: int) -> Message:
    return chat.messages.get(index=index)


def summary(chat: Chat, version: int, last: int, state: str) -> VersionedText:
    swipe = at(chat, last).swipes.get()
    return VersionedText.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        kind="summary",
        version=version,
        text=f"Up to {last}.",
        document={"messages": last + 1},
        source=at(chat, last),
        swipe=swipe,
        state=state,
    )


def states(chat: Chat) -> list[str]:
    rows = VersionedText.objects.for_owner(chat.owner_id).filter(chat=chat, kind="summary")
    return list(rows.order_by("version").values_list("state", flat=True))


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        (5, ["replaced", "replaced", "current"]),
        (3, ["replaced", "current", "retired"]),
        (1, ["current", "retired", "retired"]),
        (0, ["retired", "retired", "retired"]),
    ],
)
def test_the_last_summary_that_covers_no_changed_message_holds(chat: Chat, edited: int, expected: list[str]) -> None:
    for version, (last, state) in enumerate([(0, "replaced"), (2, "replaced"), (4, "current")], 1):
        summary(chat, version, last, state)
    change(chat, Patch({"mes": "Never mind."}, index=edited))
    assert states(chat) == expected


def test_a_summary_covers_a_deleted_message_too(chat: Chat) -> None:
    summary(chat, 1, 1, "replaced")
    summary(chat, 2, 4, "current")
    change(chat, Patch(index=3, delete=True))
    assert states(chat) == ["current", "retired"]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        (Patch({"mes": "Never mind."}, index=5), ["of three", "of two"]),
        (Patch({"mes": "Never mind."}, index=4), ["of three", ""]),
        (Patch({"mes": "Never mind."}, index=1), ["", "of two"]),
        (Patch(index=1, delete=True), ["", "of two"]),
        (Patch(insert_before=parsed("One more."), index=4), ["of three", ""]),
        (Patch(insert_before=parsed("One more."), index=1), ["", "of two"]),
    ],
)
def test_the_recap_of_a_scene_goes_when_its_messages_change(chat: Chat, patch: Patch, expected: list[str]) -> None:
    scenes = []
    for last, recap, length in ((2, "of three", 3), (4, "of two", 2)):
        ends = at(chat, last)
        scene = Scene.objects.create(
            owner_id=chat.owner_id,
            chat=chat,
            source=ends,
            swipe=ends.swipes.get(),
            opening=at(chat, last + 1),
            state="found",
            recap=recap,
            recapped=length,
        )
        scenes.append(scene.pk)
    change(chat, patch)
    rows = dict(Scene.objects.for_owner(chat.owner_id).values_list("pk", "recap"))
    assert [rows[pk] for pk in scenes] == expected


def test_a_message_that_is_left_out_leaves_the_search_index_and_no_other_does(chat: Chat) -> None:
    index_messages(chat.owner_id, chat)
    change(chat, Patch(index=2, data=DataChange("loci", {"leave_out": True})))
    left = Passage.objects.for_owner(chat.owner_id).values_list("message__index", flat=True)
    assert sorted(left) == [0, 1, 3, 4, 5]
