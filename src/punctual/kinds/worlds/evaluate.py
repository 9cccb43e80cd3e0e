"""World expressions over bundles: of which kind they are, and what they are in every world.

An operation has a *fit*: the kinds that it takes its arguments as, and the kind that it gives. It is found from the
kinds of its arguments alone, so errors are found before anything runs. Whole numbers that meet numbers become numbers.
NULL as a literal has no kind: it becomes whatever stands beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from punctual.errors import BindError, InternalError, Span
from punctual.kernel.draw import bundle_values as values
from punctual.kernel.draw.bundle_values import MOST_DIGITS, Bundle, Kind
from punctual.plan.world_expression import Constant, Leaf, Operation, WorldExpression

T = TypeVar("T")
Fit = tuple[Sequence[Kind], Kind | None]
"""What the arguments are taken as, and what comes out; None where all of it is NULL."""

TYPE_NAMES: dict[Kind, str] = {"number": "DOUBLE", "whole": "BIGINT", "truth": "BOOLEAN", "text": "STRING"}
NUMBERS: tuple[Kind, ...] = ("number", "whole")


def evaluate(expression: WorldExpression, leaf: Callable[[Leaf], Bundle]) -> Bundle:
    """What an expression is in every world.

    ``leaf`` says what columns, draws, aggregates and summaries are, and the codes of strings; all other constants are
    known here. It is asked once for each. The result has as many rows as the leaves have, one where there are none, and
    one round where all that it reads has one.

    >>> from punctual.plan.world_expression import DrawnAttribute
    >>> drawn = lambda one: Bundle(np.array([[1.0, 2.0], [3.0, 4.0]]), None, "number")
    >>> evaluate(Operation("+", (DrawnAttribute(0), Constant(1))), drawn).values.tolist()
    [[2.0, 3.0], [4.0, 5.0]]
    """
    rows = 1

    def bundle(one: Leaf) -> Bundle | None:
        nonlocal rows
        if isinstance(one, Constant) and not isinstance(one.value, str):
            return None if one.value is None else values.constant(one.value)
        found = leaf(one)
        if not isinstance(one, Constant):
            rows = len(found.values) if rows == 1 else rows
        return found

    found = _folded(expression, bundle, _applied) or values.nulls("number")
    if len(found.values) == rows:
        return found
    # Nothing that it reads made a difference, as in coalesce(1, x).
    return Bundle(np.broadcast_to(found.values, (rows, found.values.shape[1])), found.known, found.kind)


def kind_of(expression: WorldExpression, leaf_kind: Callable[[Leaf], Kind]) -> Kind:
    """Of which kind an expression is; a NULL of no kind is a number. Constants need not be known.

    Raises
    ------
    BindError
        ``bind.type-mismatch``, at the operation whose arguments do not fit.
    """

    def kind(one: Leaf) -> Kind | None:
        return _kind_of_constant(one) if isinstance(one, Constant) else leaf_kind(one)

    return _folded(expression, kind, lambda operation, kinds: _fit(operation, kinds)[1]) or "number"


def _kind_of_constant(constant: Constant) -> Kind | None:
    value = constant.value
    if value is None:
        return None
    if isinstance(value, bool):
        return "truth"
    return "text" if isinstance(value, str) else "whole" if isinstance(value, int) else "number"


def _folded(expression: WorldExpression, leaf: Callable[[Leaf], T], step: Callable[[Operation, list[T]], T]) -> T:
    """Every part once, arguments first, and no part kept longer than it is needed.

    BETWEEN and CASE have parts that stand in several places. A long sum is as deep as it is long, so this is a loop.
    """
    order, uses = _in_order(expression)
    kept: dict[object, T] = {}

    def taken(part: WorldExpression) -> T:
        key = _key(part)
        if not isinstance(part, Operation) and key not in kept:
            kept[key] = leaf(part)
        uses[key] -= 1
        return kept[key] if uses[key] else kept.pop(key)

    for operation in order:
        kept[_key(operation)] = step(operation, [taken(argument) for argument in operation.arguments])
    return taken(expression)


def _in_order(expression: WorldExpression) -> tuple[list[Operation], Counter[object]]:
    """Operations after their arguments, and how often each part stands somewhere."""
    order: list[Operation] = []
    uses = Counter([_key(expression)])
    met: set[int] = set()
    waiting: list[tuple[WorldExpression, bool]] = [(expression, False)]
    while waiting:
        part, ready = waiting.pop()
        if not isinstance(part, Operation):
            continue
        if ready:
            order.append(part)
        elif id(part) not in met:
            met.add(id(part))
            uses.update(_key(argument) for argument in part.arguments)
            waiting.append((part, True))
            waiting += [(argument, False) for argument in part.arguments]
    return order, uses


def _key(part: WorldExpression) -> object:
    """What tells parts apart. Constants of 1, 1.0 and TRUE are equal, and not the same."""
    return id(part) if isinstance(part, Operation | Constant) else part


def _applied(operation: Operation, arguments: list[Bundle | None]) -> Bundle | None:
    takes, gives = _fit(operation, [None if one is None else one.kind for one in arguments])
    if gives is None:
        return None
    found = APPLIED[operation.name](*(_as(one, kind) for one, kind in zip(arguments, takes)))
    if found.kind != gives:
        raise InternalError(f"{operation.name} gave {found.kind}, and {gives} was said")
    return found


def _as(bundle: Bundle | None, kind: Kind) -> Bundle:
    if bundle is None:
        return values.nulls(kind)
    return values.as_number(bundle) if kind == "number" else bundle


APPLIED: dict[str, Callable[..., Bundle]] = {
    "+": values.plus, "-": values.minus, "*": values.times, "/": values.divided, "%": values.remainder,
    "div": values.whole_quotient, "negative": values.negative,
    "=": values.equal, "<>": values.different, "<": values.less, "<=": values.at_most, ">": values.greater,
    ">=": values.at_least, "<=>": values.same, "in": values.among,
    "and": values.all_of, "or": values.any_of, "not": values.opposite, "is null": values.is_null,
    "case": values.chosen, "coalesce": values.first_known, "nullif": values.null_if, "least": values.least,
    "greatest": values.greatest,
    "double": values.as_number, "whole": values.as_whole, "int": values.as_int,
    "abs": values.absolute, "sign": values.sign, "floor": values.floor, "ceil": values.ceiling,
    "round": values.rounded, "pow": values.power, "atan2": values.angle,
    **{name: partial(values.function, name) for name in values.FUNCTIONS},
    **{name: partial(values.logarithm, name) for name in values.LOGARITHMS},
}  # fmt: skip


def _fit(operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    rule = FITS.get(operation.name)
    if rule is None:
        raise InternalError(f"no operation is called {operation.name}")
    return rule(operation, kinds)


def _same_kind(operation: Operation, kinds: Sequence[Kind | None], of: str) -> Kind | None:
    """The one kind of all of them; None where all are NULL."""
    found = {kind for kind in kinds if kind is not None}
    if len(found) < 2:
        return next(iter(found), None)
    if found == set(NUMBERS):
        return "number"
    names = " and ".join(sorted(TYPE_NAMES[kind] for kind in found))
    raise BindError("bind.type-mismatch", f"{of} of one type, and these are {names}", span=operation.span)


def _numeric(operation: Operation, kinds: Sequence[Kind | None], takes: tuple[Kind, ...] = NUMBERS) -> None:
    for at, kind in enumerate(kinds):
        if kind is not None and kind not in takes:
            hint = "CAST(... AS BIGINT) leaves the fraction out" if kind == "number" else None
            raise BindError(
                "bind.type-mismatch", f"{_called(operation)} does not take {TYPE_NAMES[kind]}",
                span=_place(operation, at), hint=hint,
            )  # fmt: skip


def _called(operation: Operation) -> str:
    return {"negative": "-", "div": "DIV", "double": "CAST", "whole": "CAST", "int": "CAST"}.get(
        operation.name, operation.name
    )


def _place(operation: Operation, at: int) -> Span | None:
    """The place of an argument where it has one, else of the whole."""
    argument = operation.arguments[at]
    return (argument.span if isinstance(argument, Operation) else None) or operation.span


def _arithmetic(operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    _numeric(operation, kinds)
    kind: Kind = "number" if "number" in kinds or "whole" not in kinds else "whole"
    return [kind] * len(kinds), kind


def _of_numbers(operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    _numeric(operation, kinds)
    return ["number"] * len(kinds), "number"


def _of_whole_numbers(operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    _numeric(operation, kinds, ("whole",))
    return ["whole"] * len(kinds), "whole"


def _to_whole(operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    _numeric(operation, kinds)
    return [kind or "number" for kind in kinds], "whole"


def _cast(operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    _numeric(operation, kinds, (*NUMBERS, "truth"))
    return [kind or "number" for kind in kinds], "number" if operation.name == "double" else "whole"


def _round(operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    _numeric(operation, kinds[:1])
    for digits in operation.arguments[1:]:
        number = digits.value if isinstance(digits, Constant) else None
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= MOST_DIGITS:
            raise InternalError("round takes a constant number of digits")
    takes: list[Kind] = [kinds[0] or "number"]
    return takes + ["whole"] * (len(kinds) - 1), takes[0]


def _compared(operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    kind = _same_kind(operation, kinds, "what is compared is")
    return [kind or "truth"] * len(kinds), "truth"


def _of_truths(operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    _conditions(operation, kinds, range(len(kinds)))
    return ["truth"] * len(kinds), "truth"


def _conditions(operation: Operation, kinds: Sequence[Kind | None], which: range) -> None:
    for at in which:
        kind = kinds[at]
        if kind not in (None, "truth"):
            raise BindError(
                "bind.type-mismatch", f"a condition is BOOLEAN, and this is {TYPE_NAMES[kind]}",
                span=_place(operation, at), hint="compare it, for example: ... <> 0" if kind in NUMBERS else None,
            )  # fmt: skip


def _of_anything(_operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    return [kind or "truth" for kind in kinds], "truth"


def _case(operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    conditions = range(0, len(kinds) - 1, 2)
    _conditions(operation, kinds, conditions)
    chosen = [kind for at, kind in enumerate(kinds) if at not in conditions]
    kind = _same_kind(operation, chosen, "the values of CASE are")
    return ["truth" if at in conditions else kind or "truth" for at in range(len(kinds))], kind


def _alike(operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    kind = _same_kind(operation, kinds, f"what {operation.name} takes is")
    return [kind or "truth"] * len(kinds), kind


def _null_if(operation: Operation, kinds: Sequence[Kind | None]) -> Fit:
    kind = _same_kind(operation, kinds, "what is compared is")
    return [one or kind or "truth" for one in kinds], kinds[0]


FITS: dict[str, Callable[[Operation, Sequence[Kind | None]], Fit]] = {
    **dict.fromkeys(("+", "-", "*", "%", "negative", "abs"), _arithmetic),
    **dict.fromkeys(("/", "sign", "pow", "atan2", *values.FUNCTIONS, *values.LOGARITHMS), _of_numbers),
    **dict.fromkeys(("floor", "ceil"), _to_whole),
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "<=>", "in"), _compared),
    **dict.fromkeys(("and", "or", "not"), _of_truths),
    **dict.fromkeys(("coalesce", "least", "greatest"), _alike),
    **dict.fromkeys(("double", "whole", "int"), _cast),
    "div": _of_whole_numbers, "round": _round, "is null": _of_anything, "case": _case, "nullif": _null_if,
}  # fmt: skip
