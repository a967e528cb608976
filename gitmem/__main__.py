"""`python -m gitmem`: the same as the `gitmem` command."""

import sys

from gitmem.cli import main

if __name__ == "__main__":
    sys.exit(main())
