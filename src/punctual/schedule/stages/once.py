"""Queries that are asked once: at which instant is decided when their streams are first complete through one."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.clock import Micros
from punctual.schedule.cohorts import Contracts
from punctual.schedule.contract import Reach, joint_reach


def asked_now(contracts: Contracts, reaches: Mapping[str, Reach]) -> dict[str, Micros]:
    """By query, the instant of those that were not asked before and can be now: how far their streams have come."""
    found: dict[str, Micros] = {}
    for cohort in contracts.cohorts:
        contract = cohort.one
        if not contract.table.is_known:
            reach = joint_reach(reaches, contract.streams)
            if reach.least is not None and reach.through >= reach.least and reach.through > contract.after:
                found |= dict.fromkeys(cohort.queries, reach.through)
    return found
