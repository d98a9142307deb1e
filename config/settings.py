"""Django settings. Everything that differs between installations is read from the environment."""

import sys
from urllib.parse import urlsplit

from celery.schedules import crontab
from csp.constants import NONE, SELF
from kombu import Queue

from config.env import (
    ROOT,
    allowed_addresses,
    broker_conninfo,
    database,
    database_home,
    demo_password,
    env,
    is_local,
    loci_home,
    mirror_storage,
    public_hosts,
    replica_database,
    secret_key,
    with_timeouts,
)
from config.logging import configure_structlog, logging_settings

# The installation

LOCI_HOME = loci_home()
LOCI_PORT = env.int("LOCI_PORT", default=8000)
LOCI_HOST = env.str("LOCI_HOST", default="127.0.0.1")
LOCI_URL = env.str("LOCI_URL", default="") or f"http://127.0.0.1:{LOCI_PORT}"
WEB_CONCURRENCY = env.int("WEB_CONCURRENCY", default=2)
SERVED_OVER_TLS = urlsplit(LOCI_URL).scheme == "https"

DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = secret_key()
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
ALLOWED_HOSTS = public_hosts(LOCI_URL)
# On a machine of their own, nobody is another's problem.
REACHED_BY_OTHERS = not is_local(LOCI_HOST, ALLOWED_HOSTS)
CSRF_TRUSTED_ORIGINS = [LOCI_URL.rstrip("/")]
ADMIN_PATH = env.str("ADMIN_PATH", default="admin/").strip("/") + "/"
DEMO = env.bool("DEMO", default=True)
DEMO_EMAIL = "demo@loci.example"
DEMO_PASSWORD = demo_password()
DEMO_MODEL_URL = env.str("DEMO_MODEL_URL", default="")
DEMO_MODEL = env.str("DEMO_MODEL", default="")
REQUEST_MAX_BYTES = env.int("REQUEST_MAX_BYTES", default=64 * 1024 * 1024)
SNAPSHOT_MAX_BYTES = env.int("SNAPSHOT_MAX_BYTES", default=4 * 1024**3)  # of a snapshot when unpacked
SNAPSHOTS_DAILY = env.int("SNAPSHOTS_DAILY", default=7)  # daily snapshots kept of an account; 0: none are made
REQUEST_MAX_VALUES = env.int("REQUEST_MAX_VALUES", default=500_000)
IMPORT_MAX_BYTES = env.int("IMPORT_MAX_BYTES", default=200 * 1024 * 1024)
MESSAGE_DATA_MAX_BYTES = env.int("MESSAGE_DATA_MAX_BYTES", default=256 * 1024)
CHAT_METADATA_MAX_BYTES = env.int("CHAT_METADATA_MAX_BYTES", default=4 * 1024 * 1024)
SETTINGS_KEY_MAX_BYTES = env.int("SETTINGS_KEY_MAX_BYTES", default=4 * 1024 * 1024)
SETTINGS_MAX_BYTES = env.int("SETTINGS_MAX_BYTES", default=16 * 1024 * 1024)
IDEMPOTENCY_HOURS = env.int("IDEMPOTENCY_HOURS", default=24)
CHANGE_LOG_DAYS = env.int("CHANGE_LOG_DAYS", default=30)
CHANGE_LOG_MIN = env.int("CHANGE_LOG_MIN", default=1000)
SSE_MAX_PER_USER = env.int("SSE_MAX_PER_USER", default=20)
SSE_HEARTBEAT = env.float("SSE_HEARTBEAT", default=15.0)  # seconds

# Applications

