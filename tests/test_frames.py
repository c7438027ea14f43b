"""Lines and server-sent events, wherever the network cuts."""

from __future__ import annotations

import time

import pytest

from agentscope_rx._frames import BodyReader, Frame, LineReader, NDJSONReader, SSEReader
from agentscope_rx.errors import ConfigurationError, WireError

WIDE = "もし🐝\u2028\u0085\x0b\x0c"


def frames(*chunks: bytes) -> list[Frame]:
    reader = SSEReader()
    return [frame for chunk in chunks for frame in reader.feed(chunk)] + reader.close()


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", [], id="nothing"),
        pytest.param(b"data: a\n\ndata: b\n\n", [Frame("a"), Frame("b")], id="LF"),
        pytest.param(b"data: a\r\rdata: b\r\r", [Frame("a"), Frame("b")], id="CR"),
        pytest.param(b"data: a\r\n\r\ndata: b\r\n\r\n", [Frame("a"), Frame("b")], id="CRLF"),
        pytest.param(b"data: a\r\ndata: b\n\rdata: c\r\n\n", [Frame("a\nb"), Frame("c")], id="mixed ends"),
        pytest.param(b"data:a\n\ndata:  b\n\ndata\n\n", [Frame("a"), Frame(" b"), Frame("")], id="one space"),
        pytest.param(b"data: a\ndata:\ndata: b\n\n", [Frame("a\n\nb")], id="lines of data"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", [Frame("a")], id="byte order mark"),
        pytest.param(b"data: \xef\xbb\xbfa\n\n", [Frame("\ufeffa")], id="byte order mark inside"),
        pytest.param(b": hi\n\n:\n\ndata: a\n: hi\ndata: b\n\n", [Frame("a\nb")], id="comments"),
        pytest.param(
            b"event: x\nid: 1\ndata: a\n\ndata: b\n\n",
            [Frame("a", "x", "1"), Frame("b", "", "1")],
            id="fields",
        ),
        pytest.param(b"event: x\n\ndata: a\n\n", [Frame("a")], id="a type without data is forgotten"),
        pytest.param(b"foo: x\ndatas: y\n data: z\ndata: a\n\n", [Frame("a")], id="unknown fields"),
        pytest.param(f"data: {WIDE}\n\n".encode(), [Frame(WIDE)], id="UTF-8"),
        pytest.param(b"data: \xff\xe3\x82\n\n", [Frame("��")], id="no UTF-8"),
        pytest.param(b"\n\n\ndata: a\n\n\n\n", [Frame("a")], id="blank lines"),
        pytest.param(b"data: a\n\ndata: b", [Frame("a"), Frame("b", complete=False)], id="no end of line"),
        pytest.param(b"data: a\n\ndata: b\n", [Frame("a"), Frame("b", complete=False)], id="no blank line"),
        pytest.param(b"data: a\r", [Frame("a", complete=False)], id="half an end"),
        pytest.param(b"event: x\nid: 3", [], id="an end without data"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_read_as_the_standard_says(data: bytes, expected: list[Frame], size: int) -> None:
    assert frames(*cut(data, size)) == expected


def test_the_place_to_resume_moves_with_complete_frames_only() -> None:
    reader = SSEReader(last_event_id="5")
    assert reader.last_event_id == "5"

    reader.feed(b"id: 10\ndata: a\n\n")
    assert reader.last_event_id == "10"

    reader.feed(b"id: 11\n\n")
    assert reader.last_event_id == "11"

    reader.feed(b"data: b\n\nid: a\0b\n\n")
    assert reader.last_event_id == "11"

    reader.feed(b"id: 12\ndata: cut")
    assert reader.close() == [Frame("cut", "", "12", complete=False)]
    assert reader.last_event_id == "11"


def test_retry_takes_digits_only() -> None:
    reader = SSEReader()
    reader.feed(b"retry: 2500\n\nretry: 1s\n\nretry:\n\nretry: \xc2\xb2\n\n")

    assert reader.retry == 2500


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_json_lines_are_cut_at_line_ends_and_the_last_needs_none(size: int) -> None:
    reader = LineReader()
    lines = [line for chunk in cut(b'{"a":1}\n{"b":\r\n\n"c"}', size) for line in reader.feed(chunk)]

    assert lines + reader.close() == [b'{"a":1}', b'{"b":', b"", b'"c"}']
    assert reader.close() == []


def test_a_cr_before_a_crlf_ends_a_line_of_its_own() -> None:
    assert LineReader().feed(b"a\r\r\nb\r\n\rc\n") == [b"a", b"", b"b", b"", b"c"]


def test_what_is_too_long_is_refused_with_the_limit() -> None:
    with pytest.raises(WireError, match="a line is longer than 20 bytes: b'data: aaaa"):
        SSEReader(limit=20).feed(b"data: " + b"a" * 30)
    with pytest.raises(WireError, match="an event is longer than 20 bytes: 'a"):
        SSEReader(limit=20).feed(b"data: aaaaaaaa\n" * 2)
    with pytest.raises(ConfigurationError, match="limit=0"):
        LineReader(limit=0)

    assert SSEReader(limit=20).feed(b"data: aaaaaaaa\n\n" * 3) == [Frame("aaaaaaaa")] * 3
    assert len(LineReader(limit=None).feed(b"a" * (17 * 2**20) + b"\n")[0]) == 17 * 2**20


def test_a_line_that_comes_in_small_pieces_costs_linear_time() -> None:
    def seconds(count: int) -> float:
        reader, start = SSEReader(), time.process_time()
        reader.feed(b"data: ")
        for _ in range(count):
            reader.feed(b"0123456789abcdef")
        assert len(reader.feed(b"\n\n")[0].data) == 16 * count
        return time.process_time() - start

    seconds(1_000)
    assert seconds(80_000) < 40 * min(seconds(8_000) for _ in range(3))


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_of_json_are_frames_and_blank_ones_are_not(size: int) -> None:
    stream = '{"a":"é"}\r\n\n  \n{"b":1}\n{"c"'.encode()
    reader = NDJSONReader()

    frames = [frame for at in range(0, len(stream), size) for frame in reader.feed(stream[at : at + size])]
    assert frames == [Frame('{"a":"é"}'), Frame('{"b":1}')]
    assert reader.close() == [Frame('{"c"', complete=False)]
    with pytest.raises(WireError, match="longer than 3 bytes"):
        NDJSONReader(limit=3).feed(b"1234")


def test_a_body_is_one_frame_at_the_end() -> None:
    reader = BodyReader(limit=5)

    assert (reader.feed(b"\xc3"), reader.feed(b"\xa9")) == ([], [])
    assert reader.close() == [Frame("é")]
    with pytest.raises(WireError, match="longer than 5 bytes"):
        reader.feed(b"1234")
