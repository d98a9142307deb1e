"""The recall card's own actions. Each answers htmx with the card, and a browser without it with a page."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from apps.chats.models import Message
from apps.chats.queries import access_chat, access_message
from apps.common.problems import Problem
from apps.injection import operations
from apps.injection.cards import cards_of
from apps.injection.forms import RecallForm
from apps.injection.models import Recall
from apps.injection.queries import recalls_among
from apps.injection.recalling import ensure_recall, rerun_recall
from apps.injection.turns import hash_of, turn_of

UNDO_SALT = "injection.undo"
UNDO_SECONDS = 3600


def user_turn(request: HttpRequest, chat_id: UUID, message_id: UUID) -> Message:
    """A user's turn of one's own chat, or 404."""
    try:
        message = access_message(request.user, chat_id, message_id)
    except Problem as error:
        raise Http404(error.detail) from error
    if not message.is_user:
        raise Http404("Only what the user said has a recall.")
    return message


def stored_recall(request: HttpRequest, message: Message) -> Recall:
    """The turn's recall, or 404."""
    rows = recalls_among(request.user, [message])
    if not rows:
        raise Http404("There is no recall of this turn.")
    return rows[0]


@login_required
@require_safe
def card(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """The card, made if the turn has none yet; with ``?change``, and on its own page, with its form."""
    message = user_turn(request, chat_id, message_id)
    if not recalls_among(request.user, [message]):
        ensure_recall(request.user, chat_id, message_id)
    row = stored_recall(request, message)
    if not request.htmx:  # type: ignore[attr-defined]
        return render(request, "injection/card.html", _context(request, row, RecallForm({"text": row.text})))
    if "change" in request.GET:
        return render(request, "injection/_card.html", _context(request, row, RecallForm({"text": row.text})))
    # Nothing recalled: nothing takes the place of what waited for it.
    return (
        render(request, "injection/_card.html", _context(request, row) | {"open": False})
        if row.text
        else HttpResponse()
    )


@login_required
@require_POST
def edit(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    message = user_turn(request, chat_id, message_id)
    row = stored_recall(request, message)
    form = RecallForm(request.POST)
    if not form.is_valid():
        return render(request, _template(request), _context(request, row, form), status=400)
    operations.edit_recall(row, form.cleaned_data["text"], turn_hash=hash_of(message.mes))
    return _shown(request, row)


@login_required
@require_POST
def rerun(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    message = user_turn(request, chat_id, message_id)
    rerun_recall(request.user, chat_id, message_id)
    return _shown(request, stored_recall(request, message))


@login_required
@require_POST
def delete(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Delete the recall, and hand back what it takes to undo that."""
    message = user_turn(request, chat_id, message_id)
    row = stored_recall(request, message)
    values = signing.dumps([str(message_id), operations.undo_values(row)], salt=UNDO_SALT, compress=True)
    operations.delete_recall(row)
    if not request.htmx:  # type: ignore[attr-defined]
        return _to_turn(message)
    return render(request, "injection/_deleted.html", {"message": message, "values": values})


@login_required
@require_POST
def restore(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Undo a deletion with what it handed back."""
    message = user_turn(request, chat_id, message_id)
    try:
        whose, values = signing.loads(request.POST.get("values", ""), salt=UNDO_SALT, max_age=UNDO_SECONDS)
    except signing.BadSignature:
        return HttpResponse("This can't be undone any more.", status=400, content_type="text/plain")
    if whose == str(message_id):
        operations.restore_recall(turn_of(access_chat(request.user, chat_id), message), values)
    return _shown(request, stored_recall(request, message))


def _shown(request: HttpRequest, row: Recall) -> HttpResponse:
    if not request.htmx:  # type: ignore[attr-defined]
        return _to_turn(row.message)
    return render(request, "injection/_card.html", _context(request, row))


def _to_turn(message: Message) -> HttpResponse:
    return redirect(f"{reverse('chats:detail', args=[message.chat_id])}?at={message.index}")


def _template(request: HttpRequest) -> str:
    return "injection/_card.html" if request.htmx else "injection/card.html"  # type: ignore[attr-defined]


def _context(request: HttpRequest, row: Recall, form: RecallForm | None = None) -> dict[str, Any]:
    """What the card's templates need; opened in one's hand, it stays open."""
    return {"card": cards_of(request.user, [row])[0], "form": form, "open": True}
