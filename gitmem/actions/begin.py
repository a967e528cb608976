"""Making a folder a workspace: choose the place of its repository, create it, record it."""

from dataclasses import dataclass
from pathlib import Path

from gitmem import agents
from gitmem.agents import Layout
from gitmem.core.paths import EXCLUDE_LINES
from gitmem.edges import gitdir, remotes, workspace
from gitmem.edges.gitdir import GitDir
from gitmem.edges.workspace import Workspace
from gitmem.errors import NotFound, NoWorkspace, UsageError


@dataclass(frozen=True)
class Plan:
    """What `begin` would do.

    Attributes:
        layout: What was recognised.
        git_dir: Where the repository is or will be.
        adopted: Whether an existing repository is used.
        reason: Why the repository lies where it lies, in words.
        existing: The workspace, when the folder is one already.
    """

    layout: Layout
    git_dir: Path
    adopted: bool
    reason: str
    existing: Workspace | None = None


def plan(directory: Path, agent: str | None, sessions: Path | None, *, adopt: bool, separate: bool) -> Plan:
    """Look at a folder and decide (gitstore, section 1).

    Args:
        directory: The agent's workspace.
        agent: Name of the adapter; recognised when None.
        sessions: A session folder outside the workspace.
        adopt: Use the repository that is already there.
        separate: Keep the repository outside even where it could lie inside.

    Raises:
        NotFound: The folder does not exist.
        UsageError: The options contradict what is there.
    """
    if not directory.is_dir():
        raise NotFound(f"{directory} is not a folder", "Name the agent's workspace: gitmem init DIR")
    existing = _existing(directory)
    if existing is not None:
        return Plan(
            existing.layout, existing.git.control, existing.adopted, "it is a workspace already", existing
        )
    layout = agents.layout(agent or agents.detect(directory), directory, sessions)
    own = workspace.separate_git_dir(directory)
    found = gitdir.enclosing(directory)
    if adopt:
        if found is None or found.parent != directory:
            raise UsageError(f"{directory} has no repository of its own to adopt", "Leave out --adopt.")
        return Plan(layout, found, adopted=True, reason="the repository that is there, as you asked")
    if found is not None and found.parent == directory and workspace.was_ours(found):
        return Plan(
            layout, found, adopted=False, reason="its history came with it, or was begun and not finished"
        )
    if found is not None:
        whose = (
            "has a repository of its own"
            if found.parent == directory
            else f"lies inside the repository {found.parent}"
        )
        return Plan(layout, own, adopted=False, reason=f"a git dir of its own, since the folder {whose}")
    if layout.mapped:
        return Plan(
            layout, own, adopted=False, reason="a git dir of its own, since sessions lie outside the folder"
        )
    if separate:
        return Plan(layout, own, adopted=False, reason="a git dir of its own, as you asked")
    return Plan(layout, directory / ".git", adopted=False, reason="plain git log works in the folder")


def _existing(directory: Path) -> Workspace | None:
    try:
        found = workspace.find(directory)
    except NoWorkspace:
        return None
    return found if found.directory == directory else None


def begin(plan: Plan) -> Workspace:
    """Carry out a plan. Beginning twice is the same as once.

    Raises:
        RepositoryRefused: The repository to adopt has a format that we do not write; nothing was changed.
    """
    if plan.existing is not None:
        return plan.existing
    directory = plan.layout.directory
    git = _repository(plan, directory)
    gitdir.check_format(git)
    made = Workspace(directory, git, plan.layout, adopted=plan.adopted)
    remotes.set_aside(plan.git_dir)
    workspace.record(made)
    return made


def _repository(plan: Plan, directory: Path) -> GitDir:
    if plan.adopted or plan.git_dir.exists():
        return gitdir.resolve(plan.git_dir)
    inside = plan.git_dir.parent == directory
    return gitdir.create(plan.git_dir, None if inside else directory, "\n".join(EXCLUDE_LINES) + "\n")
