/* node_feedback.c - see node_feedback.h */
#include "sim/usage/node_feedback.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "exporter/push/feedback.h"

struct node_feedback {
    struct loop *loop;
    struct kube_client *client;
    struct map *nodes; /* name -> struct feedback * */
    struct buf text, sessions, body;
    struct arena *arena; /* of one write */
};

static void on_sampled(void *arg, const char *node, const struct sample *s)
{
    struct node_feedback *f = arg;
    bool is_new;
    struct feedback **known = map_put(f->nodes, bytes_of(node), &is_new);
    if (is_new)
        *known = feedback_new(NODE_MEASURE_PERIOD_MS);
    if (!feedback_update(*known, s, loop_now_ms(f->loop), &f->text, &f->sessions))
        return;
    feedback_patch(buf_view(&f->text), buf_view(&f->sessions), &f->body);
    kube_patch(f->client, KUBE_PATCH_MERGE, kube_path(f->arena, "", "v1", "nodes", NULL, node, NULL),
               buf_view(&f->body), NULL, NULL);
    arena_reset(f->arena);
}

/* A namesake that comes is another node. */
static void on_gone(void *arg, const char *node)
{
    struct node_feedback *f = arg;
    struct feedback **known = map_find_text(f->nodes, node);
    if (!known)
        return;
    feedback_free(*known);
    (void)map_remove(f->nodes, bytes_of(node)); /* it is there */
}

struct node_feedback *node_feedback_new(struct loop *l, struct kube_client *c, struct node_measure *measure)
{
    struct node_feedback *f = mem_zero(1, sizeof *f);
    *f = (struct node_feedback){
        .loop = l, .client = c, .nodes = map_new(sizeof(struct feedback *)), .arena = arena_new()};
    node_measure_listen(measure, &(struct node_measure_listener){on_sampled, on_gone, f});
    return f;
}

void node_feedback_free(struct node_feedback *f)
{
    if (!f)
        return;
    size_t at = 0;
    struct bytes key;
    for (struct feedback **one; (one = map_next(f->nodes, &at, &key));)
        feedback_free(*one);
    map_free(f->nodes);
    buf_free(&f->text);
    buf_free(&f->sessions);
    buf_free(&f->body);
    arena_free(f->arena);
    free(f);
}