INSTALLED_APPS = [
    "django.contrib.admin",
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
    "apps.snapshots",
    "apps.evaluation",
    "apps.moderation",
    "apps.launcher",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "apps.common.http.head_requests.HeadMiddleware",
    "apps.common.metrics.MetricsMiddleware",
    "apps.common.http.compression.PageCompressionMiddleware",
    "apps.common.http.caching.NoStoreMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
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

# Database

EMBEDDED_DATABASE = database_home() is not None
DATABASES = {"default": database()}
BROKER_CONNINFO = broker_conninfo(DATABASES["default"])
if replica := replica_database():
    DATABASES["replica"] = replica | {"TEST": {"MIRROR": "default"}}
DATABASE_ROUTERS = ["apps.common.database.replica.ReplicaRouter"]
DATABASE_POOL_SIZE = env.int("DATABASE_POOL_SIZE", default=8)
IS_WEB_PROCESS = env.str("LOCI_PROCESS", default="") == "web"
# Requests wait for no statement for long. Jobs and migrations may, so that only their idle transactions are ended.
_timeouts = (
    {
        "statement_timeout": env.float("DATABASE_STATEMENT_TIMEOUT", default=30.0),
        "lock_timeout": env.float("DATABASE_LOCK_TIMEOUT", default=10.0),
        "idle_in_transaction_session_timeout": env.float("DATABASE_IDLE_TIMEOUT", default=60.0),
    }
    if IS_WEB_PROCESS
    else {
        "statement_timeout": env.float("WORKER_STATEMENT_TIMEOUT", default=0.0),
        "lock_timeout": env.float("WORKER_LOCK_TIMEOUT", default=0.0),
        "idle_in_transaction_session_timeout": env.float("WORKER_IDLE_TIMEOUT", default=600.0),
    }
)
POOL_WAITS = {"default": 15, "replica": 2}  # seconds; the primary answers if the replica does not
for _name, _database in DATABASES.items():
    DATABASES[_name] = with_timeouts(_database, _timeouts)
    # A connection that the server has closed, by a restart for example, is replaced before it is used.
    DATABASES[_name]["CONN_HEALTH_CHECKS"] = True
    if DATABASE_POOL_SIZE:
        _pool = {"min_size": 1, "max_size": DATABASE_POOL_SIZE, "timeout": POOL_WAITS[_name]}
        DATABASES[_name]["OPTIONS"]["pool"] = _pool
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Accounts

AUTH_USER_MODEL = "accounts.User"
SILENCED_SYSTEM_CHECKS = ["auth.W004"]  # a case-insensitive constraint makes e-mail addresses unique
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# Sign-in, sign-up and password resets are limited by allauth, which counts in the cache: one for all processes.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "common_cache",
        "OPTIONS": {"MAX_ENTRIES": 1_000_000},  # above it, counters that are still needed would be deleted
    }
}
_sign_in = env.str("RATE_LIMIT_SIGN_IN", default="30/m")
_sign_in_failed = env.str("RATE_LIMIT_SIGN_IN_FAILED", default="5/5m")
_sign_up = env.str("RATE_LIMIT_SIGN_UP", default="20/m")
ACCOUNT_RATE_LIMITS = {
    "login": f"{_sign_in}/ip",
    "login_failed": f"{_sign_in}/ip,{_sign_in_failed}/key",
    "signup": f"{_sign_up}/ip",
}
# How many proxies stand in front and append to X-Forwarded-For: without them, the header is not believed.
ALLAUTH_TRUSTED_PROXY_COUNT = env.int("TRUSTED_PROXY_COUNT", default=0)
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_UNIQUE_EMAIL = True
ACCOUNT_ADAPTER = "apps.accounts.sign_in.invitations.AccountAdapter"
ACCOUNT_FORMS = {
    "signup": "apps.accounts.sign_in.invitations.InvitedSignupForm",
    "change_password": "apps.accounts.sign_in.passwords.ChangePasswordForm",
    "reset_password_from_key": "apps.accounts.sign_in.passwords.ResetPasswordForm",
}
ACCOUNT_EMAIL_NOTIFICATIONS = True  # of changed passwords, addresses and second factors
MFA_ADAPTER = "apps.accounts.sign_in.second_factors.MFAAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Loci"
MFA_TOTP_TOLERANCE = 1  # steps of 30 seconds by which a phone's clock may be wrong
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not SERVED_OVER_TLS  # browsers allow it on localhost alone
USERSESSIONS_TRACK_ACTIVITY = True  # by LastSeenMiddleware
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Loci] "
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_REDIRECT_URL = LOGOUT_REDIRECT_URL
# What a user can have; 0: any number.
QUOTA_CHATS = env.int("QUOTA_CHATS", default=0)
QUOTA_MESSAGES = env.int("QUOTA_MESSAGES", default=0)
QUOTA_MEGABYTES = env.int("QUOTA_MEGABYTES", default=0)
# How long a user can keep an account that they asked to delete.
ACCOUNT_DELETION_DAYS = env.int("ACCOUNT_DELETION_DAYS", default=14)

