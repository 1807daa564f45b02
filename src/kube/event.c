/* event.c - Events with memory: repeats count up, floods are cut; see event.h
 *
 * SHAPE  seen: digest of (object, type, reason, message) -> the Event written for it; similar: digest of (object, type, reason) -> its
 *        different messages; spent: digest of the object -> its tokens. A digest is 128 bits of hash: two objects in one are not to be
 *        feared, and the texts of thousands of objects need not be kept.
 * WHY    A pod that cannot be placed is judged thousands of times; its user wants one line that says how often.
 */
#include "kube/event.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/bucket.h"
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/limits.h"
#include "base/memory.h"
#include "wire/json.h"

enum {
    SAME_FOR_MS = 10 * 60 * 1000,
    COUNT_EVERY_MS = 10 * 1000,
    SIMILAR_MAX = 10,
    OBJECT_BURST = 25,
    OBJECT_REFILL_MS = 5 * 60 * 1000,
    REMEMBERED_MAX = 4096,
    MESSAGE_MAX = 1024, /* kube-apiserver refuses longer ones */
};

struct seen {
    uint64_t stamp; /* end of the Event's name; 0 = none written yet */
    int64_t last_ms, written_ms;
    uint32_t count;
};

struct similar {
    int64_t last_ms;
    uint32_t messages_n;
};

struct digest {
    uint64_t half[2];
};

struct kube_recorder {
    struct kube_client *c;
    struct loop *l;
    char *component;
    struct map *seen, *similar, *spent;
    struct bucket all[2]; /* Normal, Warning */
    struct buf body, key; /* of the Event that is being written */
    bool tells_done;      /* so does it */
    uint64_t written_n;
};

struct kube_recorder *kube_recorder_new(struct kube_client *c, const char *component)
{
    struct kube_recorder *r = mem_zero(1, sizeof *r);
    r->c = c;
    r->l = kube_client_loop(c);
    r->component = mem_text(component);
    r->seen = map_new(sizeof(struct seen));
    r->similar = map_new(sizeof(struct similar));
    r->spent = map_new(sizeof(struct bucket));
    return r;
}

void kube_recorder_free(struct kube_recorder *r)
{
    if (!r)
        return;
    map_free(r->seen);
    map_free(r->similar);
    map_free(r->spent);
    buf_free(&r->body);
    buf_free(&r->key);
    free(r->component);
    free(r);
}

/* Forget the oldest, so that one more has room. */
static void remember_bounded(struct map *m)
{
    size_t at = 0;
    struct bytes key;
    if (map_count(m) >= REMEMBERED_MAX && map_next(m, &at, &key))
        (void)map_remove(m, key); /* it is there: we stand on it */
}

static const char *text_or(const char *text, const char *fallback)
{
    return text ? text : fallback;
}

static struct digest digest_of(const struct buf *text)
{
    return (struct digest){{hash_bytes(text->data, text->n, 1), hash_bytes(text->data, text->n, 2)}};
}

/* The entry of the text in r->key, made when absent. */
static void *remembered(struct kube_recorder *r, struct map *m, bool *ret_is_new)
{
    struct digest d = digest_of(&r->key);
    struct bytes key = {(const char *)d.half, sizeof d.half};
    if (!map_find(m, key))
        remember_bounded(m);
    return map_put(m, key, ret_is_new);
}

/* As client-go: the object's name and nanoseconds. */
static const char *event_name(struct arena *a, const struct kube_object_ref *about, const struct seen *s)
{
    return arena_printf(a, "%.250s.%llx", text_or(about->name, "object"), (unsigned long long)s->stamp);
}

/* ---- limits ---- */

/* Takes a token of the object and one of all; false when either has none left. */
static bool may_write(struct kube_recorder *r, const struct kube_object_ref *about, const char *type)
{
    int64_t now_ms = loop_now_ms(r->l);
    bool is_new;
    buf_clear(&r->key);
    buf_printf(&r->key, "%s/%s/%s/%s", text_or(about->kind, ""), text_or(about->ns, ""), text_or(about->name, ""),
               text_or(about->uid, ""));
    struct bucket *own = remembered(r, r->spent, &is_new), *all = &r->all[strcmp(type, "Warning") == 0];
    if (bucket_wait_ms(own, now_ms, OBJECT_BURST, OBJECT_REFILL_MS) > 0 ||
        bucket_wait_ms(all, now_ms, LIMIT_EVENT_BURST, 1000 / LIMIT_EVENTS_PER_S) > 0)
        return false;
    bucket_take(own);
    bucket_take(all);
    return true;
}

