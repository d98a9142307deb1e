"""API of scenes. A scene has the id of the message that ends it."""

from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.api.guarded import GuardedSerializer
from apps.chats.models import Chat
from apps.chats.operations import Patch, patch_messages
from apps.chats.queries import access_chat, access_message
from apps.chats.scenes import (
    Scene,
    access_scene,
    is_outdated,
    scene_break_change,
    scene_break_removal,
    scene_change,
    scenes_of,
)
from apps.common.api.serializer_fields import JSONObjectField, PositionField, StrictBooleanField, TextField
from apps.common.database.rows import first_or_missing
from apps.memories.operations.scenes import dismiss_break
from apps.memories.queries.scenes import FinishedScene, detected_scene, finished_scenes
from apps.sync.api.serializers import WrittenSerializer
from apps.sync.api.views import chat_state


class SceneSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="The id of the message that ends the scene.")
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    name = serializers.CharField(allow_null=True)
    visible = serializers.BooleanField()
    collapsed = serializers.BooleanField()
    recap = serializers.CharField(allow_null=True)
    versions = serializers.ListField(child=serializers.JSONField())
    current = serializers.IntegerField(allow_null=True, help_text="The position of the version used as the recap.")
    hash = serializers.CharField(allow_null=True)
    outdated = serializers.BooleanField(
        allow_null=True,
        help_text="Whether messages of the scene were changed since its recap was written. Null: there is none, or "
        "another program wrote it.",
    )
    include = serializers.BooleanField()
    metadata = JSONObjectField()
    detected = serializers.BooleanField(help_text="Whether a run detected its end; else a person set it.")


class ScenesSerializer(WrittenSerializer):
    results = SceneSerializer(many=True)


class SceneWrittenSerializer(WrittenSerializer):
    scene = SceneSerializer()


class SceneFieldsSerializer(GuardedSerializer):
    name = TextField(max_length=200, allow_null=True, required=False)
    visible = StrictBooleanField(required=False)
    collapsed = StrictBooleanField(required=False)
    include = StrictBooleanField(required=False, help_text="Whether the recap may go into the prompt.")
    metadata = JSONObjectField(required=False)


class NewSceneSerializer(SceneFieldsSerializer):
    message = serializers.UUIDField(required=False, help_text="The id of the message that ends the scene.")
    index = PositionField(required=False, help_text="The index of that message, instead of its id.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("message" in attrs) == ("index" in attrs):
            raise serializers.ValidationError({"message": ["Send the id or index of the message that ends the scene."]})
        return attrs


class SceneUpdateSerializer(SceneFieldsSerializer):
    recap = TextField(required=False, help_text="A new version of the recap, which becomes the current one.")
    current = PositionField(required=False, help_text="The position of the version to make current.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "recap" in attrs and "current" in attrs:
            raise serializers.ValidationError({"current": ["It can't be combined with recap."]})
        return attrs


class SceneListView(APIView):
    @extend_schema(responses=ScenesSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """List the scenes that have ended, set by people or detected by runs, in the order of the chat."""
        chat = access_chat(request.user, chat_id)
        by_hand = {scene.last.pk: scene for scene in scenes_of(chat)}
        results = []
        for finished in finished_scenes(chat):
            scene = by_hand.get(finished.last.pk)
            document = _scene_document(scene) if scene else _detected_document(finished)
            results.append(document | {"start": finished.start, "recap": document["recap"] or finished.recap or None})
        return Response(chat_state(chat) | {"results": results})

    @extend_schema(request=NewSceneSerializer, responses={201: SceneWrittenSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Set a scene break after a message."""
        chat = access_chat(request.user, chat_id)
        body = NewSceneSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        fields = body.changes()
        message_id = _message_id(chat, fields.pop("message", None), fields.pop("index", None))
        patch = Patch(id=message_id, data=scene_break_change(**fields))
        return _write_scene(request, chat, [patch], body, status.HTTP_201_CREATED)


class SceneView(APIView):
    @extend_schema(request=SceneUpdateSerializer, responses=SceneWrittenSerializer)
    def patch(self, request: Request, chat_id: UUID, scene_id: UUID) -> Response:
        """Change a scene. If a run detected its end, the break becomes the person's, with its name."""
        chat = access_chat(request.user, chat_id)
        found = detected_scene(chat, scene_id)
        scene = Scene(found.last, {}, found.start) if found else access_scene(chat, scene_id)
        body = SceneUpdateSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        patches = [Patch(id=scene_id, data=scene_change(scene, **body.changes()))]
        if found:
            kept = scene_break_change(name=found.name or None, collapsed=found.collapsed)
            patches.insert(0, Patch(id=scene_id, data=kept))  # first: a person's changes replace what the run found
        return _write_scene(request, chat, patches, body, status.HTTP_200_OK)

    @extend_schema(request=GuardedSerializer, responses={200: WrittenSerializer})
    def delete(self, request: Request, chat_id: UUID, scene_id: UUID) -> Response:
        """Remove a scene break. Its name and recap are kept in case it is set again; no run detects it again.

        If there is none any more, nothing is written.
        """
        chat = access_chat(request.user, chat_id)
        message = access_message(request.user, chat_id, scene_id)
        body = GuardedSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        with transaction.atomic():
            if message.ends_scene:
                patch = Patch(id=scene_id, data=scene_break_removal())
                chat = patch_messages(request.user, chat.pk, [patch], body.guard(request, optional=True)).chat
            dismiss_break(chat, scene_id, editor=str(request.user))
        return Response(chat_state(chat))


def _message_id(chat: Chat, message_id: UUID | None, index: int | None) -> UUID:
    lookup = {"index": index} if message_id is None else {"pk": message_id}
    message = first_or_missing(chat.messages.filter(**lookup), "There is no such message in this chat.")
    return message.pk


@transaction.atomic
def _write_scene(
    request: Request, chat: Chat, patches: list[Patch], body: SceneFieldsSerializer, code: int
) -> Response:
    """Apply patches and return the scene, read while the chat is still locked: later it may be deleted."""
    result = patch_messages(request.user, chat.pk, patches, body.guard(request, optional=True))
    assert patches[0].id is not None
    scene = access_scene(result.chat, patches[0].id)
    return Response(chat_state(result.chat) | {"scene": _scene_document(scene)}, status=code)


def _scene_document(scene: Scene) -> dict[str, Any]:
    return {
        "id": str(scene.last.pk),
        "start": scene.start,
        "end": scene.last.index,
        "name": scene.name,
        "visible": scene.is_visible,
        "collapsed": scene.is_collapsed,
        "recap": scene.recap,
        "versions": scene.versions,
        "current": scene.current,
        "hash": scene.hash,
        "outdated": is_outdated(scene),
        "include": scene.is_included,
        "metadata": scene.metadata,
        "detected": False,
    }


def _detected_document(scene: FinishedScene) -> dict[str, Any]:
    """Return a scene whose end a run detected. It has no message data, so the fields stored there are empty."""
    return {
        "id": str(scene.last.pk),
        "start": scene.start,
        "end": scene.end,
        "name": scene.name or None,
        "visible": True,
        "collapsed": scene.collapsed,
        "recap": scene.recap or None,
        "versions": [],
        "current": None,
        "hash": None,
        "outdated": False if scene.recap else None,  # a changed message clears it
        "include": True,
        "metadata": {},
        "detected": True,
    }
