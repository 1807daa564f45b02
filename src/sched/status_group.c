/* status_group.c - status of pod groups of all makers, and who is told when a gang changes
 *
 *   Volcano        Pending -> Inqueue (its minimum could be held) -> Running (minMember scheduled) -> Completed;
 *                  Unknown when members are lost
 *   coscheduling   Pending -> Scheduling -> Running -> Finished | Failed
 *   native         condition PodGroupInitiallyScheduled (PodGroupScheduled in v1alpha2), which once True stays True
 *   composite      the same of CompositePodGroupInitiallyScheduled, of each part of the tree
 *   KAI            Pending -> Running (those that have to start together are bound) -> Completed | Failed, from all that is there now
 */
#include "base/clock.h"
#include "sched/groups/composites.h"
#include "sched/groups/group_text.h"
#include "sched/groups/kai_queue_source.h"
#include "sched/groups/kai_told.h"
#include "sched/scheduler.h"

#define VOLCANO_VERSION "scheduling.volcano.sh/v1beta1"
enum {
    QUEUE_LOOK_MS = 300,
    PASSING_MS = 1000, /* SOURCE Volcano writes its PodGroups once in a session, which is a second */
};

int64_t status_telling_wait_ms(struct scheduler *s, struct seen_gang *g, const char *text, const char *said, enum telling_rest rest)
{
    return telling_wait_ms(&g->telling, &s->tellings, text, said, rest,
                           g->members_missing ? TELLING_MEMBERS_MS : TELLING_SETTLE_MS,
                           g->members_missing ? g->joined_ms : 0, loop_now_ms(s->loop));
}

bool status_annotate(struct arena *a, struct json *patch, const struct json *object, const char *tree)
{
    if (strcmp(object_annotation(object, OBJECT_REASON), tree ? tree : "") == 0)
        return false;
    struct json *annotations = json_ensure_object(a, json_ensure_object(a, patch, "metadata"), "annotations");
    json_set(a, annotations, OBJECT_REASON, tree ? json_new_text(a, tree) : json_new(a, JSON_NULL));
    return true;
}

/* Figures alone are written at the pace of figures. False: later; the work comes again. */
static bool is_time(struct scheduler *s, struct work *w, const char *kind, bool only_figures)
{
    const char *key = arena_joined(w->arena, kind, '/', w->key);
    int64_t now_ms = loop_now_ms(s->loop), wait_ms = only_figures ? pace_wait_ms(s->pace, key, now_ms) : 0;
    if (wait_ms > 0)
        work_again(w, wait_ms);
    else
        pace_written(s->pace, key, now_ms);
    return wait_ms == 0;
}

/* What annotation OBJECT_REASON says in words. */
static const char *said_by_annotation(struct arena *a, const struct json *object)
{
    const char *tree = object_annotation(object, OBJECT_REASON);
    return *tree ? json_get_text(json_parse(a, bytes_of(tree), NULL, NULL), "message", "") : "";
}

static struct seen_gang *gang_of(struct scheduler *s, struct work *w, enum gang_source source)
{
    name_id key = intern_find(s->names, bytes_of(arena_printf(w->arena, "%s%s", decode_gang_prefix(source), w->key)));
    return key ? seen_gang(s, key) : NULL;
}

static void annotation_send(struct work *w, const struct json *object, const char *tree, const char *path)
{
    struct json *patch = json_new(w->arena, JSON_OBJECT);
    if (status_annotate(w->arena, patch, object, tree))
        work_patch(w, KUBE_PATCH_MERGE, path, patch);
}

static void group_event(struct scheduler *s, struct work *w, const struct json *group, const char *api_version,
                        const char *type, const char *reason, const char *text)
{
    struct kube_object_ref about = {api_version, "PodGroup", w->ns, w->name, object_meta(group, "uid")};
    kube_event(s->events, &about, type, reason, "%s", text);
}

/* ---- Volcano ---- */

