"""Reads a settings file, TOML or YAML by its ending, into plain data."""

import tomllib
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

import yaml

_YAML: Final = (".yaml", ".yml")


class SettingsFileError(Exception):
    """The file as a whole cannot be used; the message names it and says why."""


def read_settings_file(path: Path) -> dict[Any, Any]:
    """Reads the table a file holds; an empty file is an empty table.

    Raises:
        SettingsFileError: It cannot be read, has another ending, or does not hold one table.
    """
    ending = path.suffix.lower()
    if ending not in (".toml", *_YAML):
        raise SettingsFileError(f"{path}: unknown kind of file; give one that ends in .toml, .yaml or .yml")
    try:
        if path.exists() and not path.is_file():
            # Reading a pipe could wait for ever.
            raise SettingsFileError(f"{path}: is no regular file; give one")
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsFileError(f"{path}: is not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise SettingsFileError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        # The loader below is the safe one and builds plain data only.
        data = yaml.load(text, _StrictLoader) if ending in _YAML else tomllib.loads(text)  # noqa: S506
    except tomllib.TOMLDecodeError as error:
        raise SettingsFileError(f"{path}: is not TOML: {error}") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise SettingsFileError(f"{path}: is not YAML: {error.problem} (at line {line})") from None
    except yaml.YAMLError:
        raise SettingsFileError(f"{path}: is not YAML: it holds characters that YAML forbids") from None
    except RecursionError:
        raise SettingsFileError(f"{path}: is nested too deeply; settings are two levels deep") from None
    except ValueError:
        # A number of thousands of digits, which neither reader expects.
        raise SettingsFileError(f"{path}: holds a number that is too long; give a shorter one") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise SettingsFileError(f"{path}: does not hold a table; give lines such as budget_tokens: 50000")
    return data


class _StrictLoader(yaml.SafeLoader):
    """YAML's safe loader, which would let the last of two equal keys win, without that."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Builds one value.

        Raises:
            yaml.constructor.ConstructorError: It is not of the kind it is marked or spelt as, such as a date
                in no calendar.
        """
        try:
            return super().construct_object(node, deep)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            raise yaml.constructor.ConstructorError(
                None, None, "a value is not of the kind it looks like or is marked as", node.start_mark
            ) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Builds one table.

        Raises:
            yaml.constructor.ConstructorError: A key stands in it twice.
        """
        if not isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(
                None, None, "what is marked as a table is none", node.start_mark
            )
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key is no text", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {str(key.value)!r} stands there twice", key.start_mark
                )
            seen.add(key.value if isinstance(key.value, str) else id(key))
        return super().construct_mapping(node, deep)
