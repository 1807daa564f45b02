#!/usr/bin/env python3
"""published.py CAPSTAN - policies on the openb traces against the published curves, within 0.01 of a point at each per cent that both have

    TRACES_DATA=DIR    openb_*.csv.gz, the orders and published_analysis_*.csv.gz (default: ../shared/data/openb beside the sources)
    FULL=1             all traces and orders that are there; else one of each policy
Where the data is not there it is skipped, with a word."""
import collections
import csv
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
data = pathlib.Path(os.environ.get("TRACES_DATA", root.parent / "shared/data/openb"))
names = {"bestfit": "05-BestFit", "dotproduct": "02-DotProd", "clustering": "03-GpuClustering", "packing": "04-GpuPacking", "fgd": "06-FGD"}


def published(kind):
    """{(trace, policy, seed): {percent: value}}"""
    with gzip.open(data / f"published_analysis_{kind}_discrete.csv.gz", "rt") as f:
        return {(r["workload"], r["sc_policy"], r["seed"]): r for r in csv.DictReader(f)}


def main():
    capstan = sys.argv[1]
    if not (data / "openb_arrival_order.tar.gz").exists():
        print("ok 1 # SKIP no traces at", data)
        sys.exit(0)
    allocated, useless = published("allo"), published("frag_ratio")
    policies = {p: next(k for k in sorted({key[1] for key in allocated}) if k[3:].lower()[:4] == n[3:].lower()[:4]) for p, n in names.items()}
    off = collections.Counter()
    runs = 0
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(data / "openb_arrival_order.tar.gz") as tar:
            for member in tar.getmembers():
                if member.isfile():
                    (pathlib.Path(folder) / pathlib.Path(member.name).name).write_bytes(tar.extractfile(member).read())
        orders = sorted(p.name[: -len(".pods")] for p in pathlib.Path(folder).glob("*.pods"))
        for order in orders if os.environ.get("FULL") else ["default.42"]:
            trace, seed = order.split(".")
            for policy, theirs in policies.items():
                command = [capstan, "sim", "trace", "--nodes", data / "openb_node_list_gpu_node.csv.gz", "--pods",
                           data / f"openb_pod_list_{trace}.csv.gz", "--order", f"{folder}/{order}", "--policy", policy, "--output", "json"]
                ours = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                runs += 1
                for table, field, within in ((allocated, "allocation_percent", 0.011), (useless, "fragmentation_percent", 0.011)):
                    row = table[(f"openb_pod_list_{trace}", theirs, seed)]
                    for percent, value in ours[field].items():
                        if percent not in row or value is None or not row[percent]:
                            continue
                        difference = abs(value - float(row[percent]))
                        if difference > within:
                            off[field] += 1
                            print(f"{order} {policy}: {field} at {percent}: {value}, published {float(row[percent]):.3f}")
    print(f"{runs} runs, {sum(off.values())} points off")
    sys.exit(1 if off["allocation_percent"] or off["fragmentation_percent"] else 0)


main()
