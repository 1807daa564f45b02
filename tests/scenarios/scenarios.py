#!/usr/bin/env python3
"""scenarios.py CAPSTAN - `capstan sim run`: each of examples/scenarios holds what it expects; the same file gives the same bytes; pages are
well-formed, need no script and nothing from outside; what is wrong is said with its place and an exit code"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

root = pathlib.Path(__file__).resolve().parent.parent.parent
capstan = sys.argv[1]
done_n = 0
failed_n = 0


def report(is_well, what, *details):
    global done_n, failed_n
    done_n += 1
    failed_n += not is_well
    print(f"{'ok' if is_well else 'not ok'} {done_n} - {what}")
    for line in details if not is_well else ():
        print("#", *str(line).splitlines()[:20], sep="\n# ")


def run(*arguments, text=None):
    return subprocess.run([capstan, "sim", *arguments], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)


def page_faults(text):
    """What is wrong with a page: not well-formed, with a script, or with something from outside."""
    try:
        xml.etree.ElementTree.fromstring(text)
    except xml.etree.ElementTree.ParseError as e:
        return [f"not well-formed: {e}"]
    return [f"there is {bad!r} in it" for bad in ("<script", "http:", "https:", "@import", "javascript:", " onload") if bad in text.lower()]


def check_example(path):
    first = run("run", path)
    report(first.returncode == 0, f"{path.name} holds what it expects", first.stdout[-3000:], first.stderr)
    met = re.search(r"(\d+) of (\d+) expectations met", first.stdout)
    report(met and met[1] == met[2] != "0", f"{path.name} says so", first.stdout[-200:])
    for form in ("table", "json", "yaml", "html"):
        one, two = run("run", path, "--output", form), run("run", path, "--output", form)
        report(one.stdout == two.stdout and one.stdout and one.returncode == 0, f"{path.name} as {form} is the same again", one.stderr)
    data = json.loads(run("run", path, "--output", "json").stdout)
    times = [f["at"] for f in data["facts"]]
    report(times == sorted(times) and data["unmet"] == 0, f"{path.name}: facts stand in the order of their times", times)
    gpus = {n["node"]: n["gpus"] for n in data["nodes"]}
    report(all(0 <= s["gpu"] < gpus[s["node"]] and s["from"] < s["until"] <= data["end"] for s in data["spans"]),
           f"{path.name}: spans are of GPUs that there are", data["spans"][:5])
    taken = sorted((s["node"], s["gpu"], s["from"], s["until"]) for s in data["spans"] if "job" in s)
    report(all(a[:2] != b[:2] or a[3] <= b[2] for a, b in zip(taken, taken[1:])), f"{path.name}: no GPU has two jobs at once")
    faults = page_faults(run("run", path, "--output", "html").stdout)
    report(not faults, f"{path.name}: its page is well", *faults)


def check_escapes():
    text = ('title: "<script>alert(1)</script> & \\u0001"\nnodes: ["1:t4,gpus=1"]\nsteps:\n'
            '- job: {name: a, runs: 1m}\n- {at: 1s, expect: {job: default/b, reason: "</title><b>"}}\n')
    r = run("run", "-", "--output", "html", text=text)
    faults = page_faults(r.stdout)
    report(r.returncode == 1 and not faults and "&lt;script&gt;" in r.stdout, "markup in a title stays text", r.stderr, *faults)


def check_faults():
    job = "nodes: [t4]\nsteps:\n- job: {name: a, runs: 1m}\n"
    unmet = job + "- {at: 2m, expect: {job: default/a, state: running}}\n"
    r = run("run", "-", text=unmet)
    report(r.returncode == 1 and "NOT AS EXPECTED: standard input: line 4: of default/a" in r.stdout and "0 of 1 expectations met" in r.stdout,
           "what is not met makes the exit code 1", r.stdout, r.stderr)
    r = run("run", "-", text=job + "- {at: 1m, fail-node: none}\n")
    report(r.returncode == 1 and "line 4, column 3: there is no node none" in r.stderr, "a step that cannot be done is said", r.stderr)
    r = run("run", "-", text=job + "- {at: 1m, fails: none}\n")
    report(r.returncode == 1 and "line 4, column 12: fails is not known in a step" in r.stderr and not r.stdout, "a wrong key is said", r.stderr)
    r = run("run", "/none.yaml")
    report(r.returncode == 3, "no such file: 3", r.stderr)
    r = run("run")
    report(r.returncode == 2 and "SCENARIO.yaml" in r.stderr, "no file: usage", r.stderr)
    r = run("trace", "more")
    report(r.returncode == 2, "a file for who takes none: usage", r.stderr)
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "c.yaml").write_text("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfairSharing: {nonsense: 1}\n")
        pathlib.Path(folder, "s.yaml").write_text("config: c.yaml\n" + job)
        r = run("run", f"{folder}/s.yaml")
        report(r.returncode == 1 and "line 1, column 9" in r.stderr and "nonsense" in r.stderr, "a wrong Configuration is said", r.stderr)


def main():
    for path in sorted((root / "examples/scenarios").glob("*.yaml")):
        if path.name != "two-teams.yaml":  # the queues of one
            check_example(path)
    check_escapes()
    check_faults()
    print(f"1..{done_n}")
    sys.exit(failed_n > 0)


main()