static void volcano_condition(struct scheduler *s, struct arena *a, struct json *status, bool scheduled,
                              const char *reason, const char *message)
{
    char now[TIME_TEXT_MAX];
    const char *type = scheduled ? "Scheduled" : "Unschedulable";
    struct json *list = json_ensure_array(a, status, "conditions"), *condition = NULL;
    JSON_EACH (old, list)
        if (strcmp(json_get_text(old, "type", ""), type) == 0)
            condition = old;
    JSON_EACH (other, scheduled ? list : NULL)
        if (strcmp(json_get_text(other, "type", ""), "Unschedulable") == 0)
            json_set_text(a, other, "status", "False");
    if (condition && strcmp(json_get_text(condition, "status", ""), "True") == 0 &&
        strcmp(json_get_text(condition, "message", ""), message) == 0 &&
        strcmp(json_get_text(condition, "reason", ""), reason) == 0)
        return;
    if (!condition) {
        condition = json_new(a, JSON_OBJECT);
        json_append(list, condition);
    }
    json_set_text(a, condition, "type", type);
    json_set_text(a, condition, "status", "True");
    json_set_text(a, condition, "transitionID", arena_printf(a, "%llu", (unsigned long long)s->counts.cycles_n));
    json_set_text(a, condition, "lastTransitionTime", time_format(now, loop_wall_ms(s->loop)));
    json_set_text(a, condition, "reason", reason);
    json_set_text(a, condition, "message", message);
}

/* is_kept_out: its queue does not let it in, or nobody is let in. */
static const char *volcano_phase(const struct json *group, const struct seen_gang *g, bool is_kept_out)
{
    const char *phase = json_text(json_path(group, "status", "phase", NULL), "Pending");
    int64_t min_member = json_int64(json_path(group, "spec", "minMember", NULL), 1);
    int64_t scheduled_n = g->bound_n, done_n = g->succeeded_n + g->failed_n;
    /* A vcjob whose pods all failed may restart them: its own controller says what becomes of it. */
    bool may_end = (g->succeeded_n > 0 || !json_path(group, "metadata", "labels", "volcano.sh/job-name", NULL));
    if (may_end && g->pods_n > 0 && done_n == (int64_t)g->pods_n && done_n >= min_member)
        return "Completed";
    if (scheduled_n > 0 && scheduled_n >= min_member)
        return "Running";
    if (strcmp(phase, "Completed") == 0 && done_n < (int64_t)g->pods_n)
        return "Inqueue"; /* a controller goes on: the next pod of a Job */
    if (strcmp(phase, "Running") == 0 || strcmp(phase, "Unknown") == 0)
        return scheduled_n > 0 ? "Unknown" : "Inqueue";
    if (strcmp(phase, "Pending") == 0 || !*phase)
        return is_kept_out ? "Pending" : "Inqueue";
    return phase;
}

/* What keeps the group waiting, as it is told; NULL: nothing. ret_tree: the same as a tree. */
static const char *volcano_reason(struct scheduler *s, struct arena *a, const struct seen_gang *g, const char *phase,
                                  const struct reason *kept_out, const char **ret_tree)
{
    int64_t unbound_n = (int64_t)g->pods_n - g->bound_n;
    bool ended = strcmp(phase, "Running") == 0 || strcmp(phase, "Completed") == 0;
    if (s->config.hold && !kept_out && !g->pods_n)
        return NULL; /* held: nobody makes the pods that the core misses */
    if (!kept_out && g->text && !g->admitted && !ended) {
        *ret_tree = g->tree;
        return unbound_n > 0 ? arena_printf(a, "%lld/%u tasks in gang unschedulable: %s", (long long)unbound_n, g->pods_n, g->text)
                             : g->text;
    }
    if (!kept_out)
        return NULL;
    /* WHY a group that its queue has not let in has no pods yet, and that is all that the core can say of it. */
    _cleanup_buf_ struct buf text = {0}, tree = {0};
    explain_sentence(&text, kept_out, s->names);
    explain_json(&tree, kept_out, s->names);
    *ret_tree = arena_text_n(a, tree.data, tree.n);
    return arena_text_n(a, text.data, text.n);
}

static const char *volcano_said(const struct json *group)
{
    const struct json *said = object_condition(group, "Unschedulable");
    return strcmp(json_get_text(said, "status", ""), "True") == 0 ? json_get_text(said, "message", "") : "";
}

static enum telling_rest rest_of(const struct json *group, const char *tree)
{
    return tree ? telling_rest(tree, object_annotation(group, OBJECT_REASON)) : REST_IS_SAID;
}

/* Milliseconds until `why` may be told, 0 now, -1 nothing to tell. */
static int64_t volcano_wait_ms(struct scheduler *s, struct seen_gang *g, const char *why, const char *said, enum telling_rest rest,
                               bool is_kept_out)
{
    if (!why)
        return -1;
    return is_kept_out ? telling_wait_ms(&g->telling, &s->tellings, why, said, rest, TELLING_SETTLE_MS, 0, loop_now_ms(s->loop))
                       : status_telling_wait_ms(s, g, why, said, rest);
}

struct volcano_pass {
    struct scheduler *s;
    struct work *work;
    const struct json *group;
    struct seen_gang *g;
    struct json *status; /* as it will be */
    const char *was, *phase;
};

