"""Dream: what a model may propose for long-term memory, and what of it is done (memory-engine, section 3).

The model proposes, code disposes: `proposal` reads what it says, `draft` applies it to copies edit by edit or refuses with a
reason (`operations` does the text), `guards` judges the whole, `instructions` is what it is told, `batch` picks the history
entries.
"""
