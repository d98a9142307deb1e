"""Edit the author's note of a chat."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from apps.accounts.authentication import writer_of
from apps.chats.locking import Guard
from apps.chats.operations import patch_metadata
from apps.chats.views.access import or_404, own_chat
from apps.common.documents.patches import DocumentPatch
from apps.common.pages.forms import refused_into
from apps.prompts.assembly.frame import note_of
from apps.replies.forms import NoteForm


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Show the note, or save it. Other metadata stays as it is, whoever writes it meanwhile."""
    chat = own_chat(request, chat_id)
    note = note_of(chat.metadata)
    form = NoteForm(request.POST or None, initial={"text": note.text, "depth": note.depth})
    if form.is_valid():
        patch = DocumentPatch(merge=form.note().metadata_patch())
        with refused_into(form):
            or_404(patch_metadata, request.user, chat.pk, patch, Guard(optional=True, writer=writer_of(request)))
            messages.success(request, gettext("Saved. Applies from the next reply."))
            return redirect("chats:detail", chat_id=chat.pk)
    return render(request, "replies/note.html", {"chat": chat, "form": form}, status=400 if form.errors else 200)
