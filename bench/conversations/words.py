"""The words from which names, prose and records are made."""

from __future__ import annotations

from bench.conversations.dice import Dice


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


VERBS = _words(
    "load save parse render merge split fetch store resolve apply build check collect count create decode "
    "delete dispatch encode expire filter find flush format group index insert list lock map match migrate "
    "normalise notify open pack patch plan poll publish purge queue read rebuild reconcile record refresh "
    "release remove repair replay report reset restore retry rotate round route sample schedule scan seal "
    "select send settle shard sort stage sum sync tag trace trim unpack update validate verify wait wrap"
)
NOUNS = _words(
    "account address alert amount archive asset audit backup balance basket batch bucket budget cache "
    "calendar carrier cell channel charge claim client cluster column contract counter coupon cursor "
    "customer dataset deadline delivery digest discount document draft edge entry event export factor feed "
    "field folder forecast frame gateway grant handle header image import index interval inventory invoice "
    "item job journal key label lease ledger limit listing lock manifest margin member merchant metric "
    "mirror model notice offer offset order outbox packet page parcel partition payload payment permit "
    "picture plan policy pool price profile promise quota quote range rate receipt refund region register "
    "replica report request reservation reserve result retry role route row rule schema segment session "
    "shelf shipment signal slot snapshot source stage station stock stream subscription supplier table "
    "tariff task template tenant ticket token topic transfer unit version voucher wallet "
    "warehouse window worker"
)
QUALITIES = _words(
    "active broken cached cold current dirty early empty expected failed final first frozen global hidden "
    "idle initial invalid late local lost nested next old open outer partial pending previous primary raw "
    "ready recent remote safe shared slow stale strict total unique valid whole"
)
AREAS = _words(
    "billing shipping catalog search ingest accounts reporting scheduler storage notifications pricing "
    "returns identity exports imports gateway planner warehouse media audit"
)
FAULTS = (
    "TimeoutError",
    "KeyError",
    "ValueError",
    "IntegrityError",
    "StaleVersionError",
    "QuotaExceeded",
    "ConnectionResetError",
    "DecodeError",
    "LockNotAvailable",
    "PartialWriteError",
)
PLACES = ("Oslo", "Kyoto", "Quito", "Łódź", "Reykjavík", "Nairobi", "Zürich", "Perth", "São Paulo", "Tbilisi")
PEOPLE = (
    "Amara Novak",
    "Jun Sato",
    "佐藤 美咲",
    "李 伟",
    "Zoë Lindqvist",
    "Omar Haddad",
    "김 서연",
    "Ines Carvalho",
    "Pavel Dvořák",
    "Noor Rahman",
)
CJK_REMARKS = (
    "缓存过期后需要重新计算余额，否则报表会多算一次。",
    "このフィールドは旧システムとの互換性のために残している。",
    "重试之前先检查锁是否已经释放，避免重复发送通知。",
    "注文が分割された場合、送料は最初の荷物にだけ加算する。",
    "이 값은 지역 시간대가 아니라 UTC 기준으로 저장된다.",
    "如果供应商返回空列表，不要覆盖已有的库存快照。",
)
EMOJI = ("🚀", "✅", "🐛", "\U0001f469\u200d\U0001f4bb", "📦", "🔥", "\u26a0\ufe0f", "🇯🇵", "🧪", "👍🏽")


def function_name(dice: Dice) -> str:
    """A function's name in snake case, such as ``merge_stale_orders``."""
    parts = [dice.pick(VERBS)]
    if dice.chance(0.35):
        parts.append(dice.pick(QUALITIES))
    parts.append(dice.pick(NOUNS))
    if dice.chance(0.3):
        parts.append(dice.pick(NOUNS))
    return "_".join(parts)


def class_name(dice: Dice) -> str:
    """A class's name in camel case, such as ``LedgerRouter``."""
    return camel(f"{dice.pick(NOUNS)}_{dice.pick(VERBS)}er", first=True)


def constant_name(dice: Dice) -> str:
    """A constant's name, such as ``MAX_PENDING_BATCH``."""
    bound = dice.pick(("MAX", "MIN", "DEFAULT"))
    return f"{bound}_{dice.pick(QUALITIES).upper()}_{dice.pick(NOUNS).upper()}"


def camel(name: str, *, first: bool = False) -> str:
    """``name`` in camel case; ``first`` also raises the first letter."""
    head, *rest = name.split("_")
    return (head.capitalize() if first else head) + "".join(word.capitalize() for word in rest)


def moment(dice: Dice) -> str:
    """A point in time in ISO 8601 with milliseconds, UTC."""
    day, hour = dice.whole(1, 28), dice.whole(0, 23)
    minute, second, part = dice.whole(0, 59), dice.whole(0, 59), dice.whole(0, 999)
    return f"2026-{dice.whole(1, 9):02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{part:03d}Z"


def sentence(dice: Dice) -> str:
    """One English sentence about the project's things."""
    a, b, c = dice.pick(NOUNS), dice.pick(NOUNS), dice.pick(NOUNS)
    verb, quality = dice.pick(VERBS), dice.pick(QUALITIES)
    return dice.pick(
        (
            f"The {quality} {a} is kept until the {b} has been sealed, so a second {c} never sees it twice.",
            f"To {verb} a {a} you need the {b} that was current when the {c} began.",
            f"A {a} without a {b} counts as {quality}; the {c} then falls back to its own limit.",
            f"Each {a} carries one {b}, and the {c} is read only when both of them agree.",
            f"When the {quality} {a} arrives late, {verb} it again and leave the {b} and the {c} alone.",
            f"Only the {a} knows which {b} is {quality}: never ask the {c} for it.",
        )
    )


def prose(dice: Dice, characters: int) -> str:
    """Sentences in paragraphs, about ``characters`` characters long (over by less than a sentence)."""
    parts: list[str] = []
    size = 0
    while size < characters:
        piece = sentence(dice) + ("\n\n" if dice.chance(0.18) else " ")
        parts.append(piece)
        size += len(piece)
    return "".join(parts).strip()
