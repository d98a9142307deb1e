"""Background work: the broker, its queues, which task goes where, and the schedule."""

from typing import Any
from urllib.parse import urlsplit

from celery.schedules import crontab
from django.core.exceptions import ImproperlyConfigured
from kombu import Queue
from kombu.transport import TRANSPORT_ALIASES

from config.env import env
from config.settings.database import BROKER_CONNINFO
from config.variables import Group

_broker_url = env.str(
    "CELERY_BROKER_URL",
    shown="queues in the database",
    group=Group.DATABASE,
    help="Another broker, such as `redis://host:6379/0` or `amqp://user:password@host/`.",
)
CELERY_BROKER_URL = _broker_url or "pgmq://localhost"
if urlsplit(CELERY_BROKER_URL).scheme.partition("+")[0] not in TRANSPORT_ALIASES or "://" not in CELERY_BROKER_URL:
    raise ImproperlyConfigured("CELERY_BROKER_URL must be like redis://host:6379/0.")  # it may hold a password
CELERY_VISIBILITY_TIMEOUT = env.int(
    "CELERY_VISIBILITY_TIMEOUT",
    default=900,
    least=120,
    group=Group.DATABASE,
    help="Seconds after which a task that a vanished worker had taken is given to another. A task may run a minute "
    "less than that.",
)
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {"visibility_timeout": CELERY_VISIBILITY_TIMEOUT}
BROKER_IN_DATABASE = CELERY_BROKER_URL.startswith("pgmq:")
if BROKER_IN_DATABASE:
    # The transport can't parse a URL with a socket folder, but accepts libpq's keyword form.
    CELERY_BROKER_TRANSPORT_OPTIONS |= {
        "conn_string": BROKER_CONNINFO,
        "init_extension": False,
        "use_notify": True,
        "pool_size": 4,  # connections at most that a worker, or those who publish, have to their queues at once
        "polling_interval": 0.1,
        # A long poll would hold a lock on the queue that blocks the first publication of every other process.
        "wait_time_seconds": 0,
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
# interactive: what a user waits for, at most seconds long; extraction and indexing: jobs, in time slices; scheduled:
# sweeps and what they start; replies: replies of models, which may take minutes; models: jobs that may wait for a
# user's server, which may never answer. Each has workers of its own.
QUEUES = ("interactive", "extraction", "indexing", "scheduled", "replies", "models")
# Their tasks wait most of the time, and not for this machine: threads cost little, so that there are enough of them.
WAITING_QUEUES = ("replies", "models")
MODEL_PLACES = env.int(
    "MODEL_PLACES",
    default=32,
    least=1,
    group=Group.INSTALLATION,
    help="How many replies of models to chats are awaited at a time, and how many jobs that call users’ servers run. "
    "They are threads, of two processes in the large form. One user has at most a quarter of each, so that servers "
    "that never answer take no place from those that do.",
)
MODEL_PLACES_OF_OWNER = max(MODEL_PLACES // 4, 1)  # the share of one user's tasks in each queue
CELERY_TASK_DEFAULT_QUEUE = "scheduled"
# A migration creates those in the database; in other brokers the workers and those who publish do.
CELERY_TASK_QUEUES = [Queue(name, no_declare=BROKER_IN_DATABASE) for name in QUEUES]
CELERY_TASK_ROUTES = {
    "apps.chats.tasks.dispatch_chat_committed": {"queue": "interactive"},
    "apps.extraction.tasks.run_extraction": {"queue": "extraction"},
    "apps.extraction.tasks.run_model_test": {"queue": "models"},
    "apps.chats.tasks.run_import_job": {"queue": "indexing"},
    "apps.snapshots.tasks.run_snapshot_job": {"queue": "indexing"},
    "apps.moderation.tasks.run_scan": {"queue": "indexing"},
    "apps.extraction.tasks.recompute_vectors": {"queue": "indexing"},  # loads the model, as its jobs do
    "apps.extraction.tasks.run_reembedding": {"queue": "indexing"},
    "apps.extraction.tasks.index_chat": {"queue": "indexing"},
    "apps.replies.tasks.run_generation": {"queue": "replies"},
    "apps.injection.tasks.write_recap": {"queue": "replies"},
    "apps.journal.tasks.keep_journal": {"queue": "indexing"},
    "apps.journal.tasks.rewrite_journal": {"queue": "models"},
    "apps.webhooks.tasks.deliver": {"queue": "models"},
}
CELERY_TASK_TIME_LIMIT = CELERY_VISIBILITY_TIMEOUT - 60
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_PROC_ALIVE_TIMEOUT = 60.0  # seconds; a worker's process may load the embedding model before it is up
WORKER_CONCURRENCY = CELERY_WORKER_CONCURRENCY = env.int(
    "WORKER_CONCURRENCY",
    default=2,
    least=1,
    group=Group.INSTALLATION,
    help="Processes that extract memories, and as many for what users wait for; threads in the small form. Imports and "
    "indexing have one, scheduled tasks another.",
)
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"  # in memory: a static schedule needs no file
RUN_HEARTBEAT_TIMEOUT = env.int(
    "RUN_HEARTBEAT_TIMEOUT",
    default=60,
    least=1,
    group=Group.DATABASE,
    help="Seconds without a heartbeat after which a background job (extraction, import, embeddings) is claimed by "
    "another worker.",
)
CELERY_BEAT_SCHEDULE = {
    "sweep-runs": {"task": "apps.extraction.tasks.sweep_runs", "schedule": 30.0},
    "sweep-jobs": {"task": "apps.extraction.tasks.sweep_jobs", "schedule": 30.0},
    "sweep-former-vectors": {"task": "apps.extraction.tasks.sweep_former_vectors", "schedule": 1800.0},
    "sweep-chats": {"task": "apps.extraction.tasks.sweep_chats", "schedule": 300.0},
    "sweep-imports": {"task": "apps.chats.tasks.sweep_import_jobs", "schedule": 60.0},
    "mirror-chats": {"task": "apps.snapshots.tasks.mirror_chats", "schedule": 60.0},
    "sweep-snapshots": {"task": "apps.snapshots.tasks.sweep_snapshots", "schedule": 60.0},
    "daily-snapshots": {"task": "apps.snapshots.tasks.make_daily_snapshots", "schedule": crontab(hour=3, minute=30)},
    "sweep-deliveries": {"task": "apps.webhooks.tasks.sweep_deliveries", "schedule": 30.0},
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
    "sweep-oauth": {"task": "apps.mcp.tasks.sweep_oauth", "schedule": 86_400.0},
    "sweep-scans": {"task": "apps.moderation.tasks.sweep_scans", "schedule": 60.0},
    "trim-settings-logs": {"task": "apps.sync.tasks.trim_settings_logs", "schedule": 3600.0},
}
