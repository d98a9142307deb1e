"""Read and change scenes: parts of a chat, each stored in the data of the message that ends it."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from apps.chats.dates import timestamp
from apps.chats.message_data.namespaces import RECAP_NAMESPACE, DataChange, ends_scene, namespace_of
from apps.chats.models import Chat, Message, Swipe
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.problems import Invalid, Missing


@dataclass(frozen=True)
class SceneBreak:
    """The end of a scene: ``last`` is the message that ends it, ``data`` the scene's data stored with it."""

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
        return _versions_of(self.data)

    @property
    def current(self) -> int | None:
        """Return the index in ``versions`` of the current recap."""
        index = self.data.get("scene_recap_current_index")
        return index if isinstance(index, int) and 0 <= index < len(self.versions) else None

    @property
    def hash(self) -> str | None:
        """Return the value that ``hash_of`` had when the recap was written."""
        return _of_type(self.data.get("scene_recap_hash"), str, None)

    @property
    def metadata(self) -> dict[str, Any]:
        return _of_type(self.data.get("scene_recap_metadata"), dict, {})

    @property
    def is_included(self) -> bool:
        """Return whether the recap may go into the prompt."""
        return self.data.get("scene_recap_include") is not False


@dataclass(frozen=True)
class Scene(SceneBreak):
    """A scene: the messages from index ``start`` to that of ``last``, both included."""

    start: int


def break_after(message: Message) -> SceneBreak | None:
    """Return the scene break after this message, or None if there is none or it is hidden."""
    if not message.ends_scene:
        return None
    scene_break = SceneBreak(message, namespace_of(message.extra, RECAP_NAMESPACE))
    return scene_break if scene_break.is_visible else None


def _of_type(value: Any, expected_type: type, default: Any) -> Any:
    return value if isinstance(value, expected_type) else default


