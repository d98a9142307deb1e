"""Django's applications, middleware and templates."""

from config.env import ROOT

INSTALLED_APPS = [
    "django.contrib.admin.apps.SimpleAdminConfig",  # its pages are found by config.urls, in processes that serve them
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "corsheaders",
    "csp",
    "django_htmx",
    "django_filters",
    "django_structlog",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rest_framework",
    "apps.common",
    "apps.accounts",
    "apps.llm",
    "apps.chats",
    "apps.memories",
    "apps.extraction",
    "apps.builtin",
    "apps.sync",
    "apps.instances",
    "apps.journal",
    "apps.graph",
    "apps.injection",
    "apps.exchange",
    "apps.replies",
    "apps.proxy",
    "apps.webhooks",
    "apps.snapshots",
    "apps.evaluation",
    "apps.moderation",
    "apps.launcher",
]

MIDDLEWARE = [
    "corsheaders.middleware.CorsMiddleware",
    "apps.common.http.streaming.AsyncStreamMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "apps.common.http.head_requests.HeadMiddleware",
    "apps.common.metrics.MetricsMiddleware",
    "apps.common.http.compression.CompressionMiddleware",
    "apps.common.http.caching.NoStoreMiddleware",
    "apps.common.http.caching.PageCacheMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "apps.common.http.slashes.SlashMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.accounts.middleware.row_scope.RowScopeMiddleware",
    "apps.accounts.middleware.languages.LanguageMiddleware",
    "apps.accounts.middleware.last_seen.LastSeenMiddleware",
    "apps.common.http.request_logging.RequestLogMiddleware",
    "apps.accounts.middleware.closed_accounts.ClosedAccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "apps.accounts.middleware.suspension.SuspensionMiddleware",
    "apps.accounts.middleware.encoded_bodies.RequestBodyMiddleware",
    "apps.accounts.middleware.throttling.ThrottleMiddleware",
    "apps.accounts.middleware.concurrency.ConcurrencyMiddleware",
    "apps.common.pages.problems.ProblemPageMiddleware",
    "apps.common.http.minimal_replies.MinimalReplyMiddleware",
    "apps.common.http.retries.RetryMiddleware",
    "apps.sync.idempotency.IdempotencyMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["django.templatetags.i18n", "apps.common.templatetags.languages"],
        },
    },
]
