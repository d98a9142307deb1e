"""Which addresses a URL given by a user may lead to.

Whoever lets others name a URL that the server fetches lets them reach what only the server reaches: its own
loopback, the network behind it, the metadata of its cloud. So only public addresses are called, unless the operator
allows others, and it is the resolved address that counts (see ``transport``): names can be made to point anywhere.
"""

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Self

import httpx2

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

PRIVATE = tuple(
    ip_network(network)
    for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "::1/128", "fc00::/7")
)
# Where clouds tell a machine its secrets (AWS and most others, Alibaba): never opened by the word "private".
METADATA = frozenset(map(ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192")))
# Not public either, though not every version of Python's ``ipaddress`` knows it.
OTHERS = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "100.64.0.0/10", "192.88.99.0/24"),
        *("64:ff9b:1::/48", "fec0::/10", "3fff::/20", "5f00::/16"),
    )
)
NAT64 = ip_network("64:ff9b::/96")
HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?", re.IGNORECASE)
NUMERIC_HOST = re.compile(r"(0x[0-9a-f]*|\d+)(\.(0x[0-9a-f]*|\d+)){0,3}", re.IGNORECASE)


class AddressNotAllowed(ValueError):
    """The URL can't be called, or leads where Loci doesn't go; the message says which."""


@dataclass(frozen=True)
class AddressPolicy:
    """What is allowed besides public addresses: networks, whatever a host name leads to, or everything."""

    networks: tuple[Network, ...] = ()
    hosts: frozenset[str] = frozenset()
    private: bool = False
    everything: bool = False

    @classmethod
    def parse(cls, entries: Iterable[str]) -> Self:
        """From ``*``, ``private``, networks and host names. Raises ValueError for anything else."""
        given = [entry.strip().lower() for entry in entries if entry.strip()]
        words = {"*", "private"}
        networks = {entry: network for entry in given if (network := _network(entry)) is not None}
        hosts = [entry for entry in given if entry not in words and entry not in networks]
        for host in hosts:
            if not HOST_NAME.fullmatch(host) or NUMERIC_HOST.fullmatch(host):
                raise ValueError(f"{host!r} is neither a network, nor a host name, nor 'private', nor '*'.")
        return cls(
            tuple(networks.values()), frozenset(map(_plain, hosts)), private="private" in given, everything="*" in given
        )

    def permits(self, address: str | Address, host: str = "") -> bool:
        """Whether ``address`` may be connected to, for a URL that names ``host``."""
        if self.everything or _plain(host) in self.hosts:
            return True
        given = ip_address(address) if isinstance(address, str) else address
        return all(self._permits(one) for one in _meant(given))

    def _permits(self, address: Address) -> bool:
        if any(address in network for network in self.networks):
            return True
        if self.private and address not in METADATA and any(address in network for network in PRIVATE):
            return True
        return is_public(address)

    def checked_url(self, url: str) -> httpx2.URL:
        """The URL, as it may be called as far as can be told without resolving names. Raises AddressNotAllowed."""
        try:
            parsed = httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError, TypeError) as error:
            raise AddressNotAllowed("This is not an address of the web.") from error
        if parsed.scheme not in ("http", "https"):
            raise AddressNotAllowed("It must begin with http:// or https://.")
        if parsed.userinfo:
            raise AddressNotAllowed("It must not hold a user name or password; the key has a field of its own.")
        host = host_of(parsed)
        literal = literal_address(host)
        if literal is None and not HOST_NAME.fullmatch(host):
            raise AddressNotAllowed("It names no host.")
        if parsed.port is not None and not 0 < parsed.port < 65536:
            raise AddressNotAllowed("It names no port between 1 and 65535.")
        if literal is not None and not self.permits(literal, host):
            raise AddressNotAllowed(refusal(host))
        return parsed


def host_of(url: httpx2.URL) -> str:
    """The host as it is resolved: in ASCII, in lower case."""
    return _plain(url.raw_host.decode("ascii"))


def refusal(host: str) -> str:
    """Why a host is not called; the same whatever is there, so that it tells nobody about the network."""
    return (
        f"{host} is not a public address, and this installation does not allow it."
        " Whoever runs it can, with LLM_ALLOWED_ADDRESSES."
    )


def is_public(address: Address) -> bool:
    """Whether the address belongs to a machine of the open internet."""
    if address in METADATA or any(address in network for network in OTHERS):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def literal_address(host: str) -> Address | None:
    """The address that a host is by itself, in any form that the system's resolver takes: 0x7f.1, 2130706433."""
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host)) if NUMERIC_HOST.fullmatch(host) else None
    except OSError:
        return None


def _meant(address: Address) -> list[Address]:
    """The addresses that a packet may end up at: the IPv4 address within, and the outer one where it is routed."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        return [address, address.sixtofour]
    if address in NAT64:
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    return [address]


def _network(entry: str) -> Network | None:
    try:
        return ip_network(entry, strict=False)
    except ValueError:
        return None


def _plain(host: str) -> str:
    return host.lower().rstrip(".")
