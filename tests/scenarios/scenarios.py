#!/usr/bin/env python3
"""scenarios.py CAPSTAN - `capstan sim run`: each of examples/scenarios, and of gangs/ here, holds what it expects; the same file gives the
same bytes; pages are well-formed, need no script and nothing from outside; what is wrong is said with its place and an exit code"""
import json
import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import finish, page, report, run  # noqa: E402

root = pathlib.Path(__file__).resolve().parent.parent.parent
capstan = sys.argv[1]


def sim(*arguments, text=None):
    return run(capstan, "sim", *arguments, text=text)


def check_example(path):
    first = sim("run", path)
    report(first.returncode == 0, f"{path.name} holds what it expects", first.stdout[-3000:], first.stderr)
    met = re.search(r"(\d+) of (\d+) expectations met", first.stdout)
    report(met and met[1] == met[2] != "0", f"{path.name} says so", first.stdout[-200:])
    for form in ("table", "json", "yaml", "html"):
        one, two = sim("run", path, "--output", form), sim("run", path, "--output", form)
        report(one.stdout == two.stdout and one.stdout and one.returncode == 0, f"{path.name} as {form} is the same again", one.stderr)
    data = json.loads(sim("run", path, "--output", "json").stdout)
    times = [f["at"] for f in data["facts"]]
    report(times == sorted(times) and data["unmet"] == 0, f"{path.name}: facts stand in the order of their times", times)
    gpus = {n["node"]: n["gpus"] for n in data["nodes"]}
    report(all(0 <= s["gpu"] < gpus[s["node"]] and s["from"] < s["until"] <= data["end"] for s in data["spans"]),
           f"{path.name}: spans are of GPUs that there are", data["spans"][:5])
    taken = sorted((s["node"], s["gpu"], s["from"], s["until"]) for s in data["spans"] if "job" in s)
    report(all(a[:2] != b[:2] or a[3] <= b[2] for a, b in zip(taken, taken[1:])), f"{path.name}: no GPU has two jobs at once")
    page(sim("run", path, "--output", "html").stdout, f"{path.name}: its page")


def check_gangs():
    """What other schedulers are known to do wrong with gangs: each file says where that was told, and expects the contrary."""
    for path in sorted((root / "tests/scenarios/gangs").glob("*.yaml")):
        r = sim("run", path)
        met = re.search(r"(\d+) of (\d+) expectations met", r.stdout)
        report(r.returncode == 0 and met and met[1] == met[2] != "0", f"gangs: not {path.stem}", r.stdout[-3000:], r.stderr)


def check_escapes():
    text = ('title: "<script>alert(1)</script> & \\u0001"\nnodes: ["1:t4,gpus=1"]\nsteps:\n'
            '- job: {name: a, runs: 1m}\n- {at: 1s, expect: {job: default/b, reason: "</title><b>"}}\n')
    r = sim("run", "-", "--output", "html", text=text)
    page(r.stdout, "a page with markup in its title")
    report(r.returncode == 1 and "&lt;script&gt;" in r.stdout, "markup in a title stays text", r.stderr)


def check_faults():
    job = "nodes: [t4]\nsteps:\n- job: {name: a, runs: 1m}\n"
    unmet = job + "- {at: 2m, expect: {job: default/a, state: running}}\n"
    r = sim("run", "-", text=unmet)
    report(r.returncode == 1 and "NOT AS EXPECTED: standard input: line 4: of default/a" in r.stdout and "0 of 1 expectations met" in r.stdout,
           "what is not met makes the exit code 1", r.stdout, r.stderr)
    r = sim("run", "-", text=job + "- {at: 1m, fail-node: none}\n")
    report(r.returncode == 1 and "line 4, column 3: there is no node none" in r.stderr, "a step that cannot be done is said", r.stderr)
    r = sim("run", "-", text=job + "- {at: 1m, fails: none}\n")
    report(r.returncode == 1 and "line 4, column 12: fails is not known in a step" in r.stderr and not r.stdout, "a wrong key is said", r.stderr)
    r = sim("run", "/none.yaml")
    report(r.returncode == 3, "no such file: 3", r.stderr)
    r = sim("run")
    report(r.returncode == 2 and "SCENARIO.yaml" in r.stderr, "no file: usage", r.stderr)
    r = sim("trace", "more")
    report(r.returncode == 2, "a file for who takes none: usage", r.stderr)
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "c.yaml").write_text("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfairSharing: {nonsense: 1}\n")
        pathlib.Path(folder, "s.yaml").write_text("config: c.yaml\n" + job)
        r = sim("run", f"{folder}/s.yaml")
        report(r.returncode == 1 and "line 1, column 9" in r.stderr and "nonsense" in r.stderr, "a wrong Configuration is said", r.stderr)


def main():
    for path in sorted((root / "examples/scenarios").glob("*.yaml")):
        if path.name != "two-teams.yaml":  # the queues of one
            check_example(path)
    check_gangs()
    check_escapes()
    check_faults()
    finish()


main()
