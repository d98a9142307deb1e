"""Pages of deleted memories."""

import datetime as dt

from django.utils import timezone

from apps.memories.models import Memory
from apps.memories.operations.memories import delete_memory
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_chat, make_memory


def test_many_memories_deleted_together_are_all_listed_and_come_to_an_end(db: None) -> None:
    chat = make_chat(UserFactory())
    rows = {"owner_id": chat.owner_id, "chat": chat, "story": chat.story, "tier": "session", "kind": "fact"}
    first = make_memory(chat, "Tom likes tea.")
    delete_memory(first)
    together = timezone.now()
    many = Memory.objects.bulk_create(Memory(**rows, text=str(n), deleted_at=together) for n in range(2100))
    later = make_memory(chat, "Anna likes milk.")
    delete_memory(later)
    make_memory(make_chat(chat.owner), "Of no concern.", deleted_at=timezone.now())
    client, since, told = client_of(chat.owner), f"?chat={chat.pk}", list[str]()
    for _ in range(3):
        page = client.get(f"/api/v1/memories/tombstones/{since}").json()
        told += [each["id"] for each in page["tombstones"]]
        if page["complete"]:
            break
        since = f"?chat={chat.pk}&since={page['until'].replace('+', '%2B')}"
    assert page["complete"]
    assert told == [str(memory.pk) for memory in [first, *sorted(many, key=lambda memory: memory.pk), later]]


def test_the_feed_of_a_chat_says_from_when_the_list_has_the_others(db: None) -> None:
    chat = make_chat(UserFactory(), "Hello.")
    rows = {"owner_id": chat.owner_id, "chat": chat, "story": chat.story, "tier": "session", "kind": "fact"}
    start = timezone.now()
    Memory.objects.bulk_create(
        Memory(**rows, text=str(n), deleted_at=start + dt.timedelta(microseconds=n)) for n in range(1500)
    )
    client = client_of(chat.owner)
    feed = client.get(f"/api/v1/chats/{chat.pk}/changes/?since={chat.integrity}").json()
    assert (len(feed["tombstones"]), feed["tombstones_complete"]) == (1000, False)
    since = feed["tombstones_until"].replace("+", "%2B")
    rest = client.get(f"/api/v1/memories/tombstones/?chat={chat.pk}&since={since}").json()
    told = {each["id"] for each in [*feed["tombstones"], *rest["tombstones"]]}
    assert (len(rest["tombstones"]), len(told), rest["complete"]) == (500, 1500, True)


def test_tombstones_of_a_chat_of_another_user_are_not_found(db: None) -> None:
    chat, stranger = make_chat(UserFactory()), UserFactory()
    assert client_of(stranger).get(f"/api/v1/memories/tombstones/?chat={chat.pk}").status_code == 404
