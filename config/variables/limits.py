"""Variables of the section “Limits for each user” of `docs/configuration.md`."""

from config.variables.section import Section, Variable

SECTION = Section(
    title="Limits for each user",
    before="""
A rate is a number of requests in a time: `600/m`, `5/10m`, `300/h`; an empty value is no limit. On one machine, where
only you reach Loci (see [below](#language-models)), requests are not limited by default. All processes count together.
Replies carry `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, a refusal (429) also `Retry-After`.
""",
    variables=(
        Variable(
            "RATE_LIMIT_API",
            "`1200/m`; none on one machine",
            "Requests of a user that have no limit of their own below.",
        ),
        Variable(
            "RATE_LIMIT_SEARCH",
            "`300/m`; none on one machine",
            "Searches of memories by the API.",
        ),
        Variable(
            "RATE_LIMIT_GENERATION",
            "`60/m`; none on one machine",
            "Replies that are asked for, completions of the proxy, tests of connections.",
        ),
        Variable(
            "RATE_LIMIT_IMPORTS",
            "`300/h`; none on one machine",
            "Requests that import files.",
        ),
        Variable(
            "RATE_LIMIT_BODIES",
            "`120/m`; none on one machine",
            "Megabytes that a user sends in bodies above 64 kB, other than imported files; packed ones as they are "
            "unpacked. A body above the limit is accepted when all of it is left.",
        ),
        Variable(
            "RATE_LIMIT_UPLOADS",
            "`6000/h`; none on one machine",
            "Megabytes that a user sends in imported files and uploaded snapshots.",
        ),
        Variable(
            "RATE_LIMIT_REGISTRATIONS",
            "`60/h`",
            "Programs that register themselves by OAuth, of one address.",
        ),
        Variable(
            "REQUESTS_AT_ONCE",
            "`8`; any number on one machine",
            "Requests of a user that are worked on at once; `0`: any number. Those of a process that was killed count "
            "for one minute more.",
        ),
        Variable(
            "RATE_LIMIT_SIGN_IN",
            "`30/m`",
            "Attempts to sign in from one address.",
        ),
        Variable(
            "RATE_LIMIT_SIGN_IN_FAILED",
            "`5/5m`",
            "Failed attempts to sign in as one user. The admin site is entered by the same page.",
        ),
        Variable(
            "RATE_LIMIT_SIGN_UP",
            "`20/m`",
            "New accounts from one address.",
        ),
        Variable(
            "TRUSTED_PROXY_COUNT",
            "`0`",
            "How many proxies stand in front of Loci and append the address of who called them to "
            "`X-Forwarded-For`. With `0` the header is ignored, and all who come through a proxy count as "
            "one address.",
        ),
        Variable(
            "QUOTA_CHATS",
            "`0`",
            "How many chats a person can have, those in the bin included; `0`: any number. So for the next "
            "two. People see what is left in their settings.",
        ),
        Variable(
            "QUOTA_MESSAGES",
            "`0`",
            "How many messages a person can have.",
        ),
        Variable(
            "QUOTA_MEGABYTES",
            "`0`",
            "How much a person’s rows may take, with the log of changes; counted once a day, and when they look.",
        ),
    ),
)
