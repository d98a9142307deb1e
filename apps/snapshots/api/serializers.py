"""Serializers of snapshots and restores."""

from typing import Any

from rest_framework import serializers

from apps.chats.models import Chat
from apps.common import jobs
from apps.common.api.serializer_fields import StrictSerializer
from apps.memories.api.fields import OwnedRelatedField
from apps.snapshots.models import Restore, Snapshot


class SnapshotSerializer(serializers.ModelSerializer[Snapshot]):
    """A snapshot. ``done`` and ``total`` are rows; it can be downloaded and restored once it has succeeded."""

    chat = serializers.UUIDField(source="chat_id", allow_null=True, read_only=True)
    state = serializers.ChoiceField(choices=jobs.STATES, read_only=True)
    place = serializers.IntegerField(read_only=True, allow_null=True, help_text=jobs.PLACE)

    class Meta:
        model = Snapshot
        fields = ("id", "kind", "chat", "title", "reason", "state", "place", "done", "total", "size", "counts", "error",
                  "taken_at", "created_at", "finished_at")  # fmt: skip
        read_only_fields = fields


class RestoreSerializer(serializers.ModelSerializer[Restore]):
    """A restore. ``safety`` is the id of a snapshot of what it replaced, if there was something."""

    snapshot = serializers.UUIDField(source="snapshot_id", read_only=True)
    safety = serializers.UUIDField(source="safety_id", allow_null=True, read_only=True)
    state = serializers.ChoiceField(choices=jobs.STATES, read_only=True)
    place = serializers.IntegerField(read_only=True, allow_null=True, help_text=jobs.PLACE)

    class Meta:
        model = Restore
        fields = ("id", "snapshot", "safety", "state", "place", "done", "total", "error", "created_at", "finished_at")
        read_only_fields = fields


class SnapshotRequestSerializer(StrictSerializer):
    """What to make a snapshot of: a chat, or the whole account."""

    chat = OwnedRelatedField(lambda owner: Chat.objects.for_owner(owner), required=False, allow_null=True, default=None)


class SnapshotFilterSerializer(serializers.Serializer[Any]):
    chat = serializers.UUIDField(required=False, help_text="Only snapshots of this chat.")
