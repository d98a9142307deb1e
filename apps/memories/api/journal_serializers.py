"""JSON of journal entries."""

from rest_framework import serializers

from apps.memories.models import JournalEntry


class JournalEntrySerializer(serializers.ModelSerializer[JournalEntry]):
    """A journal entry. ``sources`` are the entries of the level below that it was made from."""

    sources = serializers.ListField(child=serializers.UUIDField(), source="source_ids")
    chats = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = JournalEntry
        fields = (
            *("id", "granularity", "period", "title", "text", "instance", "chats", "sources"),
            *("edited_by", "version", "stale", "created_at", "updated_at"),
        )
        read_only_fields = fields
