"""Mail, which is printed on the console unless EMAIL_URL is set."""

from config.env import env
from config.variables import Group

EMAIL_CONFIG = env.email_url(
    "EMAIL_URL",
    default="consolemail://",
    group=Group.MAIL,
    help="The mail server: `smtp+tls://user:password@host:587`, or `smtp+ssl://…:465`. By default mail is printed "
    "where Loci runs.",
)
EMAIL_BACKEND = EMAIL_CONFIG["EMAIL_BACKEND"]
EMAIL_HOST = EMAIL_CONFIG["EMAIL_HOST"] or "localhost"
EMAIL_USE_SSL = EMAIL_CONFIG.get("EMAIL_USE_SSL", False) or EMAIL_CONFIG["EMAIL_PORT"] == 465
EMAIL_USE_TLS = EMAIL_CONFIG.get("EMAIL_USE_TLS", False) and not EMAIL_USE_SSL  # by STARTTLS
EMAIL_PORT = EMAIL_CONFIG["EMAIL_PORT"] or (465 if EMAIL_USE_SSL else 587 if EMAIL_USE_TLS else 25)
EMAIL_FILE_PATH = EMAIL_CONFIG["EMAIL_FILE_PATH"] or None
EMAIL_HOST_USER = EMAIL_CONFIG["EMAIL_HOST_USER"] or ""
EMAIL_HOST_PASSWORD = EMAIL_CONFIG["EMAIL_HOST_PASSWORD"] or ""
DEFAULT_FROM_EMAIL = env.str(
    "DEFAULT_FROM_EMAIL", default="Loci <loci@localhost>", group=Group.MAIL, help="The sender of Loci's mail."
)
