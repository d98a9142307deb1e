"""Serializers of reports, notices and looks."""

from typing import Any

from rest_framework import serializers

from apps.common.api.serializer_fields import ChoiceField, StrictSerializer, StrictUUIDField, TextField
from apps.moderation.models import Case, Kind, Look, Notice, Reason, Report


class NewAbuseReportSerializer(StrictSerializer):
    kind = ChoiceField(choices=Kind.choices)
    target_id = StrictUUIDField()
    reason = ChoiceField(choices=Reason.choices)
    note = TextField(max_length=Report.MAX_NOTE, required=False, default="")


class AbuseReportSerializer(serializers.ModelSerializer[Report]):
    kind = ChoiceField(source="case.kind", choices=Kind.choices, read_only=True)
    target_id = serializers.UUIDField(source="case.target_id", read_only=True)
    state = ChoiceField(source="case.state", choices=Case.State.choices, read_only=True)

    class Meta:
        model = Report
        fields = ["id", "kind", "target_id", "reason", "note", "state", "created_at"]
        read_only_fields = fields


class NoticeSerializer(serializers.ModelSerializer[Notice]):
    kind = ChoiceField(source="case.kind", choices=Kind.choices, read_only=True)
    target_id = serializers.UUIDField(source="case.target_id", read_only=True)
    hidden = serializers.BooleanField(source="case.hides", read_only=True)

    class Meta:
        model = Notice
        fields = [
            *("id", "kind", "target_id", "hidden", "decision", "is_about_report", "text"),
            *("created_at", "answer", "answered_at"),
        ]
        read_only_fields = fields


class NoticeAnswerSerializer(StrictSerializer):
    text = TextField(max_length=Notice.MAX_ANSWER, allow_blank=False)


class LookSerializer(serializers.ModelSerializer[Look]):
    """A look without the name of the moderator, who acts for the service."""

    class Meta:
        model = Look
        fields = ["id", "kind", "target_id", "chat_id", "reason", "created_at", "expires_at"]
        read_only_fields: Any = fields
