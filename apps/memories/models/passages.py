"""The index of what was said."""

from django.contrib.postgres.search import SearchVectorField
from django.db import models
from pgvector.django import HalfVectorField

from apps.chats.models import Chat, Message
from apps.common.scoping import OwnedModel


class Passage(OwnedModel):
    """A message as it is found: its text, and its text with the turns around it, as vectors and lexemes."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="passages", db_index=False)
    message = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="passage")
    message_rev = models.PositiveIntegerField(help_text="The message's rev that was indexed.")
    fingerprint = models.CharField(max_length=32, help_text="Of all that the row was made from.")
    speaker = models.CharField(max_length=200, blank=True, default="")
    is_user = models.BooleanField(default=False)
    is_question = models.BooleanField(default=False)
    session = models.PositiveIntegerField(default=0, help_text="Which sitting of the chat it belongs to.")
    sent_at = models.DateTimeField(null=True, blank=True)
    length = models.PositiveIntegerField(default=0, help_text="Words of the text.")
    window_length = models.PositiveIntegerField(default=0, help_text="Words of the text and the turns around it.")
    embedding = HalfVectorField(null=True, help_text="Of the text, without the speaker's name.")
    window_embedding = HalfVectorField(null=True)
    embedding_model = models.CharField(max_length=100, blank=True, default="")
    lexemes = SearchVectorField(null=True, help_text="Of the date, the speaker and the text.")
    window_lexemes = SearchVectorField(null=True)

    class Meta:
        indexes = [models.Index("owner", "chat", name="passage_owner_chat")]  # search reads a whole scope
