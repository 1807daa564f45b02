/* watch.c - the reflector: list, watch, and tell one story whatever happens to the connection
 *
 * SHAPE  phases: wait -> list (page after page) -> watch -> wait ...; `next` says what the wait is for.
 *        known: key -> uid, hash of resourceVersion, number of the list that saw it last.
 * OWNER  the receiver may free the watch inside its callbacks: then it is dead until the last of our frames has returned.
 */
#include "kube/watch.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "base/random.h"
#include "kube/client_auth.h"
#include "kube/object_meta.h"
#include "wire/json_reader.h"

enum {
    PAGE = 500,
    LIST_SILENCE_MS = 60 * 1000,
    WATCH_MIN_S = 300, /* client-go: 5 to 10 minutes, so that many watches do not end together */
    WATCH_SPREAD_S = 300,
    WATCH_GRACE_MS = 30 * 1000,
    SHORT_WATCH_MS = 1000,
    BACKOFF_MIN_MS = 200,
    BACKOFF_MAX_MS = 30 * 1000,
    ABSENT_MS = 30 * 1000,
    OBJECT_MAX_BYTES = 16 << 20,
    ERROR_BODY_BYTES = 64 << 10,
    UID_MAX = 40,
};

enum phase { PHASE_WAIT, PHASE_LIST, PHASE_WATCH };

struct known {
    uint64_t rv_hash;
    uint32_t list_n;
    char uid[UID_MAX];
};

struct kube_watch {
    struct kube_client *c;
    struct http_client *http;
    struct loop *l;
    char *path, *selectors; /* path: config.path; selectors: "&labelSelector=..." or "" */
    uint32_t path_at;       /* 0: path; n: older_paths[n - 1] */
    bool is_served;         /* it was, when it was listed last */
    struct kube_watch_config config;
    struct map *known;
    struct loop_timer *timer;
    struct random random;
    enum phase phase, next;
    uint64_t call; /* 0 = none */
    struct json_splitter *splitter;
    struct buf rv, event_rv, continue_token, error_body, key, url;
    struct buf without_nul; /* what is being read, where it had one */
    struct object_meta meta;
    const struct blob *body; /* of the event that is being told; NULL: it has none */
    uint32_t list_n;
    int64_t backoff_ms, watch_started_ms;
    int inside;
    bool is_denied; /* and on_denied was told so. WHY until a watch was answered: a role may have list and lack watch */
    bool is_synced, is_dead, is_gone, has_events; /* gone: 410 seen; has_events: in this watch */
    bool failed;                                  /* the splitter or an object was unusable */
    bool was_full;                                /* on_full was told */
    bool left_out, listed_again; /* this list had objects beyond objects_max; it is the second one for such a reason */
};

static void watch_begin(void *arg);

static void selector_add(struct buf *out, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    buf_printf(out, "&%s=", name);
    http_escape(out, value);
}

struct kube_watch *kube_watch_new(struct kube_client *c, const struct kube_watch_config *config)
{
    struct kube_watch *w = mem_zero(1, sizeof *w);
    struct buf selectors = {0};
    w->c = c;
    w->http = kube_client_http(c);
    w->l = kube_client_loop(c);
    w->config = *config;
    w->path = mem_text(config->path);
    selector_add(&selectors, "labelSelector", config->label_selector);
    selector_add(&selectors, "fieldSelector", config->field_selector);
    w->selectors = buf_take(&selectors, NULL);
    w->known = map_new(sizeof(struct known));
    w->random.state = hash_bytes(w->path, strlen(w->path), (uint64_t)loop_wall_us(w->l));
    w->next = PHASE_LIST;
    w->timer = loop_timer_new(w->l, watch_begin, w);
    loop_timer_start(w->timer, 0, 0);
    return w;
}

static void watch_destroy(struct kube_watch *w)
{
    json_splitter_free(w->splitter);
    object_meta_free(&w->meta);
    map_free(w->known);
    buf_free(&w->rv);
    buf_free(&w->event_rv);
    buf_free(&w->continue_token);
    buf_free(&w->error_body);
    buf_free(&w->key);
    buf_free(&w->without_nul);
    buf_free(&w->url);
    free(w->path);
    free(w->selectors);
    free(w);
}

void kube_watch_free(struct kube_watch *w)
{
    if (!w || w->is_dead)
        return;
    w->is_dead = true;
    loop_timer_free(take_ptr(w->timer));
    if (w->call)
        http_client_cancel(w->http, w->call);
    w->call = 0;
    if (!w->inside)
        watch_destroy(w);
}

static void watch_enter(struct kube_watch *w)
{
    w->inside++;
}

