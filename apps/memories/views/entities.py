"""Views of the entity registry."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.common.problems import Invalid, Problem
from apps.memories.forms.layers import EntityForm, EntitySplitForm
from apps.memories.models import Entity, EntityMerge, Memory
from apps.memories.operations.entities import edit_entity
from apps.memories.operations.entity_merges import merge_entities, split_entity, undo_merge
from apps.memories.queries.entities import merge_targets, merges_into
from apps.memories.queries.guesses import marked_names
from apps.memories.queries.memories import add_witness_names
from apps.memories.queries.memory_book import MemoryBook
from apps.memories.views.access import own_book, own_row
from apps.memories.views.book import render_tab

MAX_LISTED_MEMORIES = 50  # memories on an entity's page


@login_required
@require_safe
def index(request: HttpRequest, **scope: UUID) -> HttpResponse:
    """Show the registry, most named entities first; ``?kind=`` filters it. What is named once by rules is folded."""
    book = own_book(request, **scope)
    entities = marked_names(book.owner_id, book.entities())
    kinds = [(kind, label) for kind, label in Entity.Kind.choices if any(entity.kind == kind for entity in entities)]
    chosen = request.GET.get("kind", "")
    shown = [entity for entity in entities if entity.kind == chosen] if chosen in dict(kinds) else entities
    return render_tab(
        request,
        book,
        "names",
        entities=[entity for entity in shown if not entity.is_guess or entity.count > 1],
        guesses=[entity for entity in shown if entity.is_guess and entity.count <= 1],
        kinds=kinds,
        chosen=chosen,
        total=len(entities),
        timeline_url=book.url("timeline"),
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def detail(request: HttpRequest, entity_id: UUID) -> HttpResponse:
    """Show an entity with its memories; a POST changes its name, kind or aliases."""
    entity = own_row(request, Entity, pk=entity_id)
    form = EntityForm.of(entity, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            edit_entity(entity, **_changes(entity, form))
        except Invalid as problem:
            form.add_error("name", problem.detail)
        else:
            messages.success(request, gettext("Saved."))
            return redirect("memories:entity", entity_id=entity.pk)
    named = Memory.objects.for_owner(request.user).active().without_copies(request.user).filter(entities=entity)
    named = named.with_history().order_by("-pk")
    book = MemoryBook(entity.owner_id, entity.chat, entity.character)
    context = {
        "entity": entity,
        "book": book,
        "character": book.character,
        "form": form,
        "memories": add_witness_names(list(named[:MAX_LISTED_MEMORIES])),
        "merge_targets": merge_targets(entity),
        "merges": merges_into(entity),
        "names_url": book.url("names"),
    }
    return render(request, "memories/entity.html", context, status=400 if form.errors else 200)


def _changes(entity: Entity, form: EntityForm) -> dict[str, object]:
    """Return the fields that the form changes. With a new name, the old one becomes an alias."""
    changes = {name: value for name, value in form.cleaned_data.items() if value != getattr(entity, name)}
    if "name" in changes and "aliases" in changes:
        changes["aliases"] = list(dict.fromkeys([*form.cleaned_data["aliases"], entity.name]))
    return changes


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def merge(request: HttpRequest, entity_id: UUID) -> HttpResponse:
    """Merge an entity into the one with the id ``into``. A GET asks for confirmation."""
    entity = own_row(request, Entity, pk=entity_id)
    chosen = (request.POST if request.method == "POST" else request.GET).get("into", "")
    into = next((target for target in merge_targets(entity) if str(target.pk) == chosen), None)
    if into is None:
        messages.error(request, gettext("Choose the entity into which to merge it."))
        return redirect("memories:entity", entity_id=entity.pk)
    if request.method == "POST":
        name = entity.name
        merge_entities(entity, into)
        messages.success(request, gettext("%(name)s was merged into %(name_2)s.") % {"name": name, "name_2": into.name})
        return redirect(reverse("memories:entity", args=[into.pk]))
    return render(request, "memories/entity_merge.html", {"entity": entity, "into": into})


@login_required
@require_POST
def unmerge(request: HttpRequest, merge_id: UUID) -> HttpResponse:
    """Take an entity out of the one that it was merged into."""
    merge = own_row(request, EntityMerge, pk=merge_id)
    try:
        entity = undo_merge(merge)
    except Problem as problem:
        messages.error(request, problem.detail)
        return redirect("memories:entity", entity_id=merge.into_id)
    messages.success(request, gettext("%(name)s is a name of its own again.") % {"name": entity.name})
    return redirect("memories:entity", entity_id=entity.pk)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def split(request: HttpRequest, entity_id: UUID) -> HttpResponse:
    """Make another entity of chosen memories and aliases of an entity."""
    entity = own_row(request, Entity, pk=entity_id)
    named = Memory.objects.for_owner(request.user).present().filter(entities=entity).order_by("-pk")
    form = EntitySplitForm(entity, named, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            new = split_entity(entity, **form.values())
        except Invalid as problem:
            form.add_error(None, problem.detail)
        else:
            messages.success(request, gettext("%(name)s is a name of its own now.") % {"name": new.name})
            return redirect("memories:entity", entity_id=new.pk)
    context = {"entity": entity, "form": form}
    return render(request, "memories/entity_split.html", context, status=400 if form.errors else 200)
