/* look.c - see look.h */
#include "sched/ahead/look.h"
#include "sched/scheduler.h"

enum { TURN_MS = 20 };

static void drain(struct scheduler *s)
{
    for (const struct change *change; (change = sources_next(s));)
        state_apply(s->state, change);
    sources_drained(s);
}

int look_begin(struct loop *l, struct kube_client *c, const struct policy *policy, const struct charge_policy *charge, int64_t timeout_ms,
               struct scheduler **ret_scheduler, struct err *e)
{
    struct scheduler_config config = {.default_scheduler = true, .look = true, .charge = charge};
    int r = 0;
    if (policy)
        config.policy = *policy;
    kube_client_halt(c, KUBE_HALT); /* reads alone leave */
    struct scheduler *s = *ret_scheduler = scheduler_new(l, c, &config);
    for (int64_t end_ms = loop_now_ms(l) + timeout_ms; r == 0 && !s->synced;) {
        r = loop_run_for(l, TURN_MS, e);
        if (r >= 0 && !s->synced && loop_now_ms(l) >= end_ms)
            r = err_set(e, E_AGAIN, "the cluster was not read within %lld s", (long long)timeout_ms / 1000);
        r = r < 0 ? r : 0;
    }
    drain(s);
    hypernodes_follow(s);
    drain(s);
    policy_source_expect(s);
    return r;
}

void look_end(struct scheduler *s, struct kube_client *c)
{
    scheduler_free(s);
    kube_client_halt(c, KUBE_GO);
}

static struct bytes text_of(struct scheduler *s, const struct json *object)
{
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, object);
    return (struct bytes){arena_text_n(s->incoming_arena, text.data, text.n), text.n};
}

/* WHY  four makers call it so. */
static int decode_pod_group(const struct decoder *d, const struct json *object, struct gang_record *ret_gang, struct err *e)
{
    const char *version = json_get_text(object, "apiVersion", "");
    return text_starts(version, "scheduling.volcano.sh/") ? decode_volcano_pod_group(d, object, ret_gang, e)
           : text_starts(version, "scheduling.k8s.io/")   ? decode_native_pod_group(d, object, ret_gang, e)
           : text_starts(version, "scheduling.run.ai/")   ? decode_kai_pod_group(d, object, ret_gang, e)
                                                          : decode_coscheduling_pod_group(d, object, ret_gang, e);
}

/* WHY  twice: labels by which it asks for a domain make one only now. */
static int take_pod_group(struct scheduler *s, const struct json *object, struct gang_record *ret_gang, struct err *e)
{
    int r = decode_pod_group(&s->decoder, object, ret_gang, e);
    hypernodes_follow(s);
    drain(s);
    return r < 0 ? r : decode_pod_group(&s->decoder, object, ret_gang, e);
}

static int decode(struct scheduler *s, const struct json *object, struct change *c, struct err *e)
{
    const char *kind = json_get_text(object, "kind", "");
    if (text_equal(kind, "Workload") && text_starts(json_get_text(object, "apiVersion", ""), "scheduling.k8s.io/"))
        return err_set(e, E_INVALID, "Workload %s of scheduling.k8s.io: its groups are what its pods name: write a PodGroup like one of them",
                       object_meta(object, "name"));
    if (text_equal(kind, "Workload")) {
        c->type = CHANGE_GANG;
        int r = decode_workload(&s->decoder, object, &c->gang, e);
        if (r == 0)
            run_notes_expect(s, object, &c->gang);
        return r;
    }
    if (text_equal(kind, "PodGroup")) {
        c->type = CHANGE_GANG;
        return take_pod_group(s, object, &c->gang, e);
    }
    if (text_equal(kind, "Pod")) {
        c->type = CHANGE_POD;
        return decode_pod(&s->decoder, text_of(s, object), &c->pod, e);
    }
    if (text_equal(kind, "Node")) {
        c->type = CHANGE_NODE;
        return decode_node(&s->decoder, text_of(s, object), &c->node, e);
    }
    if (text_equal(kind, "ResourceFlavor")) {
        c->type = CHANGE_FLAVOR;
        return decode_flavor(&s->decoder, object, &c->flavor, e);
    }
    if (text_equal(kind, "Cohort")) {
        c->type = CHANGE_COHORT;
        return decode_cohort(&s->decoder, object, &c->cohort, e);
    }
    if (text_equal(kind, "ClusterQueue")) {
        c->type = CHANGE_QUEUE;
        return decode_cluster_queue(&s->decoder, object, &c->queue, e);
    }
    if (text_equal(kind, "LocalQueue")) {
        c->type = CHANGE_LOCAL_QUEUE;
        return decode_local_queue(&s->decoder, object, &c->local_queue, e);
    }
    if (text_equal(kind, "Topology")) {
        c->type = CHANGE_TOPOLOGY;
        return decode_topology(&s->decoder, object, &c->topology, e);
    }
    return err_set(e, E_INVALID, "%s %s: nothing of this kind changes who starts when", *kind ? kind : "an object without a kind",
                   object_meta(object, "name"));
}

static name_id gang_of(struct scheduler *s, const struct change *c)
{
    if (c->type == CHANGE_GANG)
        return c->gang.key;
    if (c->type != CHANGE_POD)
        return 0;
    const char *key = intern_name(s->names, c->pod.key), *slash = strchr(key, '/');
    return c->pod.gang ? c->pod.gang
                       : decode_gang_key(&s->decoder, GANG_POD, (struct bytes){(char *)key, (size_t)(slash - key)}, bytes_of(slash + 1));
}

int look_take(struct scheduler *s, const struct json *object, name_id *ret_gang, struct err *e)
{
    struct change c;
    if (decode(s, object, &c, e) < 0)
        return -e->code;
    state_apply(s->state, &c);
    *ret_gang = gang_of(s, &c);
    return 0;
}
