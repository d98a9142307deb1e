"""Users and their API tokens."""

import datetime as dt
import hashlib
import secrets
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower

from apps.common import clock
from apps.common.ids import uuid7
from apps.common.scoping import OwnedManager, OwnedModel, OwnedQuerySet


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Raises ValueError without an e-mail address."""
        if not email:
            raise ValueError("A user needs an e-mail address.")
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    """Somebody who signs in by e-mail address."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    email = models.EmailField("e-mail address", max_length=254)
    name = models.CharField("name", max_length=100, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField("may use the admin site", default=False)
    date_joined = models.DateTimeField(default=clock.now, editable=False)

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            models.UniqueConstraint(
                Lower("email"),
                name="user_email_unique",
                violation_error_message="There is an account with this address.",
            ),
        ]

    def __str__(self) -> str:
        return self.email

    def get_full_name(self) -> str:
        return self.name or self.email

    def get_short_name(self) -> str:
        return self.name or self.email.partition("@")[0]


class ApiTokenQuerySet(OwnedQuerySet["ApiToken"]):
    def usable(self, at: dt.datetime) -> "ApiTokenQuerySet":
        """Neither revoked nor expired."""
        return self.filter(models.Q(expires_at=None) | models.Q(expires_at__gt=at), revoked_at=None)


class ApiTokenManager(OwnedManager.from_queryset(ApiTokenQuerySet)):  # type: ignore[misc]
    def authenticate(self, secret: str, at: dt.datetime) -> "ApiToken | None":
        """The usable token with this secret, its active owner loaded. The secret names the owner."""
        return (
            self._writable()
            .usable(at)
            .select_related("owner")
            .filter(digest=ApiToken.digest_of(secret), owner__is_active=True)
            .first()
        )


class ApiToken(OwnedModel):
    """A secret with which a program acts for its owner. Only its SHA-256 is stored: it has 256 random bits."""

    PREFIX = "loci_"

    class Scope(models.TextChoices):
        READ = "read", "Read only"
        WRITE = "write", "Read and write"

    name = models.CharField(max_length=100)
    hint = models.CharField(max_length=16, editable=False, help_text="How the secret begins.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.WRITE)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ApiTokenManager()  # type: ignore[misc]

    class Meta:
        indexes = [models.Index(fields=["owner", "-id"], name="token_owner")]  # the settings page's list
        constraints = [models.CheckConstraint(condition=models.Q(scope__in=["read", "write"]), name="token_scope")]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def new_secret(cls) -> str:
        return cls.PREFIX + secrets.token_urlsafe(32)

    @staticmethod
    def digest_of(secret: str) -> str:
        return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
