"""The database, its replica, and the pools and timeouts of their connections."""

from config.env import broker_conninfo, database, database_home, env, replica_database, with_timeouts

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
