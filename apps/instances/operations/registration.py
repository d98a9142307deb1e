"""Register, change and remove instances."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.accounts.instance_names import LOCI
from apps.accounts.operations import create_token
from apps.common import jobs
from apps.common.problems import Conflict, Invalid
from apps.common.scoping import Owner, owner_id_of
from apps.instances.models import Instance
from apps.instances.vector_clock import MAX_INSTANCES


@transaction.atomic
def register(owner: Owner, name_id: str, **fields: Any) -> Instance:
    """Register an instance. One that was removed goes on with its counter, which clocks still name.

    Raise Invalid for the name of Loci, and Conflict if the name is taken or there are too many instances.
    """
    if name_id == LOCI:
        raise Invalid.at("/id", gettext("%(loci)s is the name of Loci itself.") % {"loci": f"{LOCI!r}"})
    jobs.lock_owner(owner)
    instances = Instance.objects.for_owner(owner)
    instance = instances.filter(name_id=name_id).first() or Instance(owner_id=owner_id_of(owner), name_id=name_id)
    if not instance._state.adding and instance.removed_at is None:
        raise Conflict(gettext("There is an instance %(name_id)s.") % {"name_id": f"{name_id!r}"})
    if instance._state.adding and instances.count() >= MAX_INSTANCES - 1:  # Loci is one more
        raise Conflict(
            gettext("There are %(number)s instances, removed ones included: no more are possible.")
            % {"number": MAX_INSTANCES - 1}
        )
    instance.removed_at = None
    return update(instance, fields)


@transaction.atomic
def register_with_token(owner: Owner, name_id: str, **fields: Any) -> tuple[Instance, str]:
    """Register an instance, and create a token bound to it. Return it and the token's secret, which is not stored.

    Raise as ``register`` does.
    """
    instance = register(owner, name_id, **fields)
    _, secret = create_token(owner, name=instance.name or name_id, instance=name_id)
    return instance, secret


def update(instance: Instance, fields: dict[str, Any]) -> Instance:
    """Set type, name or priority."""
    for name, value in fields.items():
        setattr(instance, name, value)
    instance.save()
    return instance


def remove(instance: Instance) -> None:
    """Remove an instance. It can no longer pull or push."""
    instance.removed_at = timezone.now()
    instance.save(update_fields=["removed_at"])


def registered(instances: Iterable[Instance], name_id: str) -> Instance:
    """Return the instance with this name. Raise Invalid if it is not registered."""
    for instance in instances:
        if instance.name_id == name_id and instance.removed_at is None:
            return instance
    raise Invalid.at(
        "/instance", gettext("There is no instance %(name_id)s. Register it first.") % {"name_id": f"{name_id!r}"}
    )
