"""Views of the texts in a memory book: summary, profiles, canon and the last continuity check, with their versions."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.chats.models import Chat
from apps.memories.forms.layers import ProfileForm, TextForm
from apps.memories.models import VersionedText
from apps.memories.operations.texts import edit_text, restore_version
from apps.memories.queries.guesses import guesses_among
from apps.memories.queries.memory_book import MemoryBook
from apps.memories.queries.texts import versions_in
from apps.memories.views.access import own_book, own_entry, redirect_back
from apps.memories.views.book import render_tab

# Kind, form and title of the texts that a person may edit, by the last part of the URL.
EDITABLE_TEXTS = {
    "summary": (VersionedText.Kind.SUMMARY, TextForm, _("The summary so far")),
    "canon": (VersionedText.Kind.CANON, TextForm, _("Canon")),
    "profiles": (VersionedText.Kind.PROFILE, ProfileForm, _("Profile")),
}


@login_required
@require_safe
def story(request: HttpRequest, **scope: UUID) -> HttpResponse:
    """Show the current version of each text, with the earlier ones."""
    book = own_book(request, **scope)
    current: dict[str, list[VersionedText]] = {kind: [] for kind in VersionedText.Kind.values}
    earlier: dict[str, list[VersionedText]] = {kind: [] for kind in VersionedText.Kind.values}
    by_state: dict[str, dict[str, list[VersionedText]]] = {
        VersionedText.State.CURRENT: current,
        VersionedText.State.REPLACED: earlier,
    }
    for version in book.texts():
        if version.state in by_state:
            by_state[version.state][version.kind].append(version)
    guessed = guesses_among([*current[VersionedText.Kind.SUMMARY], *current[VersionedText.Kind.PROFILE]])
    return render_tab(request, book, "story", current=current, earlier=earlier, guessed=guessed)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_story(request: HttpRequest, chat_id: UUID, part: str) -> HttpResponse:
    """Write the summary, the canon or a profile by hand. Earlier versions are kept."""
    book = own_book(request, chat_id=chat_id)
    chat: Chat = book.subject
    kind, form_class, label = EDITABLE_TEXTS[part]
    current = versions_in(chat, kind).filter(state=VersionedText.State.CURRENT).first()
    initial = {"text": current.text, **current.parts} if current else {}
    form = form_class(request.POST) if request.method == "POST" else form_class(initial=initial)
    if form.is_bound and form.is_valid():
        character = current.character if current else (chat.character if part != "summary" else None)
        edit_text(chat, kind, editor=str(request.user), character=character, **form.cleaned_data)
        undo = f"undo {reverse('memories:text-restore', args=[current.pk])}" if current else ""
        messages.success(request, gettext("Saved."), extra_tags=undo)
        return redirect("memories:book-story", chat_id=chat.pk)
    status = 400 if form.errors else 200
    return render_tab(request, book, "story", template="edit_story", form=form, label=label, status=status)


@login_required
@require_POST
def restore_text(request: HttpRequest, version_id: UUID) -> HttpResponse:
    """Make an earlier version the current one, as a new version."""
    version = own_entry(request, VersionedText, pk=version_id)
    restore_version(version, editor=str(request.user))
    messages.success(request, gettext("The earlier version is current again."))
    return redirect_back(request, MemoryBook(version.owner_id, version.chat, version.character).url("story"))
