/* event.c - Events with memory: repeats count up, floods are cut
 *
 * SHAPE  seen: digest of (object, type, reason, message) -> the Event written for it; spent: digest of the object ->
 * writes in this window. A digest is 128 bits of hash: two objects in one are not to be feared, and the texts of
 * thousands of objects need not be kept.
 * WHY    A pod that cannot be placed is judged thousands of times; its user wants one line that says how often.
 */
#include "kube/event.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/map.h"
#include "base/memory.h"
#include "wire/json.h"

enum {
    SAME_FOR_MS = 10 * 60 * 1000,
    WINDOW_MS = 5 * 60 * 1000,
    WINDOW_MAX = 25,
    REMEMBERED_MAX = 4096,
    MESSAGE_MAX = 1024, /* kube-apiserver refuses longer ones */
};

struct seen {
    uint64_t stamp; /* end of the Event's name; 0 = none written yet */
    int64_t last_ms;
    uint32_t count;
};

struct digest {
    uint64_t half[2];
};

struct spent {
    int64_t since_ms;
    uint32_t n;
};

struct kube_recorder {
    struct kube_client *c;
    struct loop *l;
    char *component;
    struct map *seen, *spent;
    struct buf body, key;
    uint64_t written_n;
};

struct kube_recorder *kube_recorder_new(struct kube_client *c, const char *component)
{
    struct kube_recorder *r = mem_zero(1, sizeof *r);
    r->c = c;
    r->l = kube_client_loop(c);
    r->component = mem_text(component);
    r->seen = map_new(sizeof(struct seen));
    r->spent = map_new(sizeof(struct spent));
    return r;
}

void kube_recorder_free(struct kube_recorder *r)
{
    if (!r)
        return;
    map_free(r->seen);
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

/* False when this object has had its share of this window. */
static bool may_write(struct kube_recorder *r, const struct kube_object_ref *about)
{
    int64_t now_ms = loop_now_ms(r->l);
    bool is_new;
    buf_clear(&r->key);
    buf_printf(&r->key, "%s/%s/%s/%s", text_or(about->kind, ""), text_or(about->ns, ""), text_or(about->name, ""),
               text_or(about->uid, ""));
    struct spent *s = remembered(r, r->spent, &is_new);
    if (is_new || now_ms - s->since_ms >= WINDOW_MS)
        *s = (struct spent){.since_ms = now_ms};
    return s->n++ < WINDOW_MAX;
}

static void member(struct buf *out, const char *key, const char *value, char before)
{
    buf_char(out, before);
    json_write_string(out, bytes_of(key));
    buf_char(out, ':');
    json_write_string(out, bytes_of(value));
}

static void body_full(struct kube_recorder *r, const struct kube_object_ref *about, const char *name, const char *ns,
                      const char *type, const char *reason, const char *message)
{
    char now[TIME_TEXT_MAX];
    struct buf *b = &r->body;
    time_format(now, loop_wall_ms(r->l));
    buf_clear(b);
    buf_text(b, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":");
    member(b, "name", name, '{');
    member(b, "namespace", ns, ',');
    buf_text(b, "},\"involvedObject\":");
    member(b, "apiVersion", text_or(about->api_version, ""), '{');
    member(b, "kind", text_or(about->kind, ""), ',');
    if (about->ns && *about->ns)
        member(b, "namespace", about->ns, ',');
    member(b, "name", text_or(about->name, ""), ',');
    if (about->uid && *about->uid)
        member(b, "uid", about->uid, ',');
    buf_char(b, '}');
    member(b, "type", type, ',');
    member(b, "reason", reason, ',');
    member(b, "message", message, ',');
    member(b, "firstTimestamp", now, ',');
    member(b, "lastTimestamp", now, ',');
    buf_text(b, ",\"count\":1,\"source\":");
    member(b, "component", r->component, '{');
    buf_char(b, '}');
    member(b, "reportingComponent", r->component, ',');
    member(b, "reportingInstance", "", ',');
    buf_char(b, '}');
}

static void event_create(struct kube_recorder *r, const struct kube_object_ref *about, struct seen *s, const char *ns,
                         const char *type, const char *reason, const char *message)
{
    _cleanup_arena_ struct arena *a = arena_new();
    s->stamp = (uint64_t)loop_wall_us(r->l) * 1000 + r->written_n++ % 1000;
    s->count = 1;
    body_full(r, about, event_name(a, about, s), ns, type, reason, message);
    kube_create(r->c, kube_path(a, "", "v1", "events", ns, NULL, NULL), buf_view(&r->body), NULL, NULL);
}

static void event_repeat(struct kube_recorder *r, const struct kube_object_ref *about, const struct seen *s,
                         const char *ns)
{
    _cleanup_arena_ struct arena *a = arena_new();
    char now[TIME_TEXT_MAX];
    buf_clear(&r->body);
    buf_printf(&r->body, "{\"count\":%u,\"lastTimestamp\":\"%s\"}", s->count, time_format(now, loop_wall_ms(r->l)));
    kube_patch(r->c, KUBE_PATCH_MERGE, kube_path(a, "", "v1", "events", ns, event_name(a, about, s), NULL), buf_view(&r->body), NULL,
               NULL);
}

void kube_event(struct kube_recorder *r, const struct kube_object_ref *about, const char *type, const char *reason,
                const char *format, ...)
{
    _cleanup_buf_ struct buf message = {0};
    const char *ns = about->ns && *about->ns ? about->ns : "default";
    bool is_new;
    va_list args;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    if (message.n > MESSAGE_MAX) { /* cut at a character */
        message.n = MESSAGE_MAX - 3;
        while (message.n && ((unsigned char)message.data[message.n] & 0xc0) == 0x80)
            message.n--;
        message.data[message.n] = 0;
        buf_text(&message, "...");
    }
    bool writes = may_write(r, about);
    buf_printf(&r->key, "\n%s\n%s\n%s", type, reason, message.data);
    struct seen *s = remembered(r, r->seen, &is_new);
    bool is_fresh = is_new || loop_now_ms(r->l) - s->last_ms >= SAME_FOR_MS || !s->stamp;
    s->last_ms = loop_now_ms(r->l);
    s->count++;
    if (!writes)
        return;
    if (is_fresh)
        event_create(r, about, s, ns, type, reason, message.data);
    else
        event_repeat(r, about, s, ns);
}
