"""Chats that came through the proxy: by what a request finds its own, and what each client knows of it."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from apps.chats.models import Chat
from apps.common.scoping import OwnedModel


class ProxiedChat(OwnedModel):
    """What a later request of the same conversation is recognised by, and what its client has.

    A client is what calls with one token: what one has sent, another need not know, and does not delete it by leaving
    it out.
    """

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="proxied")
    client = models.CharField(max_length=64, help_text="Hash of the token's id.")
    opening = models.BigIntegerField(help_text="Key of the leading system messages.")
    fingerprints = ArrayField(
        models.BigIntegerField(), default=list, help_text="Keys of the first user turn and the latest ones."
    )
    # The two lists are parallel. A message that somebody else has deleted stays in them while the client sends it.
    known_messages = ArrayField(models.UUIDField(), default=list, help_text="What the client has sent and received.")
    known_keys = ArrayField(models.BigIntegerField(), default=list, help_text="Keys of their texts as it has them.")
    instructions = ArrayField(
        models.BigIntegerField(), default=list, help_text="Keys of the paragraphs that are no part of what is said."
    )
    sends_history = models.BooleanField(default=False, help_text="It has sent replies back, and not new lines alone.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chat", "client"], name="proxied_chat_client_unique")]
        indexes = [
            GinIndex("fingerprints", name="proxied_fingerprints"),  # they contain the owner
            models.Index(fields=["owner", "-updated_at"], name="proxied_owner_latest"),
        ]
