"""URL patterns of pages, API, health probes and admin site."""

from allauth.account.decorators import secure_admin_login
from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from apps.accounts.sign_in import invitations
from apps.chats import urls as chats
from apps.chats.views.usage import usage
from apps.common import health
from apps.common.pages import theme
from apps.common.pages.catalogues import Catalogue
from apps.common.pages.manifest import manifest
from apps.exchange import urls as exchange
from apps.extraction import urls as extraction
from apps.launcher.metrics import metrics
from apps.launcher.views import installation
from apps.memories import urls as memories
from apps.search import urls as search
from apps.sync import sillytavern_extension

admin.autodiscover()
# Who is not signed in is sent to the usual page, whose attempts are counted.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

urlpatterns = [
    path("healthz/", health.alive, name="healthz"),
    path("readyz/", health.ready, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("manifest.webmanifest", manifest, name="manifest"),
    path("theme/", theme.choose, name="theme"),
    path("language.js", Catalogue.as_view(domain="djangojs", packages=[]), name="javascript-catalogue"),
    path("accounts/invitation/<str:key>/", invitations.accept, name="invitation"),
    path("accounts/", include("allauth.urls")),
    path("settings/usage/", usage, name="usage"),
    path("settings/instances/", include("apps.instances.urls")),
    path("settings/snapshots/", include("apps.snapshots.urls")),
    path("settings/webhooks/", include("apps.webhooks.urls")),
    path("settings/models/", include("apps.llm.urls")),
    path("settings/moderation/", include("apps.moderation.urls")),
    path("settings/tokens/sillytavern.zip", sillytavern_extension.download, name="sillytavern-extension"),
    path("settings/", include("apps.extraction.settings_urls")),
    path("settings/", include("apps.accounts.urls")),
    path(f"{settings.ADMIN_PATH}installation/", admin.site.admin_view(installation), name="installation"),
    path(settings.ADMIN_PATH, admin.site.urls),
    path("api/v1/", include("config.api_urls")),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path(
        "api/docs/",
        SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="api/docs.html"),
        name="api-docs",
    ),
    path("", include("apps.moderation.report_urls")),
    path("memories/", include((exchange.memory_urls, "exchange"))),
    path("memories/", include("apps.graph.urls")),
    path("memories/", include(([*memories.urlpatterns, *search.urlpatterns, *extraction.urlpatterns], "memories"))),
    path("", include("apps.mcp.urls")),
    path("mem0/", include("apps.mem0.urls")),
    path("", include("apps.proxy.urls")),
    path("", include("apps.replies.urls")),
    path("", include("apps.prompts.urls")),
    path("journal/", include("apps.journal.urls")),
    path("", include(([*chats.character_urls, *exchange.character_urls], "characters"))),
    path("", include((chats.persona_urls, "personas"))),
    path("", include(([*chats.chat_urls, *exchange.chat_urls], "chats"))),
]

handler400 = "apps.common.api.problems.bad_request"
handler403 = "apps.common.api.problems.permission_denied"
handler404 = "apps.common.api.problems.page_not_found"
handler500 = "apps.common.api.problems.server_error"
