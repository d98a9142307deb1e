"""Variables of the section “Mail” of `docs/configuration.md`."""

from config.variables.section import Section, Variable

SECTION = Section(
    title="Mail",
    variables=(
        Variable(
            "EMAIL_URL",
            "`consolemail://`",
            "The mail server: `smtp+tls://user:password@host:587`, or `smtp+ssl://…:465`. By default mail is "
            "printed where Loci runs.",
        ),
        Variable(
            "DEFAULT_FROM_EMAIL",
            "`Loci <loci@localhost>`",
            "The sender of Loci's mail.",
        ),
        Variable(
            "EMAIL_VERIFICATION",
            "`mandatory`; `none` without `EMAIL_URL`",
            "`mandatory`: nobody signs in before confirming their address, and who signs up does not learn "
            "whether the address has an account; `optional`: the message is sent, and that is all; `none`: "
            "no message. With these two, the sign-up says so where an address has an account: where others reach "
            "Loci, it can’t be open then.",
        ),
    ),
)
