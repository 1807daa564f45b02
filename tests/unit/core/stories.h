/* stories.h - clusters and decisions about preemption as lines of text: objects in, decisions out
 *
 *   node NAME [gpu=8] [cpu=N] [host=H] [is=KEY:VALUE] [notready]      flavor NAME [is=KEY:VALUE] [taint=KEY] [tolerates=KEY] [gone]
 *     flavors that a queue names are there, without labels; lines of their own come after it
 *   cohort NAME [in=PARENT] [gpu=N[/BORROWING[/LENDING]]] [weight=N]
 *   queue NAME [in=COHORT] gpu=.. [cpu=..] [FLAVOR.gpu=..] [+] [within=P] [reclaim=P] [borrow=P] [max=N] [strict] [preempt-first]
 *       [borrow-last] [hold] [drain] [weight=N] [backfill=easy|conservative]
 *     weight: in thousandths; +: quotas after it are another resource group's; preempt-first, borrow-last: whenCanPreempt: MayStopSearch,
 *     whenCanBorrow: TryNextFlavor; hold, drain: stopPolicy
 *     P: Lower, Newer (LowerOrNewerEqualPriority), Any; flavor "any" where none is named
 *     consumption: its LocalQueues share by what they have used; check=C[,FLAVOR]: an admission check that it demands (of that flavor)
 *   local NAME queue=Q [hold] [weight=N] [used=GPUS,SECONDS]   a LocalQueue besides that of the queue's name; used: as its status says
 *   runs NAME[,NAME...] queue=Q [prio=N] gpu=N [cpu=N] [x=MEMBERS] [at=S] [since=S] [on=NODE[+NODE...]] [flavor=F] [local=L] [leaving]
 *       [reserved]: it waits for admission checks; [began=S]: and was admitted then; [ready]: its pods are
 *       [limit=S] [usually=S]: it ends within so long of its admission, by a limit, or by earlier runs
 *       [app=A] of its pods; [saved=S] [least=S] [grace=S]: last checkpoint, so long it should run, so long its pods take to end
 *   wants NAME[,NAME...] queue=Q ... [charged]         as above; at: created, since: reserved; charged: quota counts it, nodes do not
 *       [due=S]: it may wait until then
 *       [min=N] [over=N] [where=KEY:VALUE] [tolerates=KEY]: fewest pods; that are over; nodeSelector; of its pods
 *       [set=NAME ...]: the words after it, up to the next, are of that pod set; [group=G]: its podset-group-name
 *       [CHECK:ready|retry|rejected|pending]: what an admission check answers; [stopped]: not active; [later]: not before a backoff is over
 *
 *   pod NAME [prio=N] [gpu=N] [cpu=N] [on=NODE] [since=S] [app=A] [apart=A] [port=N] [never] [gated] [deleting] [foreign]
 *       [nominated=NODE]: of no queue; apart: not where a pod with app=A stands, on any node with the label host=H (else its name)
 *   budget NAME app=A allowed=N [but=POD]
 *
 * Gangs come in the order of lines; what a cycle decides is told as "evict a InClusterQueue; start b". A "-" stands for no limit.
 */
#ifndef TEST_STORIES_H
#define TEST_STORIES_H
#include "jobs.h"

struct word {
    const char *key, *value;
};
static inline const char *word_of(const struct word *words, int n, const char *key, const char *otherwise)
{
    for (int i = 0; i < n; i++)
        if (strcmp(words[i].key, key) == 0)
            return words[i].value;
    return otherwise;
}
static inline int64_t number_of(const struct word *words, int n, const char *key, int64_t otherwise)
{
    const char *text = word_of(words, n, key, NULL);
    return text ? atoll(text) : otherwise;
}

/* "8/4/2": nominal, borrowing limit, lending limit */
static inline void limits_of(const char *text, int64_t ret_limits[3])
{
    ret_limits[1] = ret_limits[2] = NO_LIMIT;
    for (int i = 0; i < 3 && text; i++, text = strchr(text, '/') ? strchr(text, '/') + 1 : NULL)
        ret_limits[i] = *text == '-' ? NO_LIMIT : atoll(text);
}

