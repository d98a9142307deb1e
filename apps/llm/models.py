"""Connections to models, the calls under way on them, their token usage, and limits on it."""

import secrets
from decimal import Decimal
from enum import StrEnum
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.common.database.fields import StoredTextField
from apps.common.documents.strict_json import storage_errors
from apps.common.scoping import OwnedModel
from apps.llm.apis import BROWSER, backend_choices
from apps.llm.encryption import EncryptedTextField
from apps.llm.values import MAX_MODEL_LENGTH

RESERVED_FIELDS = ("messages", "model", "stream")  # of a request's body; ``extra_body`` may not set them
# Limits of a connection's values, in the table, in forms and in the API.
MAX_NAME_LENGTH, MAX_URL_LENGTH = 100, 500
MIN_CONTEXT_TOKENS, MAX_CONTEXT_TOKENS = 1024, 10_000_000
MAX_TIMEOUT = 600  # seconds
MAX_PARALLEL_CALLS = 16
PRICE_DIGITS: dict[str, Any] = {"max_digits": 12, "decimal_places": 6}
PRICE_OPTIONS: dict[str, Any] = {
    **PRICE_DIGITS,
    "null": True,
    "blank": True,
    "validators": [MinValueValidator(0)],
}


def validate_extra_body(value: Any) -> None:
    """Raise ValidationError unless the value is a JSON object without RESERVED_FIELDS."""
    if not isinstance(value, dict):
        raise ValidationError(gettext("It must be a JSON object."))
    if reserved := [name for name in RESERVED_FIELDS if name in value]:
        raise ValidationError(gettext("It may not set %(value)s.") % {"value": ", ".join(reserved)})
    for error in storage_errors(value):
        raise ValidationError(error.detail)


def new_embedding_space() -> str:
    """Return a name for the vector space of an embedding model on a server."""
    return secrets.token_hex(4)


class Connection(OwnedModel):
    """Model server that a user connected: address, API, key, and the models to use.

    The model of a ``BROWSER`` connection runs in an open page of its owner instead: it has no address and no key.

    An owner uses at most one connection for generation and one for embeddings. Without one, the built-in backend and
    the local embedding model are used.
    """

    class Backend(StrEnum):
        """The backends that code asks for by name; ``apps.llm.apis`` has all of them."""

        OPENAI = "openai"
        OLLAMA = "ollama"
        BROWSER = BROWSER

    class ReasoningEffort(models.TextChoices):
        NONE = "none", _("None")
        LOW = "low", _("Low")
        MEDIUM = "medium", _("Medium")
        HIGH = "high", _("High")

    name = models.CharField(max_length=MAX_NAME_LENGTH)
    backend = models.CharField(max_length=16, choices=backend_choices, default=Backend.OPENAI.value)
    base_url = models.CharField(
        max_length=MAX_URL_LENGTH, blank=True, default="", help_text="Empty for a model in the browser."
    )
    api_key = EncryptedTextField(default="", editable=False, help_text="Empty if the server needs none.")
    api_key_hint = models.CharField(max_length=8, blank=True, default="", editable=False)
    model = models.CharField(max_length=MAX_MODEL_LENGTH, blank=True, default="", help_text="For generation.")
    embedding_model = models.CharField(max_length=MAX_MODEL_LENGTH, blank=True, default="")
    context_tokens = models.PositiveIntegerField(
        default=8192, validators=[MinValueValidator(MIN_CONTEXT_TOKENS), MaxValueValidator(MAX_CONTEXT_TOKENS)]
    )
    timeout = models.PositiveIntegerField(
        default=120,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_TIMEOUT)],
        help_text="Seconds without data from the server after which a call fails.",
    )
    stream = models.BooleanField(default=True, help_text="Whether replies are streamed.")
    parallel_calls = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_PARALLEL_CALLS)],
        help_text="Completions requested at the same time; further calls wait.",
    )
    reasoning_effort = models.CharField(
        max_length=8,
        choices=ReasoningEffort.choices,
        blank=True,
        default="",
        help_text="Blank: the server's default.",
    )
    extra_body = models.JSONField(
        default=dict,
        blank=True,
        validators=[validate_extra_body],
        help_text="JSON merge patch (RFC 7396) of the body of each request for a completion.",
    )
    prompt_price = models.DecimalField(**PRICE_OPTIONS, help_text="Price of a million tokens sent.")
    completion_price = models.DecimalField(**PRICE_OPTIONS, help_text="Price of a million tokens received.")
    currency = models.CharField(
        max_length=3, default="USD", validators=[RegexValidator(r"^[A-Z]{3}\Z", _("Enter three capital letters."))]
    )
    embedding_space = models.CharField(
        max_length=8,
        default=new_embedding_space,
        editable=False,
        help_text="Changes with the server, the embedding model and the length of its vectors.",
    )
    embedding_dimensions = models.PositiveIntegerField(
        null=True, editable=False, help_text="Length of the vectors; null until the first one is received."
    )
    for_generation = models.BooleanField(default=False)
    for_embeddings = models.BooleanField(default=False)
    page_seen_at = models.DateTimeField(
        null=True, editable=False, help_text="When a page that runs the model in the browser was last open."
    )
    checked_at = models.DateTimeField(null=True, blank=True, help_text="When it was last tested.")
    check_error = StoredTextField(blank=True, default="", help_text="The error of the last test.")
    constrains_replies = models.BooleanField(
        null=True,
        editable=False,
        help_text="Whether the server enforces the form of replies, as a test found; null if that is not known.",
    )
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
            models.UniqueConstraint(
                fields=["owner"], condition=Q(backend="browser"), name="connection_one_in_the_browser"
            ),
            models.CheckConstraint(
                condition=Q(backend="browser", base_url="", embedding_model="")
                | (~Q(backend="browser") & ~Q(base_url="")),
                name="connection_address",
            ),
            models.CheckConstraint(
                condition=Q(for_generation=False) | ~Q(model=""), name="connection_generation_needs_model"
            ),
            models.CheckConstraint(
                condition=Q(for_embeddings=False) | ~Q(embedding_model=""), name="connection_embeddings_need_model"
            ),
            models.CheckConstraint(
                condition=Q(parallel_calls__range=(1, MAX_PARALLEL_CALLS)), name="connection_parallel_calls"
            ),
            models.CheckConstraint(
                condition=Q(reasoning_effort__in=["", "none", "low", "medium", "high"]),
                name="connection_reasoning_effort",
            ),
        ]
        indexes = [models.Index(fields=["owner", "-id"], name="connection_owner")]  # the list

    @property
    def vector_space(self) -> str:
        """Return the name that is stored with vectors. Vectors can be compared only if it is the same."""
        return f"{self.backend}:{self.embedding_model}#{self.embedding_space}"

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> Decimal | None:
        """Return what the tokens cost in the connection's currency, unrounded, or None without prices."""
        prices = (self.prompt_price, self.completion_price)
        if prices == (None, None):
            return None
        counts = (prompt_tokens, completion_tokens)
        return sum((price or 0) * Decimal(count) for price, count in zip(prices, counts, strict=True)) / Decimal(10**6)