/* All its pods are bound, and about to run. */
static bool is_starting(const struct seen_gang *g)
{
    int64_t up_n = (int64_t)g->running_n + g->succeeded_n + g->failed_n;
    return g->bound_n == (int64_t)g->pods_n && up_n < g->bound_n && !g->failed_n;
}

/* Its pods are bound and about to run, or have ended and its job is about to take it away: one write less where that comes at once. Not of
 * one that says Pending: it was let in by then, and who looks when the pod runs is to read so. */
static bool is_passing(const struct volcano_pass *x)
{
    if (strcmp(x->was, x->phase) == 0)
        return false;
    if (strcmp(x->phase, "Running") == 0)
        return strcmp(x->was, "Inqueue") == 0 && is_starting(x->g);
    return strcmp(x->phase, "Completed") == 0 && strcmp(object_controller(x->group, "kind"), "Job") == 0 &&
           strcmp(object_controller(x->group, "apiVersion"), "batch.volcano.sh/v1alpha1") == 0;
}

static int64_t passing_left_ms(const struct scheduler *s, struct seen_gang *g, bool is_so)
{
    int64_t now_ms = loop_now_ms(s->loop);
    if (!is_so)
        g->passing_ms = 0;
    else if (!g->passing_ms)
        g->passing_ms = now_ms;
    int64_t wait_ms = g->passing_ms ? g->passing_ms + PASSING_MS - now_ms : 0;
    return wait_ms > 0 ? wait_ms : 0;
}

/* Milliseconds until that is told; 0: now. */
static int64_t passing_wait_ms(const struct volcano_pass *x)
{
    return passing_left_ms(x->s, x->g, is_passing(x));
}

/* The same of one that said Inqueue when it was looked at last. 0: it is to be looked at. */
static int64_t starting_wait_ms(const struct scheduler *s, struct seen_gang *g)
{
    bool is_so = g->is_inqueue && !g->stop_why && g->bound_n >= (int64_t)g->fewest_n && is_starting(g);
    return is_so ? passing_left_ms(s, g, true) : 0;
}

/* Older servers have no status subresource here, and then the path with /status does not exist: the object itself is written, status and
 * annotation in one. */
static void volcano_send(struct volcano_pass *x, bool tells, const char *why, const char *tree)
{
    struct work *w = x->work;
    struct json *diff = object_diff(w->arena, json_get(x->group, "status"), x->status), *patch = object_patch(w->arena, x->group);
    bool moved = strcmp(x->was, x->phase) != 0;
    bool annotates = (tells || !why) && status_annotate(w->arena, patch, x->group, why ? tree : NULL);
    if (!diff && !annotates)
        return;
    if (!is_time(x->s, w, "podgroups", !moved && !annotates && !tells))
        return;
    if (diff)
        json_set(w->arena, patch, "status", diff);
    work_patch(w, KUBE_PATCH_MERGE, kube_path(w->arena, "scheduling.volcano.sh", "v1beta1", "podgroups", w->ns, w->name, NULL), patch);
    if (tells)
        telling_sent(&x->g->telling, loop_now_ms(x->s->loop));
}

static uint64_t kept_out_hash(const struct scheduler *s, const struct reason *kept_out)
{
    return kept_out ? reason_hash(kept_out, s->names) : 0;
}

/* SOURCE Volcano, its gang plugin: pods of one task, of any, or what nodes and queues have. */
static const char *volcano_shortage(const struct seen_gang *g, bool is_kept_out)
{
    if (is_kept_out || !g->members_missing)
        return "NotEnoughResources";
    return g->of_task_missing ? "NotEnoughPodsOfTask" : "NotEnoughTasks";
}