static inline enum preemption_policy policy_of(const char *text)
{
    return !text                      ? PREEMPT_NEVER
           : strcmp(text, "Lower") == 0 ? PREEMPT_LOWER_PRIORITY
           : strcmp(text, "Newer") == 0 ? PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY
                                      : PREEMPT_ANY;
}

/* Every word of that key, "k:v,k:v" for labels. */
static inline const char *labels_in(struct world *w, const struct word *words, int n, const char *key)
{
    const char *all = "";
    for (int i = 0; i < n; i++) {
        if (strcmp(words[i].key, key) != 0)
            continue;
        char *one = arena_text(w->records, words[i].value);
        if (strchr(one, ':'))
            *strchr(one, ':') = '=';
        all = arena_printf(w->records, "%s%s%s", all, *all ? "," : "", one);
    }
    return all;
}

static inline const struct toleration *tolerations_in(struct world *w, const struct word *words, int n, uint32_t *ret_n)
{
    struct toleration *all = arena_zero(w->records, (size_t)n + 1, sizeof *all);
    *ret_n = 0;
    for (int i = 0; i < n; i++)
        if (strcmp(words[i].key, "tolerates") == 0)
            all[(*ret_n)++] = (struct toleration){.key = id(w, words[i].value), .exists = true, .effects = 7};
    return all;
}

static inline void story_flavor(struct world *w, const char *name, const struct word *words, int n)
{
    struct flavor_record r = {.name = id(w, name)};
    struct taint taint = {.key = id(w, word_of(words, n, "taint", NULL)), .effect = TAINT_NO_SCHEDULE};
    if (word_of(words, n, "gone", NULL)) {
        gone(w, CHANGE_FLAVOR_GONE, name);
        return;
    }
    r.node_labels = labels_of(w, labels_in(w, words, n, "is"), &r.node_labels_n);
    r.taints = &taint;
    r.taints_n = taint.key != 0;
    r.tolerations = tolerations_in(w, words, n, &r.tolerations_n);
    state_apply(w->s, &(struct change){.type = CHANGE_FLAVOR, .flavor = r});
}

/* "gpu=8" is of flavor "any", "fa.gpu=8" of flavor fa */
static inline bool is_quota(const struct word *one, char ret_flavor[16], const char **ret_resource)
{
    const char *dot = strchr(one->key, '.'), *resource = dot ? dot + 1 : one->key;
    snprintf(ret_flavor, 16, "%.*s", dot ? (int)(dot - one->key) : 3, dot ? one->key : "any");
    *ret_resource = strcmp(resource, "gpu") == 0 ? GPU : resource;
    return strcmp(resource, "gpu") == 0 || strcmp(resource, "cpu") == 0;
}

static inline uint32_t story_checks(struct world *w, const struct word *words, int n, struct queue_check ret_checks[4])
{
    uint32_t checks_n = 0;
    for (int i = 0; i < n; i++) {
        if (strcmp(words[i].key, "check") != 0)
            continue;
        const char *comma = strchr(words[i].value, ',');
        name_id *of = arena_zero(w->records, 1, sizeof *of);
        *of = comma ? id(w, comma + 1) : 0;
        ret_checks[checks_n++] = (struct queue_check){
            .name = id(w, arena_printf(w->records, "%.*s", comma ? (int)(comma - words[i].value) : 64, words[i].value)), .flavors = of,
            .flavors_n = comma != NULL};
    }
    return checks_n;
}

