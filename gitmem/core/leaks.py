"""What models let slip into their answers and must not be stored: thinking, tokens of their chat template."""

import re

_THINKING = re.compile(r"<(think|thinking|thought)>.*?(?:</\1>|\Z)", re.DOTALL)
_END_OF_THINKING = re.compile(r"\A.*</(?:think|thinking|thought)>", re.DOTALL)
"""A template that put the opening tag into the prompt leaves only the closing one in the answer."""
_TEMPLATE = re.compile(r"<\|[a-z_]{1,40}\|>|<(?:start|end)_of_turn>|\[/?INST\]")


def without_leaks(text: str) -> str:
    """A model's answer without thinking blocks (closed or not) and template tokens; may be empty."""
    text = _THINKING.sub("", text)
    text = _END_OF_THINKING.sub("", text)
    return _TEMPLATE.sub("", text).strip()