void status_volcano_group(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    struct arena *a = w->arena;
    struct seen_gang *g = s->leading ? gang_of(s, w, GANG_VOLCANO) : NULL;
    int64_t starting_ms = g ? starting_wait_ms(s, g) : 0;
    if (starting_ms > 0) { /* a look before the parse */
        work_again(w, starting_ms);
        return;
    }
    struct json *group = g ? source_get(s, SOURCE_VOLCANO_GROUPS, w->key, a) : NULL;
    if (!group || object_deleting(group))
        return;
    act_stop_group(s, w, g, group);
    const struct reason *kept_out = state_gang_kept_out(s->state, g->key, a);
    if (kept_out && kept_out->code == REASON_NOT_TRIED) { /* the core hears of it in its next turn */
        work_again(w, 20);
        return;
    }
    g->kept_out = kept_out_hash(s, kept_out);
    struct volcano_pass x = {.s = s, .work = w, .group = group, .g = g, .status = object_status_copy(a, group)};
    const char *tree = NULL, *said = volcano_said(group);
    x.was = json_text(json_path(group, "status", "phase", NULL), "");
    x.phase = volcano_phase(group, g, kept_out || s->config.hold);
    g->is_inqueue = strcmp(x.was, "Inqueue") == 0 || strcmp(x.phase, "Inqueue") == 0;
    if (strcmp(x.phase, "Pending") != 0)
        kept_out = NULL;
    int64_t passing_ms = passing_wait_ms(&x);
    if (passing_ms > 0) {
        work_again(w, passing_ms);
        return;
    }
    json_set_text(a, x.status, "phase", x.phase);
    object_count_set(a, x.status, "running", g->running_n);
    object_count_set(a, x.status, "succeeded", g->succeeded_n);
    object_count_set(a, x.status, "failed", g->failed_n);
    const char *why = volcano_reason(s, a, g, x.phase, kept_out, &tree);
    int64_t wait_ms = volcano_wait_ms(s, g, why, said, rest_of(group, tree), kept_out != NULL);
    bool tells = wait_ms == 0, is_news = tells && telling_cause(why) != telling_cause(said);
    if (strcmp(x.phase, "Running") == 0)
        volcano_condition(s, a, x.status, true, "tasks in gang are ready to be scheduled", "");
    else if (tells)
        volcano_condition(s, a, x.status, false, volcano_shortage(g, kept_out != NULL), why);
    if (wait_ms > 0)
        work_again(w, wait_ms);
    volcano_send(&x, tells, why, tree);
    if (strcmp(x.was, "Inqueue") == 0 && strcmp(x.phase, "Running") == 0)
        kube_event_done(s->events, &(struct kube_object_ref){VOLCANO_VERSION, "PodGroup", w->ns, w->name, object_meta(group, "uid")},
                        "Scheduled", "pod group is ready");
    else if (is_news && !kept_out && (int64_t)g->pods_n > g->bound_n)
        group_event(s, w, group, VOLCANO_VERSION, "Warning", "Unschedulable", why);
}

/* What a queue has to say to those that wait to be let in: nothing new as long as this is the same. */
static uint64_t room_of(const struct scheduler *s, name_id queue, const struct queue_usage *rows, uint32_t n, struct arena *a)
{
    const struct reason *problem = state_queue_problem(s->state, queue, a);
    uint64_t hash = problem ? reason_hash(problem, s->names) : 1; /* 0: it was not looked at yet */
    hash += (uint64_t)intern_hash(s->names, state_queue_front(s->state, queue, a)) << 1;
    for (uint32_t i = 0; i < n; i++) {
        const char *resource = intern_name(s->names, rows[i].resource);
        const int64_t row[] = {rows[i].nominal, rows[i].reserved, rows[i].left_by_bounds};
        hash = hash_bytes(row, sizeof row, hash_bytes(resource, strlen(resource), hash));
    }
    return hash;
}

/* Only those of whom the core says something else now: a thousand that wait for a queue that is full cost no text. */
void status_groups_kept_out_by(struct scheduler *s, struct arena *a, const char *queue, name_id name, const struct queue_usage *rows,
                               uint32_t n)
{
    uint64_t *known = group_tally_room(s->tally, queue), room = room_of(s, name, rows, n, a);
    struct bytes key, raw;
    if (!known || *known == room)
        return;
    *known = room;
    arena_reset(s->report);
    for (size_t at = 0; kube_cache_next_of(s->sources[SOURCE_VOLCANO_GROUPS].cache, queue, &at, &key, &raw);) {
        const char *object = arena_text_n(s->report, key.data, key.n);
        name_id gang = intern_find(s->names, bytes_of(arena_printf(s->report, "%s%s", decode_gang_prefix(GANG_VOLCANO), object)));
        const struct seen_gang *g = gang ? seen_gang(s, gang) : NULL;
        if (g && !g->pods_n && kept_out_hash(s, state_gang_kept_out(s->state, gang, s->report)) != g->kept_out)
            workqueue_add_after(s->group_work, object, 50);
        arena_reset(s->report);
    }
}

void status_group_count(struct source *source, const char *key, const char *queue, const char *phase)
{
    struct scheduler *s = source->scheduler;
    const char *left;
    kube_cache_mark(source->cache, key, !*phase || strcmp(phase, "Pending") == 0 ? queue : ""); /* those that it has not let in */
    if (!group_tally_put(s->tally, key, queue, phase, &left))
        return;
    status_volcano_queue_changed(s, left);
    status_volcano_queue_changed(s, queue);
}