/* Returns false when w is gone. */
static bool watch_leave(struct kube_watch *w)
{
    w->inside--;
    if (!w->is_dead)
        return true;
    if (!w->inside)
        watch_destroy(w);
    return false;
}

struct bytes kube_watch_key(const struct kube_watch *w)
{
    return buf_view(&w->key);
}

struct bytes kube_watch_version(const struct kube_watch *w)
{
    return buf_view(&w->meta.rv);
}

const struct blob *kube_watch_body(const struct kube_watch *w, struct bytes object)
{
    return w->body && w->body->data == object.data ? w->body : NULL;
}

const char *kube_watch_path(const struct kube_watch *w)
{
    return w->path_at ? w->config.older_paths[w->path_at - 1] : w->path;
}

bool kube_watch_synced(const struct kube_watch *w)
{
    return w->is_synced;
}

bool kube_watch_served(const struct kube_watch *w)
{
    return w->is_synced && w->is_served;
}

bool kube_watch_knows(const struct kube_watch *w, struct bytes key, const char *uid)
{
    const struct known *k = map_find(w->known, key);
    return w->is_denied || (k && strncmp(k->uid, uid, UID_MAX - 1) == 0);
}

static void watch_wait(struct kube_watch *w, enum phase next, int64_t delay_ms)
{
    w->phase = PHASE_WAIT;
    w->next = next;
    w->call = 0;
    if (w->splitter)
        json_splitter_free(take_ptr(w->splitter));
    loop_timer_start(w->timer, delay_ms, 0);
}

static void watch_back_off(struct kube_watch *w, enum phase next, int64_t at_least_ms)
{
    int64_t ms = w->backoff_ms ? w->backoff_ms * 2 : BACKOFF_MIN_MS;
    w->backoff_ms = ms > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : ms;
    ms = w->backoff_ms / 2 + (int64_t)random_below(&w->random, (uint64_t)w->backoff_ms / 2 + 1);
    watch_wait(w, next, ms > at_least_ms ? ms : at_least_ms);
}

static void tell(struct kube_watch *w, enum kube_event event, struct bytes object)
{
    if (!w->is_dead)
        w->config.on_event(w->config.arg, event, object);
}

/* DELETED for an object whose last state we did not see. */
static void tell_vanished(struct kube_watch *w, struct bytes key, const struct known *k)
{
    _cleanup_buf_ struct buf out = {0};
    const char *slash = memchr(key.data, '/', key.n);
    size_t ns_n = (size_t)(slash - key.data);
    buf_text(&out, "{\"metadata\":{\"name\":");
    json_write_string(&out, (struct bytes){slash + 1, key.n - ns_n - 1});
    if (ns_n) {
        buf_text(&out, ",\"namespace\":");
        json_write_string(&out, (struct bytes){key.data, ns_n});
    }
    buf_text(&out, ",\"uid\":");
    json_write_string(&out, bytes_of(k->uid));
    buf_text(&out, "}}");
    tell(w, KUBE_DELETED, buf_view(&out));
}

/* Without a uid in meta the object is the one that it was. */
static void known_set(struct kube_watch *w, struct known *k, uint64_t rv_hash)
{
    size_t n = w->meta.uid.n < UID_MAX - 1 ? w->meta.uid.n : UID_MAX - 1;
    k->rv_hash = rv_hash;
    k->list_n = w->list_n;
    if (!n)
        return;
    memset(k->uid, 0, sizeof k->uid);
    memcpy(k->uid, w->meta.uid.data, n);
}

static bool uid_differs(const struct kube_watch *w, const struct known *k)
{
    return w->meta.uid.n && k->uid[0] && strncmp(k->uid, w->meta.uid.data, UID_MAX - 1) != 0;
}

/* For one that is not known. */
static bool has_room(struct kube_watch *w)
{
    uint32_t max = w->config.objects_max;
    if (!max || map_count(w->known) < max)
        return true;
    w->left_out = true;
    if (!w->was_full && w->config.on_full)
        w->config.on_full(w->config.arg);
    w->was_full = true;
    return false;
}

/* The object in meta and key exists; k: as it is known, NULL: it is not. */
static void object_present(struct kube_watch *w, struct bytes object, struct known *k)
{
    uint64_t rv_hash = hash_bytes(w->meta.rv.data, w->meta.rv.n, w->path_at);
    if (!k) {
        if (!has_room(w))
            return;
        known_set(w, map_put(w->known, buf_view(&w->key), NULL), rv_hash);
        tell(w, KUBE_ADDED, object);
    } else if (uid_differs(w, k)) { /* deleted and made again while we did not look */
        struct known old = *k;
        known_set(w, k, rv_hash);
        tell_vanished(w, buf_view(&w->key), &old);
        tell(w, KUBE_ADDED, object);
    } else if (k->rv_hash == rv_hash && w->meta.rv.n) {
        k->list_n = w->list_n;
    } else {
        known_set(w, k, rv_hash);
        tell(w, KUBE_MODIFIED, object);
    }
}

