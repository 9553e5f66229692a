"""`python -m soliton` is the command `soliton`."""

import sys

from ._command import main

sys.exit(main())
