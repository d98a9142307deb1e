"""Variables of the section “The installation” of `docs/configuration.md`."""

from config.variables.section import Section, Variable

SECTION = Section(
    title="The installation",
    variables=(
        Variable(
            "LOCI_HOME",
            "`./var`",
            "The data folder: embedded database, generated secrets, collected static files, files that are "
            "being imported, and snapshots. Made when it is missing.",
        ),
        Variable(
            "LOCI_HOST",
            "`127.0.0.1`",
            "The address that the web server listens on. `0.0.0.0` is every IPv4 address of the machine.",
        ),
        Variable(
            "LOCI_PORT",
            "`8000`",
            "The port that the web server listens on.",
        ),
        Variable(
            "LOCI_URL",
            "`http://127.0.0.1:LOCI_PORT`",
            "The address that people use. With `https://`, cookies are sent over TLS only, plain requests "
            "are redirected, browsers are told to stay with TLS (HSTS), and `X-Forwarded-Proto` is trusted: "
            "the proxy in front must set that header itself, whatever the client sent.",
        ),
        Variable(
            "ALLOWED_HOSTS",
            "",
            "More host names to answer to, separated by commas. The host of `LOCI_URL` and the loopback are "
            "always among them.",
        ),
        Variable(
            "CORS_ORIGINS",
            "",
            "Origins whose pages may call the API and the proxy from a browser, separated by commas, such as "
            "`https://chat.example.org,http://localhost:3000`. They need a token: a session isn't taken from them.",
        ),
        Variable(
            "LOCI_FORM",
            "`small`",
            "What `manage.py up` runs: `small`, one process that serves pages and one that does the rest, for one or "
            "a few people and 2 GB of memory; `large`, a worker for each queue, which needs some 3 GB and uses several "
            "cores.",
        ),
        Variable(
            "DISK_WARNING_MEGABYTES",
            "`1024`",
            "Below how many free megabytes on the disk of `LOCI_HOME` a warning is shown: to staff on each page, in "
            "`/readyz/`, and by `manage.py up`.",
        ),
        Variable(
            "DISK_FULL_MEGABYTES",
            "`128`",
            "Below how many free megabytes writes are refused with a 503 that says why, and background jobs wait. "
            "Reading, deleting and signing in go on. `0` refuses nothing before the database does. It should be more "
            "than the 48 megabytes that are set aside for the embedded database to start with.",
        ),
        Variable(
            "WEB_CONCURRENCY",
            "`1`; `2` in the large form",
            "Processes of the web server.",
        ),
        Variable(
            "WORKER_CONCURRENCY",
            "`2`",
            "Processes that extract memories, and as many for what users wait for; threads in the small form. Imports "
            "and indexing have one, scheduled tasks another.",
        ),
        Variable(
            "MODEL_PLACES",
            "`32`",
            "How many replies of models to chats are awaited at a time, and how many jobs that call users’ servers "
            "run. They are threads, of two processes in the large form. One user has at most a quarter of each, so "
            "that servers that never answer take no place from those that do.",
        ),
        Variable(
            "SIGN_UP",
            "`open`; `invitation` where others reach Loci and addresses aren’t verified",
            "Who may create an account: `open`: everybody; `invitation`: who has the link of an invitation, "
            "which administrators make in the admin site for one person each; `closed`: nobody. See also "
            "`EMAIL_VERIFICATION`.",
        ),
        Variable(
            "ACCOUNT_DELETION_DAYS",
            "`14`",
            "How many days a person can keep an account that they asked to delete.",
        ),
        Variable(
            "ADMIN_PATH",
            "`admin/`",
            "Where the admin site lies.",
        ),
        Variable(
            "REQUEST_MAX_BYTES",
            "`67108864`",
            "The largest request body that is accepted, in bytes, after decompression.",
        ),
        Variable(
            "REQUEST_MAX_VALUES",
            "`500000`",
            "How many values the JSON of a request may have: what it takes in memory depends on them more "
            "than on its bytes.",
        ),
        Variable(
            "IMPORT_MAX_BYTES",
            "`209715200`",
            "The largest file that is imported, in bytes.",
        ),
        Variable(
            "SNAPSHOT_MAX_BYTES",
            "`4294967296`",
            "The largest snapshot that is restored, in bytes when unpacked. An uploaded one is limited by "
            "`IMPORT_MAX_BYTES` too.",
        ),
        Variable(
            "SNAPSHOTS_DAILY",
            "`7`",
            "How many daily snapshots of an account are kept. They are made at 03:30 of accounts that "
            "changed since the last. 0 makes none.",
        ),
        Variable(
            "MIRROR_FOLDER",
            "",
            "A folder into which each chat is written, as SillyTavern's JSONL and what is remembered as "
            "Markdown, once it has not changed for a minute. Its files are named by the ids of user and chat.",
        ),
        Variable(
            "MIRROR_BUCKET",
            "",
            'The same in an S3-compatible bucket. It needs `pip install "django-storages[s3]"`; keys are '
            "read from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, the region from "
            "`AWS_DEFAULT_REGION`. The bucket has to be there. Writing, overwriting and deleting were tried "
            "with django-storages and boto3 at moto's S3 server, not at Amazon's.",
        ),
        Variable(
            "MIRROR_ENDPOINT",
            "",
            "The address of the bucket's server, if it is not Amazon's.",
        ),
        Variable(
            "MESSAGE_DATA_MAX_BYTES",
            "`262144`",
            "How much one namespace of a message's data may hold, in bytes of JSON.",
        ),
        Variable(
            "CHAT_METADATA_MAX_BYTES",
            "`4194304`",
            "How much the metadata of a chat may hold, in bytes of JSON. An import may bring more; they can "
            "then only shrink.",
        ),
        Variable(
            "SETTINGS_KEY_MAX_BYTES",
            "`4194304`",
            "How much one top-level key of a person's settings may hold, in bytes of JSON.",
        ),
        Variable(
            "SETTINGS_MAX_BYTES",
            "`16777216`",
            "How much a person's settings may hold, in bytes of JSON.",
        ),
        Variable(
            "IDEMPOTENCY_HOURS",
            "`24`",
            "For how long the reply to a write that carried an `Idempotency-Key` is kept, in hours. The key "
            "itself is kept for good, so that no retry is stored again; that takes some 300 bytes a write.",
        ),
        Variable(
            "SSE_MAX_PER_USER",
            "`20`",
            "How many event streams a person may have open; browsers need one each, whatever the tabs.",
        ),
        Variable(
            "SSE_HEARTBEAT",
            "`15`",
            "After how many seconds without an event a stream sends a heartbeat, and checks whether its "
            "token or session still stands. Proxies must not close a connection sooner.",
        ),
        Variable(
            "CHANGE_LOG_DAYS",
            "`30`",
            "For how long the writes to a chat, and to a person's settings, are kept in the log that clients "
            "catch up from and undo reads, in days.",
        ),
        Variable(
            "CHANGE_LOG_MIN",
            "`1000`",
            "How many of a chat's, or of the settings', last writes stay in the log whatever their age; the "
            "texts that they changed or deleted are removed all the same.",
        ),
        Variable(
            "DEMO",
            "`on`",
            "Whether `manage.py up` loads the demo account with its story.",
        ),
        Variable(
            "DEMO_PASSWORD",
            "generated",
            "The demo account's password. Without it one is made and kept in `LOCI_HOME/demo_password`.",
        ),
        Variable(
            "DEMO_MODEL_URL",
            "",
            "The base URL of a model server that speaks OpenAI's API, such as `http://localhost:11434/v1`: "
            "its model replies in the demo account's chats. Set once; later *Settings → Models* of that "
            "account changes it.",
        ),
        Variable(
            "DEMO_MODEL",
            "",
            "The name of the model of `DEMO_MODEL_URL`.",
        ),
    ),
)