static void object_absent(struct kube_watch *w, struct bytes object)
{
    if (map_remove(w->known, buf_view(&w->key)))
        tell(w, KUBE_DELETED, object);
}

/* After a complete list: what no page had is gone. */
static void vanished_drop(struct kube_watch *w)
{
    size_t at = 0;
    struct known *k;
    struct bytes key;
    while (!w->is_dead && (k = map_next(w->known, &at, &key))) {
        if (k->list_n == w->list_n)
            continue;
        struct known old = *k;
        buf_clear(&w->key);
        buf_bytes(&w->key, key);
        (void)map_remove(w->known, key); /* it is there: we stand on it */
        tell_vanished(w, buf_view(&w->key), &old);
    }
}

static int list_item(void *arg, struct bytes object)
{
    struct kube_watch *w = arg;
    if (w->is_dead)
        return -E_IO;
    object = object_text_without_nul(object, &w->without_nul);
    if (!object_meta_read(object, &w->meta) || !w->meta.name.n) {
        w->failed = true;
        return -E_PROTO;
    }
    object_meta_key(&w->meta, &w->key);
    object_present(w, object, map_find(w->known, buf_view(&w->key)));
    return 0;
}

/* {"type":"ADDED","object":{...}} in either order of the two. */
static bool line_split(struct bytes line, struct buf *scratch, struct bytes *ret_type, struct bytes *ret_object)
{
    struct json_reader r;
    struct bytes key;
    json_reader_init(&r, line);
    *ret_type = *ret_object = (struct bytes){0};
    if (!json_reader_object(&r))
        return false;
    while (json_reader_key(&r, &key)) {
        if (bytes_is(key, "type"))
            (void)json_reader_string(&r, scratch, ret_type); /* none: the type stays empty */
        else if (bytes_is(key, "object"))
            *ret_object = json_reader_raw(&r);
        else
            json_reader_skip(&r);
    }
    return !r.failed && ret_type->n && ret_object->n;
}

static int64_t status_code_read(struct bytes object)
{
    struct json_reader r;
    struct bytes key;
    int64_t code = 0;
    json_reader_init(&r, object);
    if (json_reader_object(&r)) {
        while (json_reader_key(&r, &key)) {
            if (!bytes_is(key, "code") || !json_reader_int64(&r, &code))
                json_reader_skip(&r);
        }
    }
    return code;
}

static bool meta_read(struct kube_watch *w, struct bytes object, struct known **ret_known)
{
    if (!object_meta_read(object, &w->meta))
        return false;
    object_meta_key(&w->meta, &w->key);
    *ret_known = map_find(w->known, buf_view(&w->key));
    return true;
}

/* meta and key of an event's object, without the uid of one that is known. WHY  a server in this process says the rest, and tells of each
 * deletion: nothing takes the place of another object unseen. */
static bool meta_of_event(struct kube_watch *w, const struct http_event *event, struct known **ret_known)
{
    struct object_meta *m = &w->meta;
    if (!event->name)
        return meta_read(w, event->object, ret_known);
    buf_clear(&m->ns);
    buf_clear(&m->name);
    buf_clear(&m->uid);
    buf_clear(&m->rv);
    buf_text(&m->ns, event->ns);
    buf_text(&m->name, event->name);
    buf_int64(&m->rv, (int64_t)event->rv);
    object_meta_key(m, &w->key);
    *ret_known = map_find(w->known, buf_view(&w->key));
    return *ret_known || meta_read(w, event->object, ret_known);
}

/* One event of the watch. Returns 0, or -E_* when the stream is to be closed. */
static int event_take(struct kube_watch *w, struct bytes type, const struct http_event *event)
{
    struct bytes object = event->object;
    struct known *known = NULL;
    if (bytes_is(type, "ERROR")) {
        w->is_gone = status_code_read(object) == 410;
        w->failed = !w->is_gone;
        return -E_GONE;
    }
    if (!meta_of_event(w, event, &known)) {
        w->failed = true;
        return -E_PROTO;
    }
    w->has_events = true;
    w->is_denied = false;
    w->backoff_ms = 0;
    buf_clear(&w->event_rv);
    buf_bytes(&w->event_rv, buf_view(&w->meta.rv));
    if (bytes_is(type, "DELETED"))
        object_absent(w, object);
    else if (bytes_is(type, "ADDED") || bytes_is(type, "MODIFIED"))
        object_present(w, object, known);
    if (w->event_rv.n && !w->is_dead) { /* bookmarks as well */
        buf_clear(&w->rv);
        buf_bytes(&w->rv, buf_view(&w->event_rv));
    }
    return w->is_dead ? -E_IO : 0;
}

