"""API of a message's recap and of the data that programs store with it."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.api.guarded import GuardedSerializer
from apps.chats.locking import Guard
from apps.chats.message_data.namespaces import (
    MAX_KEY_LENGTH,
    MAX_NAMESPACE_LENGTH,
    PREVIOUS,
    DataChange,
    SwipeName,
    namespace_of,
    swipe_position,
)
from apps.chats.message_data.recaps import Recap, recap_edit, recap_of, recap_removal
from apps.chats.models import Message, Swipe
from apps.chats.operations import Patch, patch_messages
from apps.chats.queries import access_message
from apps.common.api.parameters import takes_query
from apps.common.api.serializer_fields import JSONObjectField, TextField
from apps.common.documents.strict_json import storage_errors
from apps.common.problems import Invalid, Missing
from apps.sync.api.serializers import WrittenSerializer
from apps.sync.api.views import chat_state

SWIPE_PARAMETER = OpenApiParameter(
    "swipe", OpenApiTypes.STR, description="The position of a swipe, or `previous`. Default: the active one."
)


class DataSerializer(GuardedSerializer):
    data = JSONObjectField(default=dict)  # type: ignore[assignment]
    clear = serializers.ListField(child=TextField(), default=list, max_length=1000, help_text="Keys to delete.")


class ValueSerializer(GuardedSerializer):
    value = serializers.JSONField(allow_null=True)


class RecapTextSerializer(GuardedSerializer):
    text = TextField()


class DataWrittenSerializer(WrittenSerializer):
    data = JSONObjectField()  # type: ignore[assignment]


class StoredValueSerializer(serializers.Serializer[Any]):
    value = serializers.JSONField(allow_null=True)


class ValueWrittenSerializer(WrittenSerializer):
    value = serializers.JSONField(allow_null=True)


class RecapSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(allow_null=True)
    memory = serializers.CharField(allow_null=True)
    prefill = serializers.CharField(allow_null=True)
    include = serializers.CharField(allow_null=True)
    exclude = serializers.BooleanField()
    edited = serializers.BooleanField()
    error = serializers.CharField(allow_null=True)
    reasoning = serializers.CharField(allow_null=True)


class RecapWrittenSerializer(WrittenSerializer):
    recap = RecapSerializer()


class NamespaceView(APIView):
    @extend_schema(operation_id="chats_messages_data_list", parameters=[SWIPE_PARAMETER], responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, chat_id: UUID, message_id: UUID, namespace: str) -> Response:
        """Return all keys of the namespace."""
        message = access_message(request.user, chat_id, message_id)
        return Response(namespace_of(_extra_of(request, message), namespace))

    @takes_query(SWIPE_PARAMETER)
    @extend_schema(request=DataSerializer, responses=DataWrittenSerializer)
    def patch(self, request: Request, chat_id: UUID, message_id: UUID, namespace: str) -> Response:
        """Set keys of a swipe (null is a value), and delete those in `clear`.

        Loci itself reads two keys of the namespace `loci`: `leave_out`, a boolean, leaves the message out of memory;
        `witnesses`, a list of names, are the members of a group who learn of it.
        """
        body = _read_body(DataSerializer, request, chat_id, message_id)
        change = DataChange(
            _checked_name(namespace, MAX_NAMESPACE_LENGTH),
            {_checked_name(key, MAX_KEY_LENGTH): value for key, value in body.validated_data["data"].items()},
            frozenset(body.validated_data["clear"]),
            swipe=_requested_swipe(request),
        )
        written, swipe = _write(request, chat_id, message_id, change, body.guard(request))
        return Response(written | {"data": namespace_of(swipe.extra, namespace)})


class KeyView(APIView):
    @extend_schema(parameters=[SWIPE_PARAMETER], responses=StoredValueSerializer)
    def get(self, request: Request, chat_id: UUID, message_id: UUID, namespace: str, key: str) -> Response:
        """Return one key; 404 if it is not set."""
        message = access_message(request.user, chat_id, message_id)
        data = namespace_of(_extra_of(request, message), namespace)
        if key not in data:
            raise Missing("This key is not set.")
        return Response({"value": data[key]})

    @takes_query(SWIPE_PARAMETER)
    @extend_schema(request=ValueSerializer, responses=ValueWrittenSerializer)
    def put(self, request: Request, chat_id: UUID, message_id: UUID, namespace: str, key: str) -> Response:
        """Set one key; null is a value."""
        body = _read_body(ValueSerializer, request, chat_id, message_id)
        value = body.validated_data["value"]
        values = {_checked_name(key, MAX_KEY_LENGTH): value}
        change = DataChange(_checked_name(namespace, MAX_NAMESPACE_LENGTH), values, swipe=_requested_swipe(request))
        written, _ = _write(request, chat_id, message_id, change, body.guard(request, optional=True))
        return Response(written | {"value": value})

    @takes_query(SWIPE_PARAMETER)
    @extend_schema(request=GuardedSerializer, responses={200: WrittenSerializer})
    def delete(self, request: Request, chat_id: UUID, message_id: UUID, namespace: str, key: str) -> Response:
        """Delete the key. If it is not set, nothing is written. A body with the integrity is optional."""
        body = _read_body(GuardedSerializer, request, chat_id, message_id)
        change = DataChange(namespace, clear=frozenset([key]), swipe=_requested_swipe(request))
        return Response(_write(request, chat_id, message_id, change, body.guard(request, optional=True))[0])


class RecapView(APIView):
    @extend_schema(parameters=[SWIPE_PARAMETER], responses=RecapSerializer)
    def get(self, request: Request, chat_id: UUID, message_id: UUID) -> Response:
        """Return the recap of the message. `text` is prefill followed by memory."""
        message = access_message(request.user, chat_id, message_id)
        return Response(_recap_document(recap_of(_extra_of(request, message))))

    @takes_query(SWIPE_PARAMETER)
    @extend_schema(request=RecapTextSerializer, responses=RecapWrittenSerializer)
    def put(self, request: Request, chat_id: UUID, message_id: UUID) -> Response:
        """Replace the recap with a user's text and mark it as edited. Clear error, reasoning and prefill."""
        body = _read_body(RecapTextSerializer, request, chat_id, message_id)
        change = recap_edit(body.validated_data["text"], _requested_swipe(request))
        return _write_recap(request, chat_id, message_id, change, body)

    @takes_query(SWIPE_PARAMETER)
    @extend_schema(request=GuardedSerializer, responses={200: RecapWrittenSerializer})
    def delete(self, request: Request, chat_id: UUID, message_id: UUID) -> Response:
        """Clear the recap."""
        body = _read_body(GuardedSerializer, request, chat_id, message_id)
        return _write_recap(request, chat_id, message_id, recap_removal(_requested_swipe(request)), body)


