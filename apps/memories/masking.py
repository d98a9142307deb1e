"""Replace keys, passwords and card numbers of a message by a mask. Without database access.

Extractors read messages with the mask, so that no memory has a secret in the clear. Whoever quotes a
message in a recap or a memory masks it too. The message itself stays as it is.
"""

import re
from itertools import pairwise, zip_longest

MASK = "██████"
MIN_KEY = 16  # characters of a key without separators
MIN_NAMED_KEY = 6  # characters of one that is said to be a key
MIN_PASSPHRASE = 4  # words of a password of several, none of which is "to" or "very"
MIN_CHANGES = 0.25  # share of a key's characters that follow one of another class; words and dates have less
MIN_SLASHED = 32  # characters of a key in base64, which may have slashes as a path does
MIN_SLASHED_CHANGES = 0.4  # as MIN_CHANGES; names of folders have less
CARD_BEGINS = range(2, 7)  # the first digit of a card of a bank; times in milliseconds and books have others
AROUND = 60  # characters before and after a password that tell whose it is and where it ends
AFTER_CARD = 80  # characters after a card number in which its expiry and its code are looked for

_PRIVATE_KEY = re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?(?:-----END \1-----|\Z)", re.DOTALL)
# A token with the prefix of a service, a web token of three parts, and any long run of letters and digits.
_ISSUED = re.compile(
    r"(?<![\w-])(?:(?:sk|pk|rk|ghp|gho|ghs|ghu|glpat|xapp|xox[abeprs]|hf|npm|pypi)[-_][\w-]{12,}"
    r"|(?:AKIA|ASIA|AIza)[\w-]{12,}|github_pat_\w{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+|(?<=Bearer )[\w.~+/=-]{16,}"
    r"|ya29\.[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|(?:bot)?\d{6,12}:[\w-]{30,})"
)
_RUN = re.compile(
    rf"(?<![\w/.+=-])([A-Za-z0-9][A-Za-z0-9_+=-]{{{MIN_KEY - 1},}})(?![\w/])(?:\.[\w-]{{5,}}\.[\w-]{{{MIN_KEY},}})?"
)
_SLASHED = re.compile(rf"(?<![\w/.:+=-])[A-Za-z0-9+/]{{{MIN_SLASHED},}}={{0,2}}(?![\w/+=-])")
_HOOK = re.compile(r"(?<=://)\S{0,200}?hooks?\b\S*")  # who has the address of a hook may write to it
_PIECE = re.compile(rf"[\w-]{{{MIN_KEY},}}")
_IN_ADDRESS = re.compile(r"(?<=://)([^\s/@:]{0,60}):([^\s/@]{1,200})@")  # name:password@server
_CARD = re.compile(r"(?<![\d.,-])(?:\d(?:[ \u00a0\u202f-]?\d){12,18}|\d{4}(?:\.\d{4}){3})(?![\d-])")
_CARD_DETAILS = re.compile(r"\b(?:\d{1,2}\s?/\s?(?:\d{4}|\d{2})|\d{3,4})\b")
# The words that restore a wallet of coins.
_RECOVERY = re.compile(
    r"\b(?:(?:seed|recovery|backup|mnemonic) (?:phrase|words)|mnemonic)\b[^\n:]{0,40}?(?::|\bis\b|\bare\b)\s*"
    r"(?P<value>(?:[a-z]{3,8},?\s+){11,23}[a-z]{3,8})\b",
    re.IGNORECASE,
)
# The words for a PIN, which has digits alone; for a key, which mean other things too and are followed by letters and
# digits; and for a password, in the most written languages. What it is follows in the same sentence. In programs an
# underscore may stand before the word.
_PIN = r"pin(?:[ -](?:code|number))?|geheimzahl|пин-код"
_KEY = r"secret|token|(?:api|access)[ _-]?key|clave|parola\w?"
_CODE_WORD = (
    r"pass ?(?:word|code|phrase)s?|passwd|pwd|pw|pass(?:wort|wörter)|kennwort|mot de passe|contraseña|senha|wachtwoord"
    r"|hasło|heslo|lösenord(?:et)?|passord(?:et)?|adgangskode|salasana|jelszó|şifre(?:m|miz)?|пароль|κωδικός|kata sandi"
    r"|mật khẩu"
)
_IN_OTHER_SCRIPTS = (
    r"密码|密碼|口令|パスワード|비밀번호|(?P<pin_in_japanese>暗証番号)|كلمة (?:المرور|السر)|पासवर्ड|পাসওয়ার্ড|รหัสผ่าน|סיסמה"
)
_NAMED = rf"(?:(?<![^\W_])(?:(?P<pin>{_PIN})|(?P<key>{_KEY})|{_CODE_WORD})(?![^\W_])|{_IN_OTHER_SCRIPTS})"
_LINK = (
    r"[\"']?\s*(?:[:：=—–]|->|→)\s*|\s+(?:(?:is|are|was|were|ist|sind|laute[nt]|est|es|é|è|este|er|är|jest|on)|c['’]est)\s+"
    r"(?:(?:the|der|die|das|le|la|el|o|il)\s+)?|\s*(?:是|为|為|は|が|는|은)\s*"
)
_STATED = re.compile(
    # "password: swordfish", "my PIN is 4821", "das Passwort für den Router lautet Tr0ub4dor&3", "password Tr0ub4dor"
    # "'s" stands for "is" only next to the word.
    rf"{_NAMED}(?:(?P<between>(?:[^.!?。！？\n]|\.(?=\S)){{1,60}}?)??(?P<link>(?(between)(?:{_LINK})|(?:['’]s\s+|{_LINK})))|\s+(?=\S{{0,60}}\d))"
    r"(?P<quote>[\"'“”„‘’`«「]?)(?P<value>\d(?:[ -]\d){3,7}\b|[^\s\"'“”„‘’`«»「」，。]{3,})",
    re.IGNORECASE,
)
_CLOSING_QUOTES = {"“": "”", "„": "“”", "‘": "’", "«": "»", "「": "」", "”": "”", "’": "’"}
_OWN = re.compile(
    r"(?:\b(?:my|our|mein\w*|unser\w*|mon|notre|mi|nuestra)\s+(?:\w+\s+){0,2}|我的|我们的|私の)$", re.IGNORECASE
)
_CLOSING = ".,;:!?)]}…"
_CLAUSE_END = re.compile(r"(?:and|but|und|aber|et|mais|y|pero)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[^.,;:!?\n)]{0,160}")
_AROUND = "'’*_~(["
_HIDDEN = str.maketrans("", "", "\u00ad\u200b\u2060\ufeff")  # are shown as nothing, and part no words
_JOINS = str.maketrans("", "", "-/'’")  # stand between the words of a sentence too


