"""Where a request may go, and that it goes nowhere else."""

from __future__ import annotations

import re
import select
import socket
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import outgoing, targets
from fairlead.handlers.http import Http, allowed, problem
from fairlead.targets import parse
from tests.http_hooks.conftest import AUTHORITY, DENY, Request, Server, decide, error, http_hook, reply

Serve = Callable[..., Server]

# --- URLs --------------------------------------------------------------------------------------------

URLS: list[tuple[str, tuple[str, str, int, str, str]]] = [
    ("http://localhost", ("http", "localhost", 80, "/", "")),
    ("HTTPS://Hooks.Example.com./A/b?c=D#e", ("https", "hooks.example.com", 443, "/A/b?c=D", "")),
    ("http://[::1]:8080/x", ("http", "::1", 8080, "/x", "")),
    ("https://me:se@cret@h/x", ("https", "h", 443, "/x", "me:se@cret")),
    ("http://h?x=1", ("http", "h", 80, "/?x=1", "")),
    ("http://h/ä b"[:-2], ("http", "h", 80, "/%C3%A4", "")),
    ("http://bücher.example/", ("http", "xn--bcher-kva.example", 80, "/", "")),
    ('http://h/"<{', ("http", "h", 80, "/%22%3C%7B", "")),
]


@pytest.mark.parametrize(("url", "parts"), URLS, ids=[row[0] for row in URLS])
def test_a_url_is_understood_in_one_way(url: str, parts: tuple[str, str, int, str, str]) -> None:
    target = parse(url)
    assert (target.scheme, target.host, target.port, target.path, target.user) == parts


BAD_URLS = [
    "", "hooks.example.com", "/x", "ftp://h/x", "file:///etc/passwd", "javascript:alert(1)", "http://", "http:///x",
    "http://:80/", "http://h:0/", "http://h:65536/", "http://h:-1/", "http://h:8o/", "http://h:٣/", "http://h:1:2/",
    "http://[::1/", "http://[]/", "http://[::1]x/", "http://[zz]/", "http://h /x", "http://h/\r\nX: y", "http://h\t/",
    "http://good.example\\@bad.example/", "http://h\x00/", "http://exa%6dple.com/", "http://a*b/", "http://h\x7f/",
    "http://" + "ü" * 100 + "/", "https:/h/x", "http//h/",
]  # fmt: skip


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_url_that_is_none_fails_before_anything_is_sent(url: str) -> None:
    assert "cannot be called: " in error(http_hook(url))
    assert "cannot be called: " in problem(url)
    assert not allowed(url, ["*"])


@given(st.text(max_size=60) | st.from_regex(r"https?://[^/]*/.*", fullmatch=True))
def test_any_text_is_a_url_or_a_value_error(text: str) -> None:
    assert targets.shown(text).isprintable()
    assert isinstance(problem(text), str)
    try:
        target = parse(text)
    except ValueError:
        return
    assert target.host
    assert target.path.startswith("/")
    assert target.path.isascii()
    assert not re.search(r"[\x00-\x20\x7f]", target.path + target.host)


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("https://hooks.example.com/x", False),
        ("http://localhost:8080/x", False),
        ("http://127.0.0.1/x", False),
        ("http://[::1]/x", False),
        ("http://app.localhost/x", False),
        ("http://hooks.example.com/x", True),
        ("http://10.0.0.1/x", True),
        ("http://127.0.0.1.example.com/x", True),
        ("http://localhost.example.com/x", True),
    ],
)
def test_check_warns_of_what_can_be_read_on_its_way(url: str, *, warned: bool) -> None:
    assert ("unencrypted" in problem(url)) is warned


# --- lists -------------------------------------------------------------------------------------------

