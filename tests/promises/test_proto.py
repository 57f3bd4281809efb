"""The contract pinch.v1 is linted, formatted, and compatible with the last released one."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUF = Path(sysconfig.get_path("scripts")) / "buf"
SERVICES = {
    "PruneService": {"Prune", "ReportOutcome", "Expand"},
    "InsightService": {"GetSavings", "GetDecision", "ListDecisions"},
    "AdminService": {"GetSettings", "UpdateSettings"},
}


def buf(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BUF, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("lint", "proto"), id="lint"),
        pytest.param(("format", "--diff", "--exit-code", "proto"), id="format"),
        pytest.param(("breaking", "proto", "--against", "proto/released.binpb"), id="breaking"),
    ],
)
def test_buf_has_no_complaint(arguments: tuple[str, ...]) -> None:
    """The lint of buf (STANDARD and COMMENTS), its format and its breaking-change rules pass."""
    run = buf(*arguments)
    assert run.returncode == 0, run.stdout + run.stderr


def test_breaking_rules_are_awake(tmp_path: Path) -> None:
    """Dropping a field is reported as a breaking change, so the baseline is really compared."""
    changed = tmp_path / "pinch" / "v1"
    changed.mkdir(parents=True)
    (tmp_path / "buf.yaml").write_bytes((ROOT / "proto" / "buf.yaml").read_bytes())
    for source in (ROOT / "proto" / "pinch" / "v1").glob("*.proto"):
        text = source.read_text(encoding="utf-8").replace("  bool dry_run = 6;\n", "")
        (changed / source.name).write_text(text, encoding="utf-8")
    run = buf("breaking", str(tmp_path), "--against", "proto/released.binpb")
    assert run.returncode != 0
    assert "dry_run" in run.stdout


def test_services_and_methods_are_the_announced_ones() -> None:
    """The contract has exactly the announced services and methods."""
    from pinch.v1 import admin_pb2, insight_pb2, prune_pb2

    found = {
        service.name: {method.name for method in service.methods}
        for file in (prune_pb2.DESCRIPTOR, insight_pb2.DESCRIPTOR, admin_pb2.DESCRIPTOR)
        for service in file.services_by_name.values()
    }
    assert found == SERVICES


def test_every_enum_starts_unspecified() -> None:
    """Zero of every enum is *_UNSPECIFIED, so that an absent value never means something by accident."""
    from pinch.v1 import admin_pb2, insight_pb2, prune_pb2

    for file in (prune_pb2.DESCRIPTOR, insight_pb2.DESCRIPTOR, admin_pb2.DESCRIPTOR):
        for enum in file.enum_types_by_name.values():
            assert enum.values_by_number[0].name.endswith("_UNSPECIFIED"), enum.full_name


def test_no_foreign_proto_is_imported() -> None:
    """The contract imports only its own files, so that no other distribution's folder is shadowed."""
    from pinch.v1 import admin_pb2, insight_pb2, prune_pb2

    for file in (prune_pb2.DESCRIPTOR, insight_pb2.DESCRIPTOR, admin_pb2.DESCRIPTOR):
        assert all(dependency.name.startswith("pinch/v1/") for dependency in file.dependencies)
