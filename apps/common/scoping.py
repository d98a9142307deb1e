"""Owner scoping: every row has an owner, and every query must name the owner of the rows.

Read with ``Model.objects.for_owner(user)``. A query without an owner raises UnscopedQuery, except within
``system_scope()``, which is for work across all owners: cleanup tasks, migrations, the admin site.

Requests and tasks are also restricted in the database, to the rows of one owner or none, by ``ownership.row_security``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias, TypeVar, runtime_checkable
from uuid import UUID

from django.conf import settings
from django.db import models

from apps.common.database.ids import uuid7
from apps.common.database.restriction import unrestricted

_in_system_scope = ContextVar("system_scope", default=False)
OWN_NAMESPACE = ""  # of what belongs to no end user
MAX_NAMESPACE_LENGTH = 255
M = TypeVar("M", bound=models.Model, covariant=True)


@runtime_checkable
class HasKey(Protocol):
    """A user. Used instead of the accounts app's model, which this app may not import."""

    @property
    def pk(self) -> Any: ...


Owner: TypeAlias = HasKey | UUID


class UnscopedQuery(RuntimeError):
    """A query over owned rows neither names an owner nor runs within ``system_scope()``."""


@contextmanager
def system_scope() -> Iterator[None]:
    """Allow queries without an owner inside the block, and see the rows of all owners in the database."""
    token = _in_system_scope.set(True)
    try:
        with unrestricted():
            yield
    finally:
        _in_system_scope.reset(token)


def owner_id_of(owner: Owner) -> UUID:
    """Return the id of ``owner``, which is a user or an id."""
    return owner.pk if isinstance(owner, HasKey) else owner


class OwnedQuerySet(models.QuerySet[M]):
    def for_owner(self, owner: Owner) -> Self:
        """Return only the rows of ``owner``."""
        return self.filter(owner_id=owner_id_of(owner))

    def in_namespace(self, namespace: Any) -> Self:
        """Return only the rows of a namespace, of a model with ``namespace_field``: nothing crosses these."""
        return self.filter(namespace=namespace)

    def own(self) -> Self:
        """Return only the rows that belong to the owner, and to no end user of the owner's application."""
        return self.in_namespace(OWN_NAMESPACE)


class OwnedManager(models.Manager[M]):
    """Default manager of owned rows; build it from a model's queryset with ``from_queryset``.

    A related manager (``chat.messages``) needs no owner: it is scoped by the row that it belongs to. Subclasses may
    narrow the rows by a ``condition``.
    """

    condition: ClassVar[models.Q] = models.Q()

    def get_queryset(self) -> models.QuerySet[M]:
        """Return all rows. Raise UnscopedQuery outside ``system_scope()``."""
        if not _in_system_scope.get() and getattr(self, "instance", None) is None:
            raise UnscopedQuery(f"{self.model.__name__}: use objects.for_owner(user) or system_scope().")
        return super().get_queryset().filter(self.condition)

    if not TYPE_CHECKING:  # mypy takes the signature from the queryset, which `from_queryset` copies

        def for_owner(self, owner: Owner) -> models.QuerySet:
            """Return the rows of ``owner``."""
            return super().get_queryset().filter(self.condition, owner_id=owner_id_of(owner))

    def none(self) -> models.QuerySet[M]:
        """Return an empty queryset. No scope is needed: schema generators call this to find the model."""
        return super().get_queryset().none()

    def create(self, **kwargs: Any) -> M:
        """Insert a row. No scope is needed, since the row names its owner."""
        return super().get_queryset().create(**kwargs)

    def bulk_create(self, *args: Any, **kwargs: Any) -> list[M]:
        """Insert rows. No scope is needed, since each names its owner."""
        return super().get_queryset().bulk_create(*args, **kwargs)


def namespace_field() -> "models.CharField[str, str]":
    """Return the column of what belongs to an end user of an owner's own application; empty for the owner's own."""
    return models.CharField(
        max_length=MAX_NAMESPACE_LENGTH,
        blank=True,
        default=OWN_NAMESPACE,
        editable=False,
        help_text="The end user of the owner's application whose it is; empty for the owner's own.",
    )


class OwnedModel(models.Model):
    """Abstract base of all product rows: UUIDv7 key and owner; deleted with the owner."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # Needs no separate index: every index of an owned table starts with the owner.
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)

    objects = OwnedManager.from_queryset(OwnedQuerySet)()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        """Return type and id only: the admin site and its log show this, and must not show what a user wrote."""
        return f"{self._meta.verbose_name} {self.pk}"
