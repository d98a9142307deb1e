"""Serializers of writes that name the state that the client knows."""

from functools import cache
from typing import Any

from rest_framework.request import Request

from apps.accounts.authentication import instance_of, writer_of
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.locking import Guard
from apps.chats.models import MAX_FOLDER_LENGTH, MAX_TAGS
from apps.chats.serializers import (
    CONNECTION_HELP,
    OwnedCharacterField,
    OwnedConnectionField,
    OwnedPersonaField,
    TagsField,
)
from apps.common.api.serializer_fields import (
    ChoiceField,
    StrictBooleanField,
    StrictSerializer,
    StrictUUIDField,
    TextField,
)
from apps.common.http.retries import KEY_HEADER


class GuardedBody(StrictSerializer):
    """A write that may name the integrity of what it changes."""

    integrity = StrictUUIDField(required=False, allow_null=True)
    on_conflict = ChoiceField(choices=["fail", "rebase"], default="fail")
    force = StrictBooleanField(default=False)

    def guard(self, request: Request, *, optional: bool = False) -> Guard:
        """Return the guard that the request specifies; for ``optional``, see ``Guard``."""
        data = self.validated_data
        return Guard(
            data.get("integrity"),
            rebase=data["on_conflict"] == "rebase",
            force=data["force"],
            optional=optional,
            has_idempotency_key=KEY_HEADER in request.headers,
            writer=writer_of(request),
            instance=instance_of(request),
        )

    def changes(self) -> dict[str, Any]:
        """Return the validated fields without those of the guard."""
        data: dict[str, Any] = self.validated_data
        return {key: value for key, value in data.items() if key not in GUARD_FIELDS}


GUARD_FIELDS = {"integrity", "on_conflict", "force"}


class GuardedSerializer(GuardedBody):
    """A write to a chat or to the settings, with the integrity of the state that it was made on."""

    # Its fields know no request: they are shared by all.

    @property
    def fields(self) -> Any:
        """Return fields built once for the class: copying them for each request takes longer than the write itself."""
        return _fields_of(type(self))


@cache
def _fields_of(serializer_class: type[GuardedSerializer]) -> Any:
    return super(GuardedSerializer, serializer_class()).fields


class ChatUpdateSerializer(GuardedBody):
    title = TextField(max_length=MAX_NAME_LENGTH, allow_blank=False, required=False)
    character = OwnedCharacterField(required=False)
    user_name = TextField(
        max_length=MAX_NAME_LENGTH, required=False, help_text="Default, if a persona is chosen: its name."
    )
    persona = OwnedPersonaField(required=False)
    connection = OwnedConnectionField(required=False, help_text=CONNECTION_HELP)
    pinned = StrictBooleanField(required=False)
    archived = StrictBooleanField(required=False)
    # Trimmed as by the forms, which else find no folder of blanks, and show its chats nowhere.
    folder = TextField(max_length=MAX_FOLDER_LENGTH, required=False, trim_whitespace=True, help_text="Empty: in none.")
    tags = TagsField(max_length=MAX_TAGS, required=False)
