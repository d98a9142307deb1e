"""A message with its swipes as it is read from a JSON object with SillyTavern's keys, before it is stored."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from django.utils import timezone

from apps.chats.dates import parse_date, timestamp
from apps.chats.message_data.layout import make_layout


@dataclass(frozen=True)
class ParsedSwipe:
    """One version of a message: its text, its `extra`, and its entry of `swipe_info` without `extra`.

    `instance` wrote it, if it is copied from a stored one; no file has it.
    """

    mes: str
    extra: dict[str, Any] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    instance: str = ""


@dataclass(frozen=True)
class ParsedMessage:
    """A message in the form in which it is stored.

    `send_date` is the date as written in the file (empty if absent), `sent_at` the same date parsed, in UTC. There is
    at least one swipe; `swipe_id` is the index of the active one. For `layout` see the module `layout`.
    """

    name: str
    is_user: bool
    is_system: bool
    send_date: Any
    sent_at: dt.datetime | None
    swipe_id: int
    swipes: tuple[ParsedSwipe, ...]
    layout: str

    @property
    def active(self) -> ParsedSwipe:
        """Return the active swipe."""
        return self.swipes[self.swipe_id]

    def dated(self) -> Self:
        """Return the message, dated now if its send_date is None."""
        if self.send_date is not None:
            return self
        now = timezone.now().replace(microsecond=0)
        return replace(self, send_date=timestamp(now), sent_at=now)


def read_message(fields: Mapping[str, Any], line: Mapping[str, Any] | None = None) -> ParsedMessage:
    """Return the message of an object with valid values. Its layout is that of ``line``, by default of the object.

    ``mes`` takes precedence over the active swipe's text: old SillyTavern versions did not update ``swipes`` on edits.
    Of its data, ``swipe_info`` does: after a change of the swipe, ``extra`` may still hold that of the one before.
    """
    swipe_id, swipes = _swipes(fields)
    message = ParsedMessage(
        name=fields["name"],
        is_user=fields["is_user"],
        is_system=fields["is_system"],
        send_date=fields["send_date"],
        sent_at=parse_date(fields["send_date"]),
        swipe_id=swipe_id,
        swipes=swipes,
        layout="",
    )
    return replace(message, layout=make_layout(fields if line is None else line, message_fields(message)))


def _swipes(fields: Mapping[str, Any]) -> tuple[int, tuple[ParsedSwipe, ...]]:
    """Return the index of the active swipe, and all swipes.

    Without ``swipe_id``, the one with the text in ``mes`` is active. If there is none, it is added.
    """
    mes = fields["mes"]
    texts = list(fields.get("swipes") or [mes])
    active = fields.get("swipe_id")
    if active is None:
        active = texts.index(mes) if mes in texts else len(texts)
    texts[active : active + 1] = [mes]
    infos = fields.get("swipe_info", [])[: len(texts)]
    infos += [{}] * (len(texts) - len(infos))
    swipes = [_swipe(text, info) for text, info in zip(texts, infos, strict=True)]
    swipes[active] = replace(swipes[active], extra={**fields.get("extra", {}), **swipes[active].extra})
    return active, tuple(swipes)


def _swipe(text: str, info: Mapping[str, Any]) -> ParsedSwipe:
    extra = info.get("extra")
    rest = {key: value for key, value in info.items() if key != "extra"}
    return ParsedSwipe(text, extra if isinstance(extra, dict) else {}, rest)


def message_fields(message: ParsedMessage) -> dict[str, Any]:
    """Return each key of a message with its value rebuilt from the columns, in the order that SillyTavern writes."""
    return {
        "name": message.name,
        "is_user": message.is_user,
        "is_system": message.is_system,
        "send_date": message.send_date,
        "mes": message.active.mes,
        "extra": message.active.extra,
        "swipe_id": message.swipe_id,
        "swipes": [swipe.mes for swipe in message.swipes],
        "swipe_info": [{**swipe.info, "extra": swipe.extra} for swipe in message.swipes],
    }
