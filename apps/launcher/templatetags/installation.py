"""``{% disk_warning user %}``: tell staff that the disk is almost full, or full."""

from typing import Any

from django import template

from apps.common.disk import MEGABYTE, DiskState, free_megabytes, state_of

register = template.Library()


@register.inclusion_tag("launcher/_disk_warning.html")
def disk_warning(user: Any) -> dict[str, Any]:
    """Return what the warning needs; it is empty for other users, and while there is space."""
    if not getattr(user, "is_staff", False):
        return {"is_shown": False}
    free = free_megabytes()
    state = state_of(free)
    if state is DiskState.OK:
        return {"is_shown": False}
    linked = user.has_perm("moderation.view_dashboard")
    return {"is_shown": True, "is_full": state is DiskState.FULL, "free": free * MEGABYTE, "linked": linked}