LISTED: list[tuple[str, str, bool]] = [
    ("https://hooks.example.com/*", "https://hooks.example.com/a/b?c=d", True),
    ("https://hooks.example.com/*", "https://hooks.example.com", True),
    ("https://hooks.example.com/*", "https://HOOKS.example.com./a", True),
    ("https://HOOKS.Example.com./*", "https://hooks.example.com/a", True),
    ("https://hooks.example.com/*", "https://hooks.example.com:443/a", True),
    ("https://hooks.example.com:443/*", "https://hooks.example.com/a", True),
    ("https://hooks.example.com/*", "https://hooks.example.com:8443/a", False),
    ("https://hooks.example.com/*", "http://hooks.example.com/a", False),
    ("https://hooks.example.com/*", "https://hooks.example.com.evil.test/a", False),
    ("https://hooks.example.com/*", "https://hooks.example.com@evil.test/a", False),
    ("https://hooks.example.com/*", "https://evil.test/https://hooks.example.com/a", False),
    ("https://hooks.example.com/*", "https://evil.test#https://hooks.example.com/a", False),
    ("https://hooks.example.com/a", "https://hooks.example.com/a", True),
    ("https://hooks.example.com/a", "https://hooks.example.com/A", False),
    ("https://hooks.example.com/a", "https://hooks.example.com/a/b", False),
    ("https://hooks.example.com/a/*", "https://hooks.example.com/a/../b", False),
    ("https://hooks.example.com/a/*", "https://hooks.example.com/a/%2E%2e/b", False),
    ("https://hooks.example.com/a/*", "https://hooks.example.com/a/..%2fb", False),
    ("https://hooks.example.com", "https://hooks.example.com/", True),
    ("https://hooks.example.com", "https://hooks.example.com/a", False),
    ("https://*.example.com/*", "https://a.b.example.com/x", True),
    ("https://*.example.com/*", "https://example.com/x", False),
    ("https://*.example.com/*", "https://evil.test/.example.com/x", False),
    ("https://*.example.com/*", "https://evil.test?.example.com/x", False),
    ("http://localhost:*", "http://localhost:8080/hook", True),
    ("http://localhost:*", "http://localhost/hook", True),
    ("http://localhost:*", "http://localhost.evil.test:80/hook", False),
    ("http://localhost:*/hook", "http://localhost:8080/hook", True),
    ("http://localhost:*/hook", "http://localhost:8080/other", False),
    ("http://[::1]:*", "http://[::1]:9/x", True),
    ("*", "https://anything.test/x", True),
    ("https://*", "https://anything.test/x", True),
    ("https://*", "http://anything.test/x", False),
    ("*://localhost/*", "http://localhost/x", True),
    ("*.example.com/*", "https://a.example.com/x", True),
    ("hooks.example.com/*", "https://hooks.example.com/x", False),
    ("", "https://hooks.example.com/x", False),
    ("https://h/*/end?*", "https://h/a/b/end?x", True),
    ("https://h/[ab]", "https://h/a", False),
    ("https://h/?", "https://h/a", False),
]


@pytest.mark.parametrize(("pattern", "url", "fits"), LISTED, ids=[f"{row[0]} {row[1]}" for row in LISTED])
def test_a_list_allows_what_its_patterns_say(pattern: str, url: str, *, fits: bool) -> None:
    assert allowed(url, [pattern]) is fits
    assert allowed(url, ["https://nobody.test/", pattern]) is fits


@given(st.text("ab*", max_size=12), st.text("ab", max_size=12))
def test_a_star_is_any_text(pattern: str, text: str) -> None:
    wanted = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None
    assert targets._glob(pattern, text) is wanted


def test_a_pattern_full_of_stars_takes_no_time() -> None:
    assert not allowed("https://h/" + "a" * 5000, ["https://h/" + "*a" * 2000 + "*b"])


@pytest.mark.parametrize("patterns", [(), ("https://hooks.example.com/*",)], ids=["an empty list", "another URL"])
def test_a_url_that_is_not_in_the_list_is_never_called(serve: Serve, patterns: tuple[str, ...]) -> None:
    server = serve(reply(body=DENY))
    assert "not in the list of allowed URLs" in error(http_hook(f"{server.url}/x", allowed_urls=patterns))
    assert decide(http_hook(f"{server.url}/x", allowed_urls=patterns, on_error="deny")).denies
    assert server.connections == 0


def test_a_url_in_the_list_is_called(serve: Serve) -> None:
    server = serve(reply(body=DENY))
    assert decide(http_hook(f"{server.url}/x", allowed_urls=("http://127.0.0.1:*",))).reason == "not on my watch"


