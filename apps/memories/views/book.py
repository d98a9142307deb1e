"""Views of the tabs of a memory book."""

from abc import abstractmethod
from typing import Any, ClassVar
from uuid import UUID

from django import forms as django_forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe
from django.views.generic import View

from apps.chats.models import Chat
from apps.common.problems import Invalid
from apps.common.words import Words
from apps.memories.forms import layers as forms
from apps.memories.forms.memories import NewMemoryForm, TimelineForm
from apps.memories.models import Arc, Knowledge, LedgerEntry, Relationship, Scene
from apps.memories.operations.arcs import create_arc
from apps.memories.operations.knowledge import create_knowledge
from apps.memories.operations.ledger import set_field_by_hand
from apps.memories.operations.relationships import set_relationship
from apps.memories.queries.guesses import divided, divided_pairs, divided_states, guesses_among, readers_of
from apps.memories.queries.knowledge import knowledge_matrix
from apps.memories.queries.memories import add_witness_names, memories_between
from apps.memories.queries.memory_book import MemoryBook
from apps.memories.queries.scenes import finished_scenes
from apps.memories.views.access import own_book
from apps.memories.views.relationship_graph import lay_out_graph

PAGE_SIZE = 60
MEMORIES_PER_SCENE = 30


def render_tab(
    request: HttpRequest, book: MemoryBook, tab: str, *, template: str = "", status: int = 200, **context: Any
) -> HttpResponse:
    """Render a tab of a memory book, by its own template or by another one."""
    template_context = {"book": book, "chat": book.chat, "character": book.character, "tab": tab, **context}
    return render(request, f"memories/book/{template or tab}.html", template_context, status=status)


def message_index(request: HttpRequest, chat: Chat | None) -> int | None:
    """Return the message index in ``?at=``, at most the chat's length, or None."""
    value = request.GET.get("at", "")
    return min(int(value), chat.message_count) if chat and value.isascii() and value.isdigit() else None


@login_required
@require_safe
def timeline(request: HttpRequest, **scope: UUID) -> HttpResponse:
    """Show memories in the order of the story; with ``?at=`` those that were active after that message."""
    book = own_book(request, **scope)
    at = message_index(request, book.chat)
    form = TimelineForm(request.GET, entities=list(book.entities()))
    memories = book.memories()
    if at is not None or not form.includes_inactive:
        memories = book.active(memories, at)
    page = Paginator(form.apply(memories).with_history(), PAGE_SIZE).get_page(request.GET.get("page"))
    sections = book.sections(add_witness_names(list(page.object_list)))
    return render_tab(
        request, book, "timeline", page=page, sections=sections, at=at, form=form, new_form=NewMemoryForm(book)
    )


@login_required
@require_safe
def scenes(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Show the chat's finished scenes with the memories learnt in each."""
    book = own_book(request, chat_id=chat_id)
    chat: Chat = book.subject
    finished = [
        (scene, list(memories_between(chat, scene.start, scene.end)[:MEMORIES_PER_SCENE]))
        for scene in finished_scenes(chat)
    ]
    guessed = guesses_among([scene.detected for scene, _ in finished if scene.detected])
    dismissed = Scene.objects.for_owner(request.user).filter(chat=chat, state=Scene.State.DISMISSED)
    return render_tab(
        request, book, "scenes", scenes=finished, guessed=guessed, dismissed=dismissed.select_related("source")
    )


class LayerView(LoginRequiredMixin, View):
    """Base of the tabs that show a layer and a form to add to it. The form is in the books of chats only."""

    http_method_names = ["get", "head", "post"]
    tab: ClassVar[str]
    form_class: ClassVar[type[django_forms.Form]]
    saved_message: ClassVar[Words]

    @cached_property
    def book(self) -> MemoryBook:
        return own_book(self.request, **self.kwargs)

    def get(self, request: HttpRequest, **scope: UUID) -> HttpResponse:
        return self.show(self.form_class())

    def post(self, request: HttpRequest, **scope: UUID) -> HttpResponse:
        form = self.form_class(request.POST)
        if form.is_valid():
            try:
                self.write(self.book.subject, form, str(request.user))
            except Invalid as problem:
                form.add_error(None, problem.detail)
            else:
                messages.success(request, str(self.saved_message))
                return redirect(self.book.url(self.tab))
        return self.show(form, status=400)

    def show(self, form: django_forms.Form, status: int = 200) -> HttpResponse:
        context: dict[str, Any] = {"at": message_index(self.request, self.book.chat), "names": self.book.entities()}
        context |= self.context(context["at"])
        return render_tab(self.request, self.book, self.tab, form=form, status=status, **context)

    @abstractmethod
    def write(self, chat: Chat, form: Any, editor: str) -> None:
        """Save the valid form. Raise Invalid."""

    @abstractmethod
    def context(self, at: int | None) -> dict[str, Any]:
        """Return the template context of the layer: now, or after the message at index ``at``."""


class ArcsView(LayerView):
    tab = "arcs"
    form_class = forms.ArcForm
    saved_message = _("The thread was added.")

    def write(self, chat: Chat, form: forms.ArcForm, editor: str) -> None:
        create_arc(chat, form.cleaned_data["text"], editor=editor, persistent=form.cleaned_data["persistent"])

    def context(self, at: int | None) -> dict[str, Any]:
        arcs, guesses = divided(self.book.arcs())
        return {
            "arcs": arcs,
            "guesses": guesses,
            "readers": readers_of(arcs),
            "retired": self.book.retired_by_hand(Arc),
        }


class LedgerView(LayerView):
    tab = "ledger"
    form_class = forms.StateForm
    saved_message = _("The ledger was saved.")

    def write(self, chat: Chat, form: forms.StateForm, editor: str) -> None:
        set_field_by_hand(chat, editor=editor, **form.operation_arguments())

    def context(self, at: int | None) -> dict[str, Any]:
        states, guesses = divided_states(self.book.ledger(at))
        return {
            "states": states,
            "guesses": guesses,
            "readers": readers_of(entry for state in states for entry in state.entries),
            "retired": self.book.retired_by_hand(LedgerEntry).select_related("entity"),
        }


class KnowledgeView(LayerView):
    tab = "knowledge"
    form_class = forms.KnowledgeForm
    saved_message = _("Saved.")

    def write(self, chat: Chat, form: forms.KnowledgeForm, editor: str) -> None:
        create_knowledge(chat, editor=editor, **form.cleaned_data)

    def context(self, at: int | None) -> dict[str, Any]:
        known, guesses = divided(self.book.knowledge(at))
        return {
            "matrix": knowledge_matrix(known),
            "guesses": guesses,
            "readers": readers_of(known),
            "guessed_matrix": knowledge_matrix(guesses),
            "retired": self.book.retired_by_hand(Knowledge).select_related("subject"),
        }


class RelationshipsView(LayerView):
    tab = "relationships"
    form_class = forms.RelationshipForm
    saved_message = _("Saved.")

    def write(self, chat: Chat, form: forms.RelationshipForm, editor: str) -> None:
        set_relationship(chat, editor=editor, **form.operation_arguments())

    def context(self, at: int | None) -> dict[str, Any]:
        pairs, guesses = divided_pairs(self.book.relationships(at))
        edges = [
            (pair.subject.name, pair.target.name, [(row.descriptor, row.magnitude) for row in pair.descriptors])
            for pair in pairs
        ]
        return {
            "pairs": pairs,
            "guesses": guesses,
            "readers": readers_of(row for pair in pairs for row in pair.descriptors),
            "graph": lay_out_graph(edges),
            "retired": self.book.retired_by_hand(Relationship).select_related("subject", "target"),
        }
