/* policy_source.c - by which policy nodes are chosen, as ConfigMaps say it (codec/configuration/placement_policy.h), changed while it runs;
 * what of it queues say that name their own
 *
 *   capstan-policy, where the Lease is; gpu-scheduler-policy and gpu-scheduler-configmap in namespace gpu, where KETI's users have them.
 *   The first of them that says a policy decides; none does: capstan. What is wrong in one leaves it as it was, and an Event says so.
 */
#include <stdio.h>
#include "base/collections/map.h"
#include "base/limits.h"
#include "base/log.h"
#include "codec/configuration/placement_policy.h"
#include "sched/scheduler.h"

enum { MAPS_N = 4, EXPECT_MS = 60000 };

static const enum placement usual = PLACEMENT_CAPSTAN; /* where nothing says another */

static const struct map_place {
    const char *ns, *name; /* ns NULL: where the Lease is */
    bool only_look;        /* whoever only looks does not know where the Lease is: where deploy/ has it */
} places[MAPS_N] = {{NULL, "capstan-policy", false}, {"capstan-system", "capstan-policy", true}, {"gpu", "gpu-scheduler-policy", false},
    {"gpu", "gpu-scheduler-configmap", false}};

struct policy_source {
    struct policy_map {
        struct scheduler *s;
        const struct map_place *place;
        struct kube_watch *watch;
        bool says;
        enum placement placement;
        char *reason, *text, *uid; /* an Event that is to be told, once it leads; NULL: none */
    } maps[MAPS_N];
    struct loop_timer *expect;
    bool queue_by_kinds; /* some queue's own policy looks at the pods that may come */
    bool begun;          /* those that were there when all was read have been counted */
    struct map *refused; /* queues whose own policy does not exist: "ClusterQueue NAME" -> char *, what was told of it */
    void (*on_read)(struct scheduler *s);
};

/* Pods that may come are taken to be like those that are there. */
static void expect(void *arg)
{
    struct scheduler *s = arg;
    if (!placement_looks_at_kinds(s->placement) && !state_placed_by_kinds(s->state))
        return;
    recorder_expect(s->config.recorder);
    state_expect_as_now(s->state);
}

static void follow(struct scheduler *s)
{
    enum placement placement = usual;
    for (int i = MAPS_N; i-- > 0;)
        if (s->policies->maps[i].says)
            placement = s->policies->maps[i].placement;
    if (placement == s->placement)
        return;
    log_info("nodes are chosen by another policy policy=%s before=%s", placement_name(placement), placement_name(s->placement));
    s->placement = placement;
    expect(s);
    loop_timer_start(s->wake, 0, 0); /* whoever waits for a place may look at other nodes first */
}

static const char *sentences(struct arena *a, const struct json *list)
{
    const char *all = "";
    JSON_EACH (one, list)
        all = arena_printf(a, "%s%s%s", all, *all ? "; " : "", json_text(one, ""));
    return all;
}

static const char *namespace_of(const struct policy_map *m)
{
    const char *of_lease = m->s->config.lease_ns ? m->s->config.lease_ns : "kube-system";
    return m->place->ns ? m->place->ns : of_lease;
}

static void forget_event(struct policy_map *m)
{
    free(m->reason);
    free(m->text);
    free(m->uid);
    m->reason = m->text = m->uid = NULL;
}

/* WHY not at once: a map that was there first is read before anybody leads, and who does not lead writes nothing. */
static void tell(struct policy_map *m)
{
    const struct kube_object_ref about = {"v1", "ConfigMap", namespace_of(m), m->place->name, m->uid};
    if (!m->text || !m->s->leading)
        return;
    kube_event(m->s->events, &about, "Warning", m->reason, "%s", m->text);
    forget_event(m);
}

void policy_source_led(struct scheduler *s)
{
    for (int i = 0; i < MAPS_N; i++)
        tell(&s->policies->maps[i]);
}

static void note_event(struct policy_map *m, const struct json *object, const struct placement_policy *p)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *wrong = sentences(a, p->wrong);
    forget_event(m);
    if (!*wrong && !p->idle->n)
        return;
    m->reason = mem_text(*wrong ? "PolicyRefused" : "PolicyHasNoEffect");
    m->text = mem_text(*wrong ? arena_printf(a, "%s; the policy stays %s", wrong, placement_name(m->s->placement)) : sentences(a, p->idle));
    m->uid = mem_text(object_meta(object, "uid"));
    if (*wrong)
        log_warning("policy refused map=%s/%s error=\"%s\"", namespace_of(m), m->place->name, wrong);
}

