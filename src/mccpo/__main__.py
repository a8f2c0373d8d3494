"""`python -m mccpo` is `mccpo`."""

import sys

from mccpo.cli import main

sys.exit(main())
