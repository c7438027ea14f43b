from __future__ import annotations

from base64 import b64encode
from random import Random

import pytest

from agentscope_rx.operators._fold._base64 import join_base64


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("", ""),
        ("YWJj", "YWJj"),
        ("YQ==Yg==Yw==", "YWJj"),
        ("YWI=Yw==ZGVmZw==", "YWJjZGVmZw=="),
        ("YWJjZGU", "YWJjZGU="),
        ("YWJjZ", "YWJj"),
        ("YWJjZA=", "YWJjZA=="),
        ("YWJj\r\nZGVm\r\n", "YWJjZGVm"),
        ("YR==", "YQ=="),
        ("not base64! at all", "not base64! at all"),
        ("iVBOR==", "iVBOR=="),
        ("YWI==", "YWI=="),
        ("=", "="),
        ("YQ=Yg==", "YQ=Yg=="),
        ("Y", ""),
        ("YWJj=", "YWJj="),
        ("a-b_", "a-b_"),
    ],
)
def test_chunks_are_one_text_that_starts_again_behind_each_padded_quad(text: str, joined: str) -> None:
    assert join_base64(text) == joined


@pytest.mark.parametrize("seed", range(50))
def test_bytes_are_conserved_however_they_were_cut(seed: int) -> None:
    random = Random(seed)
    chunks = [random.randbytes(random.randint(0, 9)) for _ in range(random.randint(1, 6))]
    whole = b64encode(b"".join(chunks)).decode()

    assert join_base64("".join(b64encode(chunk).decode() for chunk in chunks)) == whole
    assert join_base64(whole.rstrip("=")) == whole
