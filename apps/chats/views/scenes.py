"""The scenes of a chat: go to one, name it, keep a recap of it."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from apps.chats.forms.chats import SceneEditForm
from apps.chats.locking import Guard
from apps.chats.operations import Patch, patch_messages
from apps.chats.scenes import access_scene, scene_changes, scenes_of
from apps.chats.views.access import own_chat, wants_partial
from apps.common.problems import Missing


@login_required
@require_safe
def index(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """All scenes: for htmx a list to jump from, else a page where they can be edited."""
    chat = own_chat(request, chat_id)
    scenes = scenes_of(chat)
    open_from = scenes[-1].last.index + 1 if scenes else 0
    template = "chats/_scenes.html" if wants_partial(request) else "chats/scenes.html"
    return render(request, template, {"chat": chat, "scenes": scenes, "open_from": open_from})


@login_required
@require_POST
def edit(request: HttpRequest, chat_id: UUID, scene_id: UUID) -> HttpResponse:
    """Change a scene's name, recap and how it is shown. Another text of the recap is another version of it."""
    chat = own_chat(request, chat_id)
    try:
        scene = access_scene(chat, scene_id)
    except Missing as error:
        raise Http404(error.detail) from error
    form = SceneEditForm(request.POST)
    if form.is_valid():
        change = scene_changes(scene, **form.changes(scene))
        patch_messages(request.user, chat.pk, [Patch(id=scene_id, data=change)], Guard(optional=True))
        messages.success(request, "The scene is saved.")
    else:
        messages.error(request, "The scene was not saved: its name has up to 200 characters.")
    return redirect("chats:scenes", chat_id=chat.pk)
