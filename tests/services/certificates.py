"""A certificate authority of its own, made on the spot with openssl."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMES = "DNS:pinch.test,IP:127.0.0.1"
_CONFIG = """
[ca]
default_ca = own
[own]
database = index.txt
new_certs_dir = .
rand_serial = yes
unique_subject = no
policy = any
default_md = sha256
copy_extensions = copy
[any]
commonName = supplied
"""


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as files in PEM."""

    chain: Path
    key: Path

    def copy_to(self, other: "Pair") -> None:
        """Puts this pair in the place of another, one file after the other, each at once."""
        for source, target in ((self.chain, other.chain), (self.key, other.key)):
            part = target.with_suffix(".part")
            shutil.copy(source, part)
            part.replace(target)


class Authority:
    """Signs certificates for clients and servers.

    Args:
        folder: An empty directory of its own.
    """

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            reason = "openssl, which makes the test's certificates, is not installed"
            pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
        self.folder = folder
        self.roots = folder / "ca.pem"
        (folder / "ca.cnf").write_text(_CONFIG)
        (folder / "index.txt").touch()
        self._openssl(
            *("req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-days", "2", "-subj", "/CN=the test's own authority"),
            *("-keyout", "ca.key", "-out", "ca.pem"),
        )

    def issue(
        self,
        name: str,
        *,
        names: str = NAMES,
        begins: str = "20200101000000Z",
        ends: str = "20990101000000Z",
    ) -> Pair:
        """A certificate for some names, between two days."""
        self._openssl(
            *("req", "-new", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-subj", f"/CN={name}", "-addext", f"subjectAltName={names}"),
            *("-keyout", f"{name}.key", "-out", f"{name}.csr"),
        )
        self._openssl(
            *("ca", "-batch", "-notext", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key"),
            *("-startdate", begins, "-enddate", ends, "-in", f"{name}.csr", "-out", f"{name}.pem"),
        )
        (self.folder / f"{name}.key").chmod(0o600)
        return Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)
