#!/usr/bin/env python3
"""jobs.py CAPSTAN [WHAT...] - queues of `capstan sim jobs` on traces that are made here, and on Philly's where it is

    TRACES_DATA=DIR    philly_jobs_82k.csv.gz (default: ../shared/data/gang beside the sources); where it is not there that is skipped
    WHAT               steady, bursts, gangs, philly, estimates; default: all but estimates
    SEED=N             of what is made (default 1)
Prints a line a run; fails where capstan loses to the queues that it is compared with, or a figure is not held."""
import csv
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
philly = pathlib.Path(os.environ.get("TRACES_DATA", root.parent / "shared/data/gang")) / "philly_jobs_82k.csv.gz"
seed = int(os.environ.get("SEED", "1"))
QUEUES = ("fifo", "skip", "easy", "sjf", "capstan")


def made(path, cluster_gpus, load, jobs_n, sigma, bursts, sizes):
    """Lengths are lognormal with a median of ten minutes; they come as a Poisson process that asks for `load` of the GPUs, or in bursts of fifty."""
    draw = random.Random(seed)
    rows = []
    for _ in range(jobs_n):
        gpus = draw.choices([s for s, _ in sizes], [w for _, w in sizes])[0]
        rows.append((min(draw.lognormvariate(math.log(600), sigma), 14 * 86400), gpus))
    every = sum(d * g for d, g in rows) / jobs_n / (cluster_gpus * load)
    now = 0.0
    with open(path, "w", newline="") as f:
        to = csv.writer(f)
        to.writerow(["timestamp", "duration", "num_gpus"])
        for i, (length, gpus) in enumerate(rows):
            if not bursts:
                now += draw.expovariate(1 / every)
            elif i % 50 == 0:
                now += draw.expovariate(1 / (50 * every))
            to.writerow([f"{now:.1f}", f"{length:.1f}", gpus])


def run(capstan, path, cluster, queue, error=1.0, runs_seed=1):
    command = [capstan, "sim", "jobs", "--jobs", path, "--cluster", cluster, "--queue", queue, "--estimate-error", str(error),
               "--seed", str(runs_seed), "--output", "json"]
    r = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    print(f"{pathlib.Path(path).name:24} {queue:8} x{error:<4g} mean completion {r['completion_hours']['mean']:8.2f} h, wait "
          f"{r['wait_hours']['mean']:8.2f}, median {r['wait_hours']['median']:7.3f}, p99 {r['wait_hours']['p99']:8.2f}; of 16 GPUs and more "
          f"{r['large']['wait_hours']['mean']:8.2f} h; slowdown {r['bounded_slowdown']:8.2f}; used {r['utilisation_percent']} %", flush=True)
    return r["completion_hours"]["mean"], r["large"]["wait_hours"]["mean"] if r["large"]["jobs"] else 0


faults = []


def hold(text, holds):
    if not holds:
        faults.append(text)
        print("not held:", text)


def compare(capstan, path, cluster):
    figures = {q: run(capstan, path, cluster, q) for q in QUEUES}
    mean, large = figures["capstan"]
    name = pathlib.Path(path).name
    hold(f"{name}: mean completion below that of fifo, skip and easy", all(mean < figures[q][0] for q in ("fifo", "skip", "easy")))
    hold(f"{name}: mean completion within 5 % of sjf, or below", mean <= figures["sjf"][0] * 1.05)
    hold(f"{name}: large jobs wait no longer than in skip and sjf", large <= min(figures["skip"][1], figures["sjf"][1]) + 0.01)
    return mean, large


def main():
    capstan, wanted = sys.argv[1], sys.argv[2:] or ["steady", "bursts", "gangs", "philly"]
    small = [(1, 70), (2, 8), (4, 10), (8, 9), (16, 2), (32, 1)]
    with tempfile.TemporaryDirectory() as folder:
        for name, cluster, arguments in (("steady", "16x8", (128, 0.9, 4000, 1.6, False, small)),
                                         ("bursts", "16x8", (128, 0.85, 4000, 2.0, True, small)),
                                         ("gangs", "32x4", (128, 0.8, 3000, 1.6, False, [(1, 40), (4, 20), (16, 25), (64, 12), (128, 3)]))):
            if name in wanted:
                path = f"{folder}/{name}.csv"
                made(path, *arguments)
                compare(capstan, path, cluster)
    if not philly.exists():
        print("no trace at", philly)
    elif "philly" in wanted:
        mean, large = compare(capstan, philly, "64x8")
        hold("Philly: mean completion at most 5.9 h", mean <= 5.9)
        hold("Philly: jobs of 16 GPUs and more wait 24 h at most", large <= 24)
    if philly.exists() and "estimates" in wanted:
        for runs_seed in (1, 2, 3):
            mean, large = run(capstan, philly, "64x8", "capstan", 5, runs_seed)
            hold(f"Philly, estimates wrong by up to 5, seed {runs_seed}: 9 h and 60 h", mean <= 9 and large <= 60)
    sys.exit(1 if faults else 0)


main()
