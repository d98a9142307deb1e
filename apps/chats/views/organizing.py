"""Pin, archive, tag, move and delete several chats of the list, and undo the last such action."""

from urllib.parse import urlsplit
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext_lazy
from django.views.decorators.http import require_POST

from apps.chats import operations
from apps.chats.forms.chat_list import OrganizeForm
from apps.chats.operations.organizing import INVERSE, ChatAction, folders_of

# What happened to a number of chats.
OUTCOMES = {
    ChatAction.PIN: ngettext_lazy("%(count)s chat is pinned.", "%(count)s chats are pinned.", "count"),
    ChatAction.UNPIN: ngettext_lazy(
        "%(count)s chat is no longer pinned.", "%(count)s chats are no longer pinned.", "count"
    ),
    ChatAction.ARCHIVE: ngettext_lazy("%(count)s chat is archived.", "%(count)s chats are archived.", "count"),
    ChatAction.UNARCHIVE: ngettext_lazy(
        "%(count)s chat is back in the list.", "%(count)s chats are back in the list.", "count"
    ),
    ChatAction.TAG: ngettext_lazy(
        "%(count)s chat is tagged “%(tag)s”.", "%(count)s chats are tagged “%(tag)s”.", "count"
    ),
    ChatAction.UNTAG: ngettext_lazy(
        "%(count)s chat is no longer tagged “%(tag)s”.", "%(count)s chats are no longer tagged “%(tag)s”.", "count"
    ),
    ChatAction.MOVE: ngettext_lazy(
        "%(count)s chat is in the folder “%(tag)s”.", "%(count)s chats are in the folder “%(tag)s”.", "count"
    ),
    ChatAction.DELETE: ngettext_lazy("%(count)s chat is deleted.", "%(count)s chats are deleted.", "count"),
    ChatAction.RESTORE: ngettext_lazy(
        "%(count)s chat is back in the list.", "%(count)s chats are back in the list.", "count"
    ),
}
NO_FOLDER = ngettext_lazy("%(count)s chat is in no folder.", "%(count)s chats are in no folder.", "count")
# The last action of the session: its id, the inverse action, and chats with the tag or the folder that they get back.
# What is stored under "undo_organize", in sessions of before there were folders, has another form.
SESSION_KEY = "undo_organized_chats"


@login_required
@require_POST
def organize(request: HttpRequest, action: str) -> HttpResponse:
    """Apply an action to the chosen chats, and offer to undo it. Return to the list with its filters."""
    if action not in INVERSE:
        raise Http404
    # Enter presses the first button of a form, which adds a tag, in the field of the folder too.
    if action == ChatAction.TAG and not request.POST.get("tag", "").strip() and request.POST.get("folder", "").strip():
        action = ChatAction.MOVE
    form = OrganizeForm(request.POST, ChatAction(action))
    if form.is_valid():
        chosen = form.cleaned_data["chat"]
        tag = form.cleaned_data["folder" if action == ChatAction.MOVE else "tag"]
        before = folders_of(request.user, chosen) if action == ChatAction.MOVE else {}
        changed = operations.organize_chats(request.user, chosen, ChatAction(action), tag)
        undo_id = uuid4()
        chats = [[str(pk), before.get(pk, tag)] for pk in changed]
        request.session[SESSION_KEY] = [str(undo_id), INVERSE[ChatAction(action)], chats]
        undo = reverse("chats:undo-organize", args=[undo_id])
        messages.success(request, _outcome(ChatAction(action), len(changed), tag), extra_tags=f"undo {undo}")
    else:
        messages.error(
            request, gettext("Choose chats first.") if "chat" in form.errors else gettext("Write a tag first.")
        )
    query = urlsplit(request.headers.get("Referer", "")).query
    return redirect(f"{reverse('chats:index')}?{query}")


@login_required
@require_POST
def undo(request: HttpRequest, undo_id: UUID) -> HttpResponse:
    """Undo the last action of the session, if it is the one with this id."""
    last_id, action, chats = request.session.pop(SESSION_KEY, None) or ("", "", [])
    if last_id != str(undo_id):
        messages.error(request, gettext("This can't be undone any more: something else was done since."))
        return redirect("chats:index")
    for tag in dict.fromkeys(tag for _, tag in chats):
        ids = [UUID(pk) for pk, of in chats if of == tag]
        changed = operations.organize_chats(request.user, ids, ChatAction(action), tag)
        messages.success(request, _outcome(ChatAction(action), len(changed), tag))
    return redirect("chats:index")


def _outcome(action: ChatAction, count: int, tag: str) -> str:
    outcome = NO_FOLDER if action == ChatAction.MOVE and not tag else OUTCOMES[action]
    return outcome % {"count": count, "tag": tag}