class BrowserCall(OwnedModel):
    """Call of a model that runs in an open page of its owner.

    | Transition | From                                   | To       | By                                  |
    |------------|----------------------------------------|----------|-------------------------------------|
    | (create)   |                                        | queued   | the process that needs the reply    |
    | claim      | queued; claimed, and its lease is over | claimed  | a page                              |
    | answer     | claimed by the page                    | answered | the page                            |
    | fail       | claimed by the page                    | failed   | the page                            |
    | withdraw   | queued, claimed                        | withdrawn| the process that needs no reply now |

    Pages take urgent calls first, then the oldest. Ended calls keep no text.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        CLAIMED = "claimed"
        ANSWERED = "answered"
        FAILED = "failed"
        WITHDRAWN = "withdrawn"

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="browser_calls")
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    is_urgent = models.BooleanField(default=False, help_text="Whether a person waits for the reply.")
    request = models.JSONField(help_text="What the page is given: the task, the model, the messages and its options.")
    claimed_by = models.UUIDField(null=True, help_text="The page that runs it or has run it.")
    claimed_until = models.DateTimeField(null=True, help_text="Another page may claim it after this time.")
    awaited_until = models.DateTimeField(help_text="Nobody waits for the reply after this time.")
    text = models.TextField(default="", help_text="The reply so far.")
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cut_off = models.BooleanField(default=False, help_text="Whether a token limit ended the reply early.")
    refused = models.BooleanField(default=False, help_text="Whether the same request would fail again.")
    error = models.TextField(default="")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "claimed", "answered", "failed", "withdrawn"]),
                name="browser_call_state",
            ),
            models.CheckConstraint(
                condition=Q(state="withdrawn")
                | Q(state="queued", claimed_by=None)
                | Q(state__in=["claimed", "answered", "failed"], claimed_by__isnull=False),
                name="browser_call_page",
            ),
            models.CheckConstraint(
                condition=Q(state="claimed", claimed_until__isnull=False)
                | (~Q(state="claimed") & Q(claimed_until=None)),
                name="browser_call_lease",
            ),
            models.UniqueConstraint(
                fields=["owner", "claimed_by"], condition=Q(state="claimed"), name="browser_call_one_a_page"
            ),
        ]
        indexes = [models.Index(fields=["owner", "state", "id"], name="browser_call_of_owner")]


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