static void on_map(void *arg, enum kube_event event, struct bytes text)
{
    struct policy_map *m = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *object = json_parse(a, text, NULL, NULL);
    if (!object || !text_equal(object_meta(object, "name"), m->place->name))
        return;
    struct placement_policy p = placement_policy_read(a, event == KUBE_DELETED ? NULL : object);
    if (!p.wrong->n) {
        m->says = p.says;
        m->placement = p.placement;
    }
    follow(m->s);
    note_event(m, object, &p);
    tell(m);
}

static void on_list(void *arg)
{
    struct scheduler *s = ((struct policy_map *)arg)->s;
    s->policies->on_read(s);
}

static void on_denied(void *arg)
{
    const struct policy_map *m = arg;
    if (!m->s->config.look)
        log_info("not read, since the server denies it: ConfigMap %s of namespace %s, which may say how nodes are chosen", m->place->name,
                 namespace_of(m));
}

struct policy_source *policy_source_new(struct scheduler *s, void (*on_read)(struct scheduler *s))
{
    struct policy_source *p = s->policies = mem_zero(1, sizeof *p);
    p->on_read = on_read;
    s->placement = usual;
    p->refused = map_new(sizeof(char *));
    _cleanup_arena_ struct arena *a = arena_new();
    p->expect = loop_timer_new(s->loop, expect, s);
    loop_timer_start(p->expect, EXPECT_MS, EXPECT_MS);
    for (int i = 0; i < MAPS_N; i++) {
        p->maps[i] = (struct policy_map){.s = s, .place = &places[i]};
        if (places[i].only_look && !s->config.look)
            continue;
        p->maps[i].watch = kube_watch_new(
            s->client, &(struct kube_watch_config){.path = kube_path(a, "", "v1", "configmaps", namespace_of(&p->maps[i]), NULL, NULL),
                                                   .field_selector = arena_printf(a, "metadata.name=%s", places[i].name),
                                                   .objects_max = 1, .on_event = on_map, .on_synced = on_list,
                                                   .on_denied = on_denied, .arg = &p->maps[i]});
    }
    return p;
}

bool policy_source_synced(const struct policy_source *p)
{
    for (int i = 0; i < MAPS_N; i++)
        if (p->maps[i].watch && !kube_watch_synced(p->maps[i].watch))
            return false;
    return true;
}

void policy_source_follow_queues(struct scheduler *s)
{
    struct policy_source *p = s->policies;
    bool by_kinds = state_placed_by_kinds(s->state), begins = (by_kinds && !p->queue_by_kinds) || (s->synced && !p->begun);
    p->queue_by_kinds = by_kinds;
    p->begun |= s->synced;
    if (begins)
        expect(s);
}

void policy_source_tell(struct scheduler *s, const struct kube_object_ref *queue, const char *wrong)
{
    char text[LIMIT_NAME + 32];
    snprintf(text, sizeof text, "%s %s", queue->kind, queue->name);
    struct bytes key = bytes_of(text);
    char **told = wrong ? map_put(s->policies->refused, key, NULL) : map_find(s->policies->refused, key);
    if (!told || text_equal(*told, wrong))
        return;
    free(*told);
    *told = mem_text(wrong);
    if (!wrong) {
        (void)map_remove(s->policies->refused, key);
        return;
    }
    kube_event(s->events, queue, "Warning", "PolicyRefused", "%s", wrong);
    log_warning("policy refused kind=%s name=%s error=\"%s\"", queue->kind, queue->name, wrong);
}

void policy_source_expect(struct scheduler *s)
{
    expect(s);
}

void policy_source_free(struct policy_source *p)
{
    for (int i = 0; i < MAPS_N; i++) {
        kube_watch_free(p->maps[i].watch);
        forget_event(&p->maps[i]);
    }
    loop_timer_free(p->expect);
    struct bytes key;
    char **told;
    for (size_t at = 0; (told = map_next(p->refused, &at, &key));)
        free(*told);
    map_free(p->refused);
    free(p);
}
