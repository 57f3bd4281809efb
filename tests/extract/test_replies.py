"""What a model's reply holds."""

import pytest

from pinch_server.extract.replies import json_in, program_in, truncation


@pytest.mark.parametrize(
    ("reply", "program"),
    [
        ("OUTPUT = INPUT", "OUTPUT = INPUT"),
        ("```python\nOUTPUT = INPUT\n```", "OUTPUT = INPUT"),
        ("Here it is:\n```starlark\nx = 1\nOUTPUT = 'a'\n```\nIt keeps errors.", "x = 1\nOUTPUT = 'a'"),
        ("```\nOUTPUT = '`'\n", "OUTPUT = '`'"),
        ("```py\nx = 1\n```\n```py\ny = 2\n```", "x = 1"),
        ("\n\nOUTPUT = 'a'\n\n", "OUTPUT = 'a'"),
        ("I cannot do that.", "I cannot do that."),
        ("", ""),
    ],
)
def test_the_program_is_the_first_block_or_all(reply: str, program: str) -> None:
    """A fenced block is the program, words around it are not; without a fence all of it is."""
    assert program_in(reply) == program


@pytest.mark.parametrize(
    "program",
    [
        "OUTPUT = ''",
        "x = '(['\ny = \"it's\"",
        "# an open ( here, and it's fine\nx = 1",
        "x = '''a ' \" ( \n b'''",
        'x = """\n("""',
        r"x = 'a\'(' + r'\d+('",
        "x = (1,\n 2)",
        "x = 1)",
        "x = f'{a}' + rb'['",
        "",
    ],
)
def test_a_whole_program_is_not_cut(program: str) -> None:
    """Brackets and quotes in strings and comments are none, and one bracket too many is no cut."""
    assert truncation(program) == ""


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("x = [1,\n  2", "it ends within brackets"),
        ("OUTPUT = '\\n'.join([line for line in INPUT.split(", "it ends within brackets"),
        ("x = 1\ny = 'abc", "it ends within a string"),
        ('x = """abc\ndef', "it ends within a string"),
        ("x = 'a\\'", "it ends within a string"),
    ],
)
def test_a_cut_program_is_told_from_its_source(program: str, why: str) -> None:
    """A program that ends with a bracket or a string open was cut off."""
    assert truncation(program) == why


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("```json\n[1]\n```", [1]),
        ("no JSON", None),
        ("", None),
        ("[" * 9_000, None),
    ],
)
def test_json_is_read_fenced_or_bare(reply: str, value: object) -> None:
    """JSON comes out of a fence or stands alone; anything else is nothing."""
    assert json_in(reply) == value