static inline void story_queue(struct world *w, const char *name, const struct word *words, int n)
{
    struct queue_words q;
    char local[64], flavor_name[16];
    const char *resource;
    int64_t limits[3];
    queue_begin(w, &q, name, word_of(words, n, "in", NULL));
    q.r.strategy = word_of(words, n, "strict", NULL) ? QUEUE_STRICT_FIFO : QUEUE_BEST_EFFORT_FIFO;
    const char *backfill = word_of(words, n, "backfill", "");
    q.r.backfill = *backfill == 'e' ? BACKFILL_EASY : *backfill == 'c' ? BACKFILL_CONSERVATIVE : BACKFILL_NONE;
    q.r.stop = word_of(words, n, "drain", NULL) ? STOP_HOLD_AND_DRAIN : word_of(words, n, "hold", NULL) ? STOP_HOLD : STOP_NONE;
    q.r.borrow_before_next_flavor = word_of(words, n, "borrow-last", NULL) == NULL;
    q.r.preempt_before_next_flavor = word_of(words, n, "preempt-first", NULL) != NULL;
    q.r.preempt_before_borrowing = word_of(words, n, "level-first", NULL) != NULL;
    q.r.within_queue = policy_of(word_of(words, n, "within", NULL));
    q.r.reclaim_within_cohort = policy_of(word_of(words, n, "reclaim", NULL));
    q.r.borrow_within_cohort = policy_of(word_of(words, n, "borrow", NULL));
    q.r.has_borrow_threshold = word_of(words, n, "max", NULL) != NULL;
    q.r.borrow_threshold = (int32_t)number_of(words, n, "max", 0);
    q.r.by_consumption = word_of(words, n, "consumption", NULL) != NULL;
    struct queue_check checks[4];
    q.r.checks = checks;
    q.r.checks_n = story_checks(w, words, n, checks);
    q.r.has_weight = word_of(words, n, "weight", NULL) != NULL;
    q.r.weight_nano = 1000000 * number_of(words, n, "weight", 0);
    for (int i = 0; i < n; i++) {
        if (strcmp(words[i].key, "+") == 0)
            queue_next_group(&q);
        if (!is_quota(&words[i], flavor_name, &resource))
            continue;
        limits_of(words[i].value, limits);
        flavor(w, flavor_name, "");
        queue_quota(w, &q, flavor_name, resource, limits[0], limits[1], limits[2]);
    }
    queue_done(w, &q);
    snprintf(local, sizeof local, "ns/%s", name);
    local_queue(w, local, name);
}

static inline void story_local(struct world *w, const char *name, const struct word *words, int n)
{
    char key[64];
    snprintf(key, sizeof key, "ns/%s", name);
    const char *used = word_of(words, n, "used", NULL), *when = used ? strchr(used, ',') : NULL;
    struct fine_amount consumed = {id(w, GPU), used ? atoll(used) : 0, 0};
    struct local_queue_record r = {.key = id(w, key), .title = id(w, name), .ns = id(w, "ns"), .queue = id(w, word_of(words, n, "queue", "q")),
                                   .consumed = &consumed, .consumed_n = used != NULL, .consumed_ms = when ? 1000 * atoll(when + 1) : 0};
    r.stop = word_of(words, n, "hold", NULL) ? STOP_HOLD : STOP_NONE;
    r.has_weight = word_of(words, n, "weight", NULL) != NULL;
    r.weight_nano = 1000000 * number_of(words, n, "weight", 0);
    state_apply(w->s, &(struct change){.type = CHANGE_LOCAL_QUEUE, .local_queue = r});
}

static inline void story_cohort(struct world *w, const char *name, const struct word *words, int n)
{
    struct quota_record quotas[4];
    struct cohort_record r = {.name = id(w, name), .parent = id(w, word_of(words, n, "in", NULL)), .quotas = quotas};
    r.has_weight = word_of(words, n, "weight", NULL) != NULL;
    r.weight_nano = 1000000 * number_of(words, n, "weight", 0);
    for (int i = 0; i < n; i++) {
        char flavor_name[16];
        const char *resource;
        int64_t limits[3];
        if (!is_quota(&words[i], flavor_name, &resource))
            continue;
        limits_of(words[i].value, limits);
        quotas[r.quotas_n++] = (struct quota_record){id(w, flavor_name), id(w, resource), limits[0], limits[1], limits[2]};
    }
    state_apply(w->s, &(struct change){.type = CHANGE_COHORT, .cohort = r});
}

static inline struct pod_set story_set(struct world *w, const char *name, const struct word *words, int n)
{
    char requests[96];
    snprintf(requests, sizeof requests, word_of(words, n, "cpu", NULL) ? GPU "=%s,cpu=%s" : GPU "=%s", word_of(words, n, "gpu", "1"),
             word_of(words, n, "cpu", "0"));
    struct pod_set set = a_set(w, name, (int32_t)number_of(words, n, "x", 1), requests);
    set.shape.node_labels = labels_of(w, labels_in(w, words, n, "where"), &set.shape.node_labels_n);
    set.shape.tolerations = tolerations_in(w, words, n, &set.shape.tolerations_n);
    set.min_count = (int32_t)number_of(words, n, "min", set.count);
    set.reclaimed = (int32_t)number_of(words, n, "over", 0);
    set.topology.group = id(w, word_of(words, n, "group", NULL));
    return set;
}

