"""Views of the recall card. They return the card for an htmx request, else a page or a redirect."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from apps.chats.models import Message
from apps.chats.views.access import own_chat, own_message, wants_partial
from apps.prompts import operations
from apps.prompts.models import Recall
from apps.prompts.pages.recall_bodies import body_of
from apps.prompts.pages.recall_cards import RecallCard, RecallForm, TextSize, empty_card, text_size
from apps.prompts.pages.recall_comparison import compare
from apps.prompts.queries import recalls_of_messages
from apps.prompts.turns import text_hash, turn_from_message

UNDO_SALT = "injection.undo"
UNDO_SECONDS = 3600  # how long a deletion can be undone


def user_message(request: HttpRequest, chat_id: UUID, message_id: UUID) -> Message:
    """Return a user message of the current user's chat. Raise Http404."""
    message = own_message(request, chat_id, message_id)
    if not message.is_user:
        raise Http404(gettext("Only a message of the user has a recall."))
    return message


def stored_recall(request: HttpRequest, message: Message) -> Recall:
    """Return the recall of the message. Raise Http404."""
    recalls = recalls_of_messages(request.user, [message])
    if not recalls:
        raise Http404(gettext("There is no recall of this message."))
    return recalls[0]


@login_required
@require_safe
def card(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Show the card, with the form for ``?change`` or without htmx. Make the recall if there is none."""
    message = user_message(request, chat_id, message_id)
    if not recalls_of_messages(request.user, [message]):
        made = operations.ensure_recall(request.user, chat_id, message_id)
        if made.deleted and wants_partial(request):
            return HttpResponse()  # removes the pending card
    recall = stored_recall(request, message)
    if not wants_partial(request) or "change" in request.GET:
        form = RecallForm({"text": recall.text, "rev": recall.rev})
        return render(request, _template_name(request), _context(request, recall, form))
    if nothing := empty_card(recall):
        return HttpResponse(nothing)
    return render(request, "prompts/_card.html", {"card": RecallCard(recall)})


@login_required
@require_safe
def body(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Return what the card shows once it is opened, for an htmx request."""
    recall = stored_recall(request, user_message(request, chat_id, message_id))
    return render(request, "prompts/_body.html", _context(request, recall))


@login_required
@require_POST
def edit(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    message = user_message(request, chat_id, message_id)
    recall = stored_recall(request, message)
    form = RecallForm(request.POST)
    if not form.is_valid():
        return render(request, _template_name(request), _context(request, recall, form), status=400)
    text, rev = form.cleaned_data["text"], form.cleaned_data["rev"]
    try:
        operations.edit_recall(recall, text, turn_hash=text_hash(message.mes), rev=rev)
    except operations.RecallChanged as problem:
        form = RecallForm({"text": text, "rev": recall.rev})
        form.add_error("text", problem.detail)
        context = _context(request, recall, form) | {"replaced_text": recall.text}
        return render(request, _template_name(request), context, status=409)
    return _respond_with_card(request, recall)


@login_required
@require_POST
def size(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Return how many tokens the text of the form has, and whether the prompt has room for it."""
    recall = stored_recall(request, user_message(request, chat_id, message_id))
    return render(request, "prompts/_size.html", {"size": _size(request, recall, request.POST.get("text", ""))})


@login_required
@require_POST
def rerun(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Run the recall again. Return the card, with the differences from the previous recall if there was one."""
    message = user_message(request, chat_id, message_id)
    former = next(iter(recalls_of_messages(request.user, [message])), None)
    operations.rerun_recall(request.user, chat_id, message_id)
    recall = stored_recall(request, message)
    context = _context(request, recall)
    if former is not None:
        context |= {"comparison": compare(former.memories, recall.memories), "former": former}
        context |= {"values": _signed(former, replace=True)}
    return render(request, _template_name(request), context)


@login_required
@require_POST
def delete(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Delete the recall. Return its signed values, which ``restore`` needs."""
    message = user_message(request, chat_id, message_id)
    recall = stored_recall(request, message)
    values = _signed(recall, replace=False)
    operations.delete_recall(recall)
    if not wants_partial(request):
        return _redirect_to_turn(message)
    return render(request, "prompts/_deleted.html", {"message": message, "values": values})


@login_required
@require_POST
def restore(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Undo a deletion or a re-run. The request has the signed values that ``delete`` or ``rerun`` returned."""
    message = user_message(request, chat_id, message_id)
    try:
        signed = signing.loads(request.POST.get("values", ""), salt=UNDO_SALT, max_age=UNDO_SECONDS)
    except signing.BadSignature:
        return HttpResponse(gettext("This can no longer be undone."), status=400, content_type="text/plain")
    signed_message_id, values, replace = signed
    if signed_message_id == str(message_id):
        operations.restore_recall(turn_from_message(own_chat(request, chat_id), message), values, replace=replace)
    return _respond_with_card(request, stored_recall(request, message))


def _signed(recall: Recall, *, replace: bool) -> str:
    """Return what ``restore`` needs to bring the recall back, signed. ``replace``: in place of the present one."""
    document = [str(recall.message_id), operations.undo_values(recall), replace]
    return signing.dumps(document, salt=UNDO_SALT, compress=True)


def _respond_with_card(request: HttpRequest, recall: Recall) -> HttpResponse:
    if not wants_partial(request):
        return _redirect_to_turn(recall.sent_message)
    return render(request, "prompts/_card.html", _context(request, recall))


def _redirect_to_turn(message: Message) -> HttpResponse:
    return redirect(f"{reverse('chats:detail', args=[message.chat_id])}?at={message.index}")


def _template_name(request: HttpRequest) -> str:
    return "prompts/_card.html" if wants_partial(request) else "prompts/card.html"


def _context(request: HttpRequest, recall: Recall, form: RecallForm | None = None) -> dict[str, Any]:
    """Return the context of the card's templates. The card is rendered open."""
    context: dict[str, Any] = {"card": RecallCard(recall, body_of(request.user, recall)), "form": form}
    if form is not None or recall.edited:
        text = recall.text if form is None else form.data.get("text", "")
        context["size"] = _size(request, recall, text)
    return context


def _size(request: HttpRequest, recall: Recall, text: str) -> TextSize:
    return text_size(own_chat(request, recall.chat_id), recall, text)
