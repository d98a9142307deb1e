"""The search index of messages."""

from django.contrib.postgres.search import SearchVectorField
from django.db import models
from pgvector.django import HalfVectorField

from apps.chats.models import Chat, Message
from apps.common.scoping import OwnedModel


class Passage(OwnedModel):
    """A message in the search index: vectors and lexemes of its text, and of its text with the turns around it."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="passages", db_index=False)
    message = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="passage")
    message_rev = models.PositiveIntegerField(help_text="The indexed rev of the message.")
    fingerprint = models.CharField(max_length=32, help_text="Hash of everything the row was made from.")
    speaker = models.CharField(max_length=200, blank=True, default="")
    is_user = models.BooleanField(default=False)
    is_question = models.BooleanField(default=False)
    session = models.PositiveIntegerField(default=0, help_text="Number of the session within the chat.")
    sent_at = models.DateTimeField(null=True, blank=True)
    length = models.PositiveIntegerField(default=0, help_text="Word count of the text.")
    window_length = models.PositiveIntegerField(default=0, help_text="Word count with the turns around it.")
    embedding = HalfVectorField(null=True, help_text="Vector of the text, without the speaker's name.")
    window_embedding = HalfVectorField(null=True)
    embedding_model = models.CharField(max_length=220, blank=True, default="")
    lexemes = SearchVectorField(null=True, help_text="Lexemes of the date, the speaker and the text.")
    window_lexemes = SearchVectorField(null=True)

    class Meta:
        indexes = [
            # Search scans all rows of a scope, and counts the words of each speaker without reading them.
            models.Index("owner", "chat", name="passage_owner_chat_speakers", include=["speaker", "is_user", "length"]),
            # Who has vectors by a former model is asked every half hour.
            models.Index("embedding_model", "owner", name="passage_embedding_model"),
        ]
