"""Characters, chats, messages, their swipes, and the log of changes."""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.chats.message_data.namespaces import is_partial
from apps.chats.querysets import BinManager, ChatManager, DeletedPersonaManager, MessageQuerySet, PersonaManager
from apps.common.database.fields import OrderedJSONField
from apps.common.database.ids import uuid7
from apps.common.jobs import Job
from apps.common.scoping import OwnedManager, OwnedModel

MAX_TAGS = 20  # of a chat
MAX_TAG_LENGTH = 50  # characters


def refuse_comma(tag: str) -> None:
    """Raise ValidationError for a tag with a comma, which separates tags in forms."""
    if "," in tag:
        raise ValidationError(gettext("A tag can't have a comma."))


class Character(OwnedModel):
    """A character, with the fields of a character card, version 3."""

    name = models.CharField(max_length=200)
    description = models.TextField(blank=True, default="")
    personality = models.TextField(blank=True, default="")
    scenario = models.TextField(blank=True, default="")
    first_mes = models.TextField(blank=True, default="")
    mes_example = models.TextField(blank=True, default="")
    system_prompt = models.TextField(blank=True, default="")
    post_history_instructions = models.TextField(blank=True, default="")
    creator_notes = models.TextField(blank=True, default="")
    alternate_greetings = OrderedJSONField(default=list, blank=True)
    group_only_greetings = OrderedJSONField(default=list, blank=True)
    tags = OrderedJSONField(default=list, blank=True)
    creator = models.TextField(blank=True, default="")
    character_version = models.TextField(blank=True, default="")
    nickname = models.TextField(blank=True, default="")
    creator_notes_multilingual = OrderedJSONField(default=dict, blank=True)
    source = OrderedJSONField(default=list, blank=True)
    extensions = OrderedJSONField(default=dict, blank=True)
    card = OrderedJSONField(default=dict, blank=True, help_text="The card as imported.")
    withheld = models.BooleanField(
        default=False, editable=False, help_text="Moderators have hidden it: models never get it."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [models.Index("owner", "name", name="character_owner_name")]  # the list; lookup at import

    @property
    def called(self) -> str:
        """Return the name in a prompt: the nickname, if there is one."""
        return self.nickname or self.name


class CharacterImage(OwnedModel):
    """The picture of a character, as uploaded."""

    character = models.OneToOneField(Character, on_delete=models.CASCADE, related_name="image")
    media_type = models.CharField(max_length=32)
    content = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)


class Persona(OwnedModel):
    """A role that the owner plays in chats. Its name is the ``user_name`` of the chats that it is chosen in."""

    name = models.CharField(max_length=200)
    description = models.TextField(blank=True, default="")
    is_default = models.BooleanField(default=False, help_text="Chosen in new chats.")
    deleted_at = models.DateTimeField(null=True, editable=False)
    played_in = ArrayField(
        models.UUIDField(), default=list, editable=False, help_text="Of a deleted persona: the chats that named it."
    )
    withheld = models.BooleanField(
        default=False, editable=False, help_text="Moderators have hidden it: models never get it."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = PersonaManager()  # type: ignore[misc]
    deleted = DeletedPersonaManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner"],
                condition=models.Q(is_default=True, deleted_at=None),
                name="persona_one_default",
            )
        ]
        indexes = [
            models.Index("owner", "name", name="persona_owner_name"),  # the list; lookup at import
            models.Index(
                "deleted_at", name="persona_deleted", condition=models.Q(deleted_at__isnull=False)
            ),  # the purge, over all owners
        ]


class Avatar(OwnedModel):
    """A small square picture of a character or a persona, as WebP. A new picture is a new row."""

    character = models.OneToOneField(Character, on_delete=models.CASCADE, null=True, blank=True, related_name="avatar")
    persona = models.OneToOneField(Persona, on_delete=models.CASCADE, null=True, blank=True, related_name="avatar")
    content = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(character__isnull=False, persona__isnull=True)
                | models.Q(character__isnull=True, persona__isnull=False),
                name="avatar_of_one",
            )
        ]
        indexes = [models.Index("owner", name="avatar_owner")]  # the avatars of a chat's speakers


