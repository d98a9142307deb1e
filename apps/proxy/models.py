"""Chats that came through the proxy, and by what a request finds its own."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from apps.chats.models import Chat
from apps.common.scoping import OwnedModel


class ProxiedChat(OwnedModel):
    """What a later request of the same conversation is recognised by."""

    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, related_name="proxied")
    opening = models.BigIntegerField(help_text="Key of the leading system messages.")
    fingerprints = ArrayField(
        models.BigIntegerField(), default=list, help_text="Keys of the first user turn and the latest ones."
    )
    # The two lists are parallel. A message that somebody else has deleted stays in them while the client sends it.
    known_messages = ArrayField(models.UUIDField(), default=list, help_text="What the client has sent and received.")
    known_keys = ArrayField(models.BigIntegerField(), default=list, help_text="Keys of their texts as it has them.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [
            GinIndex("fingerprints", name="proxied_fingerprints"),  # they contain the owner
            models.Index(fields=["owner", "-updated_at"], name="proxied_owner_latest"),
        ]