static int watch_line(void *arg, struct bytes line)
{
    struct kube_watch *w = arg;
    struct bytes type;
    struct http_event event = {0};
    _cleanup_buf_ struct buf scratch = {0};
    if (w->is_dead)
        return -E_IO;
    line = object_text_without_nul(line, &w->without_nul);
    if (!line_split(line, &scratch, &type, &event.object)) {
        w->failed = true;
        return -E_PROTO;
    }
    return event_take(w, type, &event);
}

/* The server is in this process: the object is the stored one. */
static bool event_came(void *arg, const struct http_event *event)
{
    struct kube_watch *w = arg;
    watch_enter(w);
    w->body = event->body;
    bool more = event_take(w, bytes_of(event->type), event) >= 0 && !w->is_dead;
    w->body = NULL;
    return watch_leave(w) && more;
}

static bool chunk_came(void *arg, int status, struct bytes chunk)
{
    struct kube_watch *w = arg;
    if (status != 200) {
        if (w->error_body.n < ERROR_BODY_BYTES)
            buf_bytes(&w->error_body, chunk);
        return true;
    }
    watch_enter(w);
    int r = json_splitter_feed(w->splitter, chunk, NULL);
    bool more = r >= 0 && !w->is_dead;
    if (r < 0 && !w->is_dead && !w->is_gone)
        w->failed = true;
    return watch_leave(w) && more;
}

/* metadata of the list document */
static bool list_meta_read(struct kube_watch *w, struct bytes rest)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *doc = json_parse(a, rest, NULL, NULL);
    const char *rv = json_text(json_path(doc, "metadata", "resourceVersion", NULL), "");
    buf_clear(&w->continue_token);
    buf_text(&w->continue_token, json_text(json_path(doc, "metadata", "continue", NULL), ""));
    buf_clear(&w->rv);
    buf_text(&w->rv, rv);
    return *rv != 0;
}

/* The list that comes is a new one, from its first page on. */
static void list_start(struct kube_watch *w)
{
    w->list_n++;
    w->left_out = false;
    buf_clear(&w->continue_token);
}

/* There is room now for what the list had beyond objects_max. Once: a server whose objects are others each time would be listed for
 * ever. */
static bool wants_again(struct kube_watch *w)
{
    return w->listed_again = w->left_out && !w->listed_again && map_count(w->known) < w->config.objects_max;
}

/* After a path that is not served: which one is asked next. False: none, all were. ORDER  from the newest on, whichever was used. */
static bool path_next(struct kube_watch *w)
{
    const char *const *older = w->config.older_paths;
    bool was_served = w->is_served;
    w->is_served = false;
    if (!older)
        return false;
    w->path_at = was_served || !older[w->path_at] ? 0 : w->path_at + 1;
    return was_served || w->path_at;
}

/* Every page has come. False: w is gone. */
static bool list_complete(struct kube_watch *w)
{
    watch_enter(w);
    vanished_drop(w);
    w->next = wants_again(w) ? PHASE_LIST : PHASE_WATCH;
    if (!w->is_dead && w->next == PHASE_WATCH) {
        w->is_synced = true;
        w->backoff_ms = 0;
        if (w->config.on_synced)
            w->config.on_synced(w->config.arg);
    }
    return watch_leave(w);
}

static void list_succeeded(struct kube_watch *w)
{
    struct bytes rest = {0};
    if (w->failed || json_splitter_finish(w->splitter, &rest, NULL) < 0 || !list_meta_read(w, rest)) {
        watch_back_off(w, PHASE_LIST, 0);
        return;
    }
    w->is_served = true;
    if (w->continue_token.n) {
        watch_wait(w, PHASE_LIST, 0);
        return;
    }
    if (list_complete(w))
        watch_wait(w, w->next, 0);
}

/* The kind does not exist (yet). */
static void kind_absent(struct kube_watch *w)
{
    list_start(w); /* one that saw nothing */
    if (list_complete(w))
        watch_wait(w, PHASE_LIST, ABSENT_MS);
}

static void kind_denied(struct kube_watch *w)
{
    bool is_new = !w->is_denied;
    w->is_denied = true;
    watch_enter(w);
    if (is_new)
        w->config.on_denied(w->config.arg);
    if (!watch_leave(w))
        return;
    if (w->is_synced)
        watch_wait(w, PHASE_LIST, ABSENT_MS);
    else
        kind_absent(w);
}

