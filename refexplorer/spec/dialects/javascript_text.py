"""How reference-spec-reader renders templates and reads numbers, told by rule.

A ``{{ … }}`` is a name, a call with literal arguments, or arithmetic on numbers; the rest of
jinja2 is unknown to it. It computes with JavaScript's numbers, 64-bit floats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from refexplorer.spec.dialects.fsspec_text import is_function
from refexplorer.spec.dialects.judging import NotComputed, Refusal, attempt, joined
from refexplorer.spec.operations import TemplateProblem
from refexplorer.spec.templates import Scope, compile_template

EXACT = 2**53
_BRACES = re.compile(r"\{\{(.*?)\}\}")
_CALL = re.compile(r"([A-Z_][A-Z_1-9]*)\(([^)]+)\)", re.IGNORECASE)
_ARGUMENT = re.compile(r"""([a-z_0-9]*)\s*=\s*(?:([0-9.]+)|['"](.*)['"])""", re.IGNORECASE)
_ARITHMETIC = re.compile(r"[A-Za-z0-9()*/+\- ]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_JAVASCRIPT = re.compile(r"//|/\*|--|\+\+|(?:^|[(*/+-])\s*-\s*\d+\s*\*\*")
_WHOLE = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|\d+)")


def render(text: str, context: Mapping[str, object]) -> str:
    """Return what the reader makes of a text.

    Raises
    ------
    Refusal
        If it raises an error.
    NotComputed
        If it prints a function, or numbers in another way.
    """
    pieces: list[str | None] = []
    place = 0
    for match in _BRACES.finditer(text):
        pieces += [text[place : match.start()], attempt(_value, match[1], context)]
        place = match.end()
    return joined([*pieces, text[place:]])


def _value(inside: str, context: Mapping[str, object]) -> str:
    name = next(filter(None, re.split(r"\{\{", inside)), "").strip()
    if name in context:
        if is_function(context[name]):
            raise NotComputed
        return printed(context[name])
    call = _CALL.search(name)
    if call:
        return _call(call[1], call[2], context)
    if not _ARITHMETIC.fullmatch(name):
        raise Refusal(f"{{{{{inside}}}}} is no name, call or arithmetic that it knows.")
    return _compute(_NAME.sub(lambda match: _number(match[0], context), name))


def _call(name: str, arguments: str, context: Mapping[str, object]) -> str:
    values: dict[str, object] = {}
    for argument in arguments.split(","):
        match = _ARGUMENT.search(argument)
        if match is None or not match[1] or not (match[2] or match[3]):
            raise Refusal(f"The argument {argument.strip()!r} is neither a number nor a text.")
        values[match[1]] = _literal(match[2]) if match[2] else match[3]
    template = context.get(name)
    if not is_function(template):
        raise Refusal(f"There is no template {name!r} that takes arguments.")
    return render(str(template), values)


def _literal(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise NotComputed from None


def _number(name: str, context: Mapping[str, object]) -> str:
    value = context.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return printed(value)
    what = "is not defined" if value is None else "is no number"
    raise Refusal(f"{name!r} stands in an expression and {what}.")


def _compute(expression: str) -> str:
    """Compute arithmetic on literals; JavaScript's syntax is not quite jinja2's."""
    if _NO_JAVASCRIPT.search(expression):
        raise Refusal(f"{expression!r} is no JavaScript: `//` is a comment there (SyntaxError).")
    try:
        template = compile_template(f"{{{{{expression}}}}}")
    except TemplateProblem:
        raise Refusal(f"{expression!r} is no expression (SyntaxError).") from None
    try:
        (part,) = template.parts
        assert not isinstance(part, str)
        return printed(part.evaluate(Scope()))
    except (TemplateProblem, ArithmeticError):
        raise NotComputed from None


def printed(value: object) -> str:
    """Return a value as JavaScript prints it; numbers beyond 2^53 are not computed."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotComputed
    if not abs(value) <= EXACT:
        raise NotComputed
    return str(int(value)) if value == int(value) else repr(float(value))


def parse_int(text: str) -> int | None:
    """Return the whole number at the start of a text; None for JavaScript's NaN."""
    match = _WHOLE.match(text)
    if match is None:
        return None
    value = int(match[2], 16 if match[2][:2] in ("0x", "0X") else 10)
    if value > EXACT:
        raise NotComputed
    return -value if match[1] == "-" else value


def axis(name: str, value: object) -> Sequence[object]:
    """Return the values of a dimension, which can only count up; an empty one is an error."""
    values = value if isinstance(value, list | tuple) else _range(name, value)
    if not values:
        raise Refusal(f"The dimension `{name}` is empty, and that is an error here.")
    return values


def _range(name: str, value: object) -> Sequence[object]:
    bounds = value if isinstance(value, Mapping) else {}
    if bounds.get("stop") is None:
        return ()
    start, step = _bound(bounds.get("start", 0)), _bound(bounds.get("step", 1))
    stop = parse_int(bounds["stop"]) if isinstance(bounds["stop"], str) else _bound(bounds["stop"])
    if stop is None:
        return ()
    if start < stop and step <= 0:
        raise Refusal(f"The dimension `{name}` never reaches its end, since it only counts up.")
    return range(start, stop, step) if start < stop else ()


def _bound(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise NotComputed
    return int(value)