/* Words up to the first "set=" are those of the only set, where there is none. */
static inline void story_sets(struct world *w, struct gang_record *r, const struct word *words, int n)
{
    struct pod_set *sets = arena_zero(w->records, (size_t)n + 1, sizeof *sets);
    r->pod_sets = sets;
    r->pod_sets_n = 0;
    r->min_members = 0;
    for (int i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && strcmp(words[next].key, "set") != 0;)
            next++;
        if (strcmp(words[i].key, "set") == 0)
            sets[r->pod_sets_n++] = story_set(w, words[i].value, &words[i], next - i);
    }
    if (!r->pod_sets_n)
        sets[r->pod_sets_n++] = story_set(w, "main", words, n);
    for (uint32_t i = 0; i < r->pod_sets_n; i++)
        r->min_members += sets[i].min_count;
}

/* "c:ready": what check c answers. */
static inline void story_answers(struct world *w, struct gang_record *r, const struct word *words, int n)
{
    static const char *const states[] = {"pending", "ready", "retry", "rejected"};
    struct gang_check *all = arena_zero(w->records, (size_t)n + 1, sizeof *all);
    r->checks = all;
    for (int i = 0; i < n; i++)
        for (int state = 0; strchr(words[i].key, ':') && state < 4; state++)
            if (strcmp(strchr(words[i].key, ':') + 1, states[state]) == 0)
                all[r->checks_n++] = (struct gang_check){
                    id(w, arena_printf(w->records, "%.*s", (int)(strchr(words[i].key, ':') - words[i].key), words[i].key)),
                    (enum check_state)state};
}

static inline struct gang_record story_gang(struct world *w, const char *name, const struct word *words, int n)
{
    char local[64];
    snprintf(local, sizeof local, "ns/%s", word_of(words, n, "local", word_of(words, n, "queue", "q")));
    struct gang_record r = a_workload(w, name, local, 1, "");
    story_sets(w, &r, words, n);
    story_answers(w, &r, words, n);
    r.priority = (int32_t)number_of(words, n, "prio", 0);
    r.created_ms = number_of(words, n, "at", r.created_ms);
    r.due_ms = number_of(words, n, "due", 0);
    r.active = word_of(words, n, "stopped", NULL) == NULL;
    r.not_before_ms = word_of(words, n, "later", NULL) ? w->now_ms + 3600000 : 0;
    r.checkpoint_ms = 1000 * number_of(words, n, "saved", 0);
    r.minimum_run_s = (int32_t)number_of(words, n, "least", 0);
    r.grace_s = (int32_t)number_of(words, n, "grace", 0);
    r.run_by_limit = word_of(words, n, "limit", NULL) != NULL;
    r.run_s = (int32_t)number_of(words, n, r.run_by_limit ? "limit" : "usually", 0);
    return r;
}

static inline void story_runs(struct world *w, const char *name, const struct word *words, int n)
{
    struct gang_record r = story_gang(w, name, words, n);
    const char *on = word_of(words, n, "on", NULL);
    r = admitted_in(w, r, word_of(words, n, "flavor", "any"));
    r.admitted_queue = id(w, word_of(words, n, "queue", "q"));
    r.reserved_ms = 1000 * number_of(words, n, "since", 1);
    r.evicted = word_of(words, n, "leaving", NULL) != NULL;
    r.admitted_ms = 1000 * number_of(words, n, "began", 0);
    r.reserved_only = word_of(words, n, "reserved", NULL) != NULL;
    r.pods = word_of(words, n, "ready", NULL) ? PODS_READY : PODS_START;
    gang_record(w, r);
    for (int i = 0; i < r.pod_sets[0].count && on; i++) {
        char key[64];
        snprintf(key, sizeof key, "ns/%s-%d", name, i);
        struct pod_record p = a_pod(w, key, name, "");
        p.shape = r.pod_sets[0].shape;
        if (word_of(words, n, "app", NULL))
            p.shape.labels = labels_of(w, arena_printf(w->records, "app=%s", word_of(words, n, "app", NULL)), &p.shape.labels_n);
        p.pod_set = id(w, "main");
        size_t node_n = strcspn(on, "+");
        p.node = id(w, arena_text_n(w->records, on, node_n));
        on += on[node_n] ? node_n + 1 : 0;
        p.phase = POD_RUNNING;
        pod_record(w, p);
    }
}

