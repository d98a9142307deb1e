"""Variables of the section “Language models” of `docs/configuration.md`."""

from config.variables.section import Section, Variable

SECTION = Section(
    title="Language models",
    before="""
Users may connect servers of language models by their address. Which addresses Loci calls depends on who can reach it:

- **On one machine**, as after a plain `make up`: `LOCI_HOST` is the loopback, and neither `LOCI_URL` nor
  `ALLOWED_HOSTS` names another host. Then loopback and private addresses are allowed, so that Ollama or LM Studio on
  this machine or in your network works at once.
- **For others**, as soon as one of these names another host: public addresses only, so that nobody reaches through Loci
  what only your server reaches. Behind a proxy that replaces the `Host` header, set `LOCI_URL` to the address that
  people use. List single servers in `LLM_ALLOWED_ADDRESSES` to allow them.

The form of a connection says which of both applies. What counts is the address that a name leads to at the moment of
the connection; redirects are not followed, and proxies of the environment are not used. [models.md](models.md) has the
settings of common servers.
""",
    variables=(
        Variable(
            "EMBEDDING_MODEL",
            "`minilm`",
            "The built-in embedding model: `minilm` (all-MiniLM-L6-v2, for English), or `multilingual` "
            "(multilingual-e5-small, for a hundred languages), which needs a package. After a change, search vectors "
            "are computed again in the background. See [models.md](models.md#the-built-in-embedding-model).",
        ),
        Variable(
            "EMBEDDING_THREADS",
            "one for each core",
            "Threads with which a worker runs the built-in embedding model; web processes use one.",
        ),
        Variable(
            "LLM_ALLOWED_ADDRESSES",
            "`private` on one machine, else none",
            "What may be called besides public addresses, separated by commas: networks (`127.0.0.0/8`, "
            "`10.1.2.0/24`), host names whatever they lead to (`ollama.internal`), `private` for all private "
            "and loopback addresses, or `*` for everything. The metadata services of clouds are never called. Allow "
            "nothing, or single hosts, where people sign up whom you don't know; an empty value allows "
            "public addresses only on one machine too.",
        ),
        Variable(
            "LLM_ALLOWED_PORTS",
            "all",
            "The ports that connections may use, separated by commas, such as `443,11434`.",
        ),
        Variable(
            "LLM_DAILY_TOKENS",
            "`2000000`",
            "How many tokens a user's connections may take on a day (UTC), sent and received together; `0` "
            "is no limit. The admin site sets other limits for single users. Calls under way when it is "
            "reached are completed.",
        ),
    ),
)