/* Is this message one too many of its kind? r->key is (object, type, reason). */
static bool is_combined(struct kube_recorder *r, bool is_new_message)
{
    int64_t now_ms = loop_now_ms(r->l);
    bool is_new;
    struct similar *s = remembered(r, r->similar, &is_new);
    if (is_new || now_ms - s->last_ms >= SAME_FOR_MS)
        *s = (struct similar){0};
    s->last_ms = now_ms;
    s->messages_n += is_new_message;
    return is_new_message && s->messages_n > SIMILAR_MAX;
}

/* ---- what is written ---- */

static void body_full(struct kube_recorder *r, const struct kube_object_ref *about, const char *name, const char *ns,
                      const char *type, const char *reason, const char *message, uint32_t count)
{
    char now[TIME_TEXT_MAX];
    struct buf *b = &r->body;
    time_format(now, loop_wall_ms(r->l));
    buf_clear(b);
    buf_text(b, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":");
    json_write_member(b, "name", name, '{');
    json_write_member(b, "namespace", ns, ',');
    buf_text(b, "},\"involvedObject\":");
    json_write_member(b, "apiVersion", text_or(about->api_version, ""), '{');
    json_write_member(b, "kind", text_or(about->kind, ""), ',');
    if (about->ns && *about->ns)
        json_write_member(b, "namespace", about->ns, ',');
    json_write_member(b, "name", text_or(about->name, ""), ',');
    if (about->uid && *about->uid)
        json_write_member(b, "uid", about->uid, ',');
    buf_char(b, '}');
    json_write_member(b, "type", type, ',');
    json_write_member(b, "reason", reason, ',');
    json_write_member(b, "message", message, ',');
    json_write_member(b, "firstTimestamp", now, ',');
    json_write_member(b, "lastTimestamp", now, ',');
    buf_printf(b, ",\"count\":%u,\"source\":", count);
    json_write_member(b, "component", r->component, '{');
    buf_char(b, '}');
    json_write_member(b, "reportingComponent", r->component, ',');
    json_write_member(b, "reportingInstance", "", ',');
    buf_char(b, '}');
}

/* The body is written. WHY  Nobody waits for the answer: an Event that is lost is missed by nobody. */
static void event_send(struct kube_recorder *r, const char *method, const char *content_type, const char *path)
{
    kube_send(r->c, &(struct kube_call){
                        .lane = KUBE_LANE_EVENT, .method = method, .content_type = content_type, .path = path, .body = buf_view(&r->body),
                        .tells_done = r->tells_done});
}

static void event_create(struct kube_recorder *r, const struct kube_object_ref *about, struct seen *s, const char *ns,
                         const char *type, const char *reason, const char *message)
{
    _cleanup_arena_ struct arena *a = arena_new();
    s->stamp = (uint64_t)loop_wall_us(r->l) * 1000 + r->written_n++ % 1000;
    body_full(r, about, event_name(a, about, s), ns, type, reason, message, s->count);
    event_send(r, "POST", "application/json", kube_path(a, "", "v1", "events", ns, NULL, NULL));
}

static void event_repeat(struct kube_recorder *r, const struct kube_object_ref *about, const struct seen *s,
                         const char *ns, const char *message)
{
    _cleanup_arena_ struct arena *a = arena_new();
    char now[TIME_TEXT_MAX];
    buf_clear(&r->body);
    buf_printf(&r->body, "{\"count\":%u,\"lastTimestamp\":\"%s\"", s->count, time_format(now, loop_wall_ms(r->l)));
    if (message)
        json_write_member(&r->body, "message", message, ',');
    buf_char(&r->body, '}');
    event_send(r, "PATCH", kube_patch_type(KUBE_PATCH_MERGE), kube_path(a, "", "v1", "events", ns, event_name(a, about, s), NULL));
}

/* Cut at a character. */
static void message_cut(struct buf *message)
{
    if (message->n <= MESSAGE_MAX)
        return;
    message->n = MESSAGE_MAX - 3;
    while (message->n && ((unsigned char)message->data[message->n] & 0xc0) == 0x80)
        message->n--;
    message->data[message->n] = 0;
    buf_text(message, "...");
}

