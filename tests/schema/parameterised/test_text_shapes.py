"""Texts are split where graphql-core splits them, or not at all."""

import pytest
from graphql import GraphQLError, Lexer, Source, Token, TokenKind
from hypothesis import given, settings
from hypothesis import strategies as st

from schema.parameterised.text_shapes import FLOAT, INTEGER, NAME, STRING, split_text

PLACEHOLDERS = {
    TokenKind.STRING: STRING,
    TokenKind.INT: INTEGER,
    TokenKind.FLOAT: FLOAT,
}
PARTS = [
    *'{}()[]:=!$&@|,#"\\.-+_ \n\r\t\ufeff\u0661\ud800\x00éA',
    *(
        "...",
        '""',
        '"""',
        '"a"',
        '"a b#c"',
        "# a\n",
        "0",
        "07",
        "12",
        "-1",
        "1.5",
        "1e3",
        "-0.0E-7",
    ),
    *("query", "mutation", "a", "Name", "null", "true", "x" * 9, "9" * 18, "9" * 19, '"\\n"'),
]


def _list_tokens(text: str) -> list[Token]:
    lexer = Lexer(Source(text))
    tokens = []
    while lexer.advance().kind is not TokenKind.EOF:
        tokens.append(lexer.token)
    return tokens


def _check(text: str) -> bool:
    split = split_text(text)
    if split is None:
        return False
    try:
        tokens = _list_tokens(text)
    except GraphQLError:
        raise AssertionError(f"{text!r} has no tokens") from None
    parts = [PLACEHOLDERS.get(token.kind, text[token.start : token.end]) for token in tokens]
    if split.name is not None:
        assert parts[:2] == ["query", split.name]
        parts[1] = NAME
    assert split.shape == " ".join(parts)
    literals = [token for token in tokens if token.kind in PLACEHOLDERS]
    assert split.literals == [text[token.start : token.end] for token in literals]
    return True


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
@settings(max_examples=2_000)
def test_tokens_are_those_of_graphql_core(text: str) -> None:
    _check(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{a}",
        'query A($b:Int=1){c(d:"",e:[-1,2.5e-3]){...F@g(h:true)}}fragment F on T{i}',
        "query{a}",
        "\ufeff,query\t_1 # comment é\r\n{a}#",
        "query query{query}",
    ],
)
def test_usual_texts_are_split(text: str) -> None:
    assert _check(text)


@pytest.mark.parametrize(
    "text",
    [
        '{a(b:"\\u0041")}',
        '{a(b:"""c""")}',
        "{a(b:01)}",
        "{a(b:1a)}",
        "{a(b:1.)}",
        "{a(b:- 1)}",
        "{a(b:9999999999999999999)}",
        "{a ?}",
        '{a(b:"c)}',
        "#\ud800",
    ],
)
def test_unusual_texts_are_not_split(text: str) -> None:
    assert split_text(text) is None


def test_texts_of_one_shape_differ_in_literals_layout_and_name_only() -> None:
    def shape(text: str) -> str | None:
        split = split_text(text)
        return split and split.shape

    assert shape('query A{a(b:"x",c:1)}') == shape('query B { a( b : "" c: -2 ) } # d')
    for other in ("{a}", "query{a}", "query A{b}", "query A{a:a}", "query A{a(b:1)}"):
        assert shape("query A{a}") != shape(other)
    assert shape("{a(b:1)}") != shape("{a(b:1.0)}")
    assert shape("{a(b:true)}") != shape("{a(b:false)}")
