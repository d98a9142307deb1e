"""Choose whose model replies in a chat."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from apps.chats.forms.chats import ModelForm
from apps.chats.operations import organize_chat
from apps.chats.pages.models import model_menu
from apps.chats.views.access import own_chat, wants_partial


@login_required
@require_POST
def choose(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Have the model of a connection reply in the chat from now on; without one, the model of all other chats."""
    chat = own_chat(request, chat_id)
    form = ModelForm(request.POST, user=request.user)
    if not form.is_valid():
        raise Http404
    chat = organize_chat(chat, connection=form.cleaned_data["connection"])
    if not wants_partial(request):
        return redirect("chats:detail", chat_id=chat.pk)
    response = render(request, "chats/_model.html", {"chat": chat, "models": model_menu(chat), "was_chosen": True})
    response["HX-Trigger"] = "model-chosen"
    return response
