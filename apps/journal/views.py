"""The pages of the journal: a calendar of years, months, weeks and days, and the forms of entries."""

import datetime as dt
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.models import User
from apps.common.pages.forms import refused_into
from apps.journal.calendar import (
    around,
    at_each_level,
    months_of,
    neighbours,
    period_named,
    title_of,
    weekdays_of,
    weeks_of,
)
from apps.journal.entries import delete_entry, edit_entry, period_of, restore_entry, write_significant
from apps.journal.forms import EntryForm, SignificantForm
from apps.journal.operations import request_consolidation
from apps.journal.queries import WeekDay, journal_page, newest_day, written_days
from apps.memories.journal.periods import CONSOLIDATED, Granularity, Period, month_of, week_of
from apps.memories.models import JournalEntry


@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """Show the period named ``?period=``, by default the newest day with an entry. A POST writes a significant one."""
    period = _period(request, default=newest_day(request.user))
    form = SignificantForm(request.POST or None, initial={"day": at_each_level(period, _today(request))[-1].first})
    if form.is_valid():
        date = form.cleaned_data.pop("day")
        with refused_into(form):
            entry = write_significant(request.user, period=date, editor=str(request.user), **form.cleaned_data)
            messages.success(request, gettext("Written."))
            return redirect(url_of(entry.period))
    return render(request, "journal/index.html", _context(request, period, form), status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, journal_id: UUID) -> HttpResponse:
    """Correct an entry, which no consolidation overwrites afterwards."""
    entry = get_object_or_404(JournalEntry.objects.for_owner(request.user).present(), pk=journal_id)
    form = EntryForm(request.POST or None, initial={"title": entry.title, "text": entry.text})
    if form.is_valid():
        with refused_into(form):
            edit_entry(entry, editor=str(request.user), **form.cleaned_data)
            messages.success(request, gettext("Saved."))
            return redirect(url_of(entry.period))
    context = {"form": form, "entry": entry, "title": title_of(period_of(entry)), "url": url_of(entry.period)}
    return render(request, "journal/edit.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def delete(request: HttpRequest, journal_id: UUID) -> HttpResponse:
    """Delete an entry, which can be undone on the next page."""
    entry = get_object_or_404(JournalEntry.objects.for_owner(request.user), pk=journal_id)
    delete_entry(entry)
    return redirect(url_of(entry.period, deleted=entry.pk))


@login_required
@require_POST
def restore(request: HttpRequest, journal_id: UUID) -> HttpResponse:
    """Undo the deletion of an entry."""
    entry = get_object_or_404(JournalEntry.objects.for_owner(request.user), pk=journal_id)
    restore_entry(entry)
    return redirect(url_of(entry.period))


@login_required
@require_POST
def consolidate(request: HttpRequest) -> HttpResponse:
    """Have the entry of ``?period=`` made, with those below it."""
    period = _period(request)
    if period.granularity not in CONSOLIDATED:
        raise Http404(gettext("A day is not made of other entries."))
    request_consolidation(cast(User, request.user), timezone.now(), granularity=period.granularity, period=period)
    messages.success(request, gettext("The entry is being made. Load the page again in a moment."))
    return redirect(url_of(period.name))


def url_of(name: str, **query: Any) -> str:
    """Return the address of the page of a period."""
    return reverse("journal:index") + "?" + urlencode({"period": name} | query)


def _period(request: HttpRequest, default: str = "") -> Period:
    period = period_named(request.GET.get("period", default), _today(request))
    if period is None:
        raise Http404(gettext("There is no such period."))
    return period


def _today(request: HttpRequest) -> dt.date:
    return timezone.now().astimezone(cast(User, request.user).zone).date()


def _context(request: HttpRequest, period: Period, form: SignificantForm) -> dict[str, Any]:
    today = _today(request)
    levels = at_each_level(period, today)
    before, after = neighbours(period)
    return {
        "period": period,
        "title": title_of(period),
        "levels": list(zip(levels, (gettext("Year"), gettext("Month"), gettext("Week"), gettext("Day")), strict=True)),
        "before": (before, title_of(before)),
        "after": (after, title_of(after)),
        "page": journal_page(cast(User, request.user).pk, period),
        "week": _week(request, period) if period.granularity == Granularity.DAILY else [],
        "can_be_made": period.granularity in CONSOLIDATED,
        "is_day": period.granularity == Granularity.DAILY,
        "today": _today(request),
        "form": form,
        "deleted": _deleted(request),
    } | _calendar(request, period, levels[-1].first)


def _calendar(request: HttpRequest, period: Period, date: dt.date) -> dict[str, Any]:
    """Return the months of a year, else the weeks of the month that ``date`` is in."""
    if period.granularity == Granularity.YEARLY:
        return {"months": months_of(period, written_days(request.user, period.first, period.last))}
    month = month_of(date)
    written = written_days(request.user, *around(month))
    weeks = weeks_of(month, period, written, _today(request))
    return {"month": month, "month_title": title_of(month), "weeks": weeks, "weekdays": weekdays_of(weeks[0])}


def _week(request: HttpRequest, day: Period) -> list[WeekDay]:
    """Return the days of the week that a day is in, each with the first lines of what happened."""
    week = week_of(day.first)
    below = journal_page(cast(User, request.user).pk, week).below
    days = [week.first + dt.timedelta(days=number) for number in range(7)]
    return [WeekDay(date, date == day.first, [shown for shown in below if shown.entry.starts == date]) for date in days]


def _deleted(request: HttpRequest) -> JournalEntry | None:
    """Return the deleted entry that ``?deleted=`` names, so that the page can offer to undo it."""
    try:
        journal_id = UUID(request.GET.get("deleted", ""))
    except ValueError:
        return None
    return JournalEntry.objects.for_owner(request.user).filter(pk=journal_id).exclude(deleted_at=None).first()