class Lorebook(OwnedModel):
    """World-info entries triggered by keywords. It may belong to a character, and be used with a persona or a chat."""

    name = models.CharField(max_length=200)
    character = models.ForeignKey(
        Character, on_delete=models.CASCADE, null=True, blank=True, related_name="lorebooks", db_index=False
    )
    persona = models.ForeignKey(
        Persona, on_delete=models.SET_NULL, null=True, blank=True, related_name="lorebooks", db_index=False
    )
    chat = models.ForeignKey(
        "Chat", on_delete=models.SET_NULL, null=True, blank=True, related_name="lorebooks", db_index=False
    )
    document = OrderedJSONField(default=dict, help_text="The book in the form of card version 3.")
    source_format = models.CharField(max_length=32, blank=True, default="")
    original = OrderedJSONField(null=True, blank=True, help_text="The book as imported.")
    withheld = models.BooleanField(
        default=False, editable=False, help_text="Moderators have hidden it: models never get it."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [
            models.Index("owner", "name", name="lorebook_owner_name"),  # the list
            models.Index("character", name="lorebook_character"),  # the lorebook of a character
            models.Index("persona", name="lorebook_persona"),  # likewise, also for the foreign key
            models.Index("chat", name="lorebook_chat"),
        ]


class ImportJob(Job):
    """A background import of a file. ``done`` and ``total`` are bytes; its chats exist once it has succeeded."""

    class Existing(models.TextChoices):
        """What becomes of a chat in the file that is stored already."""

        COPY = "copy", _("Import it as a second copy")
        UPDATE = "update", _("Update the chat that is stored")
        ASK = "ask", _("Pause and ask")

    filename = models.CharField(max_length=255)
    existing = models.CharField(max_length=8, choices=Existing.choices, default=Existing.COPY)
    matches = OrderedJSONField(
        default=list, blank=True, help_text="Of a paused import: the chats that are stored already."
    )
    file = models.FileField(upload_to="imports/", blank=True, help_text="Removed when the job has ended.")
    title = models.CharField(max_length=200, blank=True, default="")
    character = models.ForeignKey(Character, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    messages = models.PositiveBigIntegerField(default=0, help_text="Read so far.")
    report = OrderedJSONField(default=dict, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["owner", "-id"], name="import_owner_newest"),  # the list
            models.Index("state", "heartbeat_at", name="import_state"),  # the sweep, over all owners
        ]


class Chat(OwnedModel):
    """A conversation. ``integrity`` and ``rev`` identify its state: both change with every write."""

    character = models.ForeignKey(Character, on_delete=models.SET_NULL, null=True, blank=True, related_name="chats")
    title = models.CharField(max_length=200)
    user_name = models.CharField(max_length=200, blank=True, default="")
    persona = models.ForeignKey(
        Persona,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="chats",
        help_text="The role that the user plays.",
    )
    metadata = OrderedJSONField(default=dict, blank=True)
    header_layout = models.TextField(
        blank=True, default="", help_text="Layout of the imported header (see formats.layout)."
    )
    integrity = models.UUIDField(default=uuid.uuid4, editable=False)
    rev = models.PositiveBigIntegerField(default=0, editable=False)
    settled_rev = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="The rev up to which the background work for its changes has been started."
    )
    message_count = models.PositiveIntegerField(default=0, editable=False)
    last_active = models.DateTimeField(default=timezone.now)
    last_used = models.DateTimeField(
        default=timezone.now, editable=False, help_text="When its owner last wrote to it, changed or imported it."
    )
    pinned = models.BooleanField(default=False, help_text="First in the list.")
    archived = models.BooleanField(default=False, help_text="Not in the list, but in the archive.")
    tags = ArrayField(models.CharField(max_length=MAX_TAG_LENGTH), default=list, blank=True)
    is_group = models.BooleanField(default=False, help_text="The chat has participants.")
    parent = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="branches", editable=False
    )
    parent_index = models.PositiveIntegerField(
        null=True, blank=True, help_text="Index of the last message copied from the parent."
    )
    is_checkpoint = models.BooleanField(default=False, help_text="A branch saved to return to later.")
    # Not a foreign key: branches remain branches of one story after the chat that they come from is deleted.
    story = models.UUIDField(default=uuid7, editable=False, help_text="Shared by a chat and all its branches.")
    deleted_at = models.DateTimeField(null=True, editable=False, help_text="When it was put into the bin.")
    keeps_memories = models.BooleanField(
        default=False, editable=False, help_text="In the bin: what its character learnt stays in other chats."
    )
    import_job = models.ForeignKey(
        ImportJob, on_delete=models.SET_NULL, null=True, blank=True, related_name="chats", editable=False
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = ChatManager()  # type: ignore[misc]
    in_bin = BinManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(keeps_memories=False) | models.Q(deleted_at__isnull=False),
                name="chat_keeps_memories_in_bin",
            ),
            models.CheckConstraint(condition=models.Q(tags__len__lte=MAX_TAGS), name="chat_tags_limit"),
        ]
        indexes = [
            models.Index(fields=["owner", "-last_used", "-id"], name="chat_owner_used"),  # the list
            models.Index(
                "deleted_at", name="chat_deleted", condition=models.Q(deleted_at__isnull=False)
            ),  # the purge, over all owners
            models.Index(
                "updated_at", name="chat_unsettled", condition=models.Q(rev__gt=models.F("settled_rev"))
            ),  # the sweep, over all owners
        ]

    def names_for(self, speaker: Character | None) -> dict[str, str]:
        """Return the values of the macros ``char`` and ``user`` where ``speaker`` speaks."""
        return {"char": speaker.called if speaker else "the assistant", "user": self.user_name or "You"}


