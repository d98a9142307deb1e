"""List the scenes of a chat, and edit their names and recaps."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.authentication import writer_of
from apps.chats.forms.scenes import SceneEditForm
from apps.chats.locking import Guard
from apps.chats.operations import Patch, patch_messages
from apps.chats.scenes import access_scene, is_outdated, scene_change, scenes_of
from apps.chats.views.access import or_404, own_chat, wants_partial
from apps.common.problems import Invalid


@login_required
@require_safe
def index(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """List the scenes: for htmx, a list of links; else a page to edit them."""
    chat = own_chat(request, chat_id)
    scenes = scenes_of(chat)
    if wants_partial(request):
        open_from = scenes[-1].last.index + 1 if scenes else 0
        return render(request, "chats/_scenes.html", {"chat": chat, "scenes": scenes, "open_from": open_from})
    rows = [(scene, SceneEditForm.from_scene(scene), is_outdated(scene)) for scene in scenes]
    return render(request, "chats/scenes.html", {"chat": chat, "rows": rows})


@login_required
@require_POST
def edit(request: HttpRequest, chat_id: UUID, scene_id: UUID) -> HttpResponse:
    """Change what the person has changed of a scene. A changed recap is added as a new version."""
    chat = own_chat(request, chat_id)
    scene = or_404(access_scene, chat, scene_id)
    form = SceneEditForm(request.POST)
    if form.is_valid():
        change = scene_change(scene, **form.changes())
        guard = Guard(optional=True, writer=writer_of(request))
        patch_messages(request.user, chat.pk, [Patch(id=scene_id, data=change)], guard)
        messages.success(request, gettext("The scene is saved."))
        return redirect("chats:scenes", chat_id=chat.pk)
    raise Invalid(gettext("The scene was not saved: its name may have up to 200 characters."))
