"""The page on what the installation uses, in the admin site."""

import psutil
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.launcher import usage
from apps.llm.embeddings import EmbeddingUnavailable, installation_embedder, installation_model


@require_safe
def installation(request: HttpRequest) -> HttpResponse:
    """Show memory, disk and queues to who may see the figures of the installation. Raise PermissionDenied."""
    if not request.user.has_perm("moderation.view_dashboard"):
        raise PermissionDenied
    machine, programs, queues = psutil.virtual_memory(), usage.programs(), usage.waiting()
    context = {
        **admin.site.each_context(request),
        "title": _("Installation"),
        "embedding_model": installation_model(),
        "embedding_problem": _embedding_problem(),
        "programs": programs,
        "memory": sum(program.bytes for program in programs),
        "machine_memory": machine.total,
        "machine_available": machine.available,
        "disks": usage.disks(),
        "parts": usage.parts(),
        "tables": usage.largest_tables(),
        "queues": queues,
        "warning_megabytes": settings.DISK_WARNING_MEGABYTES,
        "full_megabytes": settings.DISK_FULL_MEGABYTES,
    }
    return TemplateResponse(request, "admin/installation.html", context)


def _embedding_problem() -> str:
    """Return why the installation's embedding model can't be loaded, or an empty string."""
    try:
        installation_embedder()
    except EmbeddingUnavailable as error:
        return str(error)
    return ""
