"""Replace keys, passwords and card numbers of a message by a mask. Without database access.

Extractors read messages with the mask, so that no memory has a secret in the clear. The message itself stays as it is.
"""

import re
from itertools import pairwise

MASK = "██████"
MIN_KEY = 16  # characters of a key without separators
MIN_CHANGES = 0.25  # share of a key's characters that follow one of another class; words and dates have less
CARD_DIGITS = range(13, 20)
AROUND = 60  # characters before and after a password that tell whose it is and where it ends
AFTER_CARD = 80  # characters after a card number in which its expiry and its code are looked for

_PRIVATE_KEY = re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?(?:-----END \1-----|\Z)", re.DOTALL)
# A token with the prefix of a service, a web token of three parts, and any long run of letters and digits.
_ISSUED = re.compile(
    r"(?<![\w-])(?:(?:sk|pk|rk|ghp|gho|ghs|ghu|glpat|xox[abprs]|hf|npm|pypi)[-_][\w-]{12,}|(?:AKIA|ASIA|AIza)[\w-]{12,}"
    r"|github_pat_\w{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+)"
)
_RUN = re.compile(rf"(?<![\w/.+=-])[A-Za-z0-9][A-Za-z0-9_+=-]{{{MIN_KEY - 1},}}(?![\w/])")
_CARD = re.compile(r"(?<![\d.,-])\d(?:[ -]?\d){12,18}(?![\d-])")
_CARD_DETAILS = re.compile(r"\b(?:\d{1,2}\s?/\s?(?:\d{4}|\d{2})|\d{3,4})\b")
# The word for a password or a PIN in the most written languages; what it is follows in the same sentence.
_NAMED = (
    r"(?:\b(?:pass ?(?:word|code|phrase)|pwd|pin(?: (?:code|number))?|pass(?:wort|wörter)|kennwort|mot de passe"
    r"|contraseña|senha|wachtwoord|hasło|lösenord|пароль|пин-код)\b|密码|密碼|口令|パスワード|暗証番号|비밀번호)"
)
_VALUE = r"[\"'“”„‘’`«「]?(?P<value>[^\s\"'“”„‘’`«»「」，。]{3,})"
_STATED = re.compile(
    # "password: swordfish", "my PIN is 4821", "das Passwort für den Router lautet Tr0ub4dor&3"
    rf"{_NAMED}(?P<between>[^.!?。！？\n]{{0,60}}?)(?P<link>\s*[:：=]\s*|\s+(?:is|was|ist|lautet|est|es|é|è)\s+|\s*(?:是|为|為|は)\s*)"
    rf"{_VALUE}",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"(?:\b(?:my|our|mein\w*|unser\w*|mon|notre|mi|nuestra)\s+(?:\w+\s+){0,2}|我的|我们的|私の)$", re.IGNORECASE
)
_CLOSING = ".,;:!?)]}…"


def masked(text: str) -> str:
    """Return a text with MASK in place of each secret that it states."""
    text = _PRIVATE_KEY.sub(MASK, text)
    text = _ISSUED.sub(lambda match: MASK if any(map(str.isdigit, match[0])) else match[0], text)
    text = _RUN.sub(lambda match: MASK if _is_key(match[0]) else match[0], text)
    return _STATED.sub(_mask_password, _mask_cards(text))


def _is_key(run: str) -> bool:
    """Return whether a run of letters and digits is random: its classes change often, as in no word and no date."""
    pieces = [piece for piece in re.split(r"[_+=-]", run) if len(piece) >= MIN_KEY]
    return any(_changes(piece) >= MIN_CHANGES * len(piece) and any(map(str.isdigit, piece)) for piece in pieces)


def _changes(piece: str) -> int:
    classes = ["0" if char.isdigit() else "A" if char.isupper() else "a" for char in piece]
    return sum(one != other for one, other in pairwise(classes))


def _mask_cards(text: str) -> str:
    parts, position = list[str](), 0
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if match.start() < position or len(digits) not in CARD_DIGITS or not _has_check_digit(digits):
            continue
        end = min(match.end() + AFTER_CARD, len(text))
        parts += [text[position : match.start()], MASK, _CARD_DETAILS.sub(MASK, text[match.end() : end])]
        position = end
    return "".join([*parts, text[position:]])


def _has_check_digit(digits: str) -> bool:
    """Return whether the last digit of a card number is that of the others, by Luhn's formula."""
    doubled = [int(digit) * (1 + number % 2) for number, digit in enumerate(reversed(digits))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0 and len(set(digits)) > 1


def _mask_password(match: re.Match[str]) -> str:
    """Mask what is said to be a password: what has a digit or a sign, what follows a colon, or all that is said.

    "The password is easy to guess" states none, and a story's "The password is swordfish" is nobody's secret.
    """
    value = match["value"].rstrip(_CLOSING)
    start = match.start("value") - match.start()
    end = match.start("value") + len(value)
    after = match.string[end : end + AROUND].lstrip()
    is_all = not after or after[0] in _CLOSING
    is_coded = any(not char.isalpha() for char in value.strip("'’-"))
    is_own = bool(_OWN.search(match.string[max(match.start() - AROUND, 0) : match.start()]))
    if (
        value
        and MASK not in value
        and (is_coded or (is_all and (is_own or match["link"].strip()[:1] in (":", "：", "="))))
    ):
        return match[0][:start] + MASK + match[0][start + len(value) :]
    return match[0]
