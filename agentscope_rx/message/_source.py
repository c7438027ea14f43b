"""Where the bytes of a media block are: in the message, or behind a URL."""

from __future__ import annotations

from typing import ClassVar, TypeAlias, final

from attrs import field, frozen

from agentscope_rx._check import a_str, a_str_or_none

__all__ = ["Base64Source", "MediaSource", "URLSource"]


@final
@frozen
class Base64Source:
    """Bytes in the message, as base64 text.

    Attributes:
        media_type: MIME type, as `image/png`.
        data: base64 text.
    """

    type: ClassVar[str] = "base64"
    media_type: str = field(validator=a_str)
    data: str = field(
        validator=a_str,
        repr=lambda data: repr(data if len(data) <= 40 else f"{data[:37]}... ({len(data)} characters)"),
    )


@final
@frozen
class URLSource:
    """Bytes behind a URL.

    Attributes:
        url: the address.
        mime_type: MIME type, if it is known.
    """

    type: ClassVar[str] = "url"
    url: str = field(validator=a_str)
    mime_type: str | None = field(default=None, validator=a_str_or_none)

    @property
    def media_type(self) -> str | None:
        """The MIME type under the name that `Base64Source` has for it."""
        return self.mime_type


MediaSource: TypeAlias = Base64Source | URLSource
"""The source of a media block."""
