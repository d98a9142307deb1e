"""Find, write, show and delete characters, and start a chat with one."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.models import User
from apps.chats import operations
from apps.chats.forms.characters import CharacterForm, MergeForm
from apps.chats.forms.chat_list import SearchForm
from apps.chats.forms.personas import NameForm, first_name_form
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models import Character, Chat, Lorebook
from apps.chats.pages.chat_list import chat_entries
from apps.chats.queries import default_persona, image_of, list_characters, list_chats, list_personas, lorebook_of
from apps.chats.quotas import QuotaExceeded
from apps.chats.views.access import own_character, wants_partial
from apps.common.pages.forms import refused_into

PAGE_SIZE = 48
MAX_LISTED_CHATS = 20  # on a character's page


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the characters, and the lorebooks without a character."""
    query = SearchForm(request.GET).words()
    page = Paginator(list_characters(request.user, query), PAGE_SIZE).get_page(request.GET.get("page"))
    books = Lorebook.objects.for_owner(request.user).filter(character=None).order_by("name", "pk")
    context = {"page": page, "query": query, "books": [] if query else books}
    template = "_list.html" if wants_partial(request) else "index.html"
    return render(request, f"chats/characters/{template}", context)


@login_required
@require_safe
def detail(request: HttpRequest, character_id: UUID) -> HttpResponse:
    return _sheet(request, own_character(request, character_id))


def _sheet(
    request: HttpRequest, character: Character, name_form: NameForm | None = None, *, status: int = 200
) -> HttpResponse:
    """Show a character. Whoever has no persona yet is asked for a name where a chat is started."""
    has_personas = list_personas(request.user).exists()
    chats = list_chats(request.user, archived=None).filter(character=character)[:MAX_LISTED_CHATS]
    same_namespace = Character.objects.for_owner(request.user).in_namespace(character.namespace)
    context = {
        "character": character,
        "image": image_of(character),
        "book": lorebook_of(character),
        "greetings": character.greetings,
        # Not in the template, where a language called "items" would hide the method.
        "notes": [(key, note) for key, note in character.creator_notes_multilingual.items() if isinstance(note, str)],
        "entries": chat_entries(request.user, chats),
        "name_form": name_form or first_name_form(cast(User, request.user), has_personas=has_personas),
        "namesakes": same_namespace.filter(name=character.name).exclude(pk=character.pk),
    }
    return render(request, "chats/characters/detail.html", context, status=status)


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    form = CharacterForm(request.POST, request.FILES) if request.method == "POST" else CharacterForm()
    if form.is_bound and form.is_valid():
        with refused_into(form), transaction.atomic():
            character = operations.create_character(request.user, **form.character_fields())
            if form.cleaned_data["picture"]:
                operations.set_character_image(character, *form.cleaned_data["picture"])
            return redirect("characters:detail", character_id=character.pk)
    return render(request, "chats/characters/new.html", {"form": form}, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, character_id: UUID) -> HttpResponse:
    character = own_character(request, character_id)
    form = CharacterForm.from_character(character)
    if request.method == "POST":
        form = CharacterForm(request.POST, request.FILES)
    if form.is_bound and form.is_valid():
        with refused_into(form), transaction.atomic():
            operations.update_character(character, **form.changes(character))
            if form.cleaned_data["picture"]:
                operations.set_character_image(character, *form.cleaned_data["picture"])
            return redirect("characters:detail", character_id=character.pk)
    context = {"character": character, "form": form}
    return render(request, "chats/characters/edit.html", context, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, character_id: UUID) -> HttpResponse:
    """Ask for confirmation, then delete the character for good. Its chats stay."""
    character = own_character(request, character_id)
    if request.method == "GET":
        context = {"character": character, "book": lorebook_of(character), "chat_count": character.chats.count()}
        return render(request, "chats/characters/delete.html", context)
    operations.delete_character(character)
    messages.success(request, gettext("%(name)s is deleted.") % {"name": character.name})
    return redirect("characters:index")


@login_required
@require_http_methods(["GET", "POST"])
def merge(request: HttpRequest, character_id: UUID) -> HttpResponse:
    """Ask for the other character and for the name of this one, typed, then merge this one into the other."""
    character = own_character(request, character_id)
    form = MergeForm(character, request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refused_into(form):
            into = operations.merge_characters(character, form.cleaned_data["into"])
            messages.success(
                request, gettext("The two are one. %(name)s has the chats and memories of both.") % {"name": into.name}
            )
            return redirect("characters:detail", character_id=into.pk)
    context = {"character": character, "form": form}
    return render(request, "chats/characters/merge.html", context, status=400 if form.is_bound else 200)


@login_required
@require_POST
def start(request: HttpRequest, character_id: UUID) -> HttpResponse:
    """Start a chat that opens with the character's greeting, as the default persona if there is one.

    A user without personas is asked for a name, which becomes the first one.
    """
    character = own_character(request, character_id)
    user = cast(User, request.user)
    form = NameForm(request.POST)
    if "name" in request.POST and not form.is_valid():
        return _sheet(request, character, form, status=400)
    try:
        chat = _start(user, character, form)
    except QuotaExceeded as problem:
        if not form.is_valid():
            raise
        form.add_error("name", problem.detail)
        return _sheet(request, character, form, status=400)
    return redirect("chats:detail", chat_id=chat.pk)


@transaction.atomic
def _start(user: User, character: Character, form: NameForm) -> Chat:
    """Start a chat as the persona of a valid form's name, else as the default one. Raise QuotaExceeded."""
    persona = operations.introduce(user, form.cleaned_data["name"]) if form.is_valid() else default_persona(user)
    user_name = persona.name if persona else user.get_short_name()[:MAX_NAME_LENGTH]
    return operations.start_conversation(user, character, user_name=user_name, persona=persona)
