"""Three versions become one: pure, deterministic, the same from both sides, and never an exception whatever the bytes (merge.md).

    rules.py order.py lines.py          what decides: items and flags, the order of items, changes side by side
    records.py members.py               lines of JSON, and the members of one object
    atoms.py metadata.py session.py     a session, turn by turn
    numbers.py history.py               the history queue with its cursors
    spacing.py markdown.py              Markdown, fact by fact
    files.py modes.py tree.py           any file, what lies at a path, a whole tree: `merge_tree` is the way in
    conflict.py                         what could not be decided, as a value
    ancestry.py base.py writes.py       what two commits have in common, told from the commit graph; who wrote a path later
    commits.py                          merge commits, and when one is made at all
    evidence.py                         which version of a file its writer knew
    takeback.py inverse*.py             taking one commit back out of what came later: `inverse`

Nothing here knows which side is "ours" on which machine: bases with several ancestors are merged by the same functions.
"""
