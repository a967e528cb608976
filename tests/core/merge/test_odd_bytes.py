"""Any bytes can be merged and taken back: damaged lines are kept like others, and nothing ever raises."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.core import jsonl
from gitmem.core.merge.files import merge_file
from gitmem.core.merge.history import Queue, merge_queue
from gitmem.core.merge.inverse import inverse
from gitmem.core.model import File, PathClass
from gitmem.core.paths import classify_path
from tests.core.merge.versions import THOROUGH, three

ODD = [
    b"",
    b" \t",
    b"\r",
    b"\0\0",
    b"\xff\xfe",
    b"not json",
    b"[1]",
    b"null",
    b"{",
    b'{"role": "user", "content": "torn',
    b"<<<<<<< HEAD",
    b"=======",
    b"||||||| base",
    b"{}",
    b'{"a": 1, "a": 2}',
    b'{"_type": null, "role": "user"}',
    b'{"_type": ["x"]}',
    b'{"_type": "provider_state", "x": 1}',
    b'{"_type": "note", "x": 1}',
    b'{"_type": "metadata"}',
    b'{"_type": "metadata", "last_consolidated": true, "metadata": [1]}',
    b'{"_type": "metadata", "last_consolidated": -1, "metadata": {"runtime_checkpoint": {}, "title": 1}}',
    b'{"_type": "metadata", "last_consolidated": 1, "updated_at": 5, "created_at": null, "metadata": {"title": "x"}}',
    b'{"_type":"metadata","metadata":{ },"last_consolidated":2}',
    b'{"role": "assistant", "tool_calls": 7}',
    b'{"role": "assistant", "tool_calls": [{"id": "c"}, {"id": 1}, 2, {"id": "c"}, {"id": "d"}], "timestamp": 3}',
    b'{"role": "assistant", "content": "other", "tool_calls": [{"id": "c"}, {"id": "d"}]}',
    b'{"role": "tool", "tool_call_id": "c", "content": [1]}',
    b'{"role": "tool", "tool_call_id": "c", "content": "Error: Task interrupted"}',
    b'{"role": "tool", "tool_call_id": "d"}',
    b'{"role": "tool", "tool_call_id": {}}',
    b'{"role": "user", "content": "\\ud800", "x": NaN, "y": -Infinity, "z": 1e999, "timestamp": "\\udfff"}',
    b'{"n": %s}' % (b"9" * 5000),
    b'{"n": ' + b"[" * 150 + b"]" * 150 + b"}",
    b'{"n": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"role": "user"}{"role": "assistant"}=======',
    b'{"cursor": 1, "timestamp": "t", "content": "a"}',
    b'{"cursor":1,"timestamp":"t","content":"a"} ',
    b'{"cursor": 1, "timestamp": "t", "content": "b"}',
    b'{"cursor": 2, "timestamp": "t", "content": "a", "x": 1}',
    b'{"cursor": 2, "timestamp": "t", "content": "a", "x": 2}',
    b'{"cursor": -0, "timestamp": "t", "content": "a", "cursor": 3}',
    b'{"cursor": %s, "timestamp": "t", "content": "c"}' % (b"9" * 3999),
    b'{"cursor": "7", "timestamp": "t", "content": "d"}',
    b'{"cursor": 7, "timestamp": 1, "content": "d"}',
]
LINE = st.sampled_from(ODD) | st.binary(max_size=5)
END = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b""])


@st.composite
def three_files(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    base, ours, theirs = draw(three(st.lists(LINE, max_size=5)))
    return b"\n".join(base) + draw(END), b"\n".join(ours) + draw(END), b"\n".join(theirs) + draw(END)


CURSOR = st.sampled_from(
    [None, b"", b"0", b"1\r\n", b"\xef\xbb\xbf2", b"5", b"-3", b"x", b"9" * 1500, b"9" * 900]
)
PATHS = [
    "sessions/a.jsonl",
    "memory/history.jsonl",
    "memory/.cursor",
    "memory/MEMORY.md",
    "x.jsonl",
    "x.json",
    "x.png",
]


@settings(THOROUGH, max_examples=1000)
@given(path=st.sampled_from(PATHS), versions=three_files(), missing=st.sampled_from([None, None, 0, 1, 2]))
def test_any_bytes_merge_to_the_same_from_both_sides(
    path: str, versions: tuple[bytes, bytes, bytes], missing: int | None
) -> None:
    base, ours, theirs = (None if place == missing else data for place, data in enumerate(versions))
    merged = merge_file(classify_path(path), path, base, ours, theirs)
    assert merged == merge_file(classify_path(path), path, base, theirs, ours)
    assert merge_file(classify_path(path), path, ours, merged.data, ours).data == merged.data


@THOROUGH
@given(three_files(), st.sampled_from([PathClass.SESSION, PathClass.HISTORY]))
def test_lines_that_cannot_be_read_are_never_lost(
    versions: tuple[bytes, bytes, bytes], path_class: PathClass
) -> None:
    base, ours, theirs = versions
    merged = merge_file(path_class, "x", *versions).data or b""
    known = {line.raw for line in jsonl.parse(base).lines}
    left = {line.raw.strip(b"\0") for line in jsonl.parse(merged).lines}
    for side in (ours, theirs):
        for line in jsonl.parse(side).lines:
            lost = line.value is None and not line.blank and not line.marker and line.raw not in known
            assert not lost or line.raw.strip(b"\0") in left


@THOROUGH
@given(three_files(), st.tuples(CURSOR, CURSOR, CURSOR), st.tuples(CURSOR, CURSOR, CURSOR))
def test_any_queue_merges_to_the_same_from_both_sides(
    versions: tuple[bytes, bytes, bytes],
    cursors: tuple[bytes | None, bytes | None, bytes | None],
    dreams: tuple[bytes | None, bytes | None, bytes | None],
) -> None:
    base, ours, theirs = (Queue(*parts) for parts in zip(versions, cursors, dreams, strict=True))
    assert merge_queue("h", base, ours, theirs) == merge_queue("h", base, theirs, ours)


@settings(THOROUGH, max_examples=1000)
@given(path=st.sampled_from(PATHS), versions=three_files(), missing=st.sampled_from([None, None, 0, 1, 2]))
def test_any_commit_is_taken_back_or_refused(
    path: str, versions: tuple[bytes, bytes, bytes], missing: int | None
) -> None:
    commit, now, before = (
        {} if place == missing else {path: File(data)} for place, data in enumerate(versions)
    )
    undone = inverse(classify_path, before=before, commit=commit, now=now)
    assert not (undone.files and undone.conflicts)
    assert all(str(told) for told in undone.conflicts)
