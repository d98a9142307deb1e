"""Settings page “Model in the browser”: choose the model, and run it while the page is open."""

from csp.constants import SELF, WASM_UNSAFE_EVAL
from csp.decorators import csp_update
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.staticfiles.finders import find
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.llm import operations
from apps.llm.browser.calls import is_page_open
from apps.llm.browser.forms import EXAMPLES, BrowserModelForm
from apps.llm.models import Connection
from apps.llm.queries import chats_naming

WEB_LLM = "vendor/web-llm.js"  # put there by `make web-llm`
# From where WebLLM loads the models of its own list: weights, and the code that runs them.
SOURCES = [
    "https://huggingface.co",
    "https://*.huggingface.co",
    "https://*.hf.co",
    "https://raw.githubusercontent.com",
]


@login_required
@never_cache
@csp_update({"script-src": [SELF, WASM_UNSAFE_EVAL], "connect-src": [SELF, *SOURCES]})
@require_http_methods(["GET", "POST"])
def browser_model(request: HttpRequest) -> HttpResponse:
    """Show the page, or save the choice of the model and use it."""
    own = Connection.objects.for_owner(request.user).filter(backend=Connection.Backend.BROWSER)
    connection = own.first()
    form = BrowserModelForm(request.POST or None, connection=connection)
    if form.is_valid():
        save(request, connection, form)
        messages.success(request, gettext("Saved. Load the model, and keep the page open."))
        return redirect("llm:browser")
    context = {
        "form": form,
        "connection": connection,
        "is_used": connection is not None and (connection.for_generation or chats_naming(connection) > 0),
        "page_is_open": connection is not None and is_page_open(connection.page_seen_at),
        "examples": EXAMPLES,
        "web_llm": web_llm_url(),
    }
    return render(request, "llm/browser.html", context, status=400 if form.errors else 200)


def web_llm_url() -> str:
    """Return the URL of WebLLM, or "" if it is not installed, or has been only since the server was started."""
    try:
        return static(WEB_LLM) if find(WEB_LLM) else ""
    except ValueError:  # it has not been collected yet
        return ""


@transaction.atomic
def save(request: HttpRequest, connection: Connection | None, form: BrowserModelForm) -> None:
    """Create or change the connection, and use it for generation."""
    if connection is None:
        backend = Connection.Backend.BROWSER
        connection = operations.create_connection(
            request.user, name=gettext("In the browser"), backend=backend, **form.cleaned_data
        )
    else:
        operations.update_connection(connection, **form.cleaned_data)
    operations.use_for(connection, generation=True)
