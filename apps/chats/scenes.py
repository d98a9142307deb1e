"""Scenes: the stretches of a chat between messages that end one. All of a scene is kept in its last message's data."""

import hashlib
import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.db.models import F

from apps.chats.message_data import RECAP_NAMESPACE, namespace_of
from apps.chats.models import Chat, Message, Swipe
from apps.chats.patches import DataChange
from apps.chats.wire import timestamp
from apps.common import clock
from apps.common.problems import Invalid, Missing


@dataclass(frozen=True)
class SceneBreak:
    """What ``last``, the message that ends a scene, keeps of it in ``data``."""

    last: Message
    data: dict[str, Any]

    @property
    def name(self) -> str | None:
        return _of_type(self.data.get("scene_break_name"), str, None)

    @property
    def is_visible(self) -> bool:
        return self.data.get("scene_break_visible") is not False

    @property
    def is_collapsed(self) -> bool:
        return self.data.get("scene_break_collapsed") is True

    @property
    def recap(self) -> str | None:
        return _of_type(self.data.get("scene_recap_memory"), str, None)

    @property
    def versions(self) -> list[dict[str, Any]]:
        return _of_type(self.data.get("scene_recap_versions"), list, [])

    @property
    def current(self) -> int | None:
        """Which of ``versions`` is the recap."""
        index = self.data.get("scene_recap_current_index")
        return index if isinstance(index, int) and 0 <= index < len(self.versions) else None

    @property
    def hash(self) -> str | None:
        """``hash_of`` the scene when its recap was written."""
        return _of_type(self.data.get("scene_recap_hash"), str, None)

    @property
    def metadata(self) -> dict[str, Any]:
        return _of_type(self.data.get("scene_recap_metadata"), dict, {})

    @property
    def is_included(self) -> bool:
        """Whether its recap may go into the prompt."""
        return self.data.get("scene_recap_include") is not False


@dataclass(frozen=True)
class Scene(SceneBreak):
    """The messages from index ``start`` to that of ``last``, both included."""

    start: int


def break_after(message: Message) -> SceneBreak | None:
    """The end of a scene with this message, if one ends here and is meant to be seen."""
    if not message.ends_scene:
        return None
    found = SceneBreak(message, namespace_of(message.extra, RECAP_NAMESPACE))
    return found if found.is_visible else None


def _of_type(value: Any, kind: type, otherwise: Any) -> Any:
    return value if isinstance(value, kind) else otherwise


def scenes_of(chat: Chat) -> list[Scene]:
    """The scenes that have ended, in their order."""
    ends = Message.objects.for_owner(chat.owner_id).filter(chat=chat, ends_scene=True)
    last = list(ends.with_swipes().order_by("index"))
    starts = [0, *(message.index + 1 for message in last)]
    return [
        Scene(message, namespace_of(message.extra, RECAP_NAMESPACE), start)
        for (start, _), message in zip(pairwise(starts), last, strict=True)
    ]


def access_scene(chat: Chat, scene_id: UUID) -> Scene:
    """The scene that ends with the message ``scene_id``. Raises Missing."""
    found = next((scene for scene in scenes_of(chat) if scene.last.pk == scene_id), None)
    if found is None:
        raise Missing("There is no such scene in this chat.")
    return found


NAMES = {
    "name": "scene_break_name",
    "visible": "scene_break_visible",
    "collapsed": "scene_break_collapsed",
    "include": "scene_recap_include",
    "metadata": "scene_recap_metadata",
}


def scene_break(**fields: Any) -> DataChange:
    """A scene ends here; ``fields`` as in ``scene_changes``."""
    values = {"scene_break": True, "scene_break_visible": True, "scene_break_collapsed": False}
    return DataChange(RECAP_NAMESPACE, values | {NAMES[name]: value for name, value in fields.items()})


def no_scene_break() -> DataChange:
    """The scene goes on. Its name and recap stay in the data, so that nothing is lost when it is set again."""
    return DataChange(RECAP_NAMESPACE, {"scene_break": False})


def scene_changes(scene: Scene, **fields: Any) -> DataChange:
    """Change name, visible, collapsed, include or metadata; ``recap`` is a new version of it, ``current`` chooses one.

    Raises Invalid where there is no such version.
    """
    values = {NAMES[name]: value for name, value in fields.items() if name in NAMES}
    if "recap" in fields:
        values |= _new_version(scene, fields["recap"])
    elif "current" in fields:
        values |= _chosen_version(scene, fields["current"])
    return DataChange(RECAP_NAMESPACE, values)


def _new_version(scene: Scene, text: str) -> dict[str, Any]:
    versions = [*scene.versions, {"memory": text, "created_at": timestamp(clock.now()), "edited": True}]
    return {
        "scene_recap_memory": text,
        "scene_recap_versions": versions,
        "scene_recap_current_index": len(versions) - 1,
        "scene_recap_hash": hash_of(scene),
    }


def _chosen_version(scene: Scene, index: int) -> dict[str, Any]:
    if index >= len(scene.versions):
        raise Invalid.at("/current", f"There are {len(scene.versions)} versions.")
    version = scene.versions[index]
    text = version.get("memory") if isinstance(version, dict) else version
    return {"scene_recap_memory": str(text or ""), "scene_recap_current_index": index}


def hash_of(scene: Scene) -> str:
    """Of who said what in a scene, 16 hexadecimal digits: another hash, and its recap is out of date."""
    said = (
        Swipe.objects.for_owner(scene.last.owner_id)
        .filter(message__chat=scene.last.chat_id, message__index__range=(scene.start, scene.last.index))
        .filter(position=F("message__swipe_id"))
        .order_by("message__index")
        .values_list("message__name", "mes")
    )
    return hashlib.sha256(json.dumps(list(said)).encode()).hexdigest()[:16]