def _versions_of(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    return _of_type(data.get("scene_recap_versions"), list, [])


def scenes_of(chat: Chat) -> list[Scene]:
    """Return the ended scenes of a chat, by index."""
    last_messages = list(LAST_MESSAGES.rows(chat.owner_id, chat.pk))
    starts = [0, *(message.index + 1 for message in last_messages)]
    return [
        Scene(message, namespace_of(message.extra, RECAP_NAMESPACE), start)
        for (start, _), message in zip(pairwise(starts), last_messages, strict=True)
    ]


def _last_messages(owner_id: Any, chat_id: Any) -> QuerySet[Message]:
    ends = Message.objects.for_owner(owner_id).filter(chat=chat_id, ends_scene=True)
    rows: QuerySet[Message] = ends.with_swipes().order_by("index")
    return rows


LAST_MESSAGES = CompiledQuery(_last_messages)


def access_scene(chat: Chat, scene_id: UUID) -> Scene:
    """Return the scene that ends with the message ``scene_id``. Raise Missing."""
    for scene in scenes_of(chat):
        if scene.last.pk == scene_id:
            return scene
    raise Missing(gettext("There is no such scene in this chat."))


# The keys of a scene's fields in a message's data.
DATA_KEYS = {
    "name": "scene_break_name",
    "visible": "scene_break_visible",
    "collapsed": "scene_break_collapsed",
    "include": "scene_recap_include",
    "metadata": "scene_recap_metadata",
}


def scene_break_change(**fields: Any) -> DataChange:
    """Return the change that ends a scene. ``fields`` are those of DATA_KEYS."""
    values = {"scene_break": True, "scene_break_visible": True, "scene_break_collapsed": False}
    return DataChange(RECAP_NAMESPACE, values | {DATA_KEYS[name]: value for name, value in fields.items()})


def scene_break_removal() -> DataChange:
    """Return the change that removes a scene break. Name and recap are kept, in case it is set again."""
    return SceneRemoval(RECAP_NAMESPACE, {"scene_break": False}, every_swipe=True)


@dataclass(frozen=True)
class SceneRemoval(DataChange):
    """A change that takes the scene break from each swipe that has one, and leaves the other swipes as they are.

    If one kept it, the break would be there again as soon as that swipe is shown.
    """

    def apply(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``extra`` after the change."""
        return super().apply(extra) if ends_scene(extra) else dict(extra)


def with_scene_of(shown: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``extra`` of a swipe that takes the place of the one shown, which has the ``extra`` ``shown``.

    A scene ends with a message, whichever swipe is shown: one that says nothing of a scene takes over the scene's data.
    """
    data = namespace_of(extra, RECAP_NAMESPACE)
    if not ends_scene(shown) or "scene_break" in data:
        return dict(extra)
    scene = {key: value for key, value in namespace_of(shown, RECAP_NAMESPACE).items() if key.startswith("scene_")}
    return {**extra, RECAP_NAMESPACE: scene | data}


def scene_change(scene: Scene, **fields: Any) -> "SceneChange":
    """Return the change of a scene's name, visible, collapsed, include or metadata, and of its recap.

    ``recap`` adds a version of the recap, ``current`` is the index of the version to use.
    """
    values = {DATA_KEYS[name]: value for name, value in fields.items() if name in DATA_KEYS}
    recap = fields.get("recap")
    return SceneChange(
        RECAP_NAMESPACE,
        values,
        recap=recap,
        current=fields.get("current"),
        hash="" if recap is None else hash_of(scene),
    )


@dataclass(frozen=True)
class SceneChange(DataChange):
    """A change of a scene's data and of its recap, see ``scene_change``. ``hash`` is that of a new recap.

    The versions are those of the swipe that is active when the change is applied, so that writes that were prepared
    at the same time, or before another swipe became active, lose and mix none.
    """

    recap: str | None = None
    current: int | None = None
    hash: str = ""

    def apply(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``extra`` after the change. Raise Missing, Invalid, TooLarge."""
        if not ends_scene(extra):
            raise Missing(gettext("There is no such scene in this chat."))
        versions = _versions_of(namespace_of(extra, self.namespace))
        values = {**self.values, **self._recap_values(versions)}
        return DataChange(self.namespace, values, self.clear).apply(extra)

    def _recap_values(self, versions: list[dict[str, Any]]) -> dict[str, Any]:
        if self.recap is not None:
            version = {"memory": self.recap, "created_at": timestamp(timezone.now()), "edited": True}
            return {
                "scene_recap_memory": self.recap,
                "scene_recap_versions": [*versions, version],
                "scene_recap_current_index": len(versions),
                "scene_recap_hash": self.hash,
            }
        if self.current is None:
            return {}
        if self.current >= len(versions):
            raise Invalid.at("/current", f"It must be less than the number of versions, {len(versions)}.")
        version = versions[self.current]
        text = version.get("memory") if isinstance(version, dict) else version
        return {"scene_recap_memory": str(text or ""), "scene_recap_current_index": self.current}


def hash_of(scene: Scene) -> str:
    """Return a hash of a scene's names and texts, 16 hexadecimal digits. When it changes, the recap is outdated."""
    lines = (
        Swipe.objects.for_owner(scene.last.owner_id)
        .filter(message__chat=scene.last.chat_id, message__index__range=(scene.start, scene.last.index))
        .filter(position=F("message__swipe_id"))
        .order_by("message__index")
        .values_list("message__name", "mes")
    )
    return hashlib.sha256(json.dumps(list(lines)).encode()).hexdigest()[:16]


OWN_HASH = re.compile(r"[0-9a-f]{16}")


def is_outdated(scene: Scene) -> bool | None:
    """Return whether messages of the scene were changed since its recap was written.

    None if that isn't known: there is no recap, or another program wrote it.
    """
    if not scene.recap or scene.hash is None or not OWN_HASH.fullmatch(scene.hash):
        return None
    return scene.hash != hash_of(scene)