bool status_group_is_echo(struct source *source, const char *key, struct bytes object)
{
    struct scheduler *s = source->scheduler;
    char phase[GROUP_PHASE_MAX];
    uint64_t hash = group_text_hash(object, phase), *told = map_put(source->specs, bytes_of(key), NULL);
    const char *queue = hash && *told == hash ? group_tally_queue(s->tally, key) : NULL;
    *told = hash;
    if (queue)
        status_group_count(source, key, arena_text(s->scratch, queue), phase);
    return queue != NULL;
}

/* ---- coscheduling ---- */

/* Is something to be told of it? */
static bool is_waiting(const struct seen_gang *g, bool waits)
{
    return waits && g && g->text && !g->admitted;
}

/* Milliseconds until what is to be told of it may be written, 0 now, -1 nothing is to be written. */
static int64_t why_wait_ms(struct scheduler *s, struct work *w, struct seen_gang *g, const struct json *group, bool waits)
{
    return is_waiting(g, waits) ? status_telling_wait_ms(s, g, g->text, said_by_annotation(w->arena, group), rest_of(group, g->tree)) : 0;
}

/* Why a group that waits does so, as its annotation, when it is time to tell; of others it is taken away. */
static void tell_why(struct scheduler *s, struct work *w, struct seen_gang *g, const struct json *group, bool waits, int64_t wait_ms,
                     const char *path)
{
    waits = is_waiting(g, waits);
    if (wait_ms > 0)
        work_again(w, wait_ms);
    if (wait_ms != 0)
        return;
    annotation_send(w, group, waits ? g->tree : NULL, path);
    if (waits)
        telling_sent(&g->telling, loop_now_ms(s->loop));
}

/* What has ended stays so, but for who failed and is whole again: the pods that came in the stead of those that failed run. */
static const char *coscheduling_phase(const struct seen_gang *g, int64_t min_member, const char *was)
{
    int64_t total = g ? g->pods_n : 0, running = g ? g->running_n : 0, succeeded = g ? g->succeeded_n : 0, failed = g ? g->failed_n : 0;
    bool is_mended = failed == 0 && running > 0 && running + succeeded >= min_member;
    if (strcmp(was, "Finished") == 0 || (strcmp(was, "Failed") == 0 && !is_mended))
        return was;
    if (succeeded >= min_member)
        return "Finished";
    if (failed > 0 && running + succeeded + failed >= min_member)
        return "Failed";
    if (running + succeeded >= min_member)
        return "Running";
    return total >= min_member ? "Scheduling" : "Pending";
}

void status_coscheduling_group(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    struct arena *a = w->arena;
    struct json *group = s->leading ? source_get(s, SOURCE_COSCHEDULING, w->key, a) : NULL;
    if (!group || object_deleting(group))
        return;
    struct seen_gang *g = gang_of(s, w, GANG_COSCHEDULING);
    act_stop_group(s, w, g, group);
    struct json *status = object_status_copy(a, group);
    const char *was = json_get_text(status, "phase", ""),
               *phase = coscheduling_phase(g, json_int64(json_path(group, "spec", "minMember", NULL), 1), was);
    json_set_text(a, status, "phase", phase);
    object_count_set(a, status, "running", g ? g->running_n : 0);
    object_count_set(a, status, "succeeded", g ? g->succeeded_n : 0);
    object_count_set(a, status, "failed", g ? g->failed_n : 0);
    if (strcmp(phase, "Scheduling") == 0 && !json_get(status, "scheduleStartTime")) {
        char now[TIME_TEXT_MAX];
        json_set_text(a, status, "scheduleStartTime", time_format(now, loop_wall_ms(s->loop)));
    }
    struct json *diff = object_diff(a, json_get(group, "status"), status);
    if (diff && is_time(s, w, "coscheduling", strcmp(was, phase) == 0))
        work_patch_status(w, kube_path(a, "scheduling.x-k8s.io", "v1alpha1", "podgroups", w->ns, w->name, "status"), group, diff);
    bool waits = strcmp(phase, "Scheduling") == 0 || strcmp(phase, "Pending") == 0;
    tell_why(s, w, g, group, waits, why_wait_ms(s, w, g, group, waits),
             kube_path(a, "scheduling.x-k8s.io", "v1alpha1", "podgroups", w->ns, w->name, NULL));
}

/* ---- native ---- */

/* A PodGroup, or a CompositePodGroup. */
struct native_told {
    const struct json *object;
    struct gang_object_kind kind;
    const char *condition;       /* that says whether it is scheduled, */
    bool scheduled;
    const char *reason, *text;   /* else why not: in one word; NULL: it is not known */
    const char *unused;          /* what of it does nothing; NULL: all does something */
    struct composite_look look;
    struct seen_gang *whole;     /* the gang that it is of; NULL: none is known */
    struct telling *telling;
};

