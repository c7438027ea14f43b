"""The environment of the peers: a virtual environment of their own, with agentscope_rx in it too."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["enter"]

_ROOT = Path(__file__).parents[1]
_HOME = _ROOT / ".venv-bench"
_PYTHON = _HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
_REQUIREMENTS = Path(__file__).parent / "requirements.txt"


def enter(arguments: list[str]) -> None:
    """Go on as the same program inside the peers' environment, made or renewed if need be."""
    if Path(sys.prefix) == _HOME:
        return
    _make()
    if os.name == "nt":  # there, exec would give the terminal back before the program ends
        sys.exit(subprocess.call([_PYTHON, "-m", "benchmarks", *arguments], cwd=_ROOT))
    os.chdir(_ROOT)
    os.execv(_PYTHON, [str(_PYTHON), "-m", "benchmarks", *arguments])


def _make() -> None:
    wanted = hashlib.sha256(_REQUIREMENTS.read_bytes() + (_ROOT / "pyproject.toml").read_bytes()).hexdigest()
    stamp = _HOME / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"installing the peers into {_HOME.name} …", file=sys.stderr)
    venv.create(_HOME, with_pip=True, clear=not stamp.exists())
    pip = [_PYTHON, "-m", "pip", "-qqq", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "--requirement", _REQUIREMENTS, "--editable", _ROOT], check=True)
    stamp.write_text(wanted)
