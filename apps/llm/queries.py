"""Read connections."""

from uuid import UUID

from apps.common.problems import Missing
from apps.common.scoping import Owner
from apps.llm.models import Connection


def generation_connection(owner: Owner) -> Connection | None:
    """Return the connection that the owner uses for generation, or None."""
    return Connection.objects.for_owner(owner).filter(for_generation=True).first()


def access_connection(owner: Owner, connection_id: UUID) -> Connection:
    """Return the owner's connection. Raise Missing."""
    connection = Connection.objects.for_owner(owner).filter(pk=connection_id).first()
    if connection is None:
        raise Missing("There is no such connection.")
    return connection
