"""The rules by which reference-spec-reader renders templates and parses numbers.

A ``{{ … }}`` is a name, a call with literal arguments, or arithmetic on numbers; the rest of
jinja2 is unknown to it. It computes with JavaScript's numbers, 64-bit floats.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence

from refexplorer.spec.dialects.fsspec_text import is_function
from refexplorer.spec.dialects.judging import NotComputed, Refusal, attempt, joined, tags
from refexplorer.spec.dialects.survey import EXACT
from refexplorer.spec.templates.compiler import compile_template
from refexplorer.spec.templates.operations import TemplateProblem
from refexplorer.spec.templates.template import Scope

_CALLED = re.compile(r"(?<![A-Za-z_1-9])([A-Za-z_1-9]+)\(")
_LITERAL = re.compile(r"""\s*(?:([0-9.]+)|['"](.*)['"])""")
_KEYWORD = string.ascii_letters + string.digits + "_"
_ARITHMETIC = re.compile(r"[A-Za-z0-9()*/+\- ]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_JAVASCRIPT = re.compile(r"//|/\*|--|\+\+|(?:^|[(*/+-])\s*-\s*\d+\s*\*\*")
_WHOLE = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]{1,20}|[0-9]{1,20})")


def render(text: str, context: Mapping[str, object]) -> str:
    """Return a text as the reader renders it.

    Raises
    ------
    Refusal
        If it raises an error.
    NotComputed
        If it prints a function, or numbers in another way.
    """
    pieces: list[str | None] = []
    position = 0
    for start, end in tags(text):
        pieces += [text[position:start], attempt(_value, text[start + 2 : end - 2], context)]
        position = end
    return joined([*pieces, text[position:]])


def _value(inside: str, context: Mapping[str, object]) -> str:
    if "\n" in inside:
        raise NotComputed
    name = next(filter(None, inside.split("{{")), "").strip()
    if name in context:
        if is_function(context[name]):
            raise NotComputed
        return printed(context[name])
    call = _find_call(name)
    if call is not None:
        return _call(*call, context)
    if not _ARITHMETIC.fullmatch(name):
        raise Refusal(f"{{{inside}}} is not a name, call or arithmetic that it supports.")
    return _compute(_NAME.sub(lambda match: _number(match[0], context), name))


def _find_call(text: str) -> tuple[str, str] | None:
    """Return the name and the arguments of the first call, wherever it stands."""
    for match in _CALLED.finditer(text):
        name = match[1].lstrip("123456789")
        end = text.find(")", match.end())
        if end < 0:
            return None
        if name and end > match.end():
            return name, text[match.end() : end]
    return None


def _call(name: str, arguments: str, context: Mapping[str, object]) -> str:
    values = dict(map(_argument, arguments.split(",")))
    template = context.get(name)
    if not is_function(template):
        raise Refusal(f"There is no template {name!r} that takes arguments.")
    return render(str(template), values)


def _argument(text: str) -> tuple[str, object]:
    """Return the keyword and the literal of an argument; what follows the literal is not read."""
    for equals in re.finditer("=", text):
        match = _LITERAL.match(text, equals.end())
        if match is None:
            continue
        before = text[: equals.start()].rstrip()
        keyword = before[len(before.rstrip(_KEYWORD)) :]
        if keyword and (match[1] or match[2]):
            return keyword, _literal(match[1]) if match[1] else match[2]
        break
    raise Refusal(f"The argument {text.strip()!r} is neither a number nor a string.")


def _literal(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise NotComputed from None


def _number(name: str, context: Mapping[str, object]) -> str:
    value = context.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return printed(value)
    what = "is not defined" if value is None else "is not a number"
    raise Refusal(f"{name!r} is used in an expression and {what}.")


def _compute(expression: str) -> str:
    """Compute arithmetic on literals; JavaScript's syntax is not quite jinja2's."""
    if _NO_JAVASCRIPT.search(expression):
        raise Refusal(
            f"{expression!r} is not valid JavaScript, where `//` starts a comment (SyntaxError)."
        )
    try:
        template = compile_template(f"{{{{ {expression} }}}}")
    except TemplateProblem as problem:
        if problem.code != "bad-template":
            raise NotComputed from None
        raise Refusal(f"{expression!r} is not a valid expression (SyntaxError).") from None
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
        raise Refusal(f"The dimension `{name}` is empty, which is an error here.")
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
        raise Refusal(
            f"The dimension `{name}` never reaches its end, since only positive steps "
            "are supported."
        )
    return range(start, stop, step) if start < stop else ()


def _bound(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise NotComputed
    return int(value)
