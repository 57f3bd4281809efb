"""`make fuzz-api`: schemathesis tries a real service's JSON endpoints against their description.

One thing is left out: that every value of the right type is accepted. A page token that nobody gave out is
refused, and no description can say which were. SCHEMATHESIS says where the program is.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import time_ns

from tests.web.month import a_month
from tests.web.services import prune, service_over

_EXAMPLES = 200


def main() -> int:
    """Runs it.

    Returns:
        0 when nothing was found, else schemathesis' exit status.
    """
    decisions = list(a_month(time_ns() // 1000 - 3_600_000_000, days=2))
    with tempfile.TemporaryDirectory() as state, service_over(Path(state), decisions) as service:
        prune(service, calls=2)
        command = [
            *(
                os.environ["SCHEMATHESIS"],
                "run",
                f"http://{service.http}/openapi.json",
                "--url",
                f"http://{service.http}",
            ),
            *("--checks", "all", "--exclude-checks", "positive_data_acceptance"),
            *("--max-examples", str(_EXAMPLES), "--suppress-health-check", "all", "--no-color"),
        ]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
