"""What a compressed batch may become is bounded: a few bytes can stand for gigabytes."""

from __future__ import annotations

import gzip
import tracemalloc

import pyarrow as pa
import pytest

from kipviz.recordings.files.compression import BYTES_MAX, SETTING, decompress

LONG = b"kipviz" * 2_000_000


def pack(name: str, plain: bytes) -> bytes:
    if name == "gzip":
        return gzip.compress(plain)
    if name == "snappy":
        return pa.Codec("snappy").compress(plain, asbytes=True)
    if name == "snappy-java":
        blocks = [
            pa.Codec("snappy").compress(plain[at : at + 32_768], asbytes=True)
            for at in range(0, len(plain), 32_768)
        ]
        return (
            b"\x82SNAPPY\x00" + bytes(8) + b"".join(len(b).to_bytes(4, "big") + b for b in blocks)
        )
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, name) as stream:
        stream.write(plain)
    return sink.getvalue().to_pybytes()


KINDS = ("gzip", "snappy", "snappy-java", "lz4", "zstd")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_allowed_comes_out_whole(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = pack(kind, LONG)
    name = kind.removesuffix("-java")
    assert decompress(name, data) == LONG
    monkeypatch.setenv(SETTING, str(len(LONG)))
    assert decompress(name, data) == LONG


@pytest.mark.parametrize("kind", KINDS)
def test_more_than_is_allowed_is_refused_without_making_it(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pack(kind, LONG)
    monkeypatch.setenv(SETTING, str(len(LONG) // 100))
    tracemalloc.start()
    with pytest.raises(ValueError, match=rf"become more than 120,000 bytes; {SETTING} allows more"):
        decompress(kind.removesuffix("-java"), data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < len(LONG) // 10


def test_a_declared_length_is_believed_only_up_to_the_bound() -> None:
    declares_34_gb = b"\xff\xff\xff\xff\x7f" + bytes(64)
    with pytest.raises(ValueError, match=f"become more than {BYTES_MAX:,} bytes"):
        decompress("snappy", declares_34_gb)


@pytest.mark.parametrize("wrong", ["0", "-1", "many", "1e9", "9" * 5_000, "٣"])
def test_a_setting_that_is_no_number_of_bytes_is_refused(
    wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SETTING, wrong)
    with pytest.raises(ValueError, match=f"{SETTING} must be a number of bytes of at least 1, not"):
        decompress("gzip", gzip.compress(b"a"))
