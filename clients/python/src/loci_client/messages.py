"""Shorten patches, and apply them to messages."""

from collections.abc import Iterable
from typing import Any

from loci_client.documents import merged
from loci_client.requests import encoded
from loci_client.splices import splice_between
from loci_client.types import Message, Patch, Place


def compact(patch: Patch, base: Message | None) -> Patch:
    """Return ``patch`` with a splice of the text of ``base`` in place of the new text, if that is shorter."""
    fields = patch.get("set", {})
    if base is None or "mes" not in fields or patch.keys() - {"id", "if_rev", "set", "extra"}:
        return patch
    rest = {name: value for name, value in fields.items() if name != "mes"}
    shorter: Patch = {**patch, "set": rest, "splice": splice_between(base["mes"], fields["mes"])}
    if not rest:
        del shorter["set"]
    return shorter if len(encoded(shorter)) < len(encoded(patch)) else patch


def as_patched(message: Message, patch: Patch, places: Iterable[Place]) -> Message:
    """Return the message after ``set`` and ``extra`` of a patch, with the rev of the server's reply."""
    now: dict[str, Any] = {**message, **patch.get("set", {})}
    now["extra"] = merged(message["extra"], patch.get("extra", {}))
    now["swipes"] = [*message["swipes"]]
    now["swipes"][message["swipe_id"]] = now["mes"]
    now["swipe_info"] = [dict(info) for info in message["swipe_info"]]
    now["swipe_info"][message["swipe_id"]]["extra"] = now["extra"]
    now["hidden"] = now["is_system"]
    for place in places:
        if place["id"] == message["id"]:
            now |= {"rev": place["rev"], "index": place["index"]}
    known: Message = now  # type: ignore[assignment]
    return known
