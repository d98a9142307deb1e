"""Settings of memory for a user, a character or a chat, and the prompt templates that users edit."""

from django.db import models
from django.db.models import Q

from apps.chats.models import Character, Chat
from apps.common.fields import OrderedJSONField
from apps.common.scoping import OwnedModel


class MemorySettings(OwnedModel):
    """What differs from the defaults: of a user, or of one of their characters or chats."""

    character = models.OneToOneField(
        Character, on_delete=models.CASCADE, null=True, blank=True, related_name="memory_settings"
    )
    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, null=True, blank=True, related_name="memory_settings")
    document = OrderedJSONField(default=dict, help_text="Only what differs, with its schema_version.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "memory settings"
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "character", "chat"], name="memory_settings_once", nulls_distinct=False
            ),
            models.CheckConstraint(
                condition=Q(character__isnull=True) | Q(chat__isnull=True), name="memory_settings_of_one"
            ),
        ]


class PromptTemplate(OwnedModel):
    """What a user has a model asked by, instead of the template that comes with Loci."""

    task = models.CharField(max_length=32)
    text = models.TextField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "task"], name="prompt_template_once")]
