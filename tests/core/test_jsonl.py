"""JSON Lines: nothing raises, nothing is lost, one damaged line costs one line."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.core import jsonl

GOOD = b'{"role": "user", "content": "hi"}'

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3)
    ),
    max_leaves=5,
)
json_objects = st.dictionaries(st.text(max_size=5), json_values, max_size=4)
fragments = st.sampled_from(
    [
        GOOD,
        b"\0\0\0",
        b"\n",
        b"\r\n",
        b"\xef\xbb\xbf",
        b"\xff",
        b'{"a": ',
        b"=======",
        b"[1]",
        b" ",
        b"{}",
        b"{",
        b"}",
        b'"',
    ]
)
files = st.binary() | st.lists(fragments | st.binary(max_size=4)).map(b"".join)


def values(data: bytes) -> list[jsonl.JsonObject]:
    return [line.value for line in jsonl.parse(data).records if line.value is not None]


@given(files)
@example(b"")
@example(b"\0")
@example(b"\n\n\n")
@example(GOOD + GOOD + b"=======\n")
def test_no_bytes_raise_and_none_are_lost(data: bytes) -> None:
    parsed = jsonl.parse(data)
    assert jsonl.join(parsed.lines, ended=parsed.ended) == data
    assert parsed.torn == jsonl.is_torn(data)
    assert not parsed.torn or not data.endswith(b"\n")


@given(files)
def test_records_can_be_parsed_again_alone(data: bytes) -> None:
    for line in jsonl.parse(data).records:
        assert jsonl.identity(jsonl.decode(line.record)) == jsonl.identity(line.value)


@given(st.lists(json_objects, max_size=4))
def test_what_is_dumped_is_read_back(objects: list[jsonl.JsonObject]) -> None:
    data = b"".join(jsonl.dump(item) + b"\n" for item in objects)
    parsed = jsonl.parse(data)
    assert not parsed.problems
    assert [jsonl.identity(value) for value in values(data)] == [jsonl.identity(item) for item in objects]


@given(st.lists(json_objects, min_size=1, max_size=4), st.data())
def test_a_file_cut_anywhere_keeps_its_complete_records(
    objects: list[jsonl.JsonObject], data: st.DataObject
) -> None:
    whole = b"".join(jsonl.dump(item) + b"\n" for item in objects)
    cut = data.draw(st.integers(0, len(whole)))
    complete = whole[:cut].count(b"\n")
    parsed = jsonl.parse(whole[:cut])
    found = [line.value for line in parsed.records]
    at_record_end = whole[cut : cut + 1] == b"\n" and not whole[:cut].endswith(b"\n")
    assert len(found) == complete + (1 if at_record_end else 0)
    assert parsed.torn == (not at_record_end and cut > 0 and not whole[:cut].endswith(b"\n"))


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"\xff\xfe", "not valid UTF-8"),
        (b"[1, 2]", "not a JSON object"),
        (b'"text"', "not a JSON object"),
        (b"{'a': 1}", "not valid JSON"),
        (b'{"a": ' + b"[" * 100_000, "not valid JSON"),
        (b'{"a": ' + b"[" * 300 + b"]" * 300 + b"}", "nested too deeply"),
        (b"<<<<<<< HEAD", "conflict marker"),
        (b"||||||| base", "conflict marker"),
        (b"=======", "conflict marker"),
        (b">>>>>>> 20cf7d7 (sync)\r", "conflict marker"),
        (b"\0" * 300, "300 NUL bytes"),
    ],
)
def test_a_line_that_is_no_record_is_named(raw: bytes, problem: str) -> None:
    parsed = jsonl.parse(GOOD + b"\n" + raw + b"\n" + GOOD + b"\n")
    assert [line.number for line in parsed.records] == [1, 3]
    expected = "nested too deeply" if problem == "not valid JSON" and len(raw) > 1000 else problem
    assert parsed.problems == (f"line 2: {expected}",)


def test_odd_numbers_and_text_do_not_raise() -> None:
    raw = b'{"n": NaN, "i": [Infinity, -Infinity], "s": "\\ud800", "big": 12345678901234567890, "e": 1e999}'
    parsed = jsonl.parse(raw)
    assert not parsed.problems
    value = parsed.lines[0].value
    assert value is not None
    assert value["big"] == 12345678901234567890
    assert jsonl.decode(jsonl.dump(value)) is not None
    assert b"\\ud800" in jsonl.dump(value)


def test_numbers_too_long_for_an_int_stay_distinct() -> None:
    one, other = b'{"n": ' + b"1" * 6000 + b"}", b'{"n": ' + b"1" * 6001 + b"}"
    assert jsonl.identity(jsonl.decode(one)) != jsonl.identity(jsonl.decode(other))


def test_identity_ignores_the_order_of_members_but_not_types() -> None:
    assert jsonl.identity({"a": 1, "b": [2]}) == jsonl.identity({"b": [2], "a": 1})
    assert len({jsonl.identity({"a": value}) for value in (1, 1.0, True, "1", None, [1])}) == 6


def test_b14_a_record_behind_nul_bytes_on_the_same_line_is_recovered() -> None:
    parsed = jsonl.parse(b"\0" * 512 + GOOD + b"\n" + GOOD + b"\0\0")
    assert [line.value for line in parsed.records] == [json.loads(GOOD)] * 2
    assert parsed.problems == ("line 1: 512 NUL bytes", "line 2: 2 NUL bytes")
    assert [line.record for line in parsed.records] == [GOOD, GOOD]
    assert not parsed.torn


def test_b74_something_glued_to_a_record_does_not_cost_the_record() -> None:
    parsed = jsonl.parse(GOOD + b"=======\n" + GOOD + GOOD + b"\n")
    assert len(list(parsed.records)) == 3
    assert [line.number for line in parsed.records] == [1, 2, 2]
    assert parsed.problems == ("line 1: conflict marker", "line 2: a record glued to another one")
    assert [line.marker for line in parsed.lines] == [False, True, False, False]


def test_b18_only_lf_ends_a_line() -> None:
    raw = '{"content": "a\u2028b\u2029c\u0085d"}\r'.encode()
    parsed = jsonl.parse(raw + b"\n" + raw + b"\n")
    assert [line.raw for line in parsed.lines] == [raw, raw]


def test_b27_a_byte_order_mark_at_the_start_is_no_damage() -> None:
    parsed = jsonl.parse(b"\xef\xbb\xbf" + GOOD + b"\n\xef\xbb\xbf" + GOOD + b"\n")
    assert parsed.lines[0].value == json.loads(GOOD)
    assert parsed.lines[0].record == GOOD
    assert parsed.problems == ("line 2: not valid JSON",)


@pytest.mark.parametrize(
    ("data", "torn"),
    [
        (b"", False),
        (GOOD, False),
        (GOOD + b"\n", False),
        (GOOD + b"\n" + GOOD[:-1], True),
        (GOOD + b"\n" + GOOD[:-1] + b"\n", False),
        (GOOD[:5], True),
        (b"\xef\xbb\xbf" + GOOD, False),
        (GOOD + b"\n  ", False),
        (GOOD + b"\n\0\0", True),
        (GOOD + b"\n[]", True),
        (GOOD + b"\n" + '{"a": "😀"}'.encode()[:9], True),
    ],
)
def test_torn_means_a_last_line_without_lf_that_is_no_object(data: bytes, *, torn: bool) -> None:
    assert jsonl.is_torn(data) is torn
    assert jsonl.parse(data).torn is torn


def test_members_are_found_with_their_positions() -> None:
    raw = b' {"a" : [1, {"x": "]}"}], "b\\u0062":"\\"", "c": -1.5e3}'
    found = {m.name: raw[m.value_start : m.end] for m in jsonl.members(raw)}
    assert found == {"a": b'[1, {"x": "]}"}]', "bb": b'"\\""', "c": b"-1.5e3"}


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{", b'{"a"}', b'{"a": }', b'{"a": 1', b'{"a": [1}', b'{"a": "x}', b"{1: 2}"]
)
def test_members_of_something_else_is_an_error_and_removing_changes_nothing(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        jsonl.members(raw)
    assert jsonl.without_members(raw, (), {"a"}) == raw


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"a": 1}', b"{}"),
        (b'{"a": 1, "b": 2}', b'{"b": 2}'),
        (b'{"b": 2, "a": 1}', b'{"b": 2}'),
        (b'{"b": 2, "a": 1, "c": 3}', b'{"b": 2, "c": 3}'),
        (b'{ "a":1 ,"a":2,  "b" : 1e-7 }', b'{ "b" : 1e-7 }'),
        (b'{"b": 2, "a": {"a": "}"}, "a": 1}', b'{"b": 2}'),
        (b'{"b": {"a": 1}}', b'{"b": {"a": 1}}'),
    ],
)
def test_members_are_removed_with_their_comma_and_nothing_else(raw: bytes, expected: bytes) -> None:
    assert jsonl.without_members(raw, (), {"a"}) == expected


def test_members_are_removed_from_a_nested_object() -> None:
    raw = b'{"m": {"a": 1, "b": 1e-7}, "a": 2, "m2": {"a": 3}}'
    assert jsonl.without_members(raw, ("m",), {"a"}) == b'{"m": {"b": 1e-7}, "a": 2, "m2": {"a": 3}}'
    assert jsonl.without_members(raw, ("a",), {"a"}) == raw
    assert jsonl.without_members(raw, ("none",), {"a"}) == raw


@given(json_objects, st.sets(st.text()))
def test_removing_members_is_removing_them_from_the_value(value: jsonl.JsonObject, more: set[str]) -> None:
    names = more | set(list(value)[::2])
    result = jsonl.decode(jsonl.without_members(jsonl.dump(value), (), names))
    expected = {name: item for name, item in value.items() if name not in names}
    assert jsonl.identity(result) == jsonl.identity(expected)


@given(json_objects, json_objects)
def test_rewriting_gives_the_new_value(old: jsonl.JsonObject, new: jsonl.JsonObject) -> None:
    mixed = {**old, **new} if len(new) % 2 else new
    assert jsonl.identity(jsonl.decode(jsonl.rewrite(jsonl.dump(old), mixed))) == jsonl.identity(mixed)


@given(json_objects)
def test_rewriting_with_the_same_value_changes_no_byte(value: jsonl.JsonObject) -> None:
    for raw in (
        jsonl.dump(value),
        json.dumps(value, indent=1).encode(),
        json.dumps(value, separators=(",", ":")).encode(),
    ):
        assert jsonl.rewrite(raw, value) == raw


def test_b69_rewriting_keeps_the_spelling_of_what_stays() -> None:
    raw = b'{"cursor":2,"vector":[0.1,1e-7,1.50],"sub":{"n":1e2,"title":"a"},"old":1}'
    value = jsonl.decode(raw)
    assert value is not None
    value["cursor"] = 9
    value["sub"]["title"] = "b"
    del value["old"]
    value["new"] = "é"
    expected = '{"cursor":9,"vector":[0.1,1e-7,1.50],"sub":{"n":1e2,"title":"b"},"new":"é"}'.encode()
    assert jsonl.rewrite(raw, value) == expected


def test_rewriting_an_empty_object_and_to_an_empty_object() -> None:
    assert jsonl.rewrite(b"{}", {"a": 1}) == b'{"a": 1}'
    assert jsonl.rewrite(b'{"a": 1, "b": 2}', {}) == b"{}"
    assert jsonl.rewrite(b'{"a": 1, "b": 2}', {"c": 3}) == b'{"c": 3}'
