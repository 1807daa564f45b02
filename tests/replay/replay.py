#!/usr/bin/env python3
"""replay.py CAPSTAN PLAIN - recordings of scenarios: `capstan replay` decides alike, PLAIN (a core built without optimisation) as well, says why
something waited then, and says what is wrong with a recording. WRITTEN=DIR keeps the recordings, for programs of other compilers."""
import json
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import finish, report, run  # noqa: E402

root = pathlib.Path(__file__).resolve().parent.parent.parent
capstan, plain = sys.argv[1:3]
MANY = "nodes: [\"6:h100-80gb,gpus=4\"]\nsteps:\n" + "".join(
    f"- {{at: {i * 7}s, job: {{name: j{i}, pods: {1 + i % 5}, gpus: {1 + i % 4}, runs: {60 + i * 37 % 600}s}}}}\n" for i in range(150))


def check(folder):
    made = []
    for path in (root / "examples/scenarios/borrow-and-reclaim.yaml", root / "examples/scenarios/node-fails.yaml", "-"):
        to = folder / (path.stem if path != "-" else "many")
        r = run(capstan, "sim", "run", path, "--record", to, text=MANY if path == "-" else None)
        report(r.returncode == 0 and list(to.glob("*.rec")), f"{to.name} is recorded", r.stdout[-500:], r.stderr)
        made.append(to)
        played = run(capstan, "replay", to, "--output", "json")
        said = json.loads(played.stdout or "{}")
        report(played.returncode == 0 and said["otherwise"] == 0 and said["ended"] and not said["stateIsOther"] and said["cycles"] > 10,
               f"{to.name} is decided alike", played.stdout, played.stderr)
    r = run(plain, *made)
    report(r.returncode == 0 and r.stdout.count("\nok") + r.stdout.startswith("ok") == len(made), "so it is by a core without optimisation",
           r.stdout, r.stderr)
    return made


def check_why(folder):
    r = run(capstan, "replay", folder, "--explain", "team-a/guest", "--at", "2026-01-01T00:20:00Z", "--output", "json")
    said = json.loads(r.stdout or "{}")
    report(r.returncode == 0 and said["gangs"][0]["phase"] == "waiting" and "insufficient unused quota" in said["gangs"][0]["why"],
           "why it waited at that time", r.stdout, r.stderr)
    whats = [d["what"] for d in said["decisions"]]
    report(whats[:5] == ["admit"] + 4 * ["bind"] and "evict" in whats, "what was decided about it until then", whats)
    report(all(d["at"] <= "2026-01-01T00:20:00Z" for d in said["decisions"]), "and nothing later")
    r = run(capstan, "replay", folder, "--explain", "team-a/guest")
    report(r.returncode == 0 and ": over\n" in r.stdout and "decided alike, to the bit, and the same state at the end" in r.stdout,
           "at the end it is over", r.stdout, r.stderr)
    r = run(capstan, "replay", folder, "--explain", "team-a/nobody")
    report(r.returncode == 3 and "nothing of this name" in r.stderr, "a job that never was: 3", r.stderr)


def check_wrong(folder, spare):
    for arguments, code, text in ((["--at", "noon"], 2, "want a time"), (["--explain", "guest"], 2, "want NAMESPACE/NAME"),
                                  (["--run", "1999"], 3, "there is no run 1999")):
        r = run(capstan, "replay", folder, *arguments)
        report(r.returncode == code and text in r.stderr, f"{' '.join(arguments)}: {code}", r.stderr)
    r = run(capstan, "replay", spare)
    report(r.returncode == 3 and "there is no recording in it" in r.stderr, "an empty folder: 3", r.stderr)
    file = next(folder.glob("*.rec"))
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    r = run(capstan, "replay", folder)
    report(r.returncode == 0 and "is cut at byte" in r.stdout and "decided alike" in r.stdout, "cut in the middle: played up to there", r.stdout)
    file.write_bytes(whole[:1000] + b"?" + whole[1001:])
    r = run(capstan, "replay", folder)
    report(r.returncode == 0 and "is damaged at byte" in r.stdout, "damaged: the same", r.stdout)
    file.write_bytes(b"nonsense" * 100)
    r = run(capstan, "replay", folder)
    report(r.returncode == 1 and "is no recording of this version" in r.stderr, "something else: 1", r.stdout, r.stderr)


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(os.environ.get("WRITTEN", temporary))
        made = check(folder)
        check_why(made[0])
        spare = folder / "spare"
        spare.mkdir()
        if "WRITTEN" not in os.environ:
            check_wrong(made[1], spare)
    finish()


main()
