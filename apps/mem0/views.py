"""The routes of mem0's clients. Replies and errors have the shapes that those read."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db import transaction
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.authentication import namespace_of
from apps.common.api.parameters import takes_query
from apps.common.api.serializer_fields import read_body, read_query
from apps.common.problems import Invalid, Missing
from apps.mem0 import adding, queries
from apps.mem0.base import Mem0View
from apps.mem0.documents import added_document, event_document, history_documents, memory_document
from apps.mem0.events import memories_of
from apps.mem0.ids import Ids, erase_entity
from apps.mem0.messages import read_messages
from apps.mem0.serializers import (
    AddSerializer,
    BatchDeletionSerializer,
    BatchUpdatesSerializer,
    ChangeSerializer,
    DeletionQuery,
    ListQuery,
    ListSerializer,
    Mem0SearchSerializer,
    PageQuery,
)
from apps.memories.api.base import get_or_missing
from apps.memories.models import Memory
from apps.memories.operations import apply_batch
from apps.memories.queries.memories import replacement_chain

PAGE_SIZE = 100
DELETED = {"message": "Memories deleted successfully!"}


class PingView(Mem0View):
    def get(self, request: Request) -> Response:
        """Tell that the token is known. No e-mail address is told, which the client would send to others."""
        ids = {"org_id": str(request.user.pk), "project_id": "loci"}  # the client insists on them
        return Response({"status": "ok", **ids, "user_email": None})


class AddView(Mem0View):
    @takes_query(PageQuery)
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Add messages: as memories as they are, or to a chat that is read, with an event to poll."""
        body = self.read(AddSerializer)
        addition = adding.Addition(
            ids=Ids.of({**(body.get("filters") or {}), **{key: value for key, value in body.items() if value}}),
            messages=read_messages(body["messages"]),
            metadata=body.get("metadata") or {},
            tags=body["categories"],
            expires_at=body.get("expiration_date"),
            at=body.get("timestamp"),
        )
        if body["infer"]:
            event = adding.append_and_read(request.user, addition)
            text = "Memory processing has been queued for background execution"
            return Response({"message": text, "status": "PENDING", "event_id": str(event.pk), "results": []})
        event = adding.store_as_they_are(request.user, addition)
        results = [added_document(memory) for memory in memories_of(event)]
        return Response({"results": results, "status": "SUCCEEDED", "event_id": str(event.pk)})


class ListView(Mem0View):
    """Lists of memories: in pages for the newest clients, and for others that name one."""

    reads_only = True
    always_in_pages = False

    @takes_query(PageQuery)
    def post(self, request: Request) -> Response:
        """List the memories that filters name."""
        return self._list(request, self.read(ListSerializer))

    def _list(self, request: Request, body: dict[str, Any]) -> Response:
        query = read_query(PageQuery, request) if request.method == "POST" else body
        rows = queries.listed(request.user, body)
        if not self.always_in_pages and not query.get("page"):
            return Response([memory_document(memory) for memory in rows[: query.get("page_size", PAGE_SIZE)]])
        page, size = query.get("page", 1), query.get("page_size", PAGE_SIZE)
        return Response(self.page(rows, memory_document, page, size))


class ListInPagesView(ListView):
    always_in_pages = True


class MemoriesView(AddView, ListView):
    """Add, list and delete of the first version."""

    reads_only = False

    @takes_query(PageQuery)
    def post(self, request: Request, **kwargs: Any) -> Response:
        return AddView.post(self, request)

    def get(self, request: Request) -> Response:
        """List the memories of ids."""
        return self._list(request, self.read_query(ListQuery))

    @takes_query(ListQuery)
    @transaction.atomic
    def delete(self, request: Request) -> Response:
        """Delete the memories of ids, or that filters name."""
        body = self.read_query(ListQuery) | {"show_expired": True}
        named = list(queries.listed(request.user, body).values_list("pk", flat=True))
        # Without those that another request deletes meanwhile: they keep none of the others.
        rows = Memory.objects.for_owner(request.user).undeleted().filter(pk__in=named).select_for_update()
        apply_batch(
            request.user, editor=str(request.user), delete=list(rows.order_by("pk").values_list("pk", flat=True))
        )
        return Response(DELETED)


class Mem0SearchView(Mem0View):
    reads_only = True
    is_bare = False

    @takes_query(PageQuery)
    def post(self, request: Request) -> Response:
        """Search the memories that filters name."""
        body = self.read(Mem0SearchSerializer)
        fields = body.get("fields")
        documents = [memory_document(memory) | {"score": score} for memory, score in queries.found(request.user, body)]
        if fields:
            documents = [{name: value for name, value in one.items() if name in fields} for one in documents]
        return Response(documents if self.is_bare else {"results": documents})


class BareSearchView(Mem0SearchView):
    """The search of the first versions, whose reply is a list."""

    is_bare = True


