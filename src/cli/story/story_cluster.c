/* story_cluster.c - the cluster of the story: in this process, on one loop with who tells it */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/collections/map.h"
#include "cli/story/story.h"
#include "sim/folder.h"

enum { SHAPES_MAX = 4 };

static void on_signal(void *arg)
{
    struct story *s = arg;
    s->stopped = true;
    loop_stop(s->loop);
}

static int start(struct story *s, struct cluster **ret_cluster, struct err *e)
{
    struct node_shape shapes[SHAPES_MAX];
    int32_t nodes_n[SHAPES_MAX];
    for (uint32_t i = 0; i < story_nodes_n; i++)
        if (node_shape_parse(story_nodes[i], &nodes_n[i], &shapes[i], e) < 0)
            return -E_INVALID;
    struct cluster_config config = {.data_dir = s->dir,
                                    .listen = "127.0.0.1:0",
                                    .shapes = shapes,
                                    .nodes_n = nodes_n,
                                    .shapes_n = story_nodes_n,
                                    .speed = s->speed};
    int r = cluster_start(s->loop, &config, ret_cluster, e);
    if (r == 0)
        s->c = (struct connection){.loop = s->loop, .client = cluster_client(*ret_cluster)};
    return r;
}

static void stay(struct story *s, const struct cluster *cluster)
{
    printf("\nThe cluster stays:  export KUBECONFIG=%s   (Ctrl-C ends it)\n", cluster_kubeconfig(cluster));
    (void)fflush(stdout); /* output_finish says what is wrong with it */
    while (!s->stopped && loop_run_for(s->loop, 1000, NULL) == 0)
        ;
}

int story_main(double speed, bool keep)
{
    char dir[] = "/tmp/capstan-demo-XXXXXX";
    struct err e = {0};
    struct cluster *cluster = NULL;
    if (!mkdtemp(dir)) {
        fprintf(stderr, "capstan demo: make %s: %s\n", dir, strerror(errno));
        return EXIT_FAILED;
    }
    const char *term = getenv("TERM");
    bool progress = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    struct story s = {.loop = loop_new(), .a = arena_new(), .dir = dir, .speed = speed, .progress = progress};
    struct loop_signal *signals[] = {loop_signal_new(s.loop, SIGINT, on_signal, &s), loop_signal_new(s.loop, SIGTERM, on_signal, &s)};
    int code = EXIT_FAILED;
    if (start(&s, &cluster, &e) < 0)
        fprintf(stderr, "capstan demo: %s\n", e.text);
    else
        code = story_tell(&s);
    if (code == EXIT_OK && keep)
        stay(&s, cluster);
    map_free(s.c.warned); /* of the connection; loop and client are not its own */
    cluster_stop(cluster);
    for (int i = 0; i < 2; i++)
        loop_signal_free(signals[i]);
    arena_free(s.a);
    loop_free(s.loop);
    folder_remove(dir);
    return code;
}
