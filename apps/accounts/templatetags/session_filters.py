"""Template filters of the page of sessions."""

import re

from django import template
from django.utils.translation import gettext

register = template.Library()

# In the order in which they are looked for: most browsers also name those that they are compatible with.
BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "Mac OS X": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


@register.filter
def browser_name(user_agent: str) -> str:
    """Return a name such as "Firefox on Linux" for a User-Agent header; its beginning if it is of another program."""
    browser = next((name for mark, name in BROWSERS.items() if re.search(rf"{mark}\w*/", user_agent)), "")
    system = next((name for mark, name in SYSTEMS.items() if mark in user_agent), "")
    if not browser:
        return user_agent[:40] or gettext("An unknown program")
    return gettext("%(browser)s on %(system)s") % {"browser": browser, "system": system} if system else browser
