"""Pages of deleted memories."""

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
    client, since, told = client_of(chat.owner), "", list[str]()
    for _ in range(3):
        page = client.get(f"/api/v1/memories/tombstones/{since}").json()
        told += [each["id"] for each in page["tombstones"]]
        if page["complete"]:
            break
        since = f"?since={page['until'].replace('+', '%2B')}"
    assert page["complete"]
    assert told == [str(memory.pk) for memory in [first, *sorted(many, key=lambda memory: memory.pk), later]]