# --- addresses that hand out keys --------------------------------------------------------------------

METADATA = [
    "http://169.254.169.254/latest/meta-data/", "https://169.254.169.254/", "http://2852039166/", "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/", "http://169.254.43518/", "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[2002:a9fe:a9fe::1]/",
    "http://[fd00:ec2::254]/", "http://[fd20:ce::254]/", "http://169.254.170.2/", "http://100.100.100.200/",
    "http://192.0.0.192/", "http://169.254.169.254./",
]  # fmt: skip


@pytest.fixture
def nobody_connects(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    tried: list[Any] = []

    def connect(_self: socket.socket, address: Any) -> None:
        tried.append(address)
        raise ConnectionRefusedError(111, "refused")

    monkeypatch.setattr(socket.socket, "connect", connect)
    return tried


@pytest.mark.parametrize("environ", [{}, {"HTTP_PROXY": "http://127.0.0.1:1", "HTTPS_PROXY": "http://127.0.0.1:1"}],
                         ids=["directly", "through a proxy"])  # fmt: skip
@pytest.mark.parametrize("url", METADATA)
def test_a_metadata_address_is_never_called(url: str, environ: dict[str, str], nobody_connects: list[Any]) -> None:
    assert "is a metadata address" in error(http_hook(url), **environ)
    assert "is a metadata address" in error(http_hook(url, allowed_urls=("*", "http://*.254/*")), **environ)
    assert not nobody_connects


def names_resolve_to(monkeypatch: pytest.MonkeyPatch, *answers: tuple[str, int]) -> list[Any]:
    """One answer after the other: a name server that changes its mind."""
    asked: list[Any] = []

    def getaddrinfo(host: Any, _port: Any, **_options: Any) -> list[Any]:
        asked.append(host)
        address = answers[min(len(asked), len(answers)) - 1]
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", address)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "fe80::1"])
def test_a_name_that_leads_to_a_metadata_address_is_not_called(
    address: str, monkeypatch: pytest.MonkeyPatch, nobody_connects: list[Any]
) -> None:
    names_resolve_to(monkeypatch, (address, 80))
    assert f"{address} is a metadata address" in error(http_hook("http://innocent.example/"))
    assert "is a metadata address" in error(http_hook("http://innocent.example/", allowed_urls=("http://innocent.*",)))
    assert not nobody_connects


def test_a_name_is_looked_up_once_and_that_address_is_called(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(reply(body=DENY))
    asked = names_resolve_to(monkeypatch, ("127.0.0.1", server.port), ("169.254.169.254", 80))
    assert decide(http_hook("http://changes.example/")).reason == "not on my watch"
    assert asked == [b"changes.example"]


def test_a_list_that_names_a_metadata_address_means_it(
    monkeypatch: pytest.MonkeyPatch, nobody_connects: list[Any]
) -> None:
    patterns = ("http://169.254.169.254/*",)
    assert "metadata" not in error(http_hook("http://169.254.169.254/x", allowed_urls=patterns))
    assert nobody_connects == [("169.254.169.254", 80)]


# --- redirects ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
@pytest.mark.parametrize("absolute", [True, False], ids=["absolute", "relative"])
def test_the_same_server_may_lead_on(serve: Serve, status: str, *, absolute: bool) -> None:
    server: Server = serve(lambda c, _: c.sendall(reply(status, Location=f"{server.url if absolute else ''}/new?x=1")),
                   reply(body=DENY))  # fmt: skip
    hook = http_hook(f"{server.url}/old", headers={"Authorization": "Bearer key"})
    assert decide(hook).reason == "not on my watch"
    first, second = server.requests
    assert (second.method, second.target) == ("POST", "/new?x=1")
    assert second.body == first.body
    assert second.headers["authorization"] == "Bearer key"


def test_three_redirects_are_enough(serve: Serve) -> None:
    server = serve(reply("307 Temporary Redirect", Location="/again"))
    assert "307 Temporary Redirect" in error(http_hook(server.url))
    assert server.connections == 4


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "300 Choices", "304 Not Modified"])
def test_a_redirect_that_would_lose_the_question_is_a_failure(serve: Serve, status: str) -> None:
    server = serve(reply(status, Location="/new"), reply(body=DENY))
    assert status.split(maxsplit=1)[0] in error(http_hook(server.url))
    assert server.connections == 1


