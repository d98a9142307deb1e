"""The people and things that memories speak of: who they are, renamed, and merged where two are one."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from apps.common.problems import Invalid
from apps.memories.entities import siblings_of
from apps.memories.forms import EntityForm
from apps.memories.memory_book import Book
from apps.memories.models import Entity, Memory
from apps.memories.operations import layer_corrections as corrections
from apps.memories.timeline import name_witnesses
from apps.memories.views.access import own_book, own_row
from apps.memories.views.book import show

SHOWN = 50  # memories


@login_required
@require_safe
def index(request: HttpRequest, **of: UUID) -> HttpResponse:
    """The registry, those whom most memories name first; ``?kind=`` narrows it."""
    book = own_book(request, **of)
    entities = list(book.entities())
    kinds = [(kind, label) for kind, label in Entity.Kind.choices if any(one.kind == kind for one in entities)]
    chosen = request.GET.get("kind", "")
    shown = [one for one in entities if one.kind == chosen] if chosen in dict(kinds) else entities
    return show(
        request,
        book,
        "names",
        entities=shown,
        kinds=kinds,
        chosen=chosen,
        total=len(entities),
        timeline_url=book.url("timeline"),
    )


def _book_of(entity: Entity) -> Book:
    return Book(entity.owner_id, entity.chat, entity.character)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def detail(request: HttpRequest, entity_id: UUID) -> HttpResponse:
    """One of the registry, with what is remembered of it; a POST renames it, or says what it is."""
    entity = own_row(request, Entity, pk=entity_id)
    form = EntityForm.of(entity, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            corrections.edit_entity(entity, **_changes(entity, form))
        except Invalid as problem:
            form.add_error("name", problem.detail)
        else:
            messages.success(request, "Saved.")
            return redirect("memories:entity", entity_id=entity.pk)
    named = Memory.objects.for_owner(request.user).active().filter(entities=entity).with_history().order_by("-pk")
    book = _book_of(entity)
    context = {
        "entity": entity,
        "book": book,
        "character": book.character,
        "form": form,
        "memories": name_witnesses(list(named[:SHOWN])),
        "others": siblings_of(entity),
        "names_url": book.url("names"),
    }
    return render(request, "memories/entity.html", context, status=400 if form.errors else 200)


def _changes(entity: Entity, form: EntityForm) -> dict[str, object]:
    """What the form changes; a new name leaves the old one as an alias, unless the aliases say otherwise."""
    changes = {name: value for name, value in form.cleaned_data.items() if value != getattr(entity, name)}
    if "name" in changes and "aliases" in changes:
        changes["aliases"] = list(dict.fromkeys([*form.cleaned_data["aliases"], entity.name]))
    return changes


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def merge(request: HttpRequest, entity_id: UUID) -> HttpResponse:
    """Say that it is the same as another one, which ``into`` names; asked once more, since it can't be undone."""
    entity = own_row(request, Entity, pk=entity_id)
    chosen = (request.POST if request.method == "POST" else request.GET).get("into", "")
    into = next((one for one in siblings_of(entity) if str(one.pk) == chosen), None)
    if into is None:
        messages.error(request, "Choose whom it is the same as.")
        return redirect("memories:entity", entity_id=entity.pk)
    if request.method == "POST":
        name = entity.name
        corrections.merge_entities(entity, into)
        messages.success(request, f"{name} and {into.name} are one now.")
        return redirect(reverse("memories:entity", args=[into.pk]))
    return render(request, "memories/entity_merge.html", {"entity": entity, "into": into})
