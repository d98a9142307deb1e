"""The endpoints that users connect, and what they spend on them."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from apps.common import clock
from apps.common.scoping import OwnedModel


class Connection(OwnedModel):
    """A server that runs models: where it is, how it is spoken to, and which of its models are used.

    At most one of an owner's connections is used for generation, and one for embeddings; without one, the built-in
    backend and the local embedding model serve.
    """

    class Backend(models.TextChoices):
        OPENAI = "openai", "OpenAI-compatible"
        OLLAMA = "ollama", "Ollama"

    name = models.CharField(max_length=100)
    backend = models.CharField(max_length=16, choices=Backend.choices, default=Backend.OPENAI)
    base_url = models.CharField(max_length=500)
    api_key = models.BinaryField(default=b"", editable=False, help_text="Encrypted; empty where none is needed.")
    api_key_hint = models.CharField(max_length=8, blank=True, default="", editable=False)
    model = models.CharField(max_length=200, blank=True, default="", help_text="For generation.")
    embedding_model = models.CharField(max_length=200, blank=True, default="")
    context_tokens = models.PositiveIntegerField(
        default=8192, validators=[MinValueValidator(1024), MaxValueValidator(10_000_000)]
    )
    timeout = models.PositiveIntegerField(
        default=120,
        validators=[MinValueValidator(1), MaxValueValidator(600)],
        help_text="Seconds without a sign of the reply after which a call is given up.",
    )
    stream = models.BooleanField(default=True, help_text="Whether replies are read as they are written.")
    for_generation = models.BooleanField(default=False)
    for_embeddings = models.BooleanField(default=False)
    checked_at = models.DateTimeField(null=True, blank=True, help_text="When it was last tested.")
    check_error = models.TextField(blank=True, default="", help_text="What the last test found wrong.")
    created_at = models.DateTimeField(default=clock.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner"], condition=Q(for_generation=True), name="connection_one_for_generation"
            ),
            models.UniqueConstraint(
                fields=["owner"], condition=Q(for_embeddings=True), name="connection_one_for_embeddings"
            ),
            models.CheckConstraint(condition=Q(backend__in=["openai", "ollama"]), name="connection_backend"),
            models.CheckConstraint(
                condition=Q(for_generation=False) | ~Q(model=""), name="connection_generation_needs_model"
            ),
            models.CheckConstraint(
                condition=Q(for_embeddings=False) | ~Q(embedding_model=""), name="connection_embeddings_need_model"
            ),
        ]
        indexes = [models.Index(fields=["owner", "-id"], name="connection_owner")]  # the list


class Usage(OwnedModel):
    """What an owner's calls of one model took on one day, in UTC."""

    day = models.DateField()
    model = models.CharField(max_length=200)
    calls = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "usage"
        constraints = [models.UniqueConstraint(fields=["owner", "day", "model"], name="usage_once_a_day")]


class TokenLimit(OwnedModel):
    """How many tokens a day an owner's connections may take: what the operator grants, and what the owner wants."""

    daily_tokens = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Set by the operator. Empty: as the installation gives everybody; 0: no limit."
    )
    own_daily_tokens = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Set by the user. It counts where it is lower."
    )
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner"], name="token_limit_once")]
