"""Source files of a project that never was: any part of a file can be read without making the rest."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template

from bench.conversations import words
from bench.conversations.dice import Dice

_PYTHON = (
    '''
def $name($a: $Cls, $b: int = $n) -> $Other | None:
    """$remark"""
    if not $a.$field:
        logger.warning("$name: $a %s has no $field", $a.$key)
        return None
    $c = $call($a.$field, limit=$b)
    for $item in $c.${other}s:
        if $item.$key in $CONST:
            continue
        $a.$verb($item, at=$item.updated_at)
    return $Other($key=$a.$key, ${other}s=$c)
''',
    '''
@dataclass(frozen=True)
class $Cls:
    """$remark"""

    $key: str
    $field: int = $n
    ${other}s: tuple[$Other, ...] = ()

    def $name(self, $b: datetime) -> bool:
        return self.$field > $n2 and all($item.$verb($b) for $item in self.${other}s)
''',
    """
async def $name(session: Session, $key: str) -> list[$Cls]:
    rows = await session.fetch(
        "select $key, $field, updated_at from ${other}s where $key = $$1 and $field > $$2",
        $key,
        $n,
    )
    # $remark
    found = [$Cls.from_row(row) for row in rows if row["$field"] is not None]
    metrics.counter("$area.$name.rows").add(len(found))
    return found
""",
    '''
def $name($a: dict[str, $Cls], *, $field: int = $CONST) -> int:
    """$remark"""
    changed = 0
    try:
        with lock("$area:$key", timeout=$n):
            for $key, $item in sorted($a.items()):
                if $item.$field >= $field and not $call($item):
                    $a[$key] = $item.$verb(reason="$fault")
                    changed += 1
    except $fault as error:
        raise $OtherError(f"$name stopped after {changed} of {len($a)}: {error}") from error
    return changed
''',
)
_TYPESCRIPT = (
    """
export async function $nameC($a: $Cls, $b = $n): Promise<$Other[]> {
  // $remark
  const ${item}s = await $callC($a.$key, { limit: $b });
  const fresh = ${item}s.filter((${item}) => ${item}.$field > $CONST && !${item}.${verb}ed);
  if (fresh.length === 0) {
    throw new $OtherError(`$nameC: nothing to $verb for $${$a.$key}`, { cause: "$fault" });
  }
  return fresh.map((${item}) => ({ ...${item}, $field: ${item}.$field + $n2 }));
}
""",
    """
export interface $Cls {
  readonly $key: string;
  $field: number;
  ${other}s: readonly $Other[];
  ${verb}edAt?: string; // $remark
}
""",
    """
export const $nameC = createSelector(
  [(state: State) => state.$area.${other}s, (_: State, $key: string) => $key],
  (${other}s, $key) => ${other}s.find((${item}) => ${item}.$key === $key)?.$field ?? $n,
);
""",
)
_GO = (
    """
// $NameG $remark
func (s *$Cls) $NameG(ctx context.Context, $key string, $field int) (*$Other, error) {
	$item, err := s.$other.$CallG(ctx, $key)
	if err != nil {
		return nil, fmt.Errorf("$nameC %q: %w", $key, err)
	}
	if $item.${FieldG} > $n || $field > $CONST {
		s.log.Warn("$nameC refused", "$key", $key, "$field", $item.${FieldG})
		return nil, Err$Other
	}
	return &$Other{Key: $key, ${FieldG}: $item.${FieldG} + $n2}, nil
}
""",
    """
type $Cls struct {
	${FieldG}  int64  `json:"$field"`
	Key        string `json:"$key"`
	$Other     []$Other `json:"${other}s,omitempty"` // $remark
}
""",
)
_TEMPLATES = {
    "py": tuple(map(Template, _PYTHON)),
    "ts": tuple(map(Template, _TYPESCRIPT)),
    "go": tuple(map(Template, _GO)),
}


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a file that defines one thing: its lines and the defined name."""

    lines: tuple[str, ...]
    symbol: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the project. ``seed`` names the project; ``blocks`` is the number of definitions."""

    seed: int
    path: str
    area: str
    blocks: int

    @property
    def language(self) -> str:
        """The file's ending: ``py``, ``ts`` or ``go``."""
        return self.path.rsplit(".", 1)[1]

    def block(self, number: int) -> Block:
        """Definition ``number``, counted from 0; the same at each call."""
        dice = Dice(self.seed, self.path, number)
        return code_block(dice, self.language, self.area)


def code_block(dice: Dice, language: str, area: str) -> Block:
    """A new definition in ``language`` about ``area``."""
    name, call = words.function_name(dice), words.function_name(dice)
    other, field = dice.pick(words.NOUNS), f"{dice.pick(words.QUALITIES)}_{dice.pick(words.NOUNS)}"
    remark = dice.pick(words.CJK_REMARKS) if dice.chance(0.05) else words.sentence(dice)
    slots = {
        "name": name,
        "nameC": words.camel(name),
        "NameG": words.camel(name, first=True),
        "call": call,
        "callC": words.camel(call),
        "CallG": words.camel(call, first=True),
        "Cls": words.class_name(dice),
        "Other": words.camel(f"{other}_{dice.pick(words.NOUNS)}", first=True),
        "OtherError": words.camel(f"{other}_error", first=True),
        "CONST": words.constant_name(dice),
        "a": dice.pick(words.NOUNS),
        "b": f"{dice.pick(words.NOUNS)}_limit",
        "c": f"{dice.pick(words.QUALITIES)}_rows",
        "item": dice.pick(words.NOUNS),
        "other": other,
        "field": field,
        "FieldG": words.camel(field, first=True),
        "key": f"{dice.pick(words.NOUNS)}_id",
        "verb": dice.pick(words.VERBS),
        "area": area,
        "fault": dice.pick(words.FAULTS),
        "remark": remark,
        "n": str(dice.whole(2, 900)),
        "n2": str(dice.whole(2, 90)),
    }
    template = dice.pick(_TEMPLATES[language])
    symbol = slots["name" if language == "py" else "nameC" if language == "ts" else "NameG"]
    return Block(tuple(template.substitute(slots).split("\n")[:-1]), symbol)
