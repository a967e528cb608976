"""What models let slip into their answers and must not be stored: thinking, channels, template tokens (case B83)."""

import re

_TAG = re.compile(r"<[ \t]*+(/?)[ \t]*+(?:think|thinking|thought|reasoning|analysis)[ \t]*+>", re.IGNORECASE)
_CHANNEL = re.compile(
    r"<\|channel\|>([^<]{0,60})<\|message\|>(.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)", re.DOTALL
)
_FINAL = "final"
_TEMPLATE = re.compile(r"<\|[a-z_]{1,40}\|>|<(?:start|end)_of_turn>|\[/?INST\]")


def without_leaks(text: str) -> str:
    """A model's answer without thinking (closed or not), without channels but the final one, without template tokens.

    Linear in the size of the text; may be empty.
    """
    if "<|channel|>" in text:
        text = _CHANNEL.sub(lambda found: found[2] if found[1].strip() == _FINAL else "", text)
    return _TEMPLATE.sub("", _without_thinking(text)).strip()


def _without_thinking(text: str) -> str:
    """Text outside of thinking tags.

    A closing tag without an opening one ends thinking that began before the answer: some templates put the opening tag into the
    prompt. An opening tag that is never closed begins thinking that was cut off.
    """
    kept: list[str] = []
    depth = end = 0
    for tag in _TAG.finditer(text):
        if not depth:
            kept.append(text[end : tag.start()])
        if not tag[1]:
            depth += 1
        elif depth:
            depth -= 1
        else:
            kept.clear()
        end = tag.end()
    if not depth:
        kept.append(text[end:])
    return "".join(kept)
