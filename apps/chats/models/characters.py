"""Characters with the fields of their cards."""

from django.db import models
from django.utils import timezone

from apps.chats.limits import MAX_NAME_LENGTH
from apps.common.database.fields import OrderedJSONField
from apps.common.scoping import OwnedModel, namespace_field

FAVOURITE_KEY = "fav"  # of ``extensions``


class Character(OwnedModel):
    """A character, with the fields of a character card, version 3."""

    namespace = namespace_field()
    name = models.CharField(max_length=MAX_NAME_LENGTH)
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
        # What refers to a character by these can't be of another owner or namespace: see the migration 0005.
        constraints = [models.UniqueConstraint(fields=["owner", "id", "namespace"], name="character_namespace")]
        indexes = [
            models.Index("owner", "namespace", "name", name="character_owner_name")
        ]  # the list; lookup at import

    @property
    def called(self) -> str:
        """Return the name in a prompt: the nickname, if there is one."""
        return self.nickname or self.name

    @property
    def greetings(self) -> list[str]:
        """Return the texts that a chat can open with."""
        return [text for text in (self.first_mes, *self.alternate_greetings) if text.strip()]

    @property
    def group_greetings(self) -> list[str]:
        """Return the texts that a member of a group can open with: those for groups first."""
        return [*(text for text in self.group_only_greetings if text.strip()), *self.greetings]

    @property
    def is_favourite(self) -> bool:
        """Return whether the user likes it. Its place in the card is SillyTavern's, so that both know it."""
        return self.extensions.get(FAVOURITE_KEY) in (True, "true")
