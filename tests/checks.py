"""checks.py - a check a TAP line, a program that is run, and pages as they have to be: for tests that are one Python file each"""
import html.parser
import subprocess
import sys
import xml.etree.ElementTree

OUTSIDE = ("<script", "http:", "https:", "@import", "javascript:", " onload")  # what no page has: scripts, and anything from elsewhere
results = {"n": 0, "failed": 0}


def report(is_well, what, *details):
    results["n"] += 1
    results["failed"] += not is_well
    print(f"{'ok' if is_well else 'not ok'} {results['n']} - {what}")
    for line in details if not is_well else ():
        print("#", "\n# ".join(str(line).splitlines()[:20]))


def finish():
    print(f"1..{results['n']}")
    sys.exit(results["failed"] > 0)


def run(*command, text=None):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240, check=False)


def page(text, what, *never):
    """The page as a tree; None: it is no page. never: what it must not have besides, in small letters."""
    try:
        root = xml.etree.ElementTree.fromstring(text)
    except xml.etree.ElementTree.ParseError as e:
        report(False, f"{what} is well-formed", e, text[:300])
        return None
    bad = [b for b in OUTSIDE + never if b in text.lower()]
    report(not bad, f"{what} is well-formed, without scripts and without anything from outside", *bad)
    html.parser.HTMLParser().feed(text)
    return root
