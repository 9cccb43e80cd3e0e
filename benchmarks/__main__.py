"""``python -m benchmarks [name ...] [--quick]``: each in a process of its own, one after the other."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys

from benchmarks.report import publish

NAMES = (
    "windows_vs_streaming",
    "window_specifications",
    "rows_against_panes",
    "answers_per_query",
    "predicates",
    "row_joins",
    "retention_cost",
    "shed_ticks",
    "warm_ticks",
    "rows_per_second",
    "tick_overhead",
    "replay_overhead",
    "live_latency",
    "registration",
    "startup_and_memory",
    "first_answer",
    "memory_over_time",
    "duckdb_loop",
    "cadence_planner",
    "cadence_engine",
    "golab_traffic",
    "overload",
    "overload_engine",
    "topk_kernel",
    "topk_engine",
    "topk_together",
    "topk_candidates",
    "topk_semantics",
    "world_draws",
    "world_panes",
    "world_coverage",
    "world_width",
    "operator_costs",
    "selectivity_estimation",
    "quality",
    "quality_bias",
    "sample_coverage",
    "anytime_allocation",
    "anytime_planning",
    "anytime_online",
    "anytime_live",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure; see benchmarks/README.md.")
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="small data: that it works, not how fast it is")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    names = arguments.names or list(NAMES)
    if len(names) == 1:
        publish(importlib.import_module(f"benchmarks.{names[0]}").run(arguments.quick), quick=arguments.quick)
        return 0
    quick = ["--quick"] if arguments.quick else []
    failed = [name for name in names if subprocess.run([sys.executable, "-m", "benchmarks", name, *quick]).returncode]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