static void say_forbidden(struct kube_watch *w)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *status = json_parse(a, buf_view(&w->error_body), NULL, NULL);
    w->is_denied = true;
    kube_client_forbidden(w->c, kube_watch_path(w), json_get_text(status, "message", "403 Forbidden"));
}

static void request_refused(struct kube_watch *w, const struct http_answer *answer)
{
    enum phase next = w->phase;
    int64_t wait_ms = 0;
    if (answer->status == 404 && w->config.optional) {
        buf_clear(&w->continue_token);
        if (path_next(w))
            watch_wait(w, PHASE_LIST, 0);
        else
            kind_absent(w);
        return;
    }
    if (answer->status == 403 && w->config.on_denied) {
        kind_denied(w);
        return;
    }
    if (answer->status == 403 && !w->is_denied)
        say_forbidden(w);
    if (answer->status == 410 || answer->status == 404) {
        bool was_watching = next == PHASE_WATCH || w->continue_token.n;
        buf_clear(&w->continue_token);
        if (answer->status == 410 && was_watching) {
            watch_wait(w, PHASE_LIST, 0);
            return;
        }
        next = PHASE_LIST;
    }
    if (answer->status == 401)
        wait_ms = kube_client_refused(w->c);
    else if (answer->status == 429 || answer->status == 503)
        wait_ms = kube_retry_after_ms(answer);
    watch_back_off(w, next, wait_ms);
}

static void watch_ended(struct kube_watch *w)
{
    bool short_watch = !w->has_events && loop_now_ms(w->l) - w->watch_started_ms < SHORT_WATCH_MS;
    w->is_denied = false;
    if (w->is_gone)
        watch_wait(w, PHASE_LIST, 0);
    else if (w->failed || short_watch)
        watch_back_off(w, PHASE_WATCH, 0);
    else
        watch_wait(w, PHASE_WATCH, 0);
}

static void request_ended(void *arg, const struct http_answer *answer)
{
    struct kube_watch *w = arg;
    enum phase phase = w->phase;
    w->call = 0;
    if (answer->status == 0 && !w->is_gone) {
        bool progressed = phase == PHASE_WATCH && w->has_events;
        if (progressed && !w->failed)
            watch_wait(w, PHASE_WATCH, BACKOFF_MIN_MS);
        else
            watch_back_off(w, phase, 0);
    } else if (answer->status != 0 && answer->status != 200) {
        request_refused(w, answer);
    } else if (phase == PHASE_WATCH) {
        watch_ended(w);
    } else {
        list_succeeded(w);
    }
}

static void request_send(struct kube_watch *w, int64_t silence_ms)
{
    buf_clear(&w->error_body);
    w->failed = w->is_gone = w->has_events = false;
    w->call = http_client_send(w->http, &(struct http_call){.method = "GET",
                                                            .path = w->url.data,
                                                            .timeout_ms = silence_ms,
                                                            .on_chunk = chunk_came,
                                                            .on_event = event_came,
                                                            .on_answer = request_ended,
                                                            .arg = w});
}

static void list_begin(struct kube_watch *w)
{
    w->phase = PHASE_LIST;
    if (!w->continue_token.n)
        list_start(w);
    w->splitter = json_splitter_new(JSON_SPLIT_LIST, OBJECT_MAX_BYTES, list_item, w);
    buf_clear(&w->url);
    buf_printf(&w->url, "%s?limit=%d%s", kube_watch_path(w), PAGE, w->selectors);
    selector_add(&w->url, "continue", w->continue_token.data);
    request_send(w, LIST_SILENCE_MS);
}

static void watch_begin(void *arg)
{
    struct kube_watch *w = arg;
    if (w->next == PHASE_LIST) {
        list_begin(w);
        return;
    }
    int64_t seconds = WATCH_MIN_S + (int64_t)random_below(&w->random, WATCH_SPREAD_S);
    w->phase = PHASE_WATCH;
    w->watch_started_ms = loop_now_ms(w->l);
    w->splitter = json_splitter_new(JSON_SPLIT_STREAM, OBJECT_MAX_BYTES, watch_line, w);
    buf_clear(&w->url);
    buf_printf(&w->url, "%s?watch=true&allowWatchBookmarks=true&timeoutSeconds=%lld%s", kube_watch_path(w), (long long)seconds,
               w->selectors);
    selector_add(&w->url, "resourceVersion", w->rv.data);
    request_send(w, seconds * 1000 + WATCH_GRACE_MS);
}