/* Why it is not scheduled; NULL: nothing is known. own: a PodGroup that is of a larger gang, which may have started without it. */
static const char *native_text(struct arena *a, const struct native_told *t, const struct seen_gang *own)
{
    if (t->look.missing)
        return arena_printf(a, "CompositePodGroup %s, which is above it, does not exist", t->look.missing);
    if (!own || own == t->whole || !t->whole || t->whole->text)
        return t->whole ? t->whole->text : NULL;
    int32_t n = own->pending_n + own->running_n + own->succeeded_n + own->failed_n;
    return n < own->fewest_n ? arena_printf(a, "%d of %d pods exist", n, own->fewest_n) : NULL;
}

/* The version's own word for it. WHY none of a group of a Workload: that has no status, and its pods say it. */
static void native_tell(struct scheduler *s, struct work *w, const struct native_told *t)
{
    struct arena *a = w->arena;
    const struct seen_gang *g = t->whole;
    const struct gang_object_kind *k = &t->kind;
    const char *text = t->text, *tree = t->scheduled || t->look.missing || !g ? NULL : g->tree;
    if (object_deleting(t->object) || object_condition_true(t->object, t->condition) || (!t->scheduled && !text))
        return;
    const char *said = json_get_text(object_condition(t->object, t->condition), "message", "");
    bool awaits = g && g->members_missing;
    int64_t now_ms = loop_now_ms(s->loop), settle_ms = awaits ? TELLING_MEMBERS_MS : TELLING_SETTLE_MS;
    int64_t wait_ms = t->scheduled ? 0
                                   : telling_wait_ms(t->telling, &s->tellings, text, said, rest_of(t->object, tree), settle_ms,
                                                     awaits ? g->joined_ms : 0, now_ms);
    if (wait_ms > 0)
        work_again(w, wait_ms);
    if (wait_ms != 0)
        return;
    struct json *status = object_status_copy(a, t->object);
    (void)object_condition_set(a, json_ensure_array(a, status, "conditions"), t->condition, t->scheduled,
                               t->scheduled ? "Scheduled" : t->reason, t->scheduled ? "all required members are scheduled" : text,
                               loop_wall_ms(s->loop), json_int64(json_path(t->object, "metadata", "generation", NULL), 0));
    if (!*said && t->unused)
        kube_event(s->events, &(struct kube_object_ref){k->api_version, k->kind, w->ns, w->name, object_meta(t->object, "uid")}, "Warning",
                   "PodGroupIgnored", "%s", t->unused);
    struct json *diff = object_diff(a, json_get(t->object, "status"), status);
    if (diff)
        work_patch_status(w, kube_path(a, k->group, k->version, k->plural, w->ns, w->name, "status"), t->object, diff);
    annotation_send(w, t->object, tree, kube_path(a, k->group, k->version, k->plural, w->ns, w->name, NULL));
    if (!t->scheduled)
        telling_sent(t->telling, now_ms);
}

/* Is it right below a CompositePodGroup that is above several gangs? Then that has one more that is scheduled, perhaps. */
static struct composite_look look_above(struct scheduler *s, struct work *w, const struct json *object)
{
    const char *parent = decode_native_parent(object);
    if (!*parent)
        return (struct composite_look){0};
    const char *key = arena_printf(w->arena, "%s/%s", w->ns, parent);
    struct composite_look look = composites_look(s->composites, key, w->arena);
    if (!look.whole && !look.missing)
        workqueue_add_after(s->composite_work, key, 50);
    return look;
}

void status_native_group(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    const struct json *group = s->leading ? source_get(s, SOURCE_NATIVE, w->key, w->arena) : NULL;
    struct seen_gang *g = group ? gang_of(s, w, GANG_NATIVE) : NULL;
    act_stop_group(s, w, g, group);
    if (!g)
        return;
    struct decoder d = s->decoder;
    d.arena = w->arena;
    const struct json *least = json_path(group, "spec", "schedulingPolicy", "gang", "minCount", NULL);
    struct native_told t = {.object = group, .kind = gang_object_kind(s, GANG_NATIVE), .condition = native_version(s)->scheduled,
                            .scheduled = g->bound_n >= json_int64(least, 1),
                            .reason = POD_UNSCHEDULABLE, .look = look_above(s, w, group), .telling = &g->telling};
    t.unused = decode_native_unused(&d, group);
    t.unused = t.look.whole ? decode_part_unused(&d, group, t.unused) : t.unused;
    t.whole = t.look.missing ? NULL : t.look.whole ? seen_gang(s, t.look.whole) : g;
    t.text = native_text(w->arena, &t, g);
    native_tell(s, w, &t);
}

