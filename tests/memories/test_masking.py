"""Keys, passwords and card numbers are masked before an extractor reads them; what only looks like one stays."""

import time

import pytest

from apps.memories.masking import MASK, masked

SECRETS = [
    ("The door's passcode is 7731#x and the cat is called Pim.", "7731#x"),
    ("My PIN is 4821, don't tell.", "4821"),
    ("password: meadowlark", "meadowlark"),
    ("Our password is meadowlark.", "meadowlark"),
    ("Das Passwort fürs Netz lautet Wiesen+Lerche7.", "Wiesen+Lerche7"),
    ("我的密码是 lerche2026。", "lerche2026"),
    ("We use sk-test-Ab12Cd34Ef56Gh78Ij90Kl for it.", "sk-test-Ab12Cd34Ef56Gh78Ij90Kl"),
    ("The token q7W2e9R4t1Y6u3I8o5P0 has expired.", "q7W2e9R4t1Y6u3I8o5P0"),
    ("eyJhbGciOiJub25lIn0.eyJ1c2VyIjoiMSJ9.c2lnbmF0dXJl works", "eyJ1c2VyIjoiMSJ9"),
    ("-----BEGIN PRIVATE KEY-----\nMIIBVgIBADANBg\n-----END PRIVATE KEY-----", "MIIBVgIBADANBg"),
    ("Card 5500 0055 5555 5559, valid until 03/31, code 907.", "5500 0055 5555 5559"),
    ("Card 5500-0055-5555-5559, valid until 03/31, code 907.", "907"),
    ("The password is 'lark meadow seven gates'.", "meadow"),
    ("Our passphrase is lark meadow seven gates.", "gates"),
    ("My password is meadowlark and my PIN is 4821.", "meadowlark"),
    ("My password is meadowlark and my PIN is 4821.", "4821"),
    ("The password of root@10.0.0.7 is wiese77", "wiese77"),
    ("Mon code PIN est le 4821.", "4821"),
    ("Mon mot de passe c'est Alouette7", "Alouette7"),
    ("Мой пароль — luga2026", "luga2026"),
    ("비밀번호는 wiese77 입니다", "wiese77"),
    ("My cards are 4111111111111111 and 5500005555555559.", "5500005555555559"),
    ("My cards are 4111111111111111 and 3782 822463 10005, code 1234.", "822463"),
    ("كلمة المرور: wiese77", "wiese77"),
    ("Şifrem: Tarla1234", "Tarla1234"),
    ("pw: wiese77", "wiese77"),
    ("DB_PASSWORD=meadowlark", "meadowlark"),
    ('{"client_secret": "9Z~lark-77"}', "9Z~lark-77"),
    ("aws_secret_access_key = aB1cD2eF/3gH4iJ5kL/6mN7oP8qR", "3gH4iJ5kL"),
    ("postgres://pim:lark@db.example.org:5432/app", "lark"),
    ("Authorization: Bearer ab12.Larks-in_the~meadow", "Larks"),
    ("NjE0Mjg4MTcxNzM4NzY1NDMyMQ.Gk2Lp9.Xy7_zQw1Er5Ty8Ui3Op6As", "Xy7_zQw1Er5Ty8Ui3Op6As"),
    (
        "My seed phrase is: lark wheat gate seven meadow oven brick cellar flour salt crust loaf",
        "cellar",
    ),
]
# Bots and hooks, whose addresses are keys; keys with slashes; what is written so that a pattern doesn't see it.
SECRETS += [
    ("https://chat.example.org/api/webhooks/1122334455667788990/aB3dE5fG7hI9jK1l", "aB3dE5fG7hI9jK1l"),
    ("Post to https://hooks.example.org/services/T04LARK77/aB3dE5fG7hI9jK1lM3nO.", "aB3dE5fG7hI9jK1lM3nO"),
    ("https://api.example.org/bot712345678:LArk3bQ9x-Zt7Lm2Rw5Vy8Np1Qs4Uv6Xo0/send", "LArk3bQ9x"),
    ("Our secret is zQ4rXUt7F/K7aDxG9/bP8RfiC2zQ9Lm2Rw5V now.", "K7aDxG9"),
    ("ya29.a0Lark_byC3dE5fG7hI9jK works", "ya29"),
    ("SG.aB3dE5fG7hI9jK1l.aB3dE5fG7hI9jK1lM3nO works", "M3nO"),
    ("xapp-1-A04LARK77-1234567890 works", "LARK77"),
    ("My PIN is 4 8 2 1.", "4 8 2 1"),
    ("My pass\u200bword is lark\u200b77.", "77"),
    ("Card 5500\u202f0055\u202f5555\u202f5559", "5559"),
    ("Card 5500.0055.5555.5559", "5559"),
    ("My password for Anna's mailbox is lark77", "lark77"),
    ("My password's meadowlark.", "meadowlark"),
]
HARMLESS = [
    "It took from 1700000000000 to 1732700000000, as 1732700000000001 says.",
    "My password is my dog's name.",
    "password: (see my notes)",
    "https://example.org/hooks/the-captain-and-the-crocodile",
    "The file is in src/components/WelcomePage/HeaderWithLogo2/index",
    "A cat 🐈\u200d⬛ and a soft\u00adly hyphenated word.",
    "The password is easy to guess.",
    "The password of the gate is known to every goblin.",
    "Das Passwort ist streng geheim.",
    "Ring me at +44 20 7946 0018 or write to pim@example.org.",
    "My order 2026-11-27-000451 costs 1,200.50.",
    "The flight is on 2026-11-27 at 14:30, seat 23F.",
    "https://example.com/a/q7W2e9R4t1Y6u3I8o5P0",
    "Rindfleischetikettierungsüberwachungsaufgabe2026",
    "He pinned 4821 to the wall.",
    "1234 5678 9012 3456 is no card's number.",
    "I drew a skateboard-and-helmet-2026 logo.",
    "My pin is broken, it was silver.",
    "Mein PIN ist 12mm lang.",
    "Our password is two-factor protected.",
    "The password was changed in 2026.",
    "My Windows password expires in 30 days.",
    "Her secret: she loved him in 1999.",
    "The secret of long life is vitamin-B12.",
    "A token costs 5 coins, and max_tokens = 4096.",
    "The key is under the mat of room 12b.",
    "La parola 'amore' è bella.",
    "http://localhost:8000/@pim and pim:larks@example.org",
    "The seed phrase of the book is the title of its first chapter and nothing more than that.",
    "пароль простой, 密码很简单。",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_masked_and_the_rest_stays(text: str, secret: str) -> None:
    assert secret not in masked(text)
    assert MASK in masked(text)
    assert masked(masked(text)) == masked(text)


def test_words_around_a_secret_stay() -> None:
    assert masked(SECRETS[0][0]) == f"The door's passcode is {MASK} and the cat is called Pim."
    assert masked(SECRETS[10][0]) == f"Card {MASK}, valid until {MASK}, code {MASK}."


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "a1B2",
        "a+",
        "4 ",
        "4111",
        "password: ",
        "my pin is ",
        "eyJ",
        "-----BEGIN ",
        "seed phrase is lark ",
        "password is lark gate ",
        "password is 'lark ",
        "://a:",
    ],
)
def test_a_very_long_message_takes_no_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    began = time.process_time()
    masked(text)
    assert time.process_time() - began < 2  # seconds
