"""The dashboard: figures of the installation, as charts that the server draws."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext

from apps.moderation.figures import charts


def dashboard(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Show the charts. Raise PermissionDenied."""
    if not request.user.has_perm("moderation.view_dashboard"):
        raise PermissionDenied
    context |= {"title": gettext("Figures"), "charts": charts(timezone.now())}
    return TemplateResponse(request, "admin/moderation/dashboard.html", context)
