"""Read uploaded files, and say which were not imported."""

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.utils.translation import gettext

from apps.common.problems import Problem

SHOWN_LENGTH = 80  # characters of a file's name, its end


def received_files(request: HttpRequest) -> list[UploadedFile]:
    """Return the uploaded files. Add an error message if there are none."""
    files = request.FILES.getlist("file")
    if not files:
        messages.error(request, gettext("No file was received. Choose one, or drop it on the page."))
    return files


def shown_name(upload: UploadedFile) -> str:
    """Return the name of a file as messages show it."""
    return (upload.name or gettext("The file"))[-SHOWN_LENGTH:]


def tell_failure(request: HttpRequest, name: str, problem: Problem) -> None:
    """Add the error message about a file that was not imported."""
    messages.error(
        request,
        gettext("%(name)s was not imported. %(detail)s Nothing from it was stored.")
        % {"name": name, "detail": problem.detail},
    )
