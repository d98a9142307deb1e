"""Security headers and cookies."""

from csp.constants import NONE, SELF

from config.env import env
from config.settings.installation import SERVED_OVER_TLS
from config.variables import Group

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = SERVED_OVER_TLS
# Health checks of containers and Prometheus request these by plain HTTP.
SECURE_REDIRECT_EXEMPT = [r"^healthz/$", r"^readyz/$", r"^metrics$"]
if SERVED_OVER_TLS:
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    },
}

# Pages of other origins may use the API and the proxy with a token, and never with a session: no cookie is taken.
CORS_ALLOWED_ORIGINS = env.origins(
    "CORS_ORIGINS",
    group=Group.INSTALLATION,
    help="Origins whose pages may call the API and the proxy from a browser, separated by commas, such as "
    "`https://chat.example.org,http://localhost:3000`. They need a token: a session isn't taken from them.",
)
CORS_URLS_REGEX = r"^/(api/|v1/|mem0/|mcp|oauth/(token|register|revoke)|\.well-known/oauth)"
CORS_ALLOW_HEADERS = ["*", "authorization"]  # SDKs send headers of their own, and "*" alone leaves out the token's
CORS_EXPOSE_HEADERS = ["*"]
CORS_ALLOW_PRIVATE_NETWORK = True  # a public page may call a Loci on this machine or in this network