# Mail: printed on the console unless EMAIL_URL is set

EMAIL_CONFIG = env.email_url("EMAIL_URL", default="consolemail://")
EMAIL_BACKEND = EMAIL_CONFIG["EMAIL_BACKEND"]
EMAIL_HOST = EMAIL_CONFIG["EMAIL_HOST"] or "localhost"
EMAIL_PORT = EMAIL_CONFIG["EMAIL_PORT"] or 25
EMAIL_HOST_USER = EMAIL_CONFIG["EMAIL_HOST_USER"] or ""
EMAIL_HOST_PASSWORD = EMAIL_CONFIG["EMAIL_HOST_PASSWORD"] or ""
EMAIL_USE_TLS = EMAIL_CONFIG.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL = EMAIL_CONFIG.get("EMAIL_USE_SSL", False)
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="Loci <loci@localhost>")
# Nobody who signs up is told to open a mail that no server delivers.
_verification = "none" if EMAIL_BACKEND.endswith("console.EmailBackend") else "mandatory"
ACCOUNT_EMAIL_VERIFICATION = env.str("EMAIL_VERIFICATION", default=_verification)
MFA_ALLOW_UNVERIFIED_EMAIL = ACCOUNT_EMAIL_VERIFICATION != "mandatory"
# Who signs up without opening a mail learns whether the address has an account.
_is_told = REACHED_BY_OTHERS and ACCOUNT_EMAIL_VERIFICATION != "mandatory"
SIGN_UP = env.str("SIGN_UP", default="invitation" if _is_told else "open")

# Security headers and cookies

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
DATA_UPLOAD_MAX_MEMORY_SIZE = REQUEST_MAX_BYTES
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

# Language, time, files

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [ROOT / "locale"]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = LOCI_HOME / "static"
STATICFILES_DIRS = [ROOT / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "apps.common.pages.static_files.HashedStaticFiles"},
}
if mirror := mirror_storage():
    STORAGES["mirror"] = mirror
MEDIA_ROOT = LOCI_HOME / "media"
FILE_UPLOAD_DIRECTORY_PERMISSIONS, FILE_UPLOAD_PERMISSIONS = 0o700, 0o600

# Rates of requests by user, such as 600/m; empty: no limit.

RATE_LIMITS = {
    "api": env.str("RATE_LIMIT_API", default="1200/m" if REACHED_BY_OTHERS else ""),
    "search": env.str("RATE_LIMIT_SEARCH", default="300/m" if REACHED_BY_OTHERS else ""),
    "generation": env.str("RATE_LIMIT_GENERATION", default="60/m" if REACHED_BY_OTHERS else ""),
    "imports": env.str("RATE_LIMIT_IMPORTS", default="300/h" if REACHED_BY_OTHERS else ""),
    # megabytes, of files and of all else
    "uploads": env.str("RATE_LIMIT_UPLOADS", default="6000/h" if REACHED_BY_OTHERS else ""),
    "bodies": env.str("RATE_LIMIT_BODIES", default="120/m" if REACHED_BY_OTHERS else ""),
}
# Requests of a user that are worked on at once, by all processes together; 0: any number.
REQUESTS_AT_ONCE = env.int("REQUESTS_AT_ONCE", default=8 if REACHED_BY_OTHERS else 0)
# Views that take files up to IMPORT_MAX_BYTES; all other bodies are limited by REQUEST_MAX_BYTES.
UPLOAD_ROUTES = {
    *("api-chat-import", "api-imports", "api-character-import", "api-lorebook-import"),
    *("api-chat-memories-import", "api-character-memories-import", "api-snapshot-upload"),
    *("chats:import", "characters:import", "exchange:chat", "exchange:character", "snapshots:upload"),
}
RATE_LIMIT_SCOPES = {
    "search": {"api-search"},
    "generation": {"api-reply", "replies:panel", "proxy-chat-completions", "api-connection-test", "llm:test"},
    "imports": UPLOAD_ROUTES | {"api-snapshot-restore", "snapshots:restore"},
}
# Who refuses a request before its view, in the form of whose API, by the beginning of the path; else in plain text.
ERROR_FORMS = {
    "/api/": "apps.common.api.problems.problem_response",
    "/v1/": "apps.proxy.errors.error_response",
}

