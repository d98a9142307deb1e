"""Connections to model servers, their token usage, and limits on it."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.common.scoping import OwnedModel
from apps.llm.encryption import EncryptedTextField


class Connection(OwnedModel):
    """Model server that a user connected: address, API, key, and the models to use.

    An owner uses at most one connection for generation and one for embeddings. Without one, the built-in backend and
    the local embedding model are used.
    """

    class Backend(models.TextChoices):
        OPENAI = "openai", "OpenAI-compatible"
        OLLAMA = "ollama", "Ollama"

    name = models.CharField(max_length=100)
    backend = models.CharField(max_length=16, choices=Backend.choices, default=Backend.OPENAI)
    base_url = models.CharField(max_length=500)
    api_key = EncryptedTextField(default="", editable=False, help_text="Empty if the server needs none.")
    api_key_hint = models.CharField(max_length=8, blank=True, default="", editable=False)
    model = models.CharField(max_length=200, blank=True, default="", help_text="For generation.")
    embedding_model = models.CharField(max_length=200, blank=True, default="")
    context_tokens = models.PositiveIntegerField(
        default=8192, validators=[MinValueValidator(1024), MaxValueValidator(10_000_000)]
    )
    timeout = models.PositiveIntegerField(
        default=120,
        validators=[MinValueValidator(1), MaxValueValidator(600)],
        help_text="Seconds without data from the server after which a call fails.",
    )
    stream = models.BooleanField(default=True, help_text="Whether replies are streamed.")
    for_generation = models.BooleanField(default=False)
    for_embeddings = models.BooleanField(default=False)
    checked_at = models.DateTimeField(null=True, blank=True, help_text="When it was last tested.")
    check_error = models.TextField(blank=True, default="", help_text="The error of the last test.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
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
    """Token counts of an owner's calls of one model on one UTC day."""

    day = models.DateField()
    model = models.CharField(max_length=200)
    calls = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "usage"
        constraints = [models.UniqueConstraint(fields=["owner", "day", "model"], name="usage_once_a_day")]


class TokenLimit(OwnedModel):
    """Daily token limits of an owner: the operator's and the owner's own. The lower one applies."""

    daily_tokens = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Set by the operator. Empty: the installation's default; 0: no limit."
    )
    own_daily_tokens = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Set by the user. Applies if it is lower."
    )
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner"], name="token_limit_once")]
