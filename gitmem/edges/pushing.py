"""One push: which refs may move, what is sent for them, and what the server said to each.

dulwich's own checks are not used: its ancestor test is wrong under clock skew, and a refusal raises nothing
(merge.md, section 1). A ref only ever moves forward, and only from where the server said it is: that commit
travels along and the server compares it, so a race is lost by the later one and nothing is overwritten
(B28).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dulwich.client import GitClient
from dulwich.objects import ObjectID
from dulwich.pack import UnpackedObject
from dulwich.refs import Ref

from gitmem.edges.outgoing import Outgoing
from gitmem.edges.wire import Offer, Outcome, RefResult

STEP = 20 * 1024 * 1024
"""Bytes, before compression, after which the rest goes in another step: a long first push that is cut off
has got somewhere, and the next one goes on from there (merge.md, section 5, huge first push)."""

_RACE = ("failed to update ref", "unable to set", "lock", "fetch first", "non-fast-forward", "stale")
"""How servers say that a ref is not, or no longer, where it was advertised."""


class Push:
    """Pushes offers over one connection after the other until each has arrived or failed.

    Attributes:
        results: What became of each ref decided so far, by its name.
        objects: How many objects the server took.
    """

    def __init__(self, outgoing: Outgoing, offers: tuple[Offer, ...], step: int = STEP) -> None:
        self._outgoing = outgoing
        self._open = {offer.ref: offer for offer in offers}
        self._step = step
        self._advertised: dict[str, str] = {}
        self._targets: dict[str, str] = {}
        self._reached: set[str] = set()
        self._load: dict[ObjectID, None] = {}
        self._said: list[bytes] = []
        self.results: dict[str, RefResult] = {}
        self.objects = 0

    @property
    def said(self) -> str:
        """What the server wrote for a person, its last lines."""
        return b"".join(self._said).decode("utf-8", "replace")

    def run(self, connect: Callable[[], tuple[GitClient, str]]) -> None:
        """Push everything.

        Args:
            connect: Gives a client and the path for its methods; called once for each step.
        """
        while self._open:
            client, path = connect()
            raw_path = path.encode("utf-8", "surrogateescape")
            answer = client.send_pack(raw_path, self._decide, self._pack, self._hear)
            told: Mapping[bytes, str | None] = answer.ref_status or {}
            self._settle({_text(ref): status for ref, status in told.items()}, client, raw_path)

    def _hear(self, data: bytes) -> None:
        self._said = [*self._said, data][-50:]

    def _decide(self, advertised: Mapping[Ref, ObjectID]) -> dict[Ref, ObjectID]:
        """Dulwich calls this with where the server's refs are; the answer is where they shall be."""
        self._advertised = {_text(ref): _text(sha) for ref, sha in advertised.items()}
        self._targets, self._load, room = {}, {}, self._step
        for offer in list(self._open.values()):
            failure = self._judge(offer)
            if failure is not None:
                self._close(offer, *failure)
            elif room > 0:
                haves = {*self._advertised.values(), *self._targets.values()}
                theirs = self._advertised.get(offer.ref)
                self._targets[offer.ref], room = self._outgoing.plan(
                    offer.sha, theirs, haves, room, self._load
                )
        return {Ref(ref.encode("utf-8")): ObjectID(sha.encode("ascii")) for ref, sha in self._targets.items()}

    def _pack(self, *_: object, **__: Any) -> tuple[int, Iterator[UnpackedObject]]:
        """Dulwich calls this for the objects; what is sent was planned together with the refs."""
        return len(self._load), self._outgoing.records(self._load)

    def _judge(self, offer: Offer) -> tuple[Outcome, str] | None:
        """Why a ref needs no push or must not have one; None when it may go forward."""
        theirs = self._advertised.get(offer.ref)
        if theirs == offer.sha:
            return Outcome.SAME, ""
        if theirs is None and offer.seen is not None:
            return Outcome.DIVERGED, f"{offer.ref} was at {offer.seen[:10]} there and has been removed since"
        reason = theirs and self._in_the_way(offer, theirs)
        if not theirs or not reason:
            return None
        return (
            Outcome.DIVERGED,
            f"{offer.ref} is at {theirs[:10]} there and at {offer.sha[:10]} here; {reason}",
        )

    def _in_the_way(self, offer: Offer, theirs: str) -> str | None:
        if not self._outgoing.has(theirs):
            return "theirs holds commits that this machine does not have"
        if not self._outgoing.is_ancestor(theirs, offer.sha):
            return "ours does not build on theirs"
        if self._set_back(theirs, offer.seen):
            return f"it was set back there from {str(offer.seen)[:10]}"
        return None

    def _set_back(self, theirs: str, seen: str | None) -> bool:
        if seen is None or seen == theirs or not self._outgoing.has(seen):
            return False
        return self._outgoing.is_ancestor(theirs, seen)

    def _settle(self, told: Mapping[str, str | None], client: GitClient, path: bytes) -> None:
        """Take the server's word for each ref moved, and look again where it said nothing clear."""
        now: Mapping[str, str] | None = None
        for ref, target in self._targets.items():
            offer, status = self._open[ref], told.get(ref, "nothing was said about it")
            if status is not None and (ref not in told or any(word in status for word in _RACE)):
                now = _look(client, path) if now is None else now
                if now.get(ref) == target:
                    status = None
                elif now.get(ref) != self._advertised.get(ref):
                    self._close(offer, Outcome.DIVERGED, f"{ref} was moved there at the same moment")
                    continue
            self._advance(offer, target, status)
        self.objects += len(self._load)

    def _advance(self, offer: Offer, target: str, status: str | None) -> None:
        if status is not None:
            self._close(offer, Outcome.REFUSED, f"{offer.ref}: {status}")
        elif target == offer.sha:
            self._close(offer, Outcome.PUSHED, "")
        elif target in self._reached:
            self._close(offer, Outcome.REFUSED, f"{offer.ref} does not move although the server says it did")
        self._reached.add(target)

    def _close(self, offer: Offer, outcome: Outcome, text: str) -> None:
        del self._open[offer.ref]
        theirs = self._advertised.get(offer.ref)
        self.results[offer.ref] = RefResult(offer.ref, outcome, offer.sha, theirs, text)


def _look(client: GitClient, path: bytes) -> dict[str, str]:
    found = client.get_refs(path, protocol_version=0).refs
    return {_text(ref): _text(sha) for ref, sha in found.items() if sha is not None}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
