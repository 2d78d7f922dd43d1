"""Compares two folders with the results of runs."""

from __future__ import annotations

import json
from pathlib import Path


def files(folder: Path) -> dict[str, bytes]:
    """The files of a result folder by path, without content that differs between two equal runs.

    ``timing.json`` is left out, because it has the run time. The source revision is removed from
    manifests, and the content of reports and checksum lists is ignored. The two compared programs
    may have different source revisions.
    """
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or path.name == "timing.json":
            continue
        content = path.read_bytes()
        if path.name == "manifest.json":
            manifest = json.loads(content)
            del manifest["git_commit"]
            content = json.dumps(manifest).encode()
        found[name] = b"names the revision" if path.name in ("report.html", "SHA256SUMS") else content
    return found


def same_results(first: Path, second: Path) -> None:
    """Fails unless two result folders have equal file names and equal contents."""
    ours, theirs = files(first), files(second)
    assert sorted(ours) == sorted(theirs)
    assert any(name.endswith("flows.parquet") for name in ours), "nothing was compared"
    different = [name for name, content in ours.items() if theirs[name] != content]
    assert not different
