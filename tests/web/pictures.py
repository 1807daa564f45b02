"""pictures.py DIR - the pictures of docs/web.md: a cluster with a story, each page once."""
import os
import sys
import time

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
    finally:
        b.close()
        c.stop()


if __name__ == "__main__":
    main()
