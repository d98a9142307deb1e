"""Users: how they sign up and in, and how their accounts end."""

from config.env import env
from config.settings.installation import REACHED_BY_OTHERS, SERVED_OVER_TLS
from config.settings.mail import EMAIL_BACKEND
from config.variables import Group

AUTH_USER_MODEL = "accounts.User"
SILENCED_SYSTEM_CHECKS = ["auth.W004"]  # a case-insensitive constraint makes e-mail addresses unique
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# Sign-in, sign-up and password resets are limited by allauth, which counts in the cache: one for all processes.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "common_cache",
        "OPTIONS": {"MAX_ENTRIES": 1_000_000},  # above it, counters that are still needed would be deleted
    }
}
_sign_in = env.str(
    "RATE_LIMIT_SIGN_IN", default="30/m", group=Group.LIMITS, help="Attempts to sign in from one address."
)
_sign_in_failed = env.str(
    "RATE_LIMIT_SIGN_IN_FAILED",
    default="5/5m",
    group=Group.LIMITS,
    help="Failed attempts to sign in as one user. The admin site is entered by the same page.",
)
_sign_up = env.str("RATE_LIMIT_SIGN_UP", default="20/m", group=Group.LIMITS, help="New accounts from one address.")
SIGN_IN_RATES = {"sign_in": _sign_in, "sign_in_failed": _sign_in_failed, "sign_up": _sign_up}


def _rates(**rates: str) -> str:
    """Return rates as allauth writes them, by what each counts for. An empty one limits nothing."""
    return ",".join(f"{rate}/{per}" for per, rate in rates.items() if rate)


ACCOUNT_RATE_LIMITS = {
    "login": _rates(ip=_sign_in),
    "login_failed": _rates(ip=_sign_in, key=_sign_in_failed),
    "signup": _rates(ip=_sign_up),
}
ALLAUTH_TRUSTED_PROXY_COUNT = env.int(
    "TRUSTED_PROXY_COUNT",
    default=0,
    group=Group.LIMITS,
    help="How many proxies stand in front of Loci and append the address of who called them to `X-Forwarded-For`. With "
    "`0` the header is ignored, and all who come through a proxy count as one address.",
)

LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_UNIQUE_EMAIL = True
ACCOUNT_ADAPTER = "apps.accounts.sign_in.invitations.AccountAdapter"
ACCOUNT_FORMS = {
    "signup": "apps.accounts.sign_in.invitations.InvitedSignupForm",
    "change_password": "apps.accounts.sign_in.passwords.ChangePasswordForm",
    "reset_password_from_key": "apps.accounts.sign_in.passwords.ResetPasswordForm",
}
ACCOUNT_EMAIL_NOTIFICATIONS = True  # of changed passwords, addresses and second factors
MFA_ADAPTER = "apps.accounts.sign_in.second_factors.MFAAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Loci"
MFA_TOTP_TOLERANCE = 1  # steps of 30 seconds by which a phone's clock may be wrong
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not SERVED_OVER_TLS  # browsers allow it on localhost alone
USERSESSIONS_TRACK_ACTIVITY = True  # by LastSeenMiddleware
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Loci] "
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_REDIRECT_URL = LOGOUT_REDIRECT_URL
ACCOUNT_DELETION_DAYS = env.int(
    "ACCOUNT_DELETION_DAYS",
    default=14,
    most=36_500,
    group=Group.INSTALLATION,
    help="How many days a person can keep an account that they asked to delete.",
)

# Nobody who signs up is told to open a mail that no server delivers.
_verification = "none" if EMAIL_BACKEND.endswith("console.EmailBackend") else "mandatory"
ACCOUNT_EMAIL_VERIFICATION = env.choice(
    "EMAIL_VERIFICATION",
    ["mandatory", "optional", "none"],
    default=_verification,
    shown="`mandatory`; `none` without `EMAIL_URL`",
    group=Group.MAIL,
    help="`mandatory`: nobody signs in before confirming their address, and who signs up does not learn whether the "
    "address has an account; `optional`: the message is sent, and that is all; `none`: no message. With these two, the "
    "sign-up says so where an address has an account: where others reach Loci, it can’t be open then.",
)
MFA_ALLOW_UNVERIFIED_EMAIL = ACCOUNT_EMAIL_VERIFICATION != "mandatory"
# Who signs up without opening a mail learns whether the address has an account.
_is_told = REACHED_BY_OTHERS and ACCOUNT_EMAIL_VERIFICATION != "mandatory"
SIGN_UP = env.choice(
    "SIGN_UP",
    ["open", "invitation", "closed"],
    default="invitation" if _is_told else "open",
    shown="`open`; `invitation` where others reach Loci and addresses aren’t verified",
    group=Group.INSTALLATION,
    help="Who may create an account: `open`: everybody; `invitation`: who has the link of an invitation, which "
    "administrators make in the admin site for one person each; `closed`: nobody. See also `EMAIL_VERIFICATION`.",
)
