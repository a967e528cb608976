"""Addresses of remotes: what is accepted, what is refused, and that no secret is ever shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import remote_url
from gitmem.core.remote_url import RemoteUrl, Scheme
from gitmem.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/srv/backup.git", ("path", "/srv/backup.git", "", None, None)),
        ("./a:b.git", ("path", "./a:b.git", "", None, None)),
        ("backups/ws.git", ("path", "backups/ws.git", "", None, None)),
        ("file:///srv/my%20backup.git", ("path", "/srv/my backup.git", "", None, None)),
        ("file://localhost/srv/x", ("path", "/srv/x", "", None, None)),
        ("git@example.org:me/mem.git", ("ssh", "me/mem.git", "example.org", None, "git")),
        ("example.org:mem.git", ("ssh", "mem.git", "example.org", None, None)),
        ("git@[::1]:mem.git", ("ssh", "mem.git", "::1", None, "git")),
        ("ssh://git@example.org:2222/~me/mem.git", ("ssh", "/~me/mem.git", "example.org", 2222, "git")),
        ("ssh://example.org/a%20b", ("ssh", "/a b", "example.org", None, None)),
        ("git+ssh://example.org/a", ("ssh", "/a", "example.org", None, None)),
        ("https://me@example.org/me/mem.git", ("https", "/me/mem.git", "example.org", None, "me")),
        ("https://me%40work@example.org/x", ("https", "/x", "example.org", None, "me@work")),
        ("HTTPS://Example.org:8443/a%20b/", ("https", "/a%20b/", "example.org", 8443, None)),
        ("http://[::1]:8080/x", ("http", "/x", "::1", 8080, None)),
        ("git://example.org/x", ("git", "/x", "example.org", None, None)),
    ],
)
def test_the_usual_addresses_are_understood(
    text: str, expected: tuple[str, str, str, int | None, str | None]
) -> None:
    scheme, path, host, port, user = expected
    assert remote_url.parse(text) == RemoteUrl(text, Scheme(scheme), path, host, port, user)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " /srv/x",
        "/srv/x\n",
        "/srv/x\0y",
        "-/srv/x",
        "--upload-pack=touch x",
        'ext::sh -c "touch x"',
        "fd::17",
        "persistent-https::https://example.org/x",
        "ftp://example.org/x",
        "rsync://example.org/x",
        "file://elsewhere/srv/x",
        "file://relative",
        "https:///x",
        "https://example.org",
        "https://example.org/",
        "https://example.org:99999/x",
        "https://example.org:0/x",
        "https://example.org:abc/x",
        "https://exa mple.org/x",
        "https://example.org\\@evil.example/x",
        "https://bücher.example/x",
        "https://example.org/x%0ahost=evil.example",
        "https://example.org/x?access_token=t0ps3cret",
        "https://example.org/x#t0ps3cret",
        "ssh://-oProxyCommand=touch%20x/x",
        "ssh://-oProxyCommand=x@example.org/x",
        "-oProxyCommand=x@example.org:x",
        "ssh://example.org/-x%0a",
        "git@-example.org:x",
        "example.org:",
        "example.org:-x",
        "git://me@example.org/x",
        "me@:x",
    ],
)
def test_b98_dangerous_and_broken_addresses_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        remote_url.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://me:t0ps3cret@example.org/x",
        "https://:t0ps3cret@example.org/x",
        "https://me:t0ps3cret/and?more@example.org/x",
        "https://me:t0ps3cret@example.org@evil.example:port/x",
        "ssh://me:t0ps3cret@example.org/x",
        "me:t0ps3cret@example.org:x",
        "https://ghp_t0ps3cretAAAABBBBCCCCDDDDEEEE@example.org/x",
        "https://glpat-t0ps3cret_20@example.org/x",
        "https://x-t0ps3cretx0123456789abcdef0123456789@example.org/x",
        "https://example.org/x?private_token=t0ps3cret",
    ],
)
def test_a_password_or_token_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        remote_url.parse(text)
    assert "t0ps3cret" not in str(caught.value)
    assert "t0ps3cret" not in str(caught.value.hint)


def test_a_user_name_alone_is_no_secret() -> None:
    assert remote_url.parse("https://oauth2@gitlab.example/x").user == "oauth2"


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("/srv/x", True),
        ("git@example.org:x", True),
        ("https://example.org/x", True),
        ("http://example.org/x", False),
        ("git://example.org/x", False),
        ("http://127.0.0.1:8080/x", True),
    ],
)
def test_it_is_known_who_can_read_along(text: str, safe: bool) -> None:
    assert remote_url.parse(text).encrypted is safe


def test_netloc_is_made_for_messages_and_requests() -> None:
    assert remote_url.parse("http://me@[::1]:8080/x").netloc == "[::1]:8080"
    assert remote_url.parse("https://example.org/x").netloc == "example.org"


def test_redacting_leaves_the_rest_of_a_text_alone() -> None:
    text = "fetch https://me:pw@example.org/x failed; see http://docs.example/a@b and a@b"
    assert remote_url.redact(text) == (
        "fetch https://***@example.org/x failed; see http://docs.example/a@b and a@b"
    )


def test_what_a_server_says_becomes_one_short_printable_line() -> None:
    assert remote_url.printable("a\x1b[31m\r\n\tb https://u:p@h/") == "a [31m b https://***@h/"
    assert len(remote_url.printable("x" * 5000)) == 600


@given(st.text(max_size=80))
def test_any_text_is_either_an_address_or_refused(text: str) -> None:
    try:
        url = remote_url.parse(text)
    except UsageError:
        return
    assert not url.host.startswith("-")
    assert not url.path.startswith("-")
    assert "::" not in url.path.split("/", 1)[0] or url.scheme is not Scheme.PATH
    assert remote_url.parse(url.text) == url


_WORD = st.text("abcXYZ0189._~%!$&'()*+,;=-", min_size=1, max_size=20)


@given(user=_WORD, secret=_WORD, scheme=st.sampled_from(["http", "https", "ssh", "git"]))
def test_no_form_of_password_survives_parsing_or_redacting(user: str, secret: str, scheme: str) -> None:
    secret = f"Q7{secret}7Q"
    text = f"{scheme}://{user}:{secret}@example.org/x"
    with pytest.raises(UsageError) as caught:
        remote_url.parse(text)
    assert secret not in f"{caught.value} {caught.value.hint}"
    assert secret not in remote_url.redact(f"cannot reach {text}: refused")
