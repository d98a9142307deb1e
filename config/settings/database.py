"""The database, its replica, and the pools and timeouts of their connections."""

from config.env import broker_conninfo, database, database_home, env, replica_database, with_timeouts
from config.variables import Group

EMBEDDED_DATABASE = database_home() is not None
DATABASES = {"default": database()}
BROKER_CONNINFO = broker_conninfo(DATABASES["default"])
if replica := replica_database():
    DATABASES["replica"] = replica | {"TEST": {"MIRROR": "default"}}
DATABASE_ROUTERS = ["apps.common.database.replica.ReplicaRouter"]
DATABASE_POOL_SIZE = env.int(
    "DATABASE_POOL_SIZE",
    default=8,
    group=Group.DATABASE,
    help="Connections that each process may hold, to the replica as many again. A search or a prompt reads with up to "
    "three of them at once, if there are that many and as far as others don't need them. `0` turns pooling off, as "
    "PgBouncer in front of the database wants it; it must pool by session, and also ignore the startup parameter "
    "`options`, or all timeouts below be `0`.",
)
_web_timeouts = {
    "statement_timeout": env.float(
        "DATABASE_STATEMENT_TIMEOUT",
        default=30.0,
        group=Group.DATABASE,
        help="After how many seconds Postgres ends a statement of a web request, which is then answered with a 503; "
        "`0` leaves it to the server's own setting. So for all six timeouts.",
    ),
    "lock_timeout": env.float(
        "DATABASE_LOCK_TIMEOUT",
        default=10.0,
        group=Group.DATABASE,
        help="For how many seconds a web request waits for a lock.",
    ),
    "idle_in_transaction_session_timeout": env.float(
        "DATABASE_IDLE_TIMEOUT",
        default=60.0,
        group=Group.DATABASE,
        help="After how many seconds Postgres ends a transaction of the web server in which nothing happens.",
    ),
}
# Jobs and migrations may take long, so that only their idle transactions are ended.
_worker_timeouts = {
    "statement_timeout": env.float(
        "WORKER_STATEMENT_TIMEOUT",
        default=0.0,
        group=Group.DATABASE,
        help="As `DATABASE_STATEMENT_TIMEOUT`, for workers, the scheduler and commands.",
    ),
    "lock_timeout": env.float(
        "WORKER_LOCK_TIMEOUT", default=0.0, group=Group.DATABASE, help="As `DATABASE_LOCK_TIMEOUT`, for these."
    ),
    "idle_in_transaction_session_timeout": env.float(
        "WORKER_IDLE_TIMEOUT", default=600.0, group=Group.DATABASE, help="As `DATABASE_IDLE_TIMEOUT`, for these."
    ),
}
_process = env.str(
    "LOCI_PROCESS",
    shown="`web` in the web server",
    group=Group.DATABASE,
    help="Which of these timeouts a process uses: those of the web server for `web`, else those of workers. The web "
    "server sets it itself.",
)
IS_WEB_PROCESS = _process == "web"
_timeouts = _web_timeouts if IS_WEB_PROCESS else _worker_timeouts
POOL_WAITS = {"default": 15, "replica": 2}  # seconds; the primary answers if the replica does not
for _name, _database in DATABASES.items():
    DATABASES[_name] = with_timeouts(_database, _timeouts)
    # A connection that the server has closed, by a restart for example, is replaced before it is used.
    DATABASES[_name]["CONN_HEALTH_CHECKS"] = True
    if DATABASE_POOL_SIZE:
        _pool = {"min_size": 1, "max_size": DATABASE_POOL_SIZE, "timeout": POOL_WAITS[_name]}
        DATABASES[_name]["OPTIONS"]["pool"] = _pool
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
