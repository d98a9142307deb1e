"""Write detected scenes."""

from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from apps.chats.models import Chat, Message
from apps.memories.models import Scene
from apps.memories.operations.layer_entries import edit_entry


@dataclass(frozen=True)
class Recap:
    """A recap of ``messages`` messages; the text is empty if the model gave none."""

    text: str
    messages: int


def write_scene(chat: Chat, last: Message, opening: Message, *, reason: str, recap: Recap, run_id: UUID | None) -> int:
    """Record a scene that ends with the message ``last``, before ``opening``. Return 1 if it is new or was retired.

    A scene that a person dismissed stays dismissed.
    """
    found = {
        "swipe": last.active_swipe,
        "opening": opening,
        "reason": reason[:200],
        "recap": recap.text,
        "recapped": recap.messages,
        "run_id": run_id,
    }
    scene, created = Scene.objects.for_owner(chat.owner_id).get_or_create(
        chat=chat,
        source=last,
        defaults={"owner_id": chat.owner_id, **found},
    )
    if not created and scene.state == Scene.State.RETIRED:
        found |= {"state": Scene.State.FOUND, "state_before": "", "retired_reason": "", "retired_by": ""}
        for name, value in found.items():
            setattr(scene, name, value)
        scene.save(update_fields=[*found, "updated_at"])
        return 1
    return int(created)


def write_recap(scene: Scene, recap: Recap) -> None:
    """Set the recap of a scene that has none and that no person edited."""
    rows = Scene.objects.for_owner(scene.owner_id).filter(pk=scene.pk, recap="", edited_by="")
    rows.update(recap=recap.text, recapped=recap.messages, updated_at=timezone.now())


def write_recap_of_break(chat: Chat, last: Message, recap: Recap, run_id: UUID | None) -> None:
    """Store the recap of a scene whose break, at the message ``last``, a person set."""
    fields = {"swipe": last.active_swipe, "run_id": run_id, "recap": recap.text, "recapped": recap.messages}
    scene, created = Scene.objects.for_owner(chat.owner_id).get_or_create(
        chat=chat, source=last, defaults={"owner_id": chat.owner_id, "state": Scene.State.RECAP, **fields}
    )
    if not created:
        write_recap(scene, recap)


def dismiss_break(chat: Chat, message_id: UUID, *, editor: str) -> None:
    """Remove the break that a run detected after a message, if there is one."""
    scenes = Scene.objects.for_owner(chat.owner_id).filter(chat=chat, source=message_id, state=Scene.State.FOUND)
    for scene in scenes:
        dismiss_scene(scene, editor=editor)


def dismiss_scene(scene: Scene, *, editor: str) -> Scene:
    """Remove a detected scene break by hand. Runs don't detect it again."""
    return edit_entry(scene, editor=editor, state=Scene.State.DISMISSED)
