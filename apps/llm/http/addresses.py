"""Address policy: protection against server-side request forgery by URLs that users enter.

A server that fetches such a URL could be made to reach its own loopback, its private network or its cloud's metadata
service. So only public addresses are called, unless the operator allows others. The check applies to the resolved
address (see ``transport``), since a host name can point anywhere.
"""

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Self

from django.conf import settings

from apps.common.stored_texts import gettext_stored

if TYPE_CHECKING:
    import httpx2

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

PRIVATE_NETWORKS = tuple(
    ip_network(network)
    for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "::1/128", "fc00::/7")
)
# Metadata services of clouds, which give out credentials. No entry allows them.
METADATA_IPS = frozenset(
    map(
        ip_address,
        (
            *("169.254.169.254", "fd00:ec2::254"),  # AWS, and most others
            *("169.254.170.2", "169.254.170.23", "fd00:ec2::23"),  # AWS, of containers
            *("168.63.129.16", "fd20:ce::254", "100.100.100.200", "192.0.0.192"),  # Azure, GCP, Alibaba, Oracle
        ),
    )
)
# Not public either, but ``is_global`` is true for them in older versions of Python's ``ipaddress``.
NON_PUBLIC_NETWORKS = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "100.64.0.0/10", "192.88.99.0/24"),
        *("64:ff9b:1::/48", "fec0::/10", "3fff::/20", "5f00::/16"),
    )
)
DEFAULT_PORTS = {"http": 80, "https": 443}
NAT64_NETWORK = ip_network("64:ff9b::/96")
HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?", re.IGNORECASE)
NUMERIC_HOST = re.compile(r"(0x[0-9a-f]*|\d+)(\.(0x[0-9a-f]*|\d+)){0,3}", re.IGNORECASE)


class AddressNotAllowed(ValueError):
    """The URL is invalid, or its address is not allowed; the message says which."""


@dataclass(frozen=True)
class AddressPolicy:
    """Addresses that are allowed besides public ones: networks, all addresses of named hosts, or everything.

    Metadata services are never allowed.
    """

    networks: tuple[Network, ...] = ()
    hosts: frozenset[str] = frozenset()
    private: bool = False
    everything: bool = False
    ports: frozenset[int] = frozenset()

    @classmethod
    def parse(cls, entries: Iterable[str], ports: Iterable[int] = ()) -> Self:
        """Parse the entries ``*``, ``private``, networks and host names. Raise ValueError for any other.

        Without ``ports``, all are allowed.
        """
        items = [entry.strip().lower() for entry in entries if entry.strip()]
        keywords = {"*", "private"}
        networks = {entry: network for entry in items if (network := _network(entry)) is not None}
        hosts = [entry for entry in items if entry not in keywords and entry not in networks]
        for host in hosts:
            if not HOST_NAME.fullmatch(host) or NUMERIC_HOST.fullmatch(host):
                raise ValueError(f"{host!r} is neither a network, nor a host name, nor 'private', nor '*'.")
        return cls(
            tuple(networks.values()),
            frozenset(map(_plain, hosts)),
            private="private" in items,
            everything="*" in items,
            ports=frozenset(ports),
        )

    def permits(self, address: str | Address, host: str = "") -> bool:
        """Return whether ``address`` may be connected to for a URL with the host ``host``."""
        parsed = ip_address(address) if isinstance(address, str) else address
        destinations = _destinations(parsed)
        if _is_metadata(parsed):
            return False
        if self.everything or _plain(host) in self.hosts:
            return True
        return all(self._permits(destination) for destination in destinations)

    def _permits(self, address: Address) -> bool:
        if any(address in network for network in self.networks):
            return True
        if self.private and any(address in network for network in PRIVATE_NETWORKS):
            return True
        return is_public(address)

    def checked_url(self, url: str) -> "httpx2.URL":
        """Parse and check a URL without resolving its host. Raise AddressNotAllowed."""
        import httpx2  # the policy is read by each process, and most call nobody

        try:
            parsed = httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError, TypeError) as error:
            raise AddressNotAllowed(gettext_stored("This is not a URL.")) from error
        if parsed.scheme not in ("http", "https"):
            raise AddressNotAllowed(gettext_stored("It must begin with http:// or https://."))
        if parsed.userinfo:
            raise AddressNotAllowed(
                gettext_stored("It must not contain a user name or password; enter the key in its own field.")
            )
        host = host_of(parsed)
        literal = literal_address(host)
        if literal is None and not HOST_NAME.fullmatch(host):
            raise AddressNotAllowed(gettext_stored("It has no valid host."))
        if parsed.port is not None and not 0 < parsed.port < 65536:
            raise AddressNotAllowed(gettext_stored("The port must be between 1 and 65535."))
        if self.ports and (parsed.port or DEFAULT_PORTS[parsed.scheme]) not in self.ports:
            raise AddressNotAllowed(
                gettext_stored(
                    "This installation does not allow the port. Whoever runs it can, with LLM_ALLOWED_PORTS."
                )
            )
        if literal is not None and not self.permits(literal, host):
            raise AddressNotAllowed(_never_allowed(host) if _is_metadata(literal) else refusal_message(host))
        return parsed


def host_of(url: "httpx2.URL") -> str:
    """Return the host in ASCII and lower case, as it is resolved."""
    return _plain(url.raw_host.decode("ascii"))


def is_local_url(url: str) -> bool:
    """Return whether a URL names this machine or a private address, without resolving its host."""
    import httpx2

    try:
        host = host_of(httpx2.URL(url))
    except (httpx2.InvalidURL, ValueError, TypeError):
        return False
    address = literal_address(host)
    return host == "localhost" if address is None else not is_public(address)


def refusal_message(host: str) -> str:
    """Return the error message for a host, without anything about the network behind this server."""
    return gettext_stored(
        "%(host)s is not a public address, and this installation does not allow it. Whoever runs "
        "it can, with LLM_ALLOWED_ADDRESSES.",
        host=host,
    )


def _never_allowed(host: str) -> str:
    return gettext_stored("%(host)s is not a public address, and is never allowed.", host=host)


def _is_metadata(address: Address) -> bool:
    """Return whether the address reaches a metadata service."""
    return any(destination in METADATA_IPS for destination in _destinations(address))


def is_public(address: Address) -> bool:
    """Return whether the address belongs to the public internet."""
    if address in METADATA_IPS or any(address in network for network in NON_PUBLIC_NETWORKS):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def literal_address(host: str) -> Address | None:
    """Return the address of a numeric host in any form that resolvers accept (0x7f.1, 2130706433), else None."""
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host)) if NUMERIC_HOST.fullmatch(host) else None
    except OSError:
        return None


def _destinations(address: Address) -> list[Address]:
    """Return the addresses that a packet may reach: the embedded IPv4 address, and the outer one where it is routed."""
    if isinstance(address, IPv4Address):
        return [address]
    address = IPv6Address(int(address))  # without the zone, which says by which interface it is reached
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        return [address, address.sixtofour]
    if address in NAT64_NETWORK:
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    return [address]


def _network(entry: str) -> Network | None:
    try:
        return ip_network(entry, strict=False)
    except ValueError:
        return None


def _plain(host: str) -> str:
    return host.lower().rstrip(".")


def address_policy() -> AddressPolicy:
    """Return the address policy of this installation."""
    return AddressPolicy.parse(settings.LLM_ALLOWED_ADDRESSES, settings.LLM_ALLOWED_PORTS)
