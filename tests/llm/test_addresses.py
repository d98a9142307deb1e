import contextlib
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.http.addresses import METADATA_IPS, AddressNotAllowed, AddressPolicy, is_local_url

NONE = AddressPolicy.parse([])
PUBLIC = "93.184.215.14"
REACH_METADATA = [
    *METADATA_IPS,
    *(IPv6Address(f"{prefix}{ip}") for prefix in ("::ffff:", "64:ff9b::") for ip in METADATA_IPS if ip.version == 4),
]


@pytest.mark.parametrize(
    "address",
    """127.0.0.1 127.8.8.8 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 169.254.0.1 0.0.0.0 0.1.2.3
    100.64.0.1 100.100.100.200 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 192.88.99.1 224.0.0.1
    239.255.255.250 240.0.0.1 255.255.255.255 :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 fe80::1 fe80::1%eth0
    fc00::1 fd00:ec2::254 fec0::1 ff02::1 2001:db8::1 3fff::1 5f00::1 100::1 2001::1 2002:7f00:1:: 2002:a00:1::
    168.63.129.16 fd20:ce::254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 2001:10::1""".split(),
)
def test_addresses_that_are_not_public(address):
    assert not NONE.permits(address)
    assert AddressPolicy.parse(["*"]).permits(address) == (ip_address(address.partition("%")[0]) not in REACH_METADATA)


@pytest.mark.parametrize("address", [PUBLIC, "1.1.1.1", "2606:4700:4700::1111", f"::ffff:{PUBLIC}", "64:ff9b::101:101"])
def test_addresses_that_are_public(address):
    assert NONE.permits(address)


def test_nothing_is_allowed_that_nobody_allowed():
    assert not AddressPolicy().permits("127.0.0.1")
    assert not AddressPolicy().permits("10.1.2.3")


def test_what_the_operator_allows():
    policy = AddressPolicy.parse([" 10.1.2.0/16", "192.168.7.7", "fd00::/8", "Ollama.internal", ""])
    assert policy.permits("10.1.2.3")
    assert policy.permits("::ffff:10.1.2.3")
    assert policy.permits("192.168.7.7")
    assert policy.permits("fd12::1")
    assert policy.permits("127.0.0.1", "ollama.internal.")
    assert not policy.permits("10.2.0.1")
    assert not policy.permits("192.168.7.8")
    assert not policy.permits("127.0.0.1", "x.ollama.internal")


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:11434/v1", True),
        ("http://192.168.0.7:1234", True),
        ("http://[::1]/", True),
        ("https://models.example.com/v1", False),
        (f"https://{PUBLIC}/v1", False),
        ("no url", False),
        ("http://x:y/", False),
    ],
)
def test_a_url_is_local_if_it_names_this_machine_or_a_private_address(url: str, local: bool) -> None:
    assert is_local_url(url) == local


@pytest.mark.parametrize("entry", ["*", "private", "0.0.0.0/0", "::/0", "169.254.0.0/16", "fd00::/8", "cloud.internal"])
def test_nothing_allows_metadata_services(entry: str) -> None:
    policy = AddressPolicy.parse([entry])
    for address in REACH_METADATA:
        assert not policy.permits(address, "cloud.internal")
        host = f"[{address}]" if address.version == 6 else str(address)
        with pytest.raises(AddressNotAllowed, match="never allowed"):
            policy.checked_url(f"http://{host}/latest/meta-data/")
    assert not policy.permits("fd00:ec2::254%eth0")


def test_private_allows_private_addresses() -> None:
    policy = AddressPolicy.parse(["private"])
    assert all(policy.permits(address) for address in ("127.0.0.1", "10.0.0.1", "192.168.0.1", "::1", "fd00::1"))
    assert not policy.permits("169.254.0.1")


@pytest.mark.parametrize("entry", ["10.0.0.0/40", "http://x", "a b", "127.1", "0x7f000001", "-x", "publik*"])
def test_an_invalid_entry_is_named(entry):
    with pytest.raises(ValueError, match="neither a network"):
        AddressPolicy.parse([entry])


@given(st.ip_addresses(v=4))
def test_an_embedded_ipv4_address_is_checked(address: IPv4Address):
    permitted = NONE.permits(address)
    assert NONE.permits(IPv6Address(f"::ffff:{address}")) == permitted
    assert NONE.permits(IPv6Address(int(ip_address("64:ff9b::")) + int(address))) == permitted
    if not permitted:
        assert not NONE.permits(IPv6Address((0x2002 << 112) + (int(address) << 80)))


@given(st.ip_addresses())
def test_only_what_python_takes_for_global_is_permitted(address):
    if NONE.permits(address):
        inner = getattr(address, "ipv4_mapped", None) or address
        assert inner.is_global
        assert not inner.is_multicast


@given(st.ip_addresses(v=4, network="127.0.0.0/8") | st.ip_addresses(v=4, network="10.0.0.0/8"))
def test_a_host_of_numbers_is_an_address_however_it_is_written(address: IPv4Address):
    number = int(address)
    first, rest = number >> 24, number & 0xFFFFFF
    for host in (str(address), str(number), hex(number), f"0{number:o}", f"{first}.{rest}", f"{hex(first)}.{rest}"):
        with pytest.raises(AddressNotAllowed, match="public"):
            NONE.checked_url(f"http://{host}:8080/v1")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "http://"),
        ("models.example.com", "http://"),
        ("ftp://models.example.com", "http://"),
        ("file:///etc/passwd", "http://"),
        ("gopher://x", "http://"),
        ("http://", "no valid host"),
        ("http:///v1", "no valid host"),
        ("http://[", "no valid host"),
        ("http://a b/", "no valid host"),
        ("http://x:0/", "port"),
        ("http://x:65536/", "port"),
        ("http://x:y/", "not a URL"),
        ("https://user@models.example.com", "user name"),
        ("https://:password@models.example.com", "user name"),
        ("http://127。0。0。1/", "public"),
        ("http://[::1]/", "public"),
        ("http://[::ffff:127.0.0.1]/", "public"),
        ("http://[fe80::1%25eth0]/", "public"),
    ],
)
def test_urls_that_are_refused_at_once(url, words):
    with pytest.raises(AddressNotAllowed, match=words):
        NONE.checked_url(url)


@pytest.mark.parametrize(
    "url", ["https://api.openai.com/v1", f"http://{PUBLIC}:8080", "http://localhost", "https://bücher.example/"]
)
def test_urls_whose_names_are_checked_when_they_are_resolved(url):
    assert NONE.checked_url(url).host


@given(st.text())
def test_any_text_is_a_url_or_refused(text):
    for url in (text, f"http://{text}", f"https://{text}/v1"):
        with contextlib.suppress(AddressNotAllowed):
            assert NONE.checked_url(url).scheme in ("http", "https")


@override_settings(LLM_ALLOWED_ADDRESSES=["10.0.0.0/40"])
def test_an_installation_with_such_an_entry_does_not_start():
    with pytest.raises(ImproperlyConfigured, match=r"LLM_ALLOWED_ADDRESSES: '10\.0\.0\.0/40' is neither"):
        apps.get_app_config("llm").ready()


def test_only_the_ports_that_the_operator_allows_are_called() -> None:
    policy = AddressPolicy.parse(["10.0.0.0/8"], [443, 11434])
    for url in ("https://models.example/v1", "http://10.0.0.1:11434"):
        policy.checked_url(url)
    for url in ("http://models.example/v1", "https://models.example:22/"):
        with pytest.raises(AddressNotAllowed, match="port"):
            policy.checked_url(url)
