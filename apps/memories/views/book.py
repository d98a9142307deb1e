"""The parts of a memory book, of a chat or of a character: what is known, in each of its layers."""

from typing import Any
from uuid import UUID

from django import forms as django_forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from apps.chats.models import Chat
from apps.common.problems import Invalid
from apps.memories import forms, queries
from apps.memories.memory_book import Book
from apps.memories.models import Arc, Knowledge, LedgerEntry, Relationship, Scene
from apps.memories.operations import layer_corrections as corrections
from apps.memories.relationship_graph import draw
from apps.memories.timeline import name_witnesses
from apps.memories.views.access import own_book, own_chat

PAGE = 60
LEARNT = 30  # memories that a scene lists


def show(request: HttpRequest, book: Book, tab: str, *, status: int = 200, **context: Any) -> HttpResponse:
    """Render a tab of a memory book."""
    shown = {"book": book, "chat": book.chat, "character": book.character, "tab": tab, **context}
    return render(request, f"memories/book/{tab}.html", shown, status=status)


def _form(request: HttpRequest, form: type[django_forms.Form], write: Any) -> Any:
    """The form as it was sent, or empty; what was sent and is valid is written. Its data is empty once it is."""
    sent = form(request.POST) if request.method == "POST" else form()
    if sent.is_bound and sent.is_valid():
        try:
            write(sent)
        except Invalid as problem:
            sent.add_error(None, problem.detail)
    return sent


def _is_written(form: Any) -> bool:
    return form.is_bound and not form.errors


def _done(request: HttpRequest, book: Book, tab: str, words: str) -> HttpResponse:
    messages.success(request, words)
    return redirect(book.url(tab))


def index_at(request: HttpRequest, chat: Chat | None) -> int | None:
    """The index of the message in ``?at=``, as of which a part is asked for; no further than the chat goes."""
    value = request.GET.get("at", "")
    return min(int(value), chat.message_count) if chat and value.isascii() and value.isdigit() else None


@login_required
@require_safe
def timeline(request: HttpRequest, **of: UUID) -> HttpResponse:
    """What was learnt, in the order of the story; ``?at=`` as things stood at that message."""
    book = own_book(request, **of)
    at = index_at(request, book.chat)
    entities = list(book.entities())
    form = forms.TimelineForm(request.GET, entities=entities)
    found = book.memories()
    if at is not None or not form.every_state:
        found = book.standing(found, at)
    page = Paginator(form.apply(found).with_history(), PAGE).get_page(request.GET.get("page"))
    stretches = book.stretches(name_witnesses(list(page.object_list)))
    return show(request, book, "timeline", page=page, stretches=stretches, at=at, form=form)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def arcs(request: HttpRequest, **of: UUID) -> HttpResponse:
    """Open threads and how others came out; a POST adds one to a chat."""
    book = own_book(request, **of)

    def write(form: Any) -> None:
        data = form.cleaned_data
        corrections.create_arc(book.subject, data["text"], editor=str(request.user), persistent=data["persistent"])

    form = _form(request, forms.ArcForm, write)
    if _is_written(form):
        return _done(request, book, "arcs", "The thread is open.")
    status = 400 if form.errors else 200
    return show(request, book, "arcs", arcs=book.arcs(), form=form, gone=book.taken_out(Arc), status=status)


@login_required
@require_safe
def scenes(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """The scenes that ended, with what was learnt in each."""
    chat = own_chat(request, chat_id)
    found = [
        (one, list(queries.memories_between(chat, one.start, one.end)[:LEARNT])) for one in queries.scenes_in(chat)
    ]
    dismissed = Scene.objects.for_owner(request.user).filter(chat=chat, state=Scene.State.DISMISSED)
    book = own_book(request, chat_id=chat_id)
    return show(request, book, "scenes", scenes=found, dismissed=dismissed.select_related("source"))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def ledger(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """The state of everybody and everything with its history; a POST sets or clears a field."""
    book = own_book(request, chat_id=chat_id)
    form = _form(
        request,
        forms.StateForm,
        lambda form: corrections.set_state(book.subject, editor=str(request.user), **form.change()),
    )
    if _is_written(form):
        return _done(request, book, "ledger", "The ledger is up to date.")
    at = index_at(request, book.chat)
    return show(
        request,
        book,
        "ledger",
        states=book.ledger(at),
        at=at,
        form=form,
        gone=book.taken_out(LedgerEntry).select_related("entity"),
        names=book.entities(),
        status=400 if form.errors else 200,
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def knowledge(request: HttpRequest, **of: UUID) -> HttpResponse:
    """Who knows what, as a matrix; a POST adds an entry to a chat."""
    book = own_book(request, **of)
    form = _form(
        request,
        forms.KnowledgeForm,
        lambda form: corrections.create_knowledge(book.subject, editor=str(request.user), **form.cleaned_data),
    )
    if _is_written(form):
        return _done(request, book, "knowledge", "Kept.")
    at = index_at(request, book.chat)
    return show(
        request,
        book,
        "knowledge",
        matrix=book.knowledge(at),
        at=at,
        form=form,
        gone=book.taken_out(Knowledge).select_related("subject"),
        names=book.entities(),
        status=400 if form.errors else 200,
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def relationships(request: HttpRequest, **of: UUID) -> HttpResponse:
    """How people stand to each other, and stood; a POST says a word of it or takes one away."""
    book = own_book(request, **of)
    form = _form(
        request,
        forms.RelationshipForm,
        lambda form: corrections.set_relationship(book.subject, editor=str(request.user), **form.change()),
    )
    if _is_written(form):
        return _done(request, book, "relationships", "Saved.")
    at = index_at(request, book.chat)
    pairs = book.relationships(at)
    drawn = [(one.subject.name, one.target.name, [(w.descriptor, w.magnitude) for w in one.words]) for one in pairs]
    return show(
        request,
        book,
        "relationships",
        pairs=pairs,
        picture=draw(drawn),
        at=at,
        form=form,
        gone=book.taken_out(Relationship).select_related("subject", "target"),
        names=book.entities(),
        status=400 if form.errors else 200,
    )