class Participant(OwnedModel):
    """A speaker in a group chat besides the user."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="participants", db_index=False)
    character = models.ForeignKey(
        Character, on_delete=models.SET_NULL, null=True, blank=True, related_name="participations"
    )
    name = models.CharField(max_length=200)
    position = models.PositiveIntegerField()
    muted = models.BooleanField(default=False, help_text="Excluded from the order of turns.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chat", "name"], name="participant_chat_name"),
            models.UniqueConstraint(
                fields=["chat", "position"], name="participant_chat_position", deferrable=models.Deferrable.DEFERRED
            ),
        ]
        indexes = [models.Index("owner", "chat", name="participant_owner_chat")]  # counts and scopes by owner


class Message(OwnedModel):
    """A turn of a chat. Its text and ``extra`` are those of its active swipe."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="messages", db_index=False)
    index = models.PositiveIntegerField(help_text="Position in the chat, from 0, without gaps.")
    rev = models.PositiveIntegerField(default=1, help_text="Number of writes.")
    name = models.CharField(max_length=200, blank=True, default="")
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
    layout = models.TextField(blank=True, default="", help_text="Layout of the imported line (see formats.layout).")
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
            models.Index(
                "participant", name="message_participant", condition=models.Q(participant__isnull=False)
            ),  # removal of a participant
        ]

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


class ChatImage(OwnedModel):
    """An image uploaded to a chat, as WebP. Texts name it by its key, which branches of the chat have too."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="images", db_index=False)
    key = models.UUIDField(default=uuid7, editable=False)
    content = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chat", "key"], name="image_chat_key")]
        indexes = [models.Index("owner", "key", name="image_owner_key")]  # the image in a text


class ChatChange(OwnedModel):
    """A write to a chat: what it changed, and the resulting integrity and rev."""

    class Kind(models.TextChoices):
        CREATE = "create"
        IMPORT = "import"
        APPEND = "append"
        PATCH = "patch"
        METADATA = "metadata"
        UNDO = "undo"
        BRANCH = "branch"
        PARTICIPANTS = "participants"
        DETAILS = "details"  # title, character, persona or user name

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="changes", db_index=False)
    rev = models.PositiveBigIntegerField()
    integrity = models.UUIDField()
    kind = models.CharField(max_length=16, choices=Kind.choices)
    at = models.DateTimeField(default=timezone.now, editable=False)
    message_ids = ArrayField(models.UUIDField(), default=list, help_text="Messages added or changed.")
    deleted_ids = ArrayField(models.UUIDField(), default=list)
    metadata = OrderedJSONField(null=True, blank=True, help_text="The change of the metadata, as a merge patch.")
    metadata_replaced = models.BooleanField(default=False, help_text="metadata holds all metadata, not a merge patch.")
    before = OrderedJSONField(null=True, blank=True, help_text="Earlier state of what was changed, for undo.")
    undoes = models.PositiveBigIntegerField(null=True, blank=True, help_text="The rev that this change undid.")
    reordered = models.BooleanField(default=False, help_text="Indexes of messages not listed changed too.")
    fingerprint = models.CharField(
        max_length=64, blank=True, default="", help_text="Hash of the request, to recognise retries."
    )
    forced = models.BooleanField(default=False, help_text="Written without a check of integrity.")
    writer = models.CharField(
        max_length=64, blank=True, default="", help_text="Hash of the token or session that wrote it."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chat", "rev"], name="change_chat_rev"),
            models.UniqueConstraint(fields=["chat", "integrity"], name="change_chat_integrity"),
            models.UniqueConstraint(
                fields=["chat", "undoes"], name="change_undone_once", condition=models.Q(undoes__isnull=False)
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-id"], name="change_owner"),  # the admin site's list
            models.Index("at", name="change_age"),  # trimming, over all owners
            models.Index("at", name="change_with_texts", condition=models.Q(before__isnull=False)),
        ]
