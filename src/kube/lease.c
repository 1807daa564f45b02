/* lease.c - leader election, the state machine of client-go's leaderelection
 *
 * SHAPE  one request at a time: read -> (free, ours or expired) write -> wait 2 s -> write -> wait ...
 *        Who holds it writes on top of its own last write, and reads only when that was refused.
 * RACE   two candidates write at once: the resourceVersion of the write decides, the loser reads again.
 */
#include "kube/lease.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include "base/random.h"
#include "wire/json.h"

enum { LEASE_S = 15, RENEW_DEADLINE_MS = 10 * 1000, RETRY_MS = 2 * 1000, CALL_MS = RENEW_DEADLINE_MS / 2 };

struct kube_lease {
    struct kube_client *c;
    struct loop *l;
    struct kube_lease_config config;
    char *ns, *name, *identity, *path, *collection;
    struct loop_timer *timer, *deadline;
    struct random random;
    uint64_t observed_hash;              /* of the record's spec */
    int64_t observed_ms;                 /* local time when it last changed */
    int64_t sent_ms;                     /* when the write that is awaited was sent */
    int64_t until_ms;                    /* we hold it so long */
    uint64_t term;
    struct buf record;                   /* as the server has it since our last write; empty: to be read */
    bool is_held, is_busy, is_releasing; /* busy: an answer is awaited */
    char acquired[TIME_TEXT_MAX];
};

static void lease_try(void *arg);

static void lease_lose(struct kube_lease *k)
{
    bool was_held = k->is_held;
    k->is_held = false;
    loop_timer_stop(k->deadline);
    if (was_held && k->config.on_lost)
        k->config.on_lost(k->config.arg);
}

static void lease_overdue(void *arg)
{
    lease_lose(arg);
}

struct kube_lease *kube_lease_new(struct kube_client *c, const struct kube_lease_config *config)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct kube_lease *k = mem_zero(1, sizeof *k);
    k->c = c;
    k->l = kube_client_loop(c);
    k->config = *config;
    k->ns = mem_text(config->ns);
    k->name = mem_text(config->name);
    k->identity = mem_text(config->identity);
    k->path = mem_text(kube_path(a, "coordination.k8s.io", "v1", "leases", config->ns, config->name, NULL));
    k->collection = mem_text(kube_path(a, "coordination.k8s.io", "v1", "leases", config->ns, NULL, NULL));
    k->random.state = hash_bytes(k->identity, strlen(k->identity), 0);
    k->timer = loop_timer_new(k->l, lease_try, k);
    k->deadline = loop_timer_new(k->l, lease_overdue, k);
    loop_timer_start(k->timer, 0, 0);
    return k;
}

bool kube_lease_held(const struct kube_lease *l)
{
    return l->is_held && loop_now_ms(l->l) < l->until_ms;
}

uint64_t kube_lease_term(const struct kube_lease *l)
{
    return l->term;
}

static void write_answered(void *arg, const struct kube_answer *answer);
static void read_answered(void *arg, const struct kube_answer *answer);

void kube_lease_free(struct kube_lease *k)
{
    if (!k)
        return;
    kube_client_forget(k->c, write_answered, k);
    kube_client_forget(k->c, read_answered, k);
    loop_timer_free(k->timer);
    loop_timer_free(k->deadline);
    buf_free(&k->record);
    free(k->ns);
    free(k->name);
    free(k->identity);
    free(k->path);
    free(k->collection);
    free(k);
}

static void lease_retry(struct kube_lease *k)
{
    loop_timer_start(k->timer, RETRY_MS + (int64_t)random_below(&k->random, RETRY_MS / 5), 0);
}

static void spec_write(struct kube_lease *k, struct arena *a, struct json *lease, const char *holder,
                       int64_t transitions)
{
    char now[TIME_TEXT_MAX];
    struct json *spec = json_ensure_object(a, lease, "spec");
    time_format_micro(now, loop_wall_us(k->l));
    if (!k->is_held || !k->acquired[0])
        memcpy(k->acquired, now, sizeof k->acquired);
    json_set_text(a, spec, "holderIdentity", holder);
    json_set_int64(a, spec, "leaseDurationSeconds", *holder ? LEASE_S : 1);
    json_set_text(a, spec, "acquireTime", k->acquired);
    json_set_text(a, spec, "renewTime", now);
    json_set_int64(a, spec, "leaseTransitions", transitions);
}

/* A lost race is none: somebody else leads. */
static void lease_trouble(struct kube_lease *k, const struct kube_answer *answer)
{
    bool is_race = answer->code == -E_CONFLICT || answer->code == -E_EXISTS;
    if (answer->code < 0 && !is_race && !k->is_releasing && k->config.on_trouble)
        k->config.on_trouble(k->config.arg, &answer->error);
}

static void write_answered(void *arg, const struct kube_answer *answer)
{
    struct kube_lease *k = arg;
    k->is_busy = false;
    lease_retry(k);
    lease_trouble(k, answer);
    if (answer->code < 0)
        buf_clear(&k->record); /* the deadline runs on; the next try reads what happened */
    if (answer->code == -E_CONFLICT)
        loop_timer_start(k->timer, 0, 0); /* our own write whose answer was lost, or another's: it is known at once */
    if (answer->code < 0 || k->is_releasing)
        return;
    k->until_ms = k->sent_ms + RENEW_DEADLINE_MS;
    int64_t left_ms = k->until_ms - loop_now_ms(k->l);
    buf_clear(&k->record);
    buf_bytes(&k->record, answer->body);
    if (left_ms <= 0)
        return; /* so late that it may be another's by now */
    loop_timer_start(k->deadline, left_ms, 0);
    if (!k->is_held) {
        k->is_held = true;
        if (k->config.on_leading)
            k->config.on_leading(k->config.arg); /* may free k */
    }
}

