"""Write detected scenes."""

from uuid import UUID

from django.utils import timezone

from apps.chats.models import Chat, Message
from apps.memories.models import Scene
from apps.memories.operations.layer_entries import edit_entry


def write_scene(chat: Chat, last: Message, *, reason: str, recap: str, run_id: UUID | None) -> int:
    """Record a scene that ends with the message ``last``. Return 1 if it is new or was retired, else 0.

    A scene that a person dismissed stays dismissed.
    """
    scene, created = Scene.objects.for_owner(chat.owner_id).get_or_create(
        chat=chat,
        source=last,
        defaults={
            "owner_id": chat.owner_id,
            "swipe": last.active_swipe,
            "reason": reason[:200],
            "recap": recap,
            "run_id": run_id,
        },
    )
    if not created and scene.state == Scene.State.RETIRED:
        scene.state, scene.state_before, scene.retired_reason, scene.retired_by = Scene.State.FOUND, "", "", ""
        scene.recap, scene.swipe = recap, last.active_swipe
        scene.save(
            update_fields=["state", "state_before", "retired_reason", "retired_by", "recap", "swipe", "updated_at"]
        )
        return 1
    return int(created)


def write_recap(scene: Scene, recap: str) -> None:
    """Set the recap of a scene that has none and that no person edited."""
    rows = Scene.objects.for_owner(scene.owner_id).filter(pk=scene.pk, recap="", edited_by="")
    rows.update(recap=recap, updated_at=timezone.now())


def write_recap_of_break(chat: Chat, last: Message, recap: str, run_id: UUID | None) -> None:
    """Store the recap of a scene whose break, at the message ``last``, a person set."""
    fields = {"owner_id": chat.owner_id, "swipe": last.active_swipe, "run_id": run_id}
    scene, created = Scene.objects.for_owner(chat.owner_id).get_or_create(
        chat=chat, source=last, defaults={"state": Scene.State.RECAP, "recap": recap, **fields}
    )
    if not created:
        write_recap(scene, recap)


def dismiss_scene(scene: Scene, *, editor: str) -> Scene:
    """Remove a detected scene break by hand. Runs don't detect it again."""
    return edit_entry(scene, editor=editor, state=Scene.State.DISMISSED)
