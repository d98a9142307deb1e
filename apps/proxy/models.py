"""Chats that came through the proxy, and by what a request finds its own."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from apps.chats.models import Chat
from apps.common.scoping import OwnedModel


class ProxiedChat(OwnedModel):
    """What a later request of the same conversation is recognised by."""

    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, related_name="proxied")
    opening = models.CharField(max_length=16, help_text="Fingerprint of the leading system messages.")
    fingerprints = ArrayField(
        models.CharField(max_length=16), default=list, help_text="Of the first user turn and the latest ones."
    )
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [
            GinIndex("fingerprints", name="proxied_fingerprints"),  # they contain the owner
            models.Index(fields=["owner", "-updated_at"], name="proxied_owner_latest"),
        ]