static void lease_write(struct kube_lease *k, const char *method, const char *path, const struct json *lease,
                        kube_answer_fn on_answer)
{
    _cleanup_buf_ struct buf out = {0};
    json_write(&out, lease);
    k->sent_ms = loop_now_ms(k->l);
    k->is_busy = on_answer != NULL;
    kube_send(k->c, &(struct kube_call){.lane = KUBE_LANE_LEASE,
                                        .method = method,
                                        .path = path,
                                        .content_type = "application/json",
                                        .body = buf_view(&out),
                                        .timeout_ms = CALL_MS,
                                        .on_answer = on_answer,
                                        .arg = k});
}

static void lease_create(struct kube_lease *k)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *lease = json_new(a, JSON_OBJECT);
    json_set_text(a, lease, "apiVersion", "coordination.k8s.io/v1");
    json_set_text(a, lease, "kind", "Lease");
    struct json *meta = json_ensure_object(a, lease, "metadata");
    json_set_text(a, meta, "name", k->name);
    json_set_text(a, meta, "namespace", k->ns);
    spec_write(k, a, lease, k->identity, 0);
    k->term++;
    lease_write(k, "POST", k->collection, lease, write_answered);
}

/* Has the record expired? Judged by our own clock since we saw it change. */
static bool record_is_expired(struct kube_lease *k, const struct json *spec)
{
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, spec);
    uint64_t hash = hash_bytes(text.data, text.n, 0);
    if (hash != k->observed_hash || !k->observed_ms) {
        k->observed_hash = hash;
        k->observed_ms = loop_now_ms(k->l) + 1; /* never 0 */
    }
    return loop_now_ms(k->l) + 1 - k->observed_ms >= json_get_int64(spec, "leaseDurationSeconds", LEASE_S) * 1000;
}

static void lease_update(struct kube_lease *k, struct arena *a, struct json *lease, bool is_ours, const char *holder)
{
    int64_t transitions = json_get_int64(json_get(lease, "spec"), "leaseTransitions", 0);
    spec_write(k, a, lease, holder, is_ours ? transitions : transitions + 1);
    k->term += !is_ours;
    lease_write(k, "PUT", k->path, lease, write_answered);
}

static void read_answered(void *arg, const struct kube_answer *answer)
{
    struct kube_lease *k = arg;
    k->is_busy = false;
    if (answer->code == -E_NOTFOUND && !k->is_releasing) {
        lease_create(k);
        return;
    }
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *lease = answer->code == 0 ? json_parse(a, answer->body, NULL, NULL) : NULL;
    if (!lease) {
        lease_retry(k);
        lease_trouble(k, answer);
        return;
    }
    const struct json *spec = json_get(lease, "spec");
    const char *holder = json_get_text(spec, "holderIdentity", "");
    bool is_ours = text_equal(holder, k->identity), is_expired = record_is_expired(k, spec);
    if (k->is_releasing) {
        if (is_ours)
            lease_update(k, a, lease, true, "");
        return;
    }
    if (is_ours || !*holder || is_expired) {
        lease_update(k, a, lease, is_ours, k->identity);
        return;
    }
    k->term++;
    lease_retry(k);
    lease_lose(k); /* somebody else holds it; may free k */
}

static void lease_read(struct kube_lease *k)
{
    k->is_busy = true;
    kube_send(k->c, &(struct kube_call){.lane = KUBE_LANE_LEASE,
                                        .method = "GET",
                                        .path = k->path,
                                        .timeout_ms = CALL_MS,
                                        .on_answer = read_answered,
                                        .arg = k});
}

static void lease_try(void *arg)
{
    struct kube_lease *k = arg;
    if (k->is_busy)
        return; /* its answer starts the timer again */
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *lease =
        k->is_held && !k->is_releasing && k->record.n ? json_parse(a, buf_view(&k->record), NULL, NULL) : NULL;
    if (lease)
        lease_update(k, a, lease, true, k->identity);
    else
        lease_read(k);
}

/* WHY  One request that nobody waits for: the process that releases is about to end. */
static bool lease_hand_back(struct kube_lease *k)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *lease = k->record.n ? json_parse(a, buf_view(&k->record), NULL, NULL) : NULL;
    if (!lease)
        return false;
    spec_write(k, a, lease, "", json_get_int64(json_get(lease, "spec"), "leaseTransitions", 0));
    lease_write(k, "PUT", k->path, lease, NULL);
    return true;
}

void kube_lease_release(struct kube_lease *k)
{
    if (k->is_releasing)
        return;
    k->is_releasing = true;
    loop_timer_stop(k->timer);
    if (k->is_held && !k->is_busy && !lease_hand_back(k))
        loop_timer_start(k->timer, 0, 0);
    lease_lose(k); /* busy: its answer starts the timer, and the next try hands back */
}
