"""``python -m bufferlab_cli`` executes the command ``bufferlab``."""

import sys

from . import main

sys.exit(main())
