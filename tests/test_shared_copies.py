"""The cases and goldens here are copies; where the originals lie beside the checkout, they are equal."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
ORIGINALS = HERE.parent.parent / "shared"
OURS = {"golden/event_names.txt"}


@pytest.mark.parametrize("folder", ["cases", "golden"])
def test_copies_equal_their_originals(folder: str) -> None:
    if not (ORIGINALS / folder).is_dir():
        pytest.skip(
            f"the originals are kept elsewhere: there is no {ORIGINALS.name}/{folder} beside the checkout"
        )

    copies, originals = contents(HERE, folder), contents(ORIGINALS, folder)

    assert copies.keys() - OURS == originals.keys()
    assert [name for name, content in originals.items() if copies[name] != content] == []


def contents(root: Path, folder: str) -> dict[str, bytes]:
    files = (file for file in (root / folder).rglob("*") if file.is_file())
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in files}
