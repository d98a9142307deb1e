"""The texts of a book: the summary so far, profiles, canon, and the last check for contradictions; with versions."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.chats.models import Chat
from apps.memories import forms, queries
from apps.memories.models import VersionedText
from apps.memories.operations import layer_corrections as corrections
from apps.memories.views.access import back, own_book, own_row
from apps.memories.views.book import show

STORY = {
    "summary": (VersionedText.Kind.SUMMARY, forms.TextForm, "The summary so far"),
    "canon": (VersionedText.Kind.CANON, forms.TextForm, "Canon"),
    "profiles": (VersionedText.Kind.PROFILE, forms.ProfileForm, "Profile"),
}


@login_required
@require_safe
def story(request: HttpRequest, **of: UUID) -> HttpResponse:
    """Each text as it is now, with its earlier versions."""
    book = own_book(request, **of)
    digests: dict[str, list[VersionedText]] = {kind: [] for kind in VersionedText.Kind.values}
    for digest in book.digests():
        digests[digest.kind].append(digest)
    current = {
        kind: [one for one in rows if one.state == VersionedText.State.CURRENT] for kind, rows in digests.items()
    }
    earlier = {
        kind: [one for one in rows if one.state == VersionedText.State.REPLACED] for kind, rows in digests.items()
    }
    chat = book.chat or Chat.objects.for_owner(request.user).filter(character=book.character).order_by("-pk").first()
    context: dict[str, Any] = {"current": current, "earlier": earlier, "any_chat": chat}
    return show(request, book, "story", **context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_story(request: HttpRequest, chat_id: UUID, part: str) -> HttpResponse:
    """Write the summary, the canon or a profile by hand. What was there is kept as a version."""
    book = own_book(request, chat_id=chat_id)
    chat: Chat = book.subject
    kind, form_class, label = STORY[part]
    current = queries.current_digest(chat, kind)
    initial = {"text": current.text, **current.parts} if current else {}
    form = form_class(request.POST) if request.method == "POST" else form_class(initial=initial)
    if form.is_bound and form.is_valid():
        character = current.character if current else (chat.character if part != "summary" else None)
        corrections.edit_digest(chat, kind, editor=str(request.user), character=character, **form.cleaned_data)
        undo = f"undo {reverse('memories:digest-restore', args=[current.pk])}" if current else ""
        messages.success(request, "Saved.", extra_tags=undo)
        return redirect("memories:book-story", chat_id=chat.pk)
    return show(request, book, "edit_story", form=form, label=label, status=400 if form.errors else 200)


@login_required
@require_POST
def restore_digest(request: HttpRequest, digest_id: UUID) -> HttpResponse:
    """Make an earlier version the current one again; the one that is current stays as a version."""
    digest = own_row(request, VersionedText, pk=digest_id)
    corrections.restore_digest(digest, editor=str(request.user))
    messages.success(request, "The earlier version is current again.")
    home = (
        ("memories:book-story", digest.chat_id) if digest.chat_id else ("memories:character-story", digest.character_id)
    )
    return back(request, reverse(home[0], args=[home[1]]))