@pytest.mark.parametrize(
    "place", ["http://127.0.0.1:{other}/x", "http://localhost:{port}/x", "https://127.0.0.1:{port}/x", "//evil.test/x"]
)
def test_nothing_is_sent_to_another_server(serve: Serve, place: str) -> None:
    other = serve(reply(body=DENY))
    server: Server = serve(
        lambda c, _: c.sendall(
            reply("307 Temporary Redirect", Location=place.format(port=server.port, other=other.port))
        )
    )
    said = error(http_hook(server.url, headers={"Authorization": "Bearer secret-key"}))
    assert "another server" in said
    assert "secret-key" not in said
    assert (server.connections, other.connections) == (1, 0)


@pytest.mark.parametrize("place", ["ftp://x/", "http://[", "http://h:99999/", "mailto:x", "http://a b/"])
def test_a_redirect_to_nonsense_is_a_failure(serve: Serve, place: str) -> None:
    server = serve(reply("308 Permanent Redirect", Location=place))
    assert "308 Permanent Redirect" in error(http_hook(server.url))
    assert server.connections == 1


def test_a_redirect_without_a_place_is_a_failure(serve: Serve) -> None:
    server = serve(reply("307 Temporary Redirect"))
    assert "307 Temporary Redirect" in error(http_hook(server.url))
    assert server.connections == 1


def test_a_redirect_does_not_lead_out_of_the_list(serve: Serve) -> None:
    server = serve(reply("307 Temporary Redirect", Location="/secret"), reply(body=DENY))
    hook = http_hook(f"{server.url}/ok", allowed_urls=(f"{server.url}/ok",))
    assert "not in the list of allowed URLs" in error(hook)
    assert server.connections == 1


# --- TLS ---------------------------------------------------------------------------------------------


def test_a_certificate_that_nobody_knows_is_refused(serve: Serve) -> None:
    server = serve(reply(body=DENY), tls=True)
    said = error(http_hook(server.url, headers={"X-Key": "secret-key"}))
    assert "its certificate cannot be trusted" in said
    assert "SSL_CERT_FILE" in said
    assert not server.requests


def test_a_certificate_that_the_environment_trusts_is_taken(serve: Serve) -> None:
    server = serve(reply(body=DENY), tls=True)
    for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
        assert decide(http_hook(server.url), **{name: str(AUTHORITY)}).reason == "not on my watch", name


def test_a_certificate_for_another_name_is_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(reply(body=DENY), tls=True)
    names_resolve_to(monkeypatch, ("127.0.0.1", server.port))
    said = error(http_hook("https://other.example.test/"), SSL_CERT_FILE=str(AUTHORITY))
    assert "Hostname mismatch" in said
    assert decide(http_hook("https://hooks.example.test/"), SSL_CERT_FILE=str(AUTHORITY)).denies


def test_authorities_that_cannot_be_read_are_named(serve: Serve) -> None:
    server = serve(reply(body=DENY), tls=True)
    for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
        assert f"{name} names /nowhere.pem" in error(http_hook(server.url), **{name: "/nowhere.pem"})
        assert f"{name} names {__file__}" in error(http_hook(server.url), **{name: __file__})


def test_a_server_without_tls_is_no_https_server(serve: Serve) -> None:
    server = serve(reply(body=DENY), raw=True)
    assert "TLS failed" in error(http_hook(server.url.replace("http:", "https:")))


# --- proxies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_a_proxy_is_asked_for_the_whole_url(serve: Serve, name: str) -> None:
    proxy = serve(reply(body=DENY))
    environ = {name: f"http://me:p%40ss@127.0.0.1:{proxy.port}"}
    assert decide(http_hook("http://hooks.example.test/x?y=1"), **environ).reason == "not on my watch"
    (request,) = proxy.requests
    assert request.target == "http://hooks.example.test/x?y=1"
    assert request.headers["host"] == "hooks.example.test"
    assert request.headers["proxy-authorization"] == "Basic bWU6cEBzcw=="