static inline void story_pod(struct world *w, const char *name, const struct word *words, int n)
{
    char key[64], requests[96], label[64];
    snprintf(key, sizeof key, "ns/%s", name);
    snprintf(requests, sizeof requests, GPU "=%s,cpu=%s", word_of(words, n, "gpu", "0"), word_of(words, n, "cpu", "1"));
    struct pod_record p = a_pod(w, key, NULL, requests);
    p.priority = (int32_t)number_of(words, n, "prio", 0);
    p.node = id(w, word_of(words, n, "on", NULL));
    p.phase = p.node ? POD_RUNNING : POD_PENDING;
    p.started_ms = 1000 * number_of(words, n, "since", 0);
    p.nominated = id(w, word_of(words, n, "nominated", NULL));
    p.preempts_nobody = word_of(words, n, "never", NULL) != NULL;
    p.gated = word_of(words, n, "gated", NULL) != NULL;
    p.deleting = word_of(words, n, "deleting", NULL) != NULL;
    p.ours = word_of(words, n, "foreign", NULL) == NULL;
    if (word_of(words, n, "app", NULL)) {
        snprintf(label, sizeof label, "app=%s", word_of(words, n, "app", NULL));
        p.shape.labels = labels_of(w, label, &p.shape.labels_n);
    }
    if (word_of(words, n, "port", NULL)) {
        struct host_port *port = arena_zero(w->records, 1, sizeof *port);
        port->port = (uint16_t)number_of(words, n, "port", 0);
        p.shape.ports = port;
        p.shape.ports_n = 1;
    }
    if (word_of(words, n, "apart", NULL)) {
        struct pod_affinity *a = arena_zero(w->records, 1, sizeof *a);
        struct requirement *r = arena_zero(w->records, 1, sizeof *r);
        name_id *values = arena_zero(w->records, 2, sizeof *values);
        values[0] = id(w, word_of(words, n, "apart", NULL));
        values[1] = id(w, "ns");
        *r = (struct requirement){.key = id(w, "app"), .op = REQUIRE_IN, .values = values, .values_n = 1};
        *a = (struct pod_affinity){.pods = {.all = r, .all_n = 1}, .namespaces = &values[1], .namespaces_n = 1,
                                   .topology_key = id(w, "host"), .anti = true};
        p.shape.affinities = a;
        p.shape.affinities_n = 1;
    }
    pod_record(w, p);
}

static inline void story_budget(struct world *w, const char *name, const struct word *words, int n)
{
    char but[64];
    name_id app = id(w, word_of(words, n, "app", NULL)), disrupted;
    struct requirement r = {.key = id(w, "app"), .op = REQUIRE_IN, .values = &app, .values_n = 1};
    struct budget_record b = {.key = id(w, name), .ns = id(w, "ns"), .pods = {.all = &r, .all_n = app != 0}, .disrupted = &disrupted};
    b.allowed = (int32_t)number_of(words, n, "allowed", 0);
    b.disrupted_n = word_of(words, n, "but", NULL) != NULL;
    snprintf(but, sizeof but, "ns/%s", word_of(words, n, "but", ""));
    disrupted = id(w, but);
    state_apply(w->s, &(struct change){.type = CHANGE_BUDGET, .budget = b});
}

