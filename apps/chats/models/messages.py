"""Messages and their swipes."""

from typing import Any

from django.db import models
from django.utils import timezone

from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.message_data.namespaces import is_partial
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models.chats import Chat, Participant
from apps.chats.querysets import MessageQuerySet
from apps.common.database.fields import OrderedJSONField
from apps.common.scoping import OwnedManager, OwnedModel


class Message(OwnedModel):
    """A turn of a chat. Its text and ``extra`` are those of its active swipe."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="messages", db_index=False)
    index = models.PositiveIntegerField(help_text="Position in the chat, from 0, without gaps.")
    rev = models.PositiveIntegerField(default=1, help_text="Number of writes.")
    name = models.CharField(max_length=MAX_NAME_LENGTH, blank=True, default="")
    participant = models.ForeignKey(
        Participant, on_delete=models.SET_NULL, null=True, blank=True, related_name="messages", db_index=False
    )
    is_user = models.BooleanField(default=False)
    is_system = models.BooleanField(default=False, help_text="Hidden from the prompt, not deleted.")
    send_date = OrderedJSONField(default=str, blank=True, help_text="The date as written by the client or file.")
    sent_at = models.DateTimeField(null=True, blank=True, help_text="send_date, parsed; null if that failed.")
    swipe_id = models.PositiveIntegerField(default=0, help_text="The position of the active swipe.")
    ends_scene = models.BooleanField(default=False, help_text="The active swipe's data sets scene_break.")
    left_out = models.BooleanField(default=False, help_text="The active swipe's data sets leave_out: not remembered.")
    withheld = models.BooleanField(
        default=False, editable=False, help_text="Moderators have hidden it: models never get it."
    )
    layout = models.TextField(
        blank=True, default="", help_text="Layout of the imported line (see message_data.layout)."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = OwnedManager.from_queryset(MessageQuerySet)()  # type: ignore[assignment, misc]

    class Meta:
        constraints = [
            # Deferred, so that a shift of many messages passes through states with equal indexes.
            models.UniqueConstraint(
                fields=["chat", "index"], name="message_chat_index", deferrable=models.Deferrable.DEFERRED
            )
        ]
        indexes = [
            models.Index("owner", "chat", name="message_owner_chat"),  # counts and scopes by owner
            models.Index("chat", "index", name="message_scene_ends", condition=models.Q(ends_scene=True)),  # scenes
            models.Index("chat", name="message_withheld", condition=models.Q(withheld=True)),  # asked during each call
            models.Index(
                "participant", name="message_participant", condition=models.Q(participant__isnull=False)
            ),  # removal of a participant
        ]

    def parsed(self) -> ParsedMessage:
        """Return the message as a parser would, for exports and branches."""
        return ParsedMessage(
            name=self.name,
            is_user=self.is_user,
            is_system=self.is_system,
            send_date=self.send_date,
            sent_at=self.sent_at,
            swipe_id=self.swipe_id,
            swipes=tuple(ParsedSwipe(row.mes, row.extra, row.info, row.instance) for row in self.ordered_swipes),
            layout=self.layout,
        )

    @property
    def ordered_swipes(self) -> list["Swipe"]:
        return sorted(self.swipes.all(), key=lambda swipe: swipe.position)

    @property
    def active_swipe(self) -> "Swipe":
        return next(swipe for swipe in self.swipes.all() if swipe.position == self.swipe_id)

    @property
    def mes(self) -> str:
        return self.active_swipe.mes

    @property
    def extra(self) -> dict[str, Any]:
        return self.active_swipe.extra

    @property
    def is_partial(self) -> bool:
        return is_partial(self.extra)


class Swipe(OwnedModel):
    """An alternative text of a message, with the data that belongs to it."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="swipes", db_index=False)
    position = models.PositiveIntegerField()
    mes = models.TextField(blank=True, default="")
    extra = OrderedJSONField(default=dict, blank=True)
    info = OrderedJSONField(default=dict, blank=True, help_text="Its entry of swipe_info without extra.")
    instance = models.CharField(
        max_length=64, blank=True, default="", help_text="The instance whose token wrote the text."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["message", "position"], name="swipe_message_position", deferrable=models.Deferrable.DEFERRED
            )
        ]
        indexes = [models.Index("owner", "message", name="swipe_owner_message")]  # search within the owner
