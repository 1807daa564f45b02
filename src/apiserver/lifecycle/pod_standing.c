#include "apiserver/lifecycle/pod_standing.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "wire/json_reader.h"

struct known_pod {
    uint64_t rv; /* of the body that was read; 0: none was yet */
    uint64_t pass;
    char *labels;
    struct pod_seen seen;
};

struct pod_standings {
    struct map *pods; /* "ns/name" -> struct known_pod */
    struct buf key;
    uint64_t pass;
};

static void read_owners(struct json_reader *r, struct buf *scratch, struct pod_standing *p)
{
    if (!json_reader_array(r))
        return;
    while (json_reader_item(r)) {
        struct bytes key, uid = {0};
        bool controls = false;
        if (!json_reader_object(r))
            continue;
        while (json_reader_key(r, &key)) {
            if (bytes_is(key, "uid"))
                (void)json_reader_string(r, scratch, &uid);
            else if (bytes_is(key, "controller"))
                (void)json_reader_bool(r, &controls);
            else
                json_reader_skip(r);
        }
        if (!controls || p->has_controller)
            continue;
        p->has_controller = true;
        (void)snprintf(p->controller, sizeof p->controller, "%.*s", (int)(uid.n < 63 ? uid.n : 63), uid.n ? uid.data : "");
    }
}

static void read_conditions(struct json_reader *r, struct buf *scratch, struct pod_standing *p)
{
    bool known = false;
    if (!json_reader_array(r))
        return;
    while (json_reader_item(r)) {
        struct bytes key, text;
        bool is_ready = false, holds = false;
        if (!json_reader_object(r))
            continue;
        while (json_reader_key(r, &key)) {
            if (bytes_is(key, "type"))
                is_ready = json_reader_string(r, scratch, &text) && bytes_is(text, "Ready");
            else if (bytes_is(key, "status"))
                holds = json_reader_string(r, scratch, &text) && bytes_is(text, "True");
            else
                json_reader_skip(r);
        }
        if (is_ready && !known)
            p->is_ready = holds;
        known |= is_ready;
    }
}

static void read_metadata(struct json_reader *r, struct buf *scratch, struct pod_standing *p)
{
    struct bytes key;
    if (!json_reader_object(r))
        return;
    while (json_reader_key(r, &key)) {
        if (bytes_is(key, "ownerReferences")) {
            read_owners(r, scratch, p);
            continue;
        }
        if (bytes_is(key, "deletionTimestamp"))
            p->is_leaving = json_reader_peek(r) == JSON_STRING;
        json_reader_skip(r);
    }
}

static void read_status(struct json_reader *r, struct buf *scratch, struct pod_standing *p)
{
    struct bytes key, phase;
    if (!json_reader_object(r))
        return;
    while (json_reader_key(r, &key)) {
        if (bytes_is(key, "phase"))
            p->has_ended = json_reader_string(r, scratch, &phase) && (bytes_is(phase, "Succeeded") || bytes_is(phase, "Failed"));
        else if (bytes_is(key, "conditions"))
            read_conditions(r, scratch, p);
        else
            json_reader_skip(r);
    }
}

struct pod_standing pod_standing_read(struct bytes body)
{
    struct pod_standing p = {0};
    struct json_reader r;
    struct bytes key;
    _cleanup_buf_ struct buf scratch = {0};
    json_reader_init(&r, body);
    if (!json_reader_object(&r))
        return p;
    while (json_reader_key(&r, &key)) {
        if (bytes_is(key, "metadata"))
            read_metadata(&r, &scratch, &p);
        else if (bytes_is(key, "status"))
            read_status(&r, &scratch, &p);
        else
            json_reader_skip(&r);
    }
    return p;
}

/* An object that has only the labels of this one. */
static char *labels_read(struct bytes body, size_t *ret_n)
{
    struct json_reader r;
    struct bytes key, labels = {0};
    json_reader_init(&r, body);
    if (json_reader_object(&r))
        while (json_reader_key(&r, &key)) {
            if (!bytes_is(key, "metadata") || !json_reader_object(&r)) {
                json_reader_skip(&r);
                continue;
            }
            while (json_reader_key(&r, &key))
                if (bytes_is(key, "labels"))
                    labels = json_reader_raw(&r);
                else
                    json_reader_skip(&r);
        }
    struct buf text = {0};
    buf_text(&text, "{\"metadata\":{\"labels\":");
    buf_bytes(&text, labels.n ? labels : bytes_of("{}"));
    buf_text(&text, "}}");
    *ret_n = text.n;
    return mem_grow(text.data, text.n, 1);
}

struct pod_standings *pod_standings_new(void)
{
    struct pod_standings *s = mem_zero(1, sizeof *s);
    s->pods = map_new(sizeof(struct known_pod));
    return s;
}

void pod_standings_free(struct pod_standings *s)
{
    size_t at = 0;
    struct bytes key;
    if (!s)
        return;
    for (struct known_pod *p; (p = map_next(s->pods, &at, &key));)
        free(p->labels);
    map_free(s->pods);
    buf_free(&s->key);
    free(s);
}

void pod_standings_begin(struct pod_standings *s)
{
    s->pass++;
}

struct pod_seen *pod_standings_of(struct pod_standings *s, const struct store_object *pod)
{
    buf_clear(&s->key);
    buf_text(&s->key, pod->ns);
    buf_char(&s->key, '/');
    buf_text(&s->key, pod->name);
    struct known_pod *p = map_put(s->pods, buf_view(&s->key), NULL);
    if (p->rv != pod->rv) {
        struct bytes body = {pod->body->data, pod->body->n};
        free(p->labels);
        p->seen = (struct pod_seen){.standing = pod_standing_read(body)};
        p->labels = labels_read(body, &p->seen.labels.n);
        p->seen.labels.data = p->labels;
        p->rv = pod->rv;
    }
    p->pass = s->pass;
    return &p->seen;
}

void pod_standings_end(struct pod_standings *s)
{
    size_t at = 0;
    struct bytes key;
    for (struct known_pod *p; (p = map_next(s->pods, &at, &key));)
        if (p->pass != s->pass) {
            free(p->labels);
            (void)map_remove(s->pods, key);
        }
}
