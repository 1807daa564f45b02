#!/usr/bin/env python3
"""pages.py CAPSTAN - `sim trace` and `sim jobs` as pages: well-formed, without a script, with what the same run says as JSON; several policies"""
import json
import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import finish, page, report, run  # noqa: E402

small = pathlib.Path(__file__).resolve().parent / "small"
capstan = sys.argv[1]


def sim(*arguments):
    return run(capstan, "sim", *arguments)


def tree(text, what):
    return page(text, what, "nan", 'inf"')


def trace(*more):
    return sim("trace", "--nodes", small / "nodes.csv", "--pods", small / "pods.csv", *more)


def check_trace():
    policies = ("fgd", "capstan", "random")
    several = [v for p in policies for v in ("--policy", p)]
    said = trace("--output", "html", *several)
    root = tree(said.stdout, "a page of three policies")
    if root is None:
        return
    lines = [p.get("d") for p in root.iter("path") if p.get("fill") == "none"]
    report(len(lines) == 9 and all(re.fullmatch(r"M[\d.]+ [\d.]+(L[\d.]+ [\d.]+)+", d) for d in lines), "three lines in each of three pictures", lines)
    told = json.loads(trace("--output", "json", *several).stdout)
    report([r["policy"] for r in told] == list(policies), "JSON of several policies is a list", told)
    alone = json.loads(trace("--output", "json", "--policy", "fgd").stdout)
    report(alone["allocation_percent"] == told[0]["allocation_percent"] and alone["failed_pods"] == told[0]["failed_pods"],
           "a policy among others is the same as alone", alone["allocation_percent"], told[0]["allocation_percent"])
    cells = [td.text for td in root.iter("td")]
    report(f"{alone['allocation_percent']['end']:.2f}" in cells, "the page has the same figures", cells)
    table = trace(*several).stdout
    report([m for m in re.findall(r"^policy (\w+):", table, re.M)] == list(policies), "a table of each policy", table)
    report(json.loads(trace("--output", "json", "--policy", "fgd", "--policy", "fgd").stdout)["policy"] == "fgd", "the same policy twice is one")
    r = trace("--policy", "fgd", "--policy", "random", "--decisions", "/dev/null")
    report(r.returncode == 2 and "--decisions are those of one policy" in r.stderr, "decisions of several policies are refused", r.stderr)
    tree(trace("--output", "html", "--churn", "0.9", "--events", "2000").stdout, "a page with churn")


def check_jobs(folder):
    path = pathlib.Path(folder, "jobs.csv")
    rows = [(i * 30, 60 + i * 7 % 900, (1, 1, 2, 4, 8, 16, 40)[i % 7]) for i in range(300)]
    path.write_text("timestamp,duration,num_gpus\n" + "".join("%d,%d,%d\n" % row for row in rows))
    root = tree(sim("jobs", "--jobs", path, "--cluster", "8x8", "--output", "html").stdout, "a page of jobs")
    if root is None:
        return
    told = json.loads(sim("jobs", "--jobs", path, "--cluster", "8x8", "--output", "json").stdout)
    texts = [t.text or "" for t in root.iter("text")]
    sizes = [t for t in texts if re.search(r"; \d+ jobs$", t)]
    report(len(sizes) == 6 and sum(int(t.split()[-2]) for t in sizes) == 300, "a bar for each size, with all jobs", sizes)
    cards = [e.text for e in root.iter("b")]
    report(f"{told['utilisation_percent']:.1f} %" in cards and "300" in cards, "the page has the same figures", cards)
    path.write_text("timestamp,duration,num_gpus\n")
    r = sim("jobs", "--jobs", path, "--cluster", "8x8", "--output", "html")
    if r.returncode == 0:
        tree(r.stdout, "a page of no job")
    else:
        report(r.stdout == "" and r.stderr != "", "no job is said", r.stderr)


def main():
    check_trace()
    with tempfile.TemporaryDirectory() as folder:
        check_jobs(folder)
    r = sim("what-if", "--change", "x.yaml", "--output", "html")
    report(r.returncode == 2 and "what-if has no page" in r.stderr, "what-if has no page", r.stderr)
    finish()


main()
