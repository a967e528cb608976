"""Where logins come from, and that nothing of a repository is asked for them."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import remote_url
from gitmem.edges import credentials, surroundings
from gitmem.edges.wire import Login, Offer, Outcome, RefResult, Reply, Request, Trouble
from gitmem.errors import ConfigError

URL = remote_url.parse("https://example.org/me/mem.git")
PATH = "/usr/local/bin:/usr/bin:/bin"


def private(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / credentials.FILE
    path.write_text(text)
    path.chmod(mode)
    return folder


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    private(tmp_path, "https://filer:filed@example.org\n")
    ours = {"GITMEM_USERNAME": "me", "GITMEM_PASSWORD": "pw"}
    assert credentials.find(URL, ours, tmp_path) == Login("me", "pw")
    assert credentials.find(URL, {}, tmp_path) == Login("filer", "filed")


def test_a_token_needs_no_user_name(tmp_path: Path) -> None:
    assert credentials.find(URL, {"GITMEM_TOKEN": "t"}, tmp_path) == Login("x-access-token", "t")
    named = remote_url.parse("https://me@example.org/x")
    assert credentials.find(named, {"GITMEM_TOKEN": "t"}, tmp_path) == Login("me", "t")


def test_only_http_gets_a_login(tmp_path: Path) -> None:
    for text in ("git@example.org:x", "/srv/x", "git://example.org/x"):
        assert credentials.find(remote_url.parse(text), {"GITMEM_TOKEN": "t"}, tmp_path) is None


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("https://me:p%40ss%3a@example.org", Login("me", "p@ss:")),
        ("https://me:p@EXAMPLE.org:443", Login("me", "p")),
        ("https://me:p@example.org/me", Login("me", "p")),
        ("https://me:p@example.org/me/mem.git", Login("me", "p")),
        ("https://me:p@example.org/me/mem", None),
        ("https://me:p@example.org/you", None),
        ("http://me:p@example.org", None),
        ("https://me:p@example.org:8443", None),
        ("https://me:p@sub.example.org", None),
        ("https://me@example.org", None),
        ("# a comment", None),
        ("https://me:p@example.org:port", None),
        ("https://[::1", None),
        ("", None),
    ],
)
def test_a_line_of_the_file_counts_for_its_own_place_only(
    tmp_path: Path, line: str, found: Login | None
) -> None:
    private(tmp_path, f"\n{line}\n")
    assert credentials.find(URL, {}, tmp_path) == found


def test_a_user_in_the_address_picks_the_line(tmp_path: Path) -> None:
    private(tmp_path, "https://a:1@example.org\nhttps://b:2@example.org\n")
    assert credentials.find(remote_url.parse("https://b@example.org/x"), {}, tmp_path) == Login("b", "2")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_file_that_others_can_read_is_refused_with_the_cure(tmp_path: Path, mode: int) -> None:
    private(tmp_path, "https://me:t0ps3cret@example.org\n", mode)
    with pytest.raises(ConfigError) as caught:
        credentials.find(URL, {}, tmp_path)
    assert "chmod 600" in (caught.value.hint or "")
    assert "t0ps3cret" not in str(caught.value)


def test_a_folder_or_pipe_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a" / credentials.FILE).mkdir(parents=True)
    with pytest.raises(ConfigError):
        credentials.find(URL, {}, tmp_path / "a")


def helper(tmp_path: Path, body: str) -> dict[str, str]:
    """An environment whose global git configuration names a helper with this shell body."""
    program = tmp_path / "helper.sh"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    settings = tmp_path / "gitconfig"
    settings.write_text(f"[credential]\n\thelper = {program}\n\tuseHttpPath = true\n")
    return {
        "PATH": PATH,
        "HOME": str(tmp_path),
        "GIT_CONFIG_GLOBAL": str(settings),
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def test_the_users_git_helper_is_asked_with_the_address(tmp_path: Path) -> None:
    ours = helper(tmp_path, f"cat > {tmp_path}/asked; echo username=me; echo password=pw=x")
    assert credentials.ask_helper(URL, ours) == Login("me", "pw=x")
    asked = (tmp_path / "asked").read_text().split("\n")
    assert {"protocol=https", "host=example.org", "path=me/mem.git"} <= set(asked)


def test_a_helper_that_knows_nothing_ends_in_no_login_and_no_prompt(tmp_path: Path) -> None:
    ours = helper(tmp_path, "exit 0") | {
        "SSH_ASKPASS": f"touch {tmp_path}/asked",
        "GIT_ASKPASS": "/bin/false",
    }
    assert credentials.ask_helper(URL, ours) is None
    assert not (tmp_path / "asked").exists()


def test_a_helper_that_hangs_is_given_up(tmp_path: Path) -> None:
    ours = helper(tmp_path, f"echo $$ > {tmp_path}/pid; sleep 3600")
    assert credentials.ask_helper(URL, ours, 0.5) is None
    pid = (tmp_path / "pid").read_text().strip()
    stat = Path(f"/proc/{pid}/stat")
    assert not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_b98_a_repositorys_helper_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "ws"
    repository.mkdir()
    subprocess.run(
        ["git", "init", "-q", str(repository)], check=True, env={"PATH": PATH, "HOME": str(tmp_path)}
    )
    with (repository / ".git" / "config").open("a") as file:
        file.write(f"[credential]\n\thelper = !touch {tmp_path}/EXECUTED\n[core]\n\taskPass = {tmp_path}/x\n")
    monkeypatch.chdir(repository)
    ours = {
        "PATH": PATH,
        "HOME": str(tmp_path),
        "GIT_DIR": str(repository / ".git"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "credential.helper",
        "GIT_CONFIG_VALUE_0": f"!touch {tmp_path}/EXECUTED",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    assert credentials.ask_helper(URL, ours) is None
    assert not (tmp_path / "EXECUTED").exists()


def test_without_git_no_helper_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert credentials.ask_helper(URL, {"PATH": str(tmp_path)}) is None


def test_a_login_is_not_shown_in_full() -> None:
    assert "t0ps3cret" not in repr(Login("me", "t0ps3cret"))


def test_the_environment_of_a_child_can_neither_ask_nor_tell() -> None:
    ours = {
        "PATH": PATH,
        "GITMEM_TOKEN": "t0ps3cret",
        "GITMEM_PASSWORD": "t0ps3cret",
        "GIT_DIR": "/x",
        "GIT_SSL_NO_VERIFY": "1",
        "GIT_CONFIG_PARAMETERS": "'core.sshCommand=x'",
        "GIT_CONFIG_GLOBAL": "/home/me/.gitconfig",
        "SSH_ASKPASS": "/usr/bin/ask",
        "SSH_AUTH_SOCK": "/run/agent",
        "LC_ALL": "de_DE.UTF-8",
    }
    theirs = surroundings.environment(ours)
    assert "t0ps3cret" not in str(theirs)
    assert not {"GIT_DIR", "GIT_SSL_NO_VERIFY", "GIT_CONFIG_PARAMETERS", "LC_ALL"} & theirs.keys()
    assert theirs["SSH_AUTH_SOCK"] == "/run/agent"
    assert theirs["GIT_CONFIG_GLOBAL"] == "/home/me/.gitconfig"
    assert (theirs["GIT_TERMINAL_PROMPT"], theirs["SSH_ASKPASS"], theirs["SSH_ASKPASS_REQUIRE"]) == (
        "0",
        "",
        "never",
    )
    assert (theirs["LC_MESSAGES"], theirs["LANG"]) == ("C", "de_DE.UTF-8")


def test_ssh_never_asks_whichever_program_is_named() -> None:
    for ours in ({}, {"GIT_SSH_COMMAND": "ssh -i key"}, {"GIT_SSH": "/opt/my ssh/ssh"}):
        command = surroundings.ssh_command(ours)
        for option in (
            "BatchMode=yes",
            "ConnectTimeout=10",
            "ServerAliveInterval=15",
            "ServerAliveCountMax=3",
        ):
            assert f"-o {option}" in command
    assert surroundings.ssh_command({"GIT_SSH": "/opt/my ssh/ssh"}).startswith("'/opt/my ssh/ssh' ")
    assert surroundings.ssh_command({"GIT_SSH_COMMAND": "a"}, "b").startswith("b ")


def test_a_program_that_is_not_openssh_gets_no_options_of_it() -> None:
    assert surroundings.ssh_command({"GIT_SSH_COMMAND": "/opt/plink -batch"}) == "/opt/plink -batch"
    assert surroundings.ssh_command({"GIT_SSH_COMMAND": "x", "GIT_SSH_VARIANT": "simple"}) == "x"


@pytest.mark.parametrize("command", ["ssh 'unclosed", "  "])
def test_an_ssh_command_that_cannot_be_read_is_refused(command: str) -> None:
    with pytest.raises(ConfigError):
        surroundings.ssh_command({}, command)


@given(st.text(), st.text(), st.text(), st.floats(0, 1e6))
def test_request_and_reply_survive_the_way(path: str, user: str, password: str, seconds: float) -> None:
    offer = Offer("refs/heads/main", "1" * 40, None)
    request = Request(path, "/x", (offer,), Login(user, password), True, "ssh", None, seconds, seconds)
    assert Request.load(request.dump()) == request
    reply = Reply(
        (RefResult("refs/heads/main", Outcome.REFUSED, "1" * 40, None, path),), 3, user, Trouble("auth", path)
    )
    assert Reply.load(reply.dump()) == reply


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"refs": 1}', b"null", b"Traceback"])
def test_half_a_reply_is_no_reply(data: bytes) -> None:
    with pytest.raises(ValueError):
        Reply.load(data)
