"""Rebase writes onto a newer state, and find clashes."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from loci_client.documents import MISSING, Path, leaves, pointer, same, value_at
from loci_client.errors import Clash
from loci_client.splices import spliced
from loci_client.state import Delta
from loci_client.types import DataChange, Message, Operation, Patch

OF_THE_SWIPE = {"mes", "extra"}
NAMES = {"id", "if_rev"}


def rebase_patches(
    patches: Iterable[Patch], bases: Mapping[str, Message], delta: Delta
) -> tuple[list[Patch], list[Clash]]:
    """Return the patches to send again, and the clashes.

    ``bases`` are the messages that the patches are based on, by id. A patch is sent again if nobody else changed its
    fields, and left out if it is already in effect.
    """
    again: list[Patch] = []
    clashes: list[Clash] = []
    for patch in patches:
        base, theirs = bases.get(patch["id"]), delta.touched.get(patch["id"])
        if theirs is not None:
            found = list(_clashes(patch, base, theirs))
            clashes += found
            again += [] if found else _renewed(patch, base, theirs)
        elif patch["id"] in delta.deleted:
            clashes += _over_deleted(patch, base)
        else:
            again.append(patch)
    return again, clashes


def move_clashes(patches: Iterable[Patch], bases: Mapping[str, Message], contested: Container[str]) -> list[Clash]:
    """Return a clash for each move of a contested message, whose index named another place."""
    return [
        Clash(
            "/index", bases[patch["id"]]["index"] if patch["id"] in bases else None, patch["move_to"], None, patch["id"]
        )
        for patch in patches
        if "move_to" in patch and patch["id"] in contested
    ]


def _over_deleted(patch: Patch, base: Message | None) -> list[Clash]:
    if patch.get("delete"):
        return []
    field, mine = next(_places(patch, base), (("mes",), None))
    return [Clash(pointer(field), _shown(value_at(base, field)), mine, None, patch["id"])]


def _renewed(patch: Patch, base: Message | None, theirs: Message) -> list[Patch]:
    """Return the patch for the present message, or nothing if the other side made the same splice."""
    renewed: Patch = {**patch}
    if "if_rev" in patch:
        renewed["if_rev"] = theirs["rev"]
    if "splice" in patch and base is not None and base["mes"] != theirs["mes"]:
        del renewed["splice"]
    return [renewed] if renewed.keys() - NAMES else []


def _clashes(patch: Patch, base: Message | None, theirs: Message) -> Iterator[Clash]:
    for path, mine in _places(patch, base):
        before = MISSING if base is None else value_at(_addressed(base, patch), path)
        now = value_at(_addressed(theirs, patch), path)
        if _clash(patch, path, mine, before, now) or _swipe_switched(patch, path, base, theirs):
            yield Clash(pointer(path), _shown(before), _shown(mine), _shown(now), theirs["id"], theirs)


def _clash(patch: Patch, path: Path, mine: Any, before: Any, now: Any) -> bool:
    if path == ("swipes",):
        return not same(now, before)
    removes = mine is None and path[0] == "extra" and "data" not in patch
    return not same(now, before) and not same(now, MISSING if removes else mine)


def _swipe_switched(patch: Patch, path: Path, base: Message | None, theirs: Message) -> bool:
    """Return True if the patch would change another swipe now: text and extra are those of the active swipe."""
    if base is None or path[0] not in OF_THE_SWIPE or "swipe_id" in patch:
        return False
    return base["swipe_id"] != theirs["swipe_id"]


def _places(patch: Patch, base: Message | None) -> Iterator[tuple[Path, Any]]:
    """Yield the paths of the message that a patch changes, each with its new value."""
    if patch.get("delete"):
        yield ("mes",), None
    if "delete_swipe" in patch or "swipe_order" in patch:
        yield ("swipes",), patch.get("delete_swipe", patch.get("swipe_order"))
    if "swipe_id" in patch:
        yield ("swipe_id",), patch["swipe_id"]
    for name, value in patch.get("set", {}).items():
        if name != "mes" or "add_swipe" not in patch:
            yield (name,), value
    if "add_swipe" in patch:  # the rest applies to the new swipe, which nobody else can have changed
        return
    if "splice" in patch:
        yield ("mes",), spliced(_addressed(base, patch)["mes"], patch["splice"]) if base else patch["splice"]
    for path, value in leaves(patch.get("extra", {})):
        yield ("extra", *path), value
    if "data" in patch:
        yield from _data_places(patch["data"])


def _data_places(change: DataChange) -> Iterator[tuple[Path, Any]]:
    """Yield the paths that a change of data writes. A cleared key becomes MISSING, since None is a value."""
    for key in change.get("clear", ()):
        yield ("extra", change["namespace"], key), MISSING
    for key, value in change.get("values", {}).items():
        if key not in change.get("clear", ()):
            yield ("extra", change["namespace"], key), value


def _addressed(message: Message, patch: Patch) -> Message:
    """Return the message with text and extra of the swipe that the patch changes."""
    position = patch.get("swipe_id", message["swipe_id"])
    if position == message["swipe_id"] or not 0 <= position < len(message["swipes"]):
        return message
    extra = message["swipe_info"][position].get("extra", {})
    return {**message, "mes": message["swipes"][position], "extra": extra}


def _shown(value: Any) -> Any:
    return None if value is MISSING else value


def metadata_clashes(changes: Mapping[str, Any], before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Clash]:
    """Return the clashes of a merge patch, based on the metadata ``before``, with the metadata ``now``."""
    return [
        Clash(pointer(path), _shown(value_at(before, path)), mine, _shown(value_at(now, path)))
        for path, mine in leaves(changes)
        if not same(value_at(before, path), value_at(now, path))
        and not same(MISSING if mine is None else mine, value_at(now, path))
    ]


def operation_clashes(
    operations: Sequence[Operation], before: Mapping[str, Any], now: Mapping[str, Any]
) -> list[Clash]:
    """Return the clashes of a JSON Patch. Operations may depend on each other, so whole top-level keys are compared."""
    paths = sorted({_top(text) for operation in operations for text in _pointers(operation)})
    return [
        Clash(pointer(path), _shown(value_at(before, path)), list(operations), _shown(value_at(now, path)))
        for path in paths
        if not same(value_at(before, path), value_at(now, path))
    ]


def _pointers(operation: Mapping[str, Any]) -> Iterator[str]:
    yield operation["path"]
    if "from" in operation:
        yield operation["from"]


def _top(text: str) -> Path:
    parts = text.split("/", 2)
    return (parts[1].replace("~1", "/").replace("~0", "~"),) if len(parts) > 1 else ()
