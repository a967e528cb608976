"""`python scripts/simulate/__main__.py --operations N --replicas K --seed S --topology p2p|remote`."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from simulate.command import main  # noqa: E402  (found only now, when it is run as a file)

if __name__ == "__main__":
    sys.exit(main())
