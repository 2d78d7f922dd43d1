"""Tests that every notebook runs from its first to its last cell, in the notebook's folder."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(scope="session")
def c_library(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Installs a built library of the C interface; returns the environment in which programs find
    it, which is empty without a library or a compiler."""
    built = [folder for folder in (ROOT / "target" / "release", ROOT / "target" / "debug") if (folder / "libbufferlab_capi.so").is_file()]
    if not built or shutil.which("cc") is None or shutil.which("pkg-config") is None:
        return {}
    prefix = tmp_path_factory.mktemp("capi")
    subprocess.run(["sh", ROOT / "crates" / "capi" / "install.sh", prefix, built[0]], check=True)
    return {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig"), "LD_LIBRARY_PATH": str(prefix / "lib")}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end(path: Path, c_library: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in c_library.items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    )
    client.execute()
    streams = [output for cell in notebook.cells for output in cell.get("outputs", []) if output.output_type == "stream"]
    stderr = [output.text for output in streams if output.name == "stderr"]
    assert not stderr, "a notebook that warns teaches to ignore warnings"
    if "from-c" in path.stem and c_library:
        assert any("ready" in output.text for output in streams), "the notebook skipped its program"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    kept = [cell.id for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")]
    assert not kept, f"clear the outputs of {path.name} before it is committed: cells {kept}"


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 8


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_needs_nothing_of_the_repository(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert "../" not in code, "an installed package has no repository beside it: use names of bufferlab.scenarios()"
