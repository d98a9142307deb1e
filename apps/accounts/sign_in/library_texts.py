"""Texts of allauth that its own German catalogue says formally. Ours says them as the other pages do."""

from django.utils.translation import gettext_noop

TEXTS = (
    gettext_noop("Use your password"),
    gettext_noop("Use authenticator app or code"),
    gettext_noop("Use a security key"),
    gettext_noop("You cannot add an email address to an account protected by two-factor authentication."),
    gettext_noop("You cannot deactivate two-factor authentication."),
    gettext_noop("You cannot generate recovery codes without having two-factor authentication enabled."),
    gettext_noop("You cannot activate two-factor authentication until you have verified your email address."),
    gettext_noop(
        "Enabling passwordless operation allows you to sign in using just this key, but imposes "
        "additional requirements such as biometrics or PIN protection."
    ),
    gettext_noop("You are receiving this mail because the following change was made to your account:"),
    gettext_noop(
        "If you do not recognize this change then please take proper security precautions immediately. "
        "The change to your account originates from:\n\n- IP address: %(ip)s\n- Browser: %(user_agent)s\n- "
        "Date: %(timestamp)s"
    ),
    gettext_noop("Your email has been changed from %(from_email)s to %(to_email)s."),
    gettext_noop("Your email has been confirmed."),
    gettext_noop(
        "You're receiving this email because user %(user_display)s has given your email address to "
        "register an account on %(site_domain)s."
    ),
    gettext_noop("To confirm this is correct, go to %(activate_url)s"),
    gettext_noop("Email address %(deleted_email)s has been removed from your account."),
    gettext_noop("This mail can be safely ignored if you did not initiate this action."),
    gettext_noop("Your password has been reset."),
    gettext_noop("Your password has been set."),
    gettext_noop(
        "You are receiving this email because you, or someone else, tried to access an account with "
        "email %(email)s. However, we do not have any record of such an account in our database."
    ),
    gettext_noop("If it was you, you can sign up for an account using the link below."),
)