def masked(text: str) -> str:
    """Return a text with MASK in place of each secret that it states.

    Characters that hide a secret are left out.
    """
    shown = text.translate(_HIDDEN)
    safe = _masked(shown)
    return text if safe == shown else safe


def _masked(text: str) -> str:
    text = _PRIVATE_KEY.sub(MASK, text)
    text = _ISSUED.sub(lambda match: MASK if any(map(str.isdigit, match[0])) else match[0], text)
    text = _SLASHED.sub(lambda match: MASK if _is_slashed_key(match[0]) else match[0], text)
    text = _HOOK.sub(lambda match: _PIECE.sub(_without_key, match[0]), text)
    text = _RUN.sub(lambda match: MASK if _is_key(match[1]) else match[0], text)
    text = _IN_ADDRESS.sub(rf"\1:{MASK}@", text)
    text = _RECOVERY.sub(lambda match: match[0].removesuffix(match["value"]) + MASK, text)
    return _mask_stated(_mask_cards(text))


def _is_key(run: str) -> bool:
    """Return whether a run of letters and digits is random: its classes change often, as in no word and no date."""
    pieces = [piece for piece in re.split(r"[_+=-]", run) if len(piece) >= MIN_KEY]
    return any(_changes(piece) >= MIN_CHANGES * len(piece) and any(map(str.isdigit, piece)) for piece in pieces)


