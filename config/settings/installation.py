"""Where this installation keeps its data, and how it is reached."""

from urllib.parse import urlsplit

from config.env import demo_password, env, is_local, listening_host, loci_home, public_hosts, secret_key
from config.variables import Group

LOCI_HOME = loci_home()
LOCI_HOST = listening_host()
LOCI_PORT = env.int(
    "LOCI_PORT",
    default=8000,
    least=1,
    most=65535,
    group=Group.INSTALLATION,
    help="The port that the web server listens on.",
)
_url = env.origin(
    "LOCI_URL",
    shown="`http://127.0.0.1:LOCI_PORT`",
    group=Group.INSTALLATION,
    help="The address that people use. With `https://`, cookies are sent over TLS only, plain requests are redirected, "
    "browsers are told to stay with TLS (HSTS), and `X-Forwarded-Proto` is trusted: the proxy in front must set that "
    "header itself, whatever the client sent.",
)
LOCI_URL = _url or f"http://127.0.0.1:{LOCI_PORT}"
SERVED_OVER_TLS = urlsplit(LOCI_URL).scheme == "https"
CSRF_TRUSTED_ORIGINS = [LOCI_URL]
ALLOWED_HOSTS = public_hosts(LOCI_URL)
# On a machine of their own, nobody is another's problem.
REACHED_BY_OTHERS = not is_local(LOCI_HOST, ALLOWED_HOSTS)

LOCI_FORM = env.choice(
    "LOCI_FORM",
    ["small", "large"],
    default="small",
    group=Group.INSTALLATION,
    help="What `manage.py up` runs: `small`, one process that serves pages and one that does the rest, for one or a "
    "few people and 2 GB of memory; `large`, a worker for each queue, which needs some 3 GB and uses several cores.",
)
WEB_CONCURRENCY = env.int(
    "WEB_CONCURRENCY",
    default=1 if LOCI_FORM == "small" else 2,
    least=1,
    shown="`1`; `2` in the large form",
    group=Group.INSTALLATION,
    help="Processes of the web server.",
)
DISK_WARNING_MEGABYTES = env.int(
    "DISK_WARNING_MEGABYTES",
    default=1024,
    group=Group.INSTALLATION,
    help="Below how many free megabytes on the disk of `LOCI_HOME` a warning is shown: to staff on each page, in "
    "`/readyz/`, and by `manage.py up`.",
)
DISK_FULL_MEGABYTES = env.int(
    "DISK_FULL_MEGABYTES",
    default=128,
    group=Group.INSTALLATION,
    help="Below how many free megabytes writes are refused with a 503 that says why, and background jobs wait. "
    "Reading, deleting and signing in go on. `0` refuses nothing before the database does. It should be more than the "
    "48 megabytes that are set aside for the embedded database to start with.",
)

SECRET_KEY = secret_key()
SECRET_KEY_FALLBACKS = env.list(
    "SECRET_KEY_FALLBACKS",
    default=[],
    group=Group.SAFETY,
    help="Former values of `SECRET_KEY`, separated by commas: what they signed or sealed stays good. Remove one after "
    "`manage.py rotate_keys`, and once what it signed has run out.",
)
DEBUG = env.bool(
    "DEBUG",
    default=False,
    group=Group.SAFETY,
    help="Django's debug pages. Never on where others can reach Loci: they show settings and private text.",
)
_admin_path = env.str("ADMIN_PATH", default="admin/", group=Group.INSTALLATION, help="Where the admin site lies.")
ADMIN_PATH = (_admin_path.strip("/") or "admin") + "/"

DEMO = env.bool(
    "DEMO",
    default=True,
    group=Group.INSTALLATION,
    help="Whether `manage.py up` loads the demo account with its story.",
)
DEMO_EMAIL = "demo@loci.example"
DEMO_PASSWORD = demo_password()
DEMO_MODEL_URL = env.url(
    "DEMO_MODEL_URL",
    group=Group.INSTALLATION,
    help="The base URL of a model server that speaks OpenAI's API, such as `http://localhost:11434/v1`: its model "
    "replies in the demo account's chats. Set once; later *Settings → Models* of that account changes it.",
)
DEMO_MODEL = env.str("DEMO_MODEL", group=Group.INSTALLATION, help="The name of the model of `DEMO_MODEL_URL`.")
