"""Variables of the section “Database and queue” of `docs/configuration.md`."""

from config.variables.section import Section, Variable

SECTION = Section(
    title="Database and queue",
    variables=(
        Variable(
            "DATABASE_URL",
            "the embedded server",
            "A Postgres of your own, 16 or newer, with [pgvector](https://github.com/pgvector/pgvector) 0.8 "
            "or newer available: `postgres://user:password@host:5432/name`. The user owns the tables, and "
            "may create roles; or create the role `loci_restricted` beforehand and grant it to the user. No "
            "embedded server is started then.",
        ),
        Variable(
            "DATABASE_REPLICA_URL",
            "",
            "A streaming replica of that database, in the same form: one server, not several behind a "
            "balancer. It answers searches and exports once it has replayed what is committed; where it is "
            "behind, down or fails, the primary answers. See [scaling.md](scaling.md#read-replicas).",
        ),
        Variable(
            "DATABASE_POOL_SIZE",
            "`8`",
            "Connections that each process may hold, to the replica as many again. A search or a prompt reads with "
            "up to three of them at once, if there are that many and as far as others don't need them. `0` turns "
            "pooling off, as PgBouncer in front of the database wants it; it must pool by session, and also ignore the "
            "startup parameter `options`, or all timeouts below be `0`.",
        ),
        Variable(
            "DATABASE_STATEMENT_TIMEOUT",
            "`30`",
            "After how many seconds Postgres ends a statement of a web request, which is then answered with "
            "a 503; `0` leaves it to the server's own setting. So for all six timeouts.",
        ),
        Variable(
            "DATABASE_LOCK_TIMEOUT",
            "`10`",
            "For how many seconds a web request waits for a lock.",
        ),
        Variable(
            "DATABASE_IDLE_TIMEOUT",
            "`60`",
            "After how many seconds Postgres ends a transaction of the web server in which nothing happens.",
        ),
        Variable(
            "WORKER_STATEMENT_TIMEOUT",
            "`0`",
            "As `DATABASE_STATEMENT_TIMEOUT`, for workers, the scheduler and commands.",
        ),
        Variable(
            "WORKER_LOCK_TIMEOUT",
            "`0`",
            "As `DATABASE_LOCK_TIMEOUT`, for these.",
        ),
        Variable(
            "WORKER_IDLE_TIMEOUT",
            "`600`",
            "As `DATABASE_IDLE_TIMEOUT`, for these.",
        ),
        Variable(
            "LOCI_PROCESS",
            "`web` in the web server",
            "Which of these timeouts a process uses: those of the web server for `web`, else those of "
            "workers. The web server sets it itself.",
        ),
        Variable(
            "CELERY_BROKER_URL",
            "queues in the database",
            "Another broker, such as `redis://host:6379/0` or `amqp://user:password@host/`.",
        ),
        Variable(
            "CELERY_VISIBILITY_TIMEOUT",
            "`900`",
            "Seconds after which a task that a vanished worker had taken is given to another. A task may run "
            "a minute less than that.",
        ),
        Variable(
            "RUN_HEARTBEAT_TIMEOUT",
            "`60`",
            "Seconds without a heartbeat after which a background job (extraction, import, embeddings) is "
            "claimed by another worker.",
        ),
    ),
    after="""
There are six queues: `interactive` (what a user waits for), `replies` (replies of models to chats), `models` (jobs
that may wait for a user's server: runs, model tests, the search index and new embeddings of who has connected one),
`extraction` (runs of all others), `indexing` (imports, their search index, new embeddings) and `scheduled` (sweeps).
Each has a worker, in one process or in one of its own (`LOCI_FORM`), so that nobody's message waits for another's
import. In the small form no task is ended by its time limit, since threads can't be. Where workers are started
by other means, each queue needs one: `celery -A config worker --queues extraction --concurrency 4`, and
`--pool threads --concurrency 32` for `replies` and `models`. `/readyz/` succeeds once every queue has a worker. Within
models, extraction and indexing, users take turns of about ten seconds.
""",
)