# API

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apps.accounts.authentication.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "apps.accounts.authentication.TokenScope",
        "apps.accounts.suspension.NotSuspended",
    ],
    "DEFAULT_RENDERER_CLASSES": ["apps.common.documents.strict_json.CompactJSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["apps.common.documents.strict_json.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "apps.common.api.problems.exception_handler",
    # `?format=` is a parameter of exports, not a choice of the renderer.
    "URL_FORMAT_OVERRIDE": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Loci",
    "DESCRIPTION": (
        "Memory for long conversations with language models. Bodies may come with `Content-Encoding: gzip`."
    ),
    "VERSION": "0.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "MemoryKindEnum": "apps.memories.models.Memory.Kind",
        "EntityKindEnum": "apps.memories.models.Entity.Kind",
        "KnowledgeKindEnum": "apps.memories.models.Knowledge.Kind",
        "GenerationModeEnum": "apps.replies.models.Generation.Mode",
        "ConsolidatedGranularityEnum": "apps.memories.journal_periods.CONSOLIDATED",
        "WrittenGranularityEnum": "apps.memories.journal_periods.WRITTEN",
        "SharedTierEnum": "apps.instances.operations.targets.TIER_CHOICES",
        "JobStateEnum": "apps.common.jobs.STATES",
        "ReportReasonEnum": "apps.moderation.models.Reason",
        "ReportedKindEnum": "apps.moderation.models.Kind",
        "MemoryModeEnum": "apps.memories.models.lineage.ChatMemory.Mode",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.common.api.schema.describe_idempotency",
        "apps.common.api.schema.describe_problems",
    ],
}

# Background work

CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="") or "pgmq://localhost"
CELERY_VISIBILITY_TIMEOUT = env.int("CELERY_VISIBILITY_TIMEOUT", default=900)
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": CELERY_VISIBILITY_TIMEOUT}
BROKER_IN_DATABASE = CELERY_BROKER_URL.startswith("pgmq:")
if BROKER_IN_DATABASE:
    # The transport can't parse a URL with a socket folder, but accepts libpq's keyword form.
    CELERY_BROKER_TRANSPORT_OPTIONS |= {
        "conn_string": BROKER_CONNINFO,
        "init_extension": False,
        "use_notify": True,
        "polling_interval": 0.1,
        # A long poll would hold a lock on the queue that blocks the first publication of every other process.
        "wait_time_seconds": 0,
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
# interactive: what a user waits for, at most seconds long; extraction and indexing: jobs, in time slices; scheduled:
# sweeps and what they start; replies: replies of models, which may take minutes. Each has workers of its own.
QUEUES = ("interactive", "extraction", "indexing", "scheduled", "replies")
CELERY_TASK_DEFAULT_QUEUE = "scheduled"
# A migration creates those in the database; in other brokers the workers and those who publish do.
CELERY_TASK_QUEUES = [Queue(name, no_declare=BROKER_IN_DATABASE) for name in QUEUES]
CELERY_TASK_ROUTES = {
    "apps.chats.tasks.dispatch_chat_committed": {"queue": "interactive"},
    "apps.extraction.tasks.run_extraction": {"queue": "extraction"},
    "apps.extraction.tasks.run_model_test": {"queue": "extraction"},
    "apps.chats.tasks.run_import_job": {"queue": "indexing"},
    "apps.snapshots.tasks.run_snapshot_job": {"queue": "indexing"},
    "apps.moderation.tasks.run_scan": {"queue": "indexing"},
    "apps.extraction.tasks.run_reembedding": {"queue": "indexing"},
    "apps.extraction.tasks.index_chat": {"queue": "indexing"},
    "apps.replies.tasks.run_generation": {"queue": "replies"},
    "apps.injection.tasks.write_recap": {"queue": "replies"},
    "apps.journal.tasks.keep_journal": {"queue": "indexing"},
    "apps.journal.tasks.rewrite_journal": {"queue": "replies"},
}
CELERY_TASK_TIME_LIMIT = CELERY_VISIBILITY_TIMEOUT - 60
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_PROC_ALIVE_TIMEOUT = 60.0  # seconds; a worker's process may load the embedding model before it is up
WORKER_CONCURRENCY = env.int("WORKER_CONCURRENCY", default=2)
CELERY_WORKER_CONCURRENCY = WORKER_CONCURRENCY
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"  # in memory: a static schedule needs no file
# A job without a heartbeat for this many seconds has lost its worker and is claimed by another one.
RUN_HEARTBEAT_TIMEOUT = env.int("RUN_HEARTBEAT_TIMEOUT", default=60)
CELERY_BEAT_SCHEDULE = {
    "sweep-runs": {"task": "apps.extraction.tasks.sweep_runs", "schedule": 30.0},
    "sweep-jobs": {"task": "apps.extraction.tasks.sweep_jobs", "schedule": 30.0},
    "sweep-chats": {"task": "apps.extraction.tasks.sweep_chats", "schedule": 300.0},
    "sweep-imports": {"task": "apps.chats.tasks.sweep_import_jobs", "schedule": 60.0},
    "mirror-chats": {"task": "apps.snapshots.tasks.mirror_chats", "schedule": 60.0},
    "sweep-snapshots": {"task": "apps.snapshots.tasks.sweep_snapshots", "schedule": 60.0},
    "daily-snapshots": {"task": "apps.snapshots.tasks.make_daily_snapshots", "schedule": crontab(hour=3, minute=30)},
    "sweep-generations": {"task": "apps.replies.tasks.sweep_generations", "schedule": 30.0},
    "sweep-idempotency-records": {"task": "apps.sync.tasks.sweep_idempotency_records", "schedule": 3600.0},
    "trim-chat-logs": {"task": "apps.chats.tasks.trim_change_logs", "schedule": 3600.0},
    "purge-old-chats": {"task": "apps.chats.tasks.purge_old_chats", "schedule": 3600.0},
    "purge-old-personas": {"task": "apps.chats.tasks.purge_old_personas", "schedule": 3600.0},
    # Each owner once an hour, when an hour begins where they live.
    **{
        f"sweep-journals-{minute}": {
            "task": "apps.journal.tasks.sweep_journals",
            "schedule": crontab(minute=minute),
            "kwargs": {"minute": minute},
        }
        for minute in (0, 15, 30, 45)
    },
    "delete-due-accounts": {"task": "apps.accounts.tasks.delete_due_accounts", "schedule": 3600.0},
    "count-storage": {"task": "apps.accounts.tasks.count_storage", "schedule": 86_400.0},
    "sweep-rate-limits": {"task": "apps.accounts.tasks.sweep_rate_limits", "schedule": 3600.0},
    "sweep-scans": {"task": "apps.moderation.tasks.sweep_scans", "schedule": 60.0},
    "trim-settings-logs": {"task": "apps.sync.tasks.trim_settings_logs", "schedule": 3600.0},
}

# Language models that users connect

LLM_ALLOWED_ADDRESSES = allowed_addresses(LOCI_HOST, ALLOWED_HOSTS)
LLM_ALLOWED_PORTS = [int(port) for port in env.list("LLM_ALLOWED_PORTS", default=[])]  # none: all
LLM_DAILY_TOKENS = env.int("LLM_DAILY_TOKENS", default=2_000_000)  # 0: no limit

# Moderation: an endpoint with OpenAI's moderation API, asked about what is written, besides the rules

MODERATION_URL = env.str("MODERATION_URL", default="")
MODERATION_KEY = env.str("MODERATION_KEY", default="")
MODERATION_MODEL = env.str("MODERATION_MODEL", default="omni-moderation-latest")
MODERATION_LOOK_MINUTES = env.int("MODERATION_LOOK_MINUTES", default=30)

# Logs and metrics

METRICS_TOKEN = env.str("METRICS_TOKEN", default="")  # empty: nothing is counted
configure_structlog()
LOG_FORMAT = env.str("LOG_FORMAT", default="console" if sys.stderr.isatty() else "json")
LOGGING = logging_settings(level=env.str("LOG_LEVEL", default="INFO"), log_format=LOG_FORMAT)
DJANGO_STRUCTLOG_CELERY_ENABLED = True
DJANGO_STRUCTLOG_TRUST_UPSTREAM_REQUEST_ID = False  # anybody could write into the log, or reuse another's id
