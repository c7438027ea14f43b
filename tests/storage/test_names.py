"""Names as parts of paths and keys."""

from __future__ import annotations

import re
from itertools import combinations
from unicodedata import normalize

import pytest

from agentscope_rx._storage import decode, encode, encode_user, is_shortened, shorten
from tests.store.test_store_contract import ODD_NAMES

RESERVED = {"con", "prn", "aux", "nul", "com1", "lpt1"}


@pytest.mark.parametrize("name", [*ODD_NAMES, *map(chr, (0, 0x7F, 0x80, 0xD800, 0xDFFF, 0xFFFF, 0x10FFFF))])
def test_a_name_is_written_in_few_characters_and_read_again(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9_%-]*", encode(name))
    assert decode(encode(name)) == name


def test_different_names_stay_different_whatever_a_file_system_makes_of_them() -> None:
    written = [shorten(encode(name)) for name in ODD_NAMES]

    for left, right in combinations(written, 2):
        assert normalize("NFC", left).casefold() != normalize("NFC", right).casefold()


def test_a_long_name_is_cut_and_keeps_its_beginning() -> None:
    assert shorten("a" * 64) == "a" * 64
    short = shorten("a" * 65)

    assert is_shortened(short)
    assert not is_shortened("a" * 64)
    assert len(short) == 64
    assert short.startswith("a" * 23)


def test_no_user_is_called_what_stands_for_nobody() -> None:
    assert encode_user(None) not in map(encode_user, ODD_NAMES)
    assert not {encode_user(name) for name in RESERVED} & RESERVED