def _is_slashed_key(run: str) -> bool:
    """Return whether a run with slashes or plus signs is a key in base64."""
    letters = re.sub(r"[+/=]", "", run)
    return letters != run and _changes(letters) >= MIN_SLASHED_CHANGES * len(letters)


def _without_key(match: re.Match[str]) -> str:
    return MASK if _is_key(match[0]) else match[0]


def _changes(piece: str) -> int:
    classes = ["0" if char.isdigit() else "A" if char.isupper() else "a" for char in piece]
    return sum(one != other for one, other in pairwise(classes))


def _mask_cards(text: str) -> str:
    parts, position = list[str](), 0
    cards = [match for match in _CARD.finditer(text) if _is_card(re.sub(r"\D", "", match[0]))]
    for match, following in zip_longest(cards, cards[1:]):
        end = min(match.end() + AFTER_CARD, following.start() if following else len(text))
        parts += [text[position : match.start()], MASK, _CARD_DETAILS.sub(MASK, text[match.end() : end])]
        position = end
    return "".join([*parts, text[position:]])


def _is_card(digits: str) -> bool:
    return int(digits[0]) in CARD_BEGINS and _has_check_digit(digits)


def _has_check_digit(digits: str) -> bool:
    """Return whether the last digit of a card number is that of the others, by Luhn's formula."""
    doubled = [int(digit) * (1 + number % 2) for number, digit in enumerate(reversed(digits))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0 and len(set(digits)) > 1


def _mask_stated(text: str) -> str:
    """Mask what is said to be a password, a PIN or a key."""
    parts, position = list[str](), 0
    for match in _STATED.finditer(text):
        start, end = match.start("value"), _end_of_password(match)
        if start >= position and end > start:
            parts += [text[position:start], MASK]
            position = end
    return "".join([*parts, text[position:]])


def _end_of_password(match: re.Match[str]) -> int:
    """Return where the password that a match states ends, or its start if it states none.

    What has a digit or a sign is one, what is quoted or follows a colon, several words that make no sense, or all that
    is said of one's own. "The password is easy to guess" states none, and a story's "The password is swordfish" is
    nobody's secret.
    """
    text, start = match.string, match.start("value")
    value = match["value"].rstrip(_CLOSING)
    end = start + len(value)
    is_own = bool(_OWN.search(text[max(match.start() - AROUND, 0) : match.start()]))
    is_set = bool(match["link"]) and match["link"].strip(" \"'")[:1] in (":", "：", "=")
    if not value or MASK in value:
        return start
    if match["pin"] or match["pin_in_japanese"]:
        return end if re.sub("[ -]", "", value).isdigit() else start
    if match["key"] or not match["link"]:
        is_mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and len(value) >= MIN_NAMED_KEY
        return end if is_mixed and (is_set or is_own or not match["key"]) else start
    if match["quote"] and (quoted := _quoted_end(text, match["quote"], start)):
        return quoted
    if any(not char.isalpha() for char in value.strip(_AROUND).translate(_JOINS)):
        return end
    from apps.english.words import content_words  # its lists take a tenth of a second to load

    clause = _CLAUSE.match(text, start)
    words = clause[0].split() if clause else []
    if len(words) >= MIN_PASSPHRASE and all(map(content_words, words)) and all(map(str.islower, words)):
        return start + len(clause[0].rstrip()) if clause else end
    after = text[end : end + AROUND].lstrip()
    is_all = not after or after[0] in _CLOSING or bool(_CLAUSE_END.match(after))
    return end if is_all and (is_own or is_set) else start


def _quoted_end(text: str, quote: str, start: int) -> int:
    """Return where the text after a quotation mark ends, or 0 if it doesn't end soon."""
    ends = [at for mark in _CLOSING_QUOTES.get(quote, quote) if (at := text.find(mark, start, start + AROUND)) > 0]
    return min(ends, default=0)
