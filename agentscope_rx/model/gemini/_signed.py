"""The metadata of blocks by which Gemini gets its own parts back as it sent them.

A part with a signature must not be merged with one that has none. Neighbouring texts are one block here: what
is signed ends its block, and the block says how much of it that is.
"""

from __future__ import annotations

from typing import Final

__all__ = ["COVERS", "PART", "SIGNATURE"]

SIGNATURE: Final = "thoughtSignature"
"""The signature: of a call, of data, or of the text at the end of a block."""

COVERS: Final = "covers"
"""How many characters at the end of a block the signature is for; all of them, if it is not said."""

PART: Final = "part"
"""A part that is neither text nor anything else that blocks are made for, as it came; it follows the text."""