static void key_of(struct kube_recorder *r, const struct kube_object_ref *about, const char *type, const char *reason)
{
    buf_clear(&r->key);
    buf_printf(&r->key, "%s/%s/%s/%s\n%s\n%s", text_or(about->kind, ""), text_or(about->ns, ""), text_or(about->name, ""),
               text_or(about->uid, ""), type, reason);
}

static bool is_fresh(const struct kube_recorder *r, const struct seen *s)
{
    return !s->stamp || loop_now_ms(r->l) - s->last_ms >= SAME_FOR_MS;
}

/* The memory of this message, or of the one that stands for all that are too many. */
static struct seen *seen_of(struct kube_recorder *r, const struct kube_object_ref *about, const char *type, const char *reason,
                            struct buf *message, bool *ret_is_combined)
{
    bool is_new;
    key_of(r, about, type, reason);
    buf_printf(&r->key, "\n%s", message->data);
    struct seen *s = remembered(r, r->seen, &is_new);
    bool is_new_message = is_new || is_fresh(r, s);
    key_of(r, about, type, reason);
    *ret_is_combined = is_combined(r, is_new_message);
    if (!*ret_is_combined)
        return s;
    _cleanup_buf_ struct buf all = {0};
    buf_printf(&all, "(combined from similar events): %s", message->data);
    buf_clear(message);
    buf_bytes(message, buf_view(&all));
    message_cut(message);
    return remembered(r, r->seen, &is_new);
}

static void tell(struct kube_recorder *r, const struct kube_object_ref *about, const char *type, const char *reason, struct buf *message)
{
    const char *ns = about->ns && *about->ns ? about->ns : "default";
    int64_t now_ms = loop_now_ms(r->l);
    bool combined;
    message_cut(message);
    struct seen *s = seen_of(r, about, type, reason, message, &combined);
    if (is_fresh(r, s))
        *s = (struct seen){0};
    s->last_ms = now_ms;
    s->count++;
    if ((s->stamp && now_ms - s->written_ms < COUNT_EVERY_MS) || !may_write(r, about, type))
        return;
    s->written_ms = now_ms;
    if (s->stamp)
        event_repeat(r, about, s, ns, combined ? message->data : NULL);
    else
        event_create(r, about, s, ns, type, reason, message->data);
}

void kube_event(struct kube_recorder *r, const struct kube_object_ref *about, const char *type, const char *reason,
                const char *format, ...)
{
    _cleanup_buf_ struct buf message = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    r->tells_done = false;
    tell(r, about, type, reason, &message);
}

/* WHY  thousands are done at once, and nearly all of those are dropped: before they are printed, and before they push out of memory what
 * was written. */
void kube_event_done(struct kube_recorder *r, const struct kube_object_ref *about, const char *reason, const char *format, ...)
{
    _cleanup_buf_ struct buf message = {0};
    if (bucket_wait_ms(&r->all[0], loop_now_ms(r->l), LIMIT_EVENT_BURST, 1000 / LIMIT_EVENTS_PER_S) > 0)
        return;
    va_list args;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    r->tells_done = true;
    tell(r, about, "Normal", reason, &message);
}

/* ---- of what is being written ---- */

struct telling { /* with its texts in the pass's arena */
    struct kube_recorder *recorder;
    struct kube_object_ref about;
    const char *type, *reason, *message;
};

static void on_written(void *arg)
{
    struct telling *t = arg;
    _cleanup_buf_ struct buf message = {0};
    buf_text(&message, t->message);
    t->recorder->tells_done = true;
    tell(t->recorder, &t->about, t->type, t->reason, &message);
}

void kube_event_then(struct kube_recorder *r, struct work *w, const struct kube_object_ref *about, const char *type, const char *reason,
                     const char *format, ...)
{
    _cleanup_buf_ struct buf message = {0};
    struct arena *a = w->arena;
    va_list args;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    struct telling *t = arena_alloc(a, sizeof *t);
    *t = (struct telling){.recorder = r,
                          .about = {arena_text(a, about->api_version), arena_text(a, about->kind), arena_text(a, about->ns),
                                    arena_text(a, about->name), arena_text(a, about->uid)},
                          .type = arena_text(a, type),
                          .reason = arena_text(a, reason),
                          .message = arena_text_n(a, message.data, message.n)};
    work_then(w, on_written, t);
}