static inline void story_line(struct world *w, char *line)
{
    struct word words[48];
    char *save = NULL, *what = strtok_r(line, " ", &save), *name = strtok_r(NULL, " ", &save);
    int n = 0;
    for (char *part; (part = strtok_r(NULL, " ", &save)) && n < 48; n++) {
        char *equals = strchr(part, '=');
        words[n] = (struct word){part, equals ? equals + 1 : ""};
        if (equals)
            *equals = '\0';
    }
    if (strcmp(what, "node") == 0) {
        char amounts[64];
        snprintf(amounts, sizeof amounts, "cpu=%s," GPU "=%s", word_of(words, n, "cpu", "1000000"), word_of(words, n, "gpu", "8"));
        struct node_record r = a_node(w, name, amounts, arena_printf(w->records, "host=%s,%s", word_of(words, n, "host", name),
                                                                     labels_in(w, words, n, "is")));
        r.ready = word_of(words, n, "notready", NULL) == NULL;
        node_record(w, r);
    } else if (strcmp(what, "flavor") == 0) {
        story_flavor(w, name, words, n);
    } else if (strcmp(what, "pod") == 0) {
        story_pod(w, name, words, n);
    } else if (strcmp(what, "budget") == 0) {
        story_budget(w, name, words, n);
    } else if (strcmp(what, "queue") == 0) {
        story_queue(w, name, words, n);
    } else if (strcmp(what, "local") == 0) {
        story_local(w, name, words, n);
    } else if (strcmp(what, "cohort") == 0) {
        story_cohort(w, name, words, n);
    } else if (strcmp(what, "runs") == 0) {
        for (char *rest = NULL, *one = strtok_r(name, ",", &rest); one; one = strtok_r(NULL, ",", &rest))
            story_runs(w, one, words, n);
    } else {
        assert_string_equal(what, "wants");
        for (char *rest = NULL, *one = strtok_r(name, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
            struct gang_record r = story_gang(w, one, words, n);
            if (word_of(words, n, "charged", NULL))
                charge_only(w, &r);
            gang_record(w, r);
        }
    }
}

/* Lines are apart by ';'. */
static inline void story(struct world *w, const char *text)
{
    char *copy = arena_text(w->records, text), *save = NULL;
    for (char *line = strtok_r(copy, ";", &save); line; line = strtok_r(NULL, ";", &save))
        story_line(w, line + strspn(line, " \n"));
}

/* Evictions and starts of the last plan, in its order. */
static inline const char *decided(struct world *w)
{
    struct buf b;
    buf_init(&b);
    for (uint32_t i = 0; i < w->plan.entries_n; i++) {
        const struct plan_entry *e = &w->plan.entries[i];
        const char *slash = strrchr(text_of(w, e->gang), '/'), *name = slash ? slash + 1 : text_of(w, e->gang);
        if (e->effect == EFFECT_EVICT)
            buf_printf(&b, "%sevict %s %s", b.n ? "; " : "", name,
                       e->reason->code == REASON_PREEMPTED ? preemption_name((enum preemption)e->reason->have) : "otherwise");
        else if (e->effect == EFFECT_ADMIT)
            buf_printf(&b, "%sstart %s", b.n ? "; " : "", name);
    }
    const char *text = arena_text(w->records, b.data ? b.data : "");
    buf_free(&b);
    return text;
}

/* What the last plan gives, pod sets in their order: "a: 2 gpu=fa cpu=fc, 1 gpu=fb; b (checks): 1 gpu=fa", where b waits for checks. */
static inline const char *given(struct world *w)
{
    struct buf b;
    buf_init(&b);
    for (uint32_t i = 0; i < w->plan.entries_n; i++) {
        const struct plan_entry *e = &w->plan.entries[i];
        if (e->effect != EFFECT_ADMIT && e->effect != EFFECT_RESERVE)
            continue;
        buf_printf(&b, "%s%s%s:", b.n ? "; " : "", text_of(w, e->gang), e->effect == EFFECT_RESERVE ? " (checks)" : "");
        for (uint32_t k = 0; k < e->choices_n; k++) {
            const struct flavor_choice *c = &e->choices[k];
            bool first = !k || e->choices[k - 1].pod_set != c->pod_set;
            const char *resource = text_of(w, c->resource);
            if (first)
                buf_printf(&b, "%s %d", k ? "," : "", e->counts[c->pod_set]);
            buf_printf(&b, " %s=%s", strcmp(resource, GPU) == 0 ? "gpu" : resource, text_of(w, c->flavor));
        }
    }
    const char *text = arena_text(w->records, b.data ? b.data : "");
    buf_free(&b);
    return text;
}

#endif