/* Whatever becomes of a gang is said by all that it is made of. */
void status_composite_group(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    struct seen_gang *g = gang_of(s, w, GANG_COMPOSITE);
    if (!s->leading)
        return;
    const struct json *object = source_get(s, SOURCE_COMPOSITES, w->key, w->arena);
    act_stop_group(s, w, g, object);
    if (g)
        composites_status(s->composites, w->key);
    struct native_told t = {.object = object, .kind = gang_object_kind(s, GANG_COMPOSITE), .condition = COMPOSITE_SCHEDULED,
                            .look = composites_look(s->composites, w->key, w->arena)};
    t.telling = t.look.telling;
    t.whole = t.look.whole ? seen_gang(s, t.look.whole) : NULL;
    t.text = native_text(w->arena, &t, NULL);
    t.unused = t.look.is_anywhere ? "spec.schedulingConstraints.topology: " DECODE_LABELS_UNUSED : NULL;
    struct decoder d = s->decoder;
    d.arena = w->arena;
    t.unused = t.look.whole && !g ? decode_part_unused(&d, object, t.unused) : t.unused; /* else it is the top */
    t.reason = t.look.is_invalid ? "Invalid" : POD_UNSCHEDULABLE;
    t.scheduled = object && composites_scheduled(s->composites, w->key);
    if (object)
        (void)look_above(s, w, object);
    if (object && t.telling)
        native_tell(s, w, &t);
}

/* ---- KAI ---- */

static const char *kai_phase(const struct seen_gang *g)
{
    int64_t done_n = g ? g->succeeded_n + g->failed_n : 0;
    if (!g || !g->pods_n)
        return "Pending";
    if (done_n == g->pods_n && done_n >= g->fewest_n)
        return g->failed_n ? "Failed" : "Completed";
    return g->bound_n > 0 && g->bound_n >= g->fewest_n ? "Running" : "Pending";
}

static int64_t gated_of(struct scheduler *s, const struct seen_gang *g)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < g->pods_n; i++) {
        const struct seen_pod *p = seen_pod(s, g->pods[i]);
        n += p && p->gated;
    }
    return n;
}

static uint64_t kai_phase_hash(const struct json *group, const struct seen_gang *g, const char *phase)
{
    const char *uid = object_meta(group, "uid");
    const int32_t counts[] = {g->running_n, g->succeeded_n, g->failed_n, g->pending_n};
    return hash_bytes(counts, sizeof counts, hash_bytes(phase, strlen(phase), hash_bytes(uid, strlen(uid), 0))) | 1;
}

/* Phase and counts. False: they were written, and the server keeps none (KAI's definition since 2026): a patch would change nothing, and
 * each pass would send one. */
static bool kai_phase_set(struct work *w, struct seen_gang *g, const struct json *group, struct json *status, const char *phase)
{
    bool is_kept = *json_get_text(status, "phase", "") || !g || work_failed(w);
    if (!is_kept && g->phase_sent == kai_phase_hash(group, g, phase))
        return false;
    json_set_text(w->arena, status, "phase", phase);
    object_count_set(w->arena, status, "running", g ? g->running_n : 0);
    object_count_set(w->arena, status, "succeeded", g ? g->succeeded_n : 0);
    object_count_set(w->arena, status, "failed", g ? g->failed_n : 0);
    object_count_set(w->arena, status, "pending", g ? g->pending_n : 0);
    return true;
}

/* told: why it waits was written just now. */
static void kai_tell(struct scheduler *s, struct work *w, const struct seen_gang *g, const struct json *group, struct json *status,
                     bool told)
{
    if (!is_waiting(g, true) || g->members_missing)
        kai_told_set(w->arena, group, status, NULL, 0);
    else if (told)
        kai_told_set(w->arena, group, status, &(struct kai_waits){g->text, g->tree}, loop_wall_ms(s->loop));
    if (told && g->members_missing)
        group_event(s, w, group, "scheduling.run.ai/v2alpha2", "Normal", "NotReady",
                    kai_told_not_ready(w->arena, g->fewest_n, g->pods_n, gated_of(s, g)));
}

