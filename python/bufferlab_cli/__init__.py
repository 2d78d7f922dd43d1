"""The command ``bufferlab``: the command line of the program, inside the extension module.

This package is separate from ``bufferlab``, because ``import bufferlab`` also imports PyArrow. Most
commands take less time than this import.
"""

from __future__ import annotations

import signal
import sys
from importlib import util
from pathlib import Path
from types import ModuleType

__all__ = ["main"]


def _extension() -> ModuleType:
    """Loads the extension module without its package."""
    package = util.find_spec("bufferlab")
    folders = (package.submodule_search_locations if package else None) or []
    files = (file for folder in folders for file in sorted(Path(folder).glob("_bufferlab*")))
    for file in files:
        spec = util.spec_from_file_location("bufferlab._bufferlab", file)
        if spec is not None and spec.loader is not None and file.suffix in (".so", ".pyd"):
            module = util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError("the extension module of bufferlab is missing; install the package again")


def main() -> int:
    """Executes the command line and returns the exit code: 0 done, 1 failed, 2 wrong command line,
    130 interrupted. A wrong command line and ``--help`` end the process."""
    # Python turns Ctrl-C into an exception. The program either handles Ctrl-C or ends.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    again = [sys.executable, "-m", "bufferlab_cli"]
    code: int = _extension().command_line(again, ["bufferlab", *sys.argv[1:]])
    return code
