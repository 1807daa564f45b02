"""pictures.py DIR - the pictures of docs/web.md and docs/tour.md: a cluster with a story, each page once; a report."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "monitoring"))
import report  # noqa: E402  beside this folder

import browser
import cluster

SHOTS = (
    ("gpus", "gpus", "light"),
    ("activity", "gpus?by=activity", "dark"),
    ("queues", "queues", "light"),
    ("job", "job/pod/team-vision/finetune", "light"),
    ("timeline", "timeline", "light"),
    ("usage", "usage", "dark"),
)


# As JOBS of report.py: six weeks of four A100 and two T4.
WEEKS = 6
REPORTED = (
    ("pretrain", "research", "ada", "a1", 2, 0, 150, 0.8, 0),
    ("rlhf", "research", "kim", "a1", 1, 20, 110, 0.6, 0),
    ("notebook", "product", "bob", "a1", 1, 10, 120, 0.02, 0.9),
    ("serve", "product", "zoe", "t1", 1, 0, 168, 0.3, 0),
    ("sweep", "vision", "lee", "t1", 1, 30, 60, 0.9, 0),
)


def picture_of_report(b, folder):
    with tempfile.TemporaryDirectory() as place:
        report.make_cluster(place + "/usage.db", REPORTED, WEEKS)
        page = pathlib.Path(place) / "report.html"
        options = "--store %s --since 2026-03-09 --until 2026-04-20 --by namespace --price A100=2.20,T4=0.35 --currency EUR -o html --title north"
        page.write_bytes(subprocess.run([os.environ["CAPSTAN"], "report", *(options % place).split()], check=True, stdout=subprocess.PIPE).stdout)
        b.media(prefers_color_scheme="light")
        b.resize(1000, 980)
        b.open(page.as_uri())
        b.picture(os.path.join(folder, "report.webp"))


def story(c):
    c.teams({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}, {"research": 16, "product": 16, "vision": 8})
    c.job("llm-pretrain", 4, 4, "main", "team-research")
    c.job("tokenize", 4, 1, "main", "team-product", 8)
    for i in range(3):
        c.pod("notebook-%d" % i, 1, ns="team-vision", node="t4-0")
    time.sleep(14)
    c.job("vision-sweep", 6, 1, "main", "team-vision")
    c.job("eval-nightly", 2, 4, "main", "team-product", 20)
    c.pod("chat", 4, ns="team-product", node="t4-1")
    time.sleep(12)
    c.job("rlhf", 6, 4, "main", "team-research")
    c.job("embeddings", 2, 2, "main", "team-vision")
    c.pod("finetune", 8, ns="team-vision", node="t4-1")
    c.patch("/api/v1/nodes/t4-3", {"spec": {"unschedulable": True}})
    time.sleep(16)


def main():
    folder = sys.argv[1]
    c = cluster.Cluster(
        "--nodes", "5:a100-40gb", "--nodes", "4:t4", "--nodes", "1:a100-40gb,gpus=2,mig=1g.5gb", "--nodes", "1:t4,gpus=2,mps=10"
    )
    b = browser.Browser()
    try:
        story(c)
        b.resize(1200, 760)
        for name, where, scheme in SHOTS:
            b.media(prefers_color_scheme=scheme)
            b.open(c.url + "/ui/#/" + where)
            b.wait("it is live", "return document.querySelector('#live').dataset.state === 'live'")
            time.sleep(1)
            b.picture(os.path.join(folder, name + ".webp"))
        picture_of_report(b, folder)
    finally:
        b.close()
        c.stop()


if __name__ == "__main__":
    main()