class MemoryView(Mem0View):
    def get(self, request: Request, memory_id: UUID) -> Response:
        return Response(memory_document(get_or_missing(self.memories(), pk=memory_id)))

    @takes_query(PageQuery)
    def put(self, request: Request, memory_id: UUID) -> Response:
        """Change text, metadata, moment or expiry of a memory."""
        get_or_missing(self.memories(), pk=memory_id)
        body = read_body(ChangeSerializer, request)
        _change(request, [{"id": memory_id, **body}])
        return Response(memory_document(get_or_missing(self.memories(), pk=memory_id)))

    @takes_query(DeletionQuery)
    @transaction.atomic
    def delete(self, request: Request, memory_id: UUID) -> Response:
        """Delete a memory, and if asked for what it had superseded."""
        memory = get_or_missing(self.memories(), pk=memory_id)
        ids = [memory.pk]
        if read_query(DeletionQuery, request)["delete_linked"]:
            chain = [row.pk for row in replacement_chain(memory)]
            ids = chain[: chain.index(memory.pk) + 1]
        _apply(request, ids, delete=ids)
        return Response({"message": "Memory deleted successfully!"})


class HistoryView(Mem0View):
    def get(self, request: Request, memory_id: UUID) -> Response:
        """Tell what happened to a memory, also a deleted one, and to those that it replaced or that replaced it."""
        return Response(history_documents(get_or_missing(self.memories(deleted=True), pk=memory_id)))


class BatchView(Mem0View):
    @takes_query(PageQuery)
    def put(self, request: Request) -> Response:
        """Change several memories: all of them, or none."""
        changes = read_body(BatchUpdatesSerializer, request)["memories"]
        self.require(*(change["memory_id"] for change in changes))
        _change(request, [{"id": change.pop("memory_id"), **change} for change in changes])
        return Response({"message": f"Successfully updated {len(changes)} memories"})

    @takes_query(PageQuery)
    def delete(self, request: Request) -> Response:
        """Delete several memories: all of them, or none."""
        ids = [one["memory_id"] for one in read_body(BatchDeletionSerializer, request)["memories"]]
        self.require(*ids)
        _apply(request, ids, delete=ids)
        return Response({"message": f"Successfully deleted {len(ids)} memories"})


def _apply(request: Request, ids: Collection[UUID], **work: Any) -> None:
    """Change or delete memories. Raise Missing if one of them was deleted after it had been looked up."""
    try:
        apply_batch(request.user, editor=str(request.user), **work)
    except Invalid:
        present = Memory.objects.for_owner(request.user).undeleted().filter(pk__in=ids)
        if present.count() < len(set(ids)):
            raise Missing("There is no such memory.") from None
        raise


@transaction.atomic
def _change(request: Request, changes: list[dict[str, Any]]) -> None:
    """Apply changes in mem0's words. ``timestamp`` is when the memory was made."""
    renamed = {"memory": "text", "expiration_date": "expires_at"}
    moments = {change["id"]: change.pop("timestamp") for change in changes if "timestamp" in change}
    named = [{renamed.get(name, name): value for name, value in change.items()} for change in changes]
    for change in named:
        if change.get("metadata", {}) is None:  # a client's word for none, of which the column knows no null
            change["metadata"] = {}
    _apply(request, [change["id"] for change in named], update=named)
    for memory in Memory.objects.for_owner(request.user).filter(pk__in=moments):
        adding.set_created_at(memory, moments[memory.pk])


class EntitiesView(Mem0View):
    def get(self, request: Request) -> Response:
        """List users, agents, apps and runs: all of them, unless a page is asked for."""
        query = read_query(PageQuery, request)
        rows = queries.entities(request.user, namespace_of(request) or None)
        size = query.get("page_size", PAGE_SIZE) if query.get("page") or query.get("page_size") else max(len(rows), 1)
        first = (query.get("page", 1) - 1) * size
        results = rows[first : first + size]
        return Response({"count": len(rows), "next": None, "previous": None, "results": results})


class EntityView(Mem0View):
    @takes_query(PageQuery)
    def delete(self, request: Request, kind: str, name: str) -> Response:
        """Delete a user, an agent, an app or a run for good."""
        erase_entity(request.user, kind, name, namespace_of(request) or None)
        return Response({"message": "Entity deleted successfully!"})


class EventView(Mem0View):
    def get(self, request: Request, event_id: UUID) -> Response:
        """Tell what became of an add."""
        return Response(event_document(get_or_missing(self.events(), pk=event_id)))


class EventListView(Mem0View):
    def get(self, request: Request) -> Response:
        """List adds, newest first."""
        query = read_query(PageQuery, request)
        page, size = query.get("page", 1), query.get("page_size", PAGE_SIZE)
        return Response(self.page(self.events(), event_document, page, size))


class UnknownView(Mem0View):
    """Whatever else mem0's clients may ask for."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise Missing(f"Loci does not have {request.method} {request.path}.")

    def get(self, request: Request, **kwargs: Any) -> Response:
        return Response(status=status.HTTP_404_NOT_FOUND)

    post = put = patch = delete = get
