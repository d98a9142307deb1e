"""Page on which a person chooses chats that are read again from their first message, and sees what that will take."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from apps.chats.models import Chat
from apps.common.scoping import Owner
from apps.extraction import tasks
from apps.extraction.runs.estimates import sum_of_estimates
from apps.extraction.runs.queries import expected_cost
from apps.llm.backends import backend_for
from apps.llm.queries import generation_connection
from apps.memories.models import ChatMemory

CHATS_PER_PAGE = 20


class RereadForm(forms.Form):
    """Chats of one owner that are read again."""

    chat = forms.ModelMultipleChoiceField(
        Chat.objects.none(), error_messages={"required": _("Choose at least one chat. Nothing was started.")}
    )

    def __init__(self, chats: QuerySet[Chat], data: object) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self.fields["chat"].queryset = chats  # type: ignore[attr-defined]


def readable_chats(owner: Owner) -> QuerySet[Chat]:
    """Return the owner's chats from which memories may be made, the latest active first."""
    chats: QuerySet[Chat] = Chat.objects.for_owner(owner).own().filter(message_count__gt=1)
    chats = chats.exclude(memory__mode=ChatMemory.Mode.READ_ONLY)
    return chats.select_related("character").order_by("-last_active", "-pk")


@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """Show what reading old chats again will take, or start a run for each chosen chat."""
    chats = readable_chats(request.user)
    form = RereadForm(chats, request.POST if request.method == "POST" else None)
    if form.is_valid():
        runs = [tasks.request_run(request.user, chat, from_index=0, agreed=True) for chat in form.cleaned_data["chat"]]
        started = [created or run.extended for run, created in runs]
        messages.success(request, started_message(sum(started), len(started) - sum(started)))
        return redirect("chats:index")
    only = RereadForm(chats, request.GET)
    if only.is_valid():
        chats = only.cleaned_data["chat"]
    page = Paginator(chats, CHATS_PER_PAGE).get_page(request.GET.get("page"))
    rows = [(chat, expected_cost(chat, again=True)) for chat in page]
    context = {
        "form": form,
        "page": page,
        "rows": rows,
        "total": sum_of_estimates(expected for _, expected in rows),
        "backend": backend_for(request.user),
        "connection": generation_connection(request.user),
    }
    return render(request, "extraction/settings/read_again.html", context, status=400 if form.errors else 200)


def started_message(started: int, active: int) -> str:
    """Return the message about how many runs were started, and how many chats had an open one."""
    text = ngettext(
        "%(started)s chat is read again. The list of chats shows the progress.",
        "%(started)s chats are read again. The list of chats shows the progress.",
        started,
    ) % {"started": started}
    return (
        gettext("%(text)s %(active)s had a run that has not ended, which goes on.") % {"text": text, "active": active}
        if active
        else text
    )
