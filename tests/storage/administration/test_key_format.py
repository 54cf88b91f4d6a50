"""The format of API keys: random, recognised by scanners, and checked without a look-up."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.administration import key_format
from storage.administration.key_format import BASE62_ALPHABET, KEY_LENGTH, KEY_PREFIX

KEY = key_format.generate_key()


def test_a_key_has_a_prefix_that_scanners_know_and_a_fixed_length() -> None:
    for key in {key_format.generate_key() for _ in range(100)}:
        assert key.startswith(KEY_PREFIX)
        assert len(key) == KEY_LENGTH
        assert set(key.removeprefix(KEY_PREFIX)) <= set(BASE62_ALPHABET)
        assert key_format.is_well_formed(key)


def test_a_key_holds_256_random_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.randbits", lambda bits: 2**bits - 1)
    greatest = key_format.generate_key()[len(KEY_PREFIX) : -key_format.CHECKSUM_LENGTH]
    number = 0
    for digit in greatest:
        number = number * len(BASE62_ALPHABET) + BASE62_ALPHABET.index(digit)
    assert number == 2**256 - 1


@given(st.integers(len(KEY_PREFIX), KEY_LENGTH - 1), st.sampled_from(BASE62_ALPHABET))
def test_a_mistyped_key_is_noticed_without_a_look_up(position: int, letter: str) -> None:
    mistyped = KEY[:position] + letter + KEY[position + 1 :]
    assert key_format.is_well_formed(mistyped) == (mistyped == KEY)


@given(st.text(max_size=80))
def test_any_other_text_is_no_key(text: str) -> None:
    assert not key_format.is_well_formed(text)
    assert not key_format.is_well_formed(KEY_PREFIX + text)


def test_only_a_digest_identifies_a_key() -> None:
    assert key_format.hash_key(KEY) == hashlib.sha256(KEY.encode()).digest()
