"""Show and change the participants of a group chat."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.chats.forms.chats import ParticipantForm
from apps.chats.models import Character
from apps.chats.operations import add_member, remove_participant, update_participant
from apps.chats.views.access import own_chat
from apps.common.pages.forms import refused_into
from apps.common.problems import Missing


@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """List the participants in the order of their turns; on POST, add one."""
    chat = own_chat(request, chat_id)
    form = ParticipantForm(request.POST or None)
    if form.is_valid():
        with refused_into(form):
            add_member(request.user, chat.pk, form.cleaned_data["name"])
            return redirect("chats:people", chat_id=chat.pk)
    characters = Character.objects.for_owner(request.user).in_namespace(chat.namespace)
    names = characters.order_by("name").values_list("name", flat=True).distinct()
    context = {"chat": chat, "people": chat.participants.order_by("position"), "form": form, "names": names[:100]}
    return render(request, "chats/people.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def change(request: HttpRequest, chat_id: UUID, participant_id: UUID) -> HttpResponse:
    """Apply an action to a participant: mute, unmute, earlier, later or remove."""
    chat = own_chat(request, chat_id)
    participant = chat.participants.filter(pk=participant_id).first()
    if participant is None:
        raise Http404(gettext("There is no such participant in this chat."))
    positions = {"earlier": max(0, participant.position - 1), "later": participant.position + 1}
    action = request.POST.get("action", "")
    try:
        if action == "remove":
            remove_participant(request.user, chat.pk, participant.pk)
            messages.success(request, gettext("%(name)s has left. Their messages stay.") % {"name": participant.name})
        elif action in positions:
            update_participant(request.user, chat.pk, participant.pk, position=positions[action])
        elif action in ("mute", "unmute"):
            update_participant(request.user, chat.pk, participant.pk, muted=action == "mute")
    except Missing as error:
        raise Http404(error.detail) from error
    return redirect("chats:people", chat_id=chat.pk)