def tunnel_to(port: int) -> Callable[[socket.socket, Request], None]:
    def answer(connection: socket.socket, _request: Request) -> None:
        with socket.create_connection(("127.0.0.1", port)) as server:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            while True:
                for ready in select.select([connection, server], [], [], 60)[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    (server if ready is connection else connection).sendall(data)

    return answer


def test_https_goes_through_a_proxy_unread(serve: Serve) -> None:
    server = serve(reply(body=DENY), tls=True)
    proxy = serve(tunnel_to(server.port))
    hook = http_hook("https://hooks.example.test/x", headers={"X-Key": "secret-key"})
    environ = {"HTTPS_PROXY": f"me:pass@127.0.0.1:{proxy.port}", "SSL_CERT_FILE": str(AUTHORITY)}
    assert decide(hook, **environ).reason == "not on my watch"
    (request,) = proxy.requests
    assert (request.method, request.target) == ("CONNECT", "hooks.example.test:443")
    assert request.headers["proxy-authorization"] == "Basic bWU6cGFzcw=="
    assert "x-key" not in request.headers
    assert server.requests[0].target == "/x"
    assert "proxy-authorization" not in server.requests[0].headers


def test_a_proxy_that_refuses_is_named_without_its_password(serve: Serve) -> None:
    proxy = serve(reply("407 Proxy Authentication Required"))
    said = error(http_hook("https://hooks.example.test/x"), HTTPS_PROXY=f"http://me:secret@127.0.0.1:{proxy.port}")
    assert f"the proxy 127.0.0.1:{proxy.port} refuses the connection (407)" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    "value", ["socks5://127.0.0.1:1080", "https://127.0.0.1:1", "http://me:secret@", "http://a b/", "http://h:x/"]
)
def test_a_proxy_that_cannot_be_used_is_a_failure_and_not_a_way_around_it(
    value: str, nobody_connects: list[Any]
) -> None:
    said = error(http_hook("http://hooks.example.test/x"), http_proxy=value)
    assert "http_proxy" in said
    assert "secret" not in said
    assert not nobody_connects


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_needs_no_proxy(serve: Serve, host: str) -> None:
    server, proxy = serve(reply(body=DENY)), serve()
    decision = decide(http_hook(f"http://{host}:{server.port}/"), HTTP_PROXY=proxy.url, http_proxy=proxy.url)
    assert decision.denies
    assert proxy.connections == 0


NO_PROXY = [
    ("*", True), ("example.test", True), (".example.test", True), ("*.example.test", True), ("a.b, example.test", True),
    ("hooks.example.test", True), ("HOOKS.example.test.", True), ("hooks.example.test:80", True),
    ("hooks.example.test:8080", False), ("ample.test", False), ("other.test", False), ("", False), (",,", False),
    ("10.0.0.0/8", False), ("bad/entry", False),
]  # fmt: skip


@pytest.mark.parametrize(("listed", "directly"), NO_PROXY, ids=[row[0] or "nothing" for row in NO_PROXY])
def test_no_proxy_says_what_is_called_directly(listed: str, *, directly: bool) -> None:
    environ = {"http_proxy": "http://proxy.test:3128", "NO_PROXY": listed}
    assert (outgoing._proxy(parse("http://hooks.example.test/"), environ) is None) is directly


def test_no_proxy_knows_networks() -> None:
    environ = {"http_proxy": "http://proxy.test:3128", "no_proxy": "10.0.0.0/8"}
    assert outgoing._proxy(parse("http://10.1.2.3/"), environ) is None
    assert outgoing._proxy(parse("http://11.1.2.3/"), environ) is not None


def test_a_web_servers_http_proxy_is_not_ours() -> None:
    environ = {"HTTP_PROXY": "http://evil.test", "REQUEST_METHOD": "GET"}
    assert outgoing._proxy(parse("http://hooks.example.test/"), environ) is None


def test_identity_is_equal_for_hooks_that_do_the_same() -> None:
    one = Http(url="https://h/x", headers={"A": "1", "B": "2"})
    assert one.identity() == Http(url="https://h/x", headers={"B": "2", "A": "1"}).identity()
    assert one.identity() != Http(url="https://h/x", headers={"A": "1"}).identity()
