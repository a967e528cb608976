"""Text that ends every line with CRLF, told from text that does not, so that only real changes differ."""


def unified(data: bytes) -> tuple[bytes, bool]:
    """The text with LF alone, and whether every line of it ended with CRLF.

    A text with mixed endings stays as it is: there a CR is part of its line. `restored` is the exact inverse.
    """
    ends = data.count(b"\n")
    crlf = ends > 0 and data.count(b"\r\n") == ends
    return (data.replace(b"\r\n", b"\n") if crlf else data), crlf


def restored(data: bytes, *, crlf: bool) -> bytes:
    """The text with the line endings that `unified` took off."""
    return data.replace(b"\n", b"\r\n") if crlf else data
