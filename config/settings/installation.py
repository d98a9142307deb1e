"""Where this installation keeps its data, and how it is reached."""

from urllib.parse import urlsplit

from config.env import demo_password, env, is_local, loci_home, one_of, public_hosts, secret_key

LOCI_HOME = loci_home()
LOCI_PORT = env.int("LOCI_PORT", default=8000)
LOCI_HOST = env.str("LOCI_HOST", default="127.0.0.1")
LOCI_URL = env.str("LOCI_URL", default="") or f"http://127.0.0.1:{LOCI_PORT}"
LOCI_FORM = one_of("LOCI_FORM", env.str("LOCI_FORM", default="small"), "small", "large")
WEB_CONCURRENCY = env.int("WEB_CONCURRENCY", default=1 if LOCI_FORM == "small" else 2)
DISK_WARNING_MEGABYTES = env.int("DISK_WARNING_MEGABYTES", default=1024)
DISK_FULL_MEGABYTES = env.int("DISK_FULL_MEGABYTES", default=128)
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
