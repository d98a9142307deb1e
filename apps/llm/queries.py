"""Read connections."""

from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from apps.common.database.compiled_queries import CompiledQuery
from apps.common.database.rows import first_or_missing
from apps.common.scoping import Owner, owner_id_of
from apps.llm.models import Connection


def generation_connection(owner: Owner) -> Connection | None:
    """Return the connection that the owner uses for generation, or None."""
    return GENERATION.first(owner_id_of(owner))


def embedding_connection(owner: Owner) -> Connection | None:
    """Return the connection that the owner uses for embeddings, or None."""
    return EMBEDDINGS.first(owner_id_of(owner))


def writing_connections(owner: Owner) -> QuerySet[Connection]:
    """Return the owner's connections that name a model, by name."""
    return Connection.objects.for_owner(owner).exclude(model="").order_by("name", "pk")


GENERATION = CompiledQuery(lambda owner: Connection.objects.for_owner(owner).filter(for_generation=True)[:1])
EMBEDDINGS = CompiledQuery(lambda owner: Connection.objects.for_owner(owner).filter(for_embeddings=True)[:1])


def chats_naming(connection: Connection) -> int:
    """Return how many chats name the connection as the one whose model replies."""
    return connection.chats.count()


def uses_server() -> Q:
    """Return the condition that the row's owner uses a connection: what runs for them may wait for its server."""
    used = Q(for_embeddings=True) | Q(for_generation=True)
    return Q(Exists(Connection.objects.filter(used, owner=OuterRef("owner"))))


def embeds_on_server() -> Q:
    """Return the condition that the row's owner uses a connection for embeddings."""
    return Q(Exists(Connection.objects.filter(owner=OuterRef("owner"), for_embeddings=True)))


def access_connection(owner: Owner, connection_id: UUID) -> Connection:
    """Return the owner's connection. Raise Missing."""
    return first_or_missing(
        Connection.objects.for_owner(owner).filter(pk=connection_id), gettext("There is no such connection.")
    )
