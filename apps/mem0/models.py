"""Which chat has what a client of mem0 adds with its ids, and what became of each add."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from apps.chats.models import MAX_TAG_LENGTH, Chat, Message
from apps.common.scoping import OwnedModel, namespace_field
from apps.extraction.models import ExtractionRun

MAX_ID_LENGTH = 200


class Mem0Chat(OwnedModel):
    """The chat of one combination of ids. The user is its namespace; agents have one character in each namespace."""

    namespace = namespace_field()
    agent = models.CharField(max_length=MAX_ID_LENGTH, blank=True, default="")
    app = models.CharField(max_length=MAX_ID_LENGTH, blank=True, default="")
    run = models.CharField(max_length=MAX_ID_LENGTH, blank=True, default="")
    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, related_name="mem0")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "namespace", "agent", "app", "run"], name="mem0_chat_of_ids")
        ]


class Mem0Event(OwnedModel):
    """An add. Its state is that of its run, if it has one; what it asks of the memories is kept until that ends."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="mem0_events", db_index=False)
    run = models.ForeignKey(ExtractionRun, on_delete=models.SET_NULL, null=True, related_name="+")
    first = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    last = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    memories = ArrayField(models.UUIDField(), default=list, help_text="Of an add that stored its texts as they are.")
    metadata = models.JSONField(default=dict)
    tags = ArrayField(models.CharField(max_length=MAX_TAG_LENGTH), default=list)
    expires_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["owner", "-id"], name="mem0_event_newest")]