void status_kai_group(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    struct arena *a = w->arena;
    struct json *group = s->leading ? source_get(s, SOURCE_KAI, w->key, a) : NULL;
    if (!group || object_deleting(group))
        return;
    struct seen_gang *g = gang_of(s, w, GANG_KAI);
    struct decoder d = s->decoder;
    d.arena = a;
    act_stop_group(s, w, g, group);
    struct json *status = object_status_copy(a, group);
    const char *was = json_get_text(status, "phase", ""), *phase = kai_phase(g), *unused = NULL;
    if (!*was && !(g && g->unused_told)) /* WHY both: before us, and where the server keeps no phase (its definition since 2026) */
        unused = decode_kai_unused(&d, group);
    if (g)
        g->unused_told = true;
    bool waits = strcmp(phase, "Pending") == 0;
    int64_t wait_ms = why_wait_ms(s, w, g, group, waits);
    bool told = wait_ms == 0 && is_waiting(g, waits);
    bool says_phase = kai_phase_set(w, g, group, status, phase);
    kai_tell(s, w, g, group, status, told);
    struct json *diff = object_diff(a, json_get(group, "status"), status);
    if (diff && is_time(s, w, "kai", !told && (!says_phase || strcmp(was, phase) == 0))) {
        if (g && says_phase)
            g->phase_sent = kai_phase_hash(group, g, phase);
        work_patch_status(w, kube_path(a, "scheduling.run.ai", "v2alpha2", "podgroups", w->ns, w->name, "status"), group, diff);
    }
    if (unused)
        group_event(s, w, group, "scheduling.run.ai/v2alpha2", "Warning", "PodGroupIgnored", unused);
    tell_why(s, w, g, group, waits, wait_ms, kube_path(a, "scheduling.run.ai", "v2alpha2", "podgroups", w->ns, w->name, NULL));
}

/* ---- who is told ---- */

void status_members_changed(struct scheduler *s, const struct seen_gang *g)
{
    for (uint32_t i = 0; g->text && i < g->pods_n; i++) {
        const struct seen_pod *p = seen_pod(s, g->pods[i]);
        if (p && p->ours && !p->bound && !p->gated && !p->deleting)
            workqueue_add_after(s->pod_work, intern_name(s->names, p->key), 20);
    }
}

static void tell_queues(struct scheduler *s, const struct seen_gang *g)
{
    const char *local = intern_name(s->names, g->local_queue);
    if (!*local)
        return;
    workqueue_add_after(s->local_queue_work, local, 200);
    arena_reset(s->report);
    const struct json *queue = source_get(s, SOURCE_LOCAL_QUEUES, local, s->report);
    const char *cluster = json_text(json_path(queue, "spec", "clusterQueue", NULL), "");
    if (*cluster)
        workqueue_add_after(s->queue_work, arena_printf(s->report, "/%s", cluster), 200);
}

static void tell_volcano_queue(struct scheduler *s, const struct seen_gang *g)
{
    if (!g->queue_title || g->queue_kind != QUEUE_VOLCANO)
        return;
    arena_reset(s->report);
    const char *key = arena_joined(s->report, "", '/', intern_name(s->names, g->queue_title));
    workqueue_add_after(s->volcano_queue_work, key, QUEUE_LOOK_MS);
    kai_queue_source_used(s->kai_queues, intern_name(s->names, g->queue_title)); /* no-op where it is none of KAI's */
}

void status_gang_changed(struct scheduler *s, struct seen_gang *g)
{
    if (!s->leading)
        return;
    const char *object = seen_gang_object(s, g);
    switch (g->source) {
    case GANG_WORKLOAD:
        workqueue_add(s->workload_work, object);
        tell_queues(s, g);
        break;
    case GANG_VOLCANO:
        workqueue_add_after(s->group_work, object, 20);
        tell_volcano_queue(s, g);
        break;
    case GANG_COSCHEDULING:
        workqueue_add_after(s->coscheduling_work, object, 50);
        break;
    case GANG_NATIVE:
        workqueue_add_after(s->native_work, object, 50);
        break;
    case GANG_COMPOSITE:
        workqueue_add_after(s->composite_work, object, 50);
        break;
    case GANG_KAI:
        workqueue_add_after(s->kai_work, object, 50);
        tell_volcano_queue(s, g);
        break;
    case GANG_POD:
        break;
    }
}

void status_all_changed(struct scheduler *s)
{
    size_t at = 0;
    struct bytes key;
    struct seen_gang **slot;
    while ((slot = map_next(s->gangs, &at, &key))) {
        status_gang_changed(s, *slot);
        status_members_changed(s, *slot);
    }
    at = 0;
    for (struct seen_pod **pod; (pod = map_next(s->pods, &at, &key));)
        if ((*pod)->removal && !(*pod)->deleting)
            workqueue_add(s->delete_work, intern_name(s->names, (*pod)->key));
}
