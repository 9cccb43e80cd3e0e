"""When the groups of a sharing class run: :func:`plan` gives a :class:`Cadence` for :class:`Group` values."""

from punctual.share.cadence.cadence import Cadence, Execution, Method
from punctual.share.cadence.groups import Cost, Group, fold_finishing, unit_of
from punctual.share.cadence.planning import METHODS, plan

__all__ = ["METHODS", "Cadence", "Cost", "Execution", "Group", "Method", "fold_finishing", "plan", "unit_of"]
