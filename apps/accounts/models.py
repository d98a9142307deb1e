"""Users and their API tokens."""

import datetime as dt
import hashlib
import secrets
from typing import Any, ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.common.database.ids import uuid7
from apps.common.scoping import MAX_NAMESPACE_LENGTH, OwnedManager, OwnedModel, OwnedQuerySet


class UserManager(BaseUserManager["User"]):
    """Manager that finds users by e-mail address, ignoring case."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create a user. Raise ValueError without an e-mail address."""
        if not email:
            raise ValueError("A user needs an e-mail address.")
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create a user with all permissions."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the user with this e-mail address. Raise User.DoesNotExist."""
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    """User, who signs in by e-mail address."""

    WITHOUT_OWNER = "is the owner"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    email = models.EmailField("e-mail address", max_length=254)
    name = models.CharField("name", max_length=100, blank=True)
    time_zone = models.CharField("time zone", max_length=64, default="UTC", help_text="Name of the IANA database.")
    language = models.CharField(
        "language", max_length=10, blank=True, default="", help_text="Of pages and mails. Empty: the browser's."
    )
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField("may use the admin site", default=False)
    date_joined = models.DateTimeField(default=timezone.now, editable=False)
    suspended_until = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Until then nothing is written."
    )
    suspension_reason = models.TextField(blank=True, default="", editable=False)
    deletion_due_at = models.DateTimeField(
        null=True, editable=False, help_text="When the account is deleted, which its user asked for."
    )
    welcomed_at = models.DateTimeField(null=True, editable=False, help_text="When the welcome was dismissed.")

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            models.UniqueConstraint(
                Lower("email"),
                name="user_email_unique",
                violation_error_message=_("There is an account with this address."),
            ),
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def zone(self) -> dt.tzinfo:
        """Return the time zone; UTC if the installation no longer knows its name."""
        try:
            return ZoneInfo(self.time_zone)
        except (ValueError, ZoneInfoNotFoundError):
            return dt.UTC

    def get_full_name(self) -> str:
        """Return the name, or the e-mail address."""
        return self.name or self.email

    def get_short_name(self) -> str:
        """Return the name, or the local part of the e-mail address."""
        return self.name or self.email.partition("@")[0]


class ApiTokenQuerySet(OwnedQuerySet["ApiToken"]):
    def usable(self, at: dt.datetime) -> "ApiTokenQuerySet":
        """Return the tokens that are neither revoked nor expired."""
        return self.filter(models.Q(expires_at=None) | models.Q(expires_at__gt=at), revoked_at=None)


class ApiToken(OwnedModel):
    """Secret that authenticates a program as its owner. Only its SHA-256 is stored; 256 random bits need no salt."""

    KEYS_WITHOUT_OWNER = {"digest": "is looked up before the owner is known"}

    PREFIX = "loci_"

    class Scope(models.TextChoices):
        READ = "read", _("Read only")
        WRITE = "write", _("Read and write")

    name = models.CharField(max_length=100)
    hint = models.CharField(max_length=16, editable=False, help_text="The first characters of the secret.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.WRITE)
    instance = models.CharField(
        max_length=64, blank=True, default="", help_text="The only instance in whose name it may pull and push."
    )
    namespace = models.CharField(
        max_length=MAX_NAMESPACE_LENGTH, blank=True, default="", help_text="The only end user of whom it sees anything."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    renewable_until = models.DateTimeField(
        null=True, editable=False, help_text="Until when the program may renew it; null: it didn't sign in by OAuth."
    )
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = OwnedManager.from_queryset(ApiTokenQuerySet)()  # type: ignore[assignment, misc]

    class Meta:
        indexes = [models.Index(fields=["owner", "-id"], name="token_owner")]  # the settings page's list
        constraints = [models.CheckConstraint(condition=models.Q(scope__in=["read", "write"]), name="token_scope")]

    def __str__(self) -> str:
        return self.name

    def is_usable(self, at: dt.datetime) -> bool:
        """Return whether the token is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > at)

    @classmethod
    def new_secret(cls) -> str:
        """Return a random secret."""
        return cls.PREFIX + secrets.token_urlsafe(32)

    @staticmethod
    def digest_of(secret: str) -> str:
        """Return the SHA-256 of a secret, in hexadecimal."""
        return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class Invitation(models.Model):
    """Permission for one person to sign up. Only the digest of its key is stored."""

    WITHOUT_OWNER = "is made before the account exists"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    note = models.CharField(max_length=200, blank=True, default="", help_text="For whom it is; only shown here.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, editable=False)
    used_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+", editable=False)

    def __str__(self) -> str:
        return f"invitation {self.pk}"


class StorageUse(OwnedModel):
    """Bytes that a user's rows took when they were last counted."""

    bytes = models.PositiveBigIntegerField()
    counted_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner"], name="storage_use_once")]
