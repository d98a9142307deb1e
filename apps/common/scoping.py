"""Every row has an owner, and nobody reads without saying whose rows are meant.

``Model.objects.for_owner(user)`` is the way to read. A query that names no owner raises, unless the code says
with ``system_scope()`` that it works for the system: sweeps, migrations, the admin site.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self, TypeVar

from django.conf import settings
from django.db import models

from apps.common.ids import uuid7

_system = ContextVar("system_scope", default=False)
M = TypeVar("M", bound=models.Model, covariant=True)


class UnscopedQuery(RuntimeError):
    """A query over owned rows that says neither whose rows it wants nor that the system asks."""


@contextmanager
def system_scope() -> Iterator[None]:
    """Within it, managers of owned models may be read without an owner."""
    token = _system.set(True)
    try:
        yield
    finally:
        _system.reset(token)


class OwnedQuerySet(models.QuerySet[M]):
    def owned_by(self, owner: Any) -> Self:
        return self.filter(owner_id=getattr(owner, "pk", owner))


class OwnedManager(models.Manager[M]):
    """The default manager of owned rows; build it from a model's queryset with ``from_queryset``.

    A related manager (``chat.messages``) is scoped by the row that it belongs to.
    """

    def get_queryset(self) -> Any:
        if not _system.get() and getattr(self, "instance", None) is None:
            raise UnscopedQuery(f"{self.model.__name__}: use objects.for_owner(user) or system_scope().")
        return super().get_queryset()

    def for_owner(self, owner: Any) -> Any:
        """The rows of ``owner``, a user or the id of one."""
        return self._writable().owned_by(owner)

    def none(self) -> Any:
        """No rows, of nobody: what a schema generator asks for to learn the model."""
        return super().get_queryset().none()

    def create(self, **kwargs: Any) -> Any:
        """As Django's; writing needs no scope, since the row names its owner."""
        return self._writable().create(**kwargs)

    def bulk_create(self, *args: Any, **kwargs: Any) -> Any:
        return self._writable().bulk_create(*args, **kwargs)

    def _writable(self) -> Any:
        return super().get_queryset()


class OwnedModel(models.Model):
    """A row of the product: a UUIDv7 and an owner, with whom it goes."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # No index of its own: every index of an owned table starts with the owner.
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)

    objects = OwnedManager.from_queryset(OwnedQuerySet)()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        """Nothing that somebody wrote: this is what the admin site and its log show."""
        return f"{self._meta.verbose_name} {self.pk}"
