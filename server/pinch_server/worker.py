"""One worker process: `python -m pinch_server.worker DESCRIPTOR`, started by the service alone."""

import sys

from pinch_server.loading import ending, loading

if __name__ == "__main__":
    with loading():
        from pinch_server.app.worker import main
    with ending():
        status = main(int(sys.argv[1]))
    sys.exit(status)
