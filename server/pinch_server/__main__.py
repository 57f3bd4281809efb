"""`python -m pinch_server` is the `pinch` command."""

import sys

from pinch_server.entry import main

if __name__ == "__main__":
    sys.exit(main())