def _read_body(serializer_class: type[GuardedSerializer], request: Request, chat_id: UUID, message_id: UUID) -> Any:
    """Return the validated serializer of a request for an existing message. Raise Missing, Invalid."""
    access_message(request.user, chat_id, message_id)
    body = serializer_class(data=request.data)
    body.is_valid(raise_exception=True)
    return body


def _checked_name(name: str, max_length: int) -> str:
    """Return ``name``, a namespace or key. Raise Invalid if it can't be stored."""
    error = next(storage_errors(name), None)
    if error or not 0 < len(name) <= max_length:
        raise Invalid(error.detail if error else f"It must have 1 to {max_length} characters.")
    return name


def _requested_swipe(request: Request) -> SwipeName:
    """Return the swipe that ``?swipe=`` names, or None for the active one. Raise Invalid."""
    requested = request.query_params.get("swipe")
    if requested is None or requested == PREVIOUS:
        return requested
    if requested.isascii() and requested.isdigit() and len(requested) < 10:
        return int(requested)
    raise Invalid.at("/swipe", "It must be the position of a swipe, or previous.")


def _swipe_at(message: Message, swipe: SwipeName) -> Swipe:
    """Return the swipe of a message. Raise Missing."""
    swipes = message.ordered_swipes
    return swipes[swipe_position(swipe, message.swipe_id, len(swipes))]


def _extra_of(request: Request, message: Message) -> dict[str, Any]:
    """Return the ``extra`` of the requested swipe. Raise Invalid, Missing."""
    return _swipe_at(message, _requested_swipe(request)).extra


@transaction.atomic
def _write(
    request: Request, chat_id: UUID, message_id: UUID, change: DataChange, guard: Guard
) -> tuple[dict[str, Any], Swipe]:
    """Apply a change. Return the new integrity and rev of the chat as JSON, and the swipe that it is of.

    The message is read while the chat is still locked: after the commit, another program may delete it.
    """
    result = patch_messages(request.user, chat_id, [Patch(id=message_id, data=change)], guard)
    return chat_state(result.chat), _swipe_at(access_message(request.user, chat_id, message_id), change.swipe)


def _write_recap(request: Request, chat_id: UUID, message_id: UUID, change: DataChange, body: Any) -> Response:
    written, swipe = _write(request, chat_id, message_id, change, body.guard(request, optional=True))
    return Response(written | {"recap": _recap_document(recap_of(swipe.extra))})


def _recap_document(recap: Recap) -> dict[str, Any]:
    return asdict(recap) | {"text": recap.text}
