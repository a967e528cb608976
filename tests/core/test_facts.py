"""Where in a file its facts stand."""

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import markdown
from gitmem.core.facts import placed

TEXT = b"""---
name: x
---

# Title

One paragraph
of two lines.

- an item
  that goes on
  - one below
```
- no fact
```
3. numbered
"""


def test_facts_have_the_line_they_begin_on() -> None:
    assert [(fact.line, fact.text.split("\n")[0]) for fact in placed(TEXT)] == [
        (7, "One paragraph"),
        (10, "an item"),
        (12, "one below"),
        (16, "numbered"),
    ]


def test_layout_does_not_count_as_words() -> None:
    (bullet,), (numbered,) = placed(b"* tea  and\r\n  milk\r\n"), placed(b"\n1. tea and milk")
    assert bullet.plain == numbered.plain == "tea and milk"


@given(st.binary(max_size=200) | st.text(alphabet="-* #`~\n\rab1.", max_size=80).map(str.encode))
def test_every_fact_of_any_bytes_has_a_place(data: bytes) -> None:
    found = placed(data)
    assert tuple(fact.text for fact in found) == markdown.facts(data)
    lines = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").split("\n")
    for fact in found:
        assert fact.text.split("\n")[0].rstrip() in lines[fact.line - 1]
