"""Templates for many combinations at once; what they mean is told by `compiler` alone.

Each expression is evaluated on the dimensions that it uses, and then broadcast. Whole numbers
become arrays of 64 bits where every step is known to fit; anything else goes value by value
through the closures that render one key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from refexplorer.limits import Limits
from refexplorer.spec.templates import syntax
from refexplorer.spec.templates.compiler import compile_form
from refexplorer.spec.templates.formatted_integers import (
    FormattedIntegers,
    TextPiece,
    count,
    formatted_integers,
    join,
    longest,
)
from refexplorer.spec.templates.integers import integers
from refexplorer.spec.templates.operations import TemplateProblem, Value, text_of, weigh
from refexplorer.spec.templates.template import Evaluate, Expression, Scope, Template, run

TEXT_CHARS = 2**25
"""Characters of all texts that are made together."""
_PLAIN_BITS = 64
_PLAIN_CHARS = 256
_LISTED_CHARS = 24
"""Under tighter limits than these, an array of numbers could hold what they forbid: a number, and
one in a list, as `weigh` counts it."""


class TooMuchText(Exception):
    """The texts of so many combinations do not fit into memory together."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """The names that a template sees for each of many combinations; see `Scope`.

    Attributes
    ----------
    values
        For each name an array; they broadcast together. int64, or object for anything else.
    failures
        Arrays of flags that broadcast with them: where something could not be rendered so far.
    """

    values: Mapping[str, np.ndarray]
    templates: Mapping[str, Template]
    limits: Limits
    failures: list[np.ndarray] = field(default_factory=list)

    def texts(self, template: Template) -> np.ndarray:
        """Render a template: texts as objects, shaped by the names that it uses.

        Raises
        ------
        TooMuchText
            If they take too much memory; as all that is rendered here.
        """
        return join(self.pieces(template))

    def pieces(self, template: Template) -> list[TextPiece]:
        """Return what the texts of a template are put together from; errors as `texts`."""
        pieces = self._bounded_pieces(template)
        if pieces is None:
            return [self._each(template.names, template.render)]
        _check_chars(sum(map(longest, pieces)) * count(pieces))
        return pieces

    def check(self, template: Template) -> list[TextPiece]:
        """Note where a template fails; return pieces that may be too much when put together."""
        pieces = self._bounded_pieces(template)
        return [self._each(template.names, template.render)] if pieces is None else pieces

    def _bounded_pieces(self, template: Template) -> list[TextPiece] | None:
        """Return what a template's texts are put together from; None if they may be too long."""
        if not self.is_bounded(template):
            return None
        pieces = self._unbounded(template)
        return pieces if sum(map(longest, pieces)) <= self.limits.template_chars else None

    def expression(self, part: Expression) -> np.ndarray:
        """Render one expression of a template, as `texts`.

        Raises
        ------
        TemplateProblem
            If it fails for one of the values.
        """
        texts = join(self._expression(part.form, part.evaluate, part.names))
        if self.failures:
            raise TemplateProblem("bad-template", "This expression has no value everywhere.")
        return texts

    def integers(self, template: Template) -> np.ndarray | None:
        """Render a template that is nothing but a whole number, int64; else None."""
        if len(template.parts) != 1 or not self.is_bounded(template):
            return None
        (part,) = template.parts
        return None if isinstance(part, str) else integers(part.form, self.values)

    def good(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return for each combination, shape ``(n,)`` bool, whether all was rendered."""
        good = np.ones(math.prod(shape), np.bool_)
        for failed in self.failures:
            good &= ~flat(failed, shape)
        return good

    def is_bounded(self, template: Template) -> bool:
        """Say whether no limit but the length of the text can be reached."""
        steps = most_steps(template, self.templates)
        return (
            self.limits.integer_bits >= _PLAIN_BITS
            and self.limits.template_chars >= _PLAIN_CHARS + _LISTED_CHARS * steps
            and steps <= self.limits.template_steps
        )

    def _unbounded(self, template: Template) -> list[TextPiece]:
        pieces: list[TextPiece] = []
        for part in template.parts:
            pieces += (
                [part]
                if isinstance(part, str)
                else self._expression(part.form, part.evaluate, part.names)
            )
        return pieces

    def _expression(
        self, form: syntax.Form, evaluate: Evaluate, names: Collection[str]
    ) -> list[TextPiece]:
        number = self._number(form)
        if number is not None:
            return [number]
        match form:
            case syntax.Concat(parts):
                return [piece for part in parts for piece in self._operand(part)]
            case syntax.Call(name, arguments):
                called = self.templates.get(name)
                if called is not None and not called.literal:
                    return self._called(called, dict(arguments))
        texts = self._each(names, lambda scope: text_of(run(evaluate, scope), self.limits))
        return [texts if texts.size > 1 else str(texts.item())]

    def _operand(self, form: syntax.Form) -> list[TextPiece]:
        return self._expression(form, compile_form(form), syntax.names_in(form))

    def _number(self, form: syntax.Form) -> FormattedIntegers | None:
        """Read ``{{ number }}`` or ``{{ '%03d' % number }}``."""
        pattern, number = syntax.as_printf(form)
        if len(pattern) + _PLAIN_CHARS > self.limits.template_chars:
            return None
        found = integers(number, self.values)
        return None if found is None else formatted_integers(pattern, found)

    def _called(self, template: Template, passed: Mapping[str, syntax.Form]) -> list[TextPiece]:
        arguments = {name: self._argument(form) for name, form in passed.items()}
        inner = Scopes(arguments, {}, self.limits, self.failures)
        return inner._unbounded(template)

    def _argument(self, form: syntax.Form) -> np.ndarray:
        found = integers(form, self.values)
        if found is not None:
            return found
        number = self._number(form)
        if number is not None:
            return number.texts()
        evaluate = compile_form(form)
        return self._each(syntax.names_in(form), lambda scope: run(evaluate, scope))

    def _each(self, names: Collection[str], evaluate: Callable[[Scope], Value]) -> np.ndarray:
        """Evaluate value by value: objects, shaped by the names used; a failure leaves a blank."""
        used = [name for name in self.values if name in names]
        arrays = np.broadcast_arrays(np.empty(1), *(self.values[name] for name in used))[1:]
        shape = np.broadcast_shapes((1,), *(array.shape for array in arrays))
        results = np.full(math.prod(shape), "", object)
        failed = np.zeros(len(results), np.bool_)
        chars = 0
        rows = zip(*(array.ravel().tolist() for array in arrays), strict=True)
        for position, row in enumerate(rows if used else [()]):
            scope = Scope(dict(zip(used, row, strict=True)), self.templates, self.limits)
            try:
                results[position] = value = evaluate(scope)
                chars += weigh(value, TEXT_CHARS)
            except TemplateProblem:
                failed[position] = True
            _check_chars(chars)
        if failed.any():
            self.failures.append(failed.reshape(shape))
        return results.reshape(shape)


def _check_chars(chars: int) -> None:
    if chars > TEXT_CHARS:
        raise TooMuchText


def flat(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the value of each combination, shape ``(n,)``."""
    return np.broadcast_to(values, shape or (1,)).ravel()


def most_steps(template: Template, templates: Mapping[str, Template]) -> float:
    """Return a number of evaluation steps that rendering a template does not exceed."""
    steps, names = _own_steps(template)
    return steps + sum(_own_steps(templates[name])[0] for name in names if name in templates)


@lru_cache(maxsize=1024)
def _own_steps(template: Template) -> tuple[float, tuple[str, ...]]:
    """Return the steps of a template itself at most, and the names where others may be called."""
    every = syntax.every(template.forms)
    if any(isinstance(form, syntax.Opaque) for form in every):
        return math.inf, ()
    return len(every), tuple(form.name for form in every if isinstance(form, syntax.Named))
