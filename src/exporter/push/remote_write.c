/* remote_write.c - our own page read back, series by series: what is pushed equals what is scraped
 *
 *     WriteRequest { 1: TimeSeries { 1: Label { 1 name, 2 value }..., 2: Sample { 1 double value, 2 int64 timestamp } }... }
 *
 * SOURCE prometheus.io "Remote-Write 1.0": labels sorted by name, __name__ included, milliseconds, stale marker.
 */
#include "exporter/push/remote_write.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "exporter/push/snappy.h"
#include "wire/protobuf.h"

#define STALE_MARKER 0x7ff0000000000002u
#define SERIES_LABELS_MAX 64

struct remote_write {
    struct push *push;
    struct prometheus_label *external;
    uint32_t external_n;
    struct map *live; /* series text -> round in which it was seen */
    uint32_t round;
    int64_t last_wall_ms;
    struct buf message, packed;
};

static const struct http_param push_headers[] = {{"Content-Encoding", "snappy"},
                                                 {"X-Prometheus-Remote-Write-Version", "0.1.0"}};

/* ---- one line of a page ---- */

struct series {
    struct prometheus_label labels[SERIES_LABELS_MAX];
    uint32_t labels_n;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct prometheus_label *)a)->name, ((const struct prometheus_label *)b)->name);
}

/* Unescape in place; returns the end of the quoted text or NULL. */
static char *read_quoted(char *at, const char **ret_value)
{
    char *to = at;
    *ret_value = to;
    for (; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1]) {
            at++;
            *to++ = *at == 'n' ? '\n' : *at;
        } else {
            *to++ = *at;
        }
    }
    if (*at != '"')
        return NULL;
    *to = '\0';
    return at + 1;
}

/* `text` is "name" or "name{a=\"b\",...}", and is cut up. The page is ours, so it is well-formed; what is not is left out. */
static bool read_series(char *text, struct series *s)
{
    char *brace = strchr(text, '{');
    s->labels_n = 0;
    s->labels[s->labels_n++] = (struct prometheus_label){"__name__", text};
    if (brace)
        *brace++ = '\0';
    for (char *at = brace; at && *at && *at != '}';) {
        char *equal = strchr(at, '=');
        if (!equal || equal[1] != '"' || s->labels_n == SERIES_LABELS_MAX)
            return false;
        *equal = '\0';
        struct prometheus_label *label = &s->labels[s->labels_n++];
        label->name = at;
        at = read_quoted(equal + 2, &label->value);
        if (!at)
            return false;
        at += *at == ',';
        s->labels_n -= !*label->value; /* an empty label is no label */
    }
    return true;
}

/* Labels of our own do not replace those of the series. */
static void add_external(const struct remote_write *w, struct series *s)
{
    uint32_t own_n = s->labels_n;
    for (uint32_t i = 0; i < w->external_n && s->labels_n < SERIES_LABELS_MAX; i++) {
        bool known = false;
        for (uint32_t k = 0; k < own_n; k++)
            known |= text_equal(s->labels[k].name, w->external[i].name);
        if (!known)
            s->labels[s->labels_n++] = w->external[i];
    }
    qsort(s->labels, s->labels_n, sizeof *s->labels, by_name);
}

static void add_double(struct buf *out, uint32_t number, uint64_t bits)
{
    buf_char(out, (char)(number << 3 | 1));
    for (int i = 0; i < 8; i++)
        buf_char(out, (char)(bits >> (8 * i)));
}

static void add_sample(struct remote_write *w, struct bytes name_and_labels, uint64_t bits, int64_t wall_ms)
{
    struct series s;
    _cleanup_free_ char *text = mem_text_n(name_and_labels.data, name_and_labels.n);
    if (!read_series(text, &s))
        return;
    add_external(w, &s);
    size_t series = protobuf_begin(&w->message, 1);
    for (uint32_t i = 0; i < s.labels_n; i++) {
        size_t label = protobuf_begin(&w->message, 1);
        protobuf_text(&w->message, 1, s.labels[i].name);
        protobuf_text(&w->message, 2, s.labels[i].value);
        protobuf_end(&w->message, label);
    }
    size_t sample = protobuf_begin(&w->message, 2);
    add_double(&w->message, 1, bits);
    protobuf_int(&w->message, 2, wall_ms);
    protobuf_end(&w->message, sample);
    protobuf_end(&w->message, series);
}

/* The end of the series in a line: a space outside of quotes. */
static size_t series_length(struct bytes line)
{
    bool quoted = false;
    for (size_t i = 0; i < line.n; i++) {
        if (quoted && line.data[i] == '\\')
            i++;
        else if (line.data[i] == '"')
            quoted = !quoted;
        else if (line.data[i] == ' ' && !quoted)
            return i;
    }
    return 0;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void read_line(struct remote_write *w, struct bytes line, int64_t wall_ms)
{
    size_t n = line.n && line.data[0] != '#' ? series_length(line) : 0;
    if (n == 0)
        return;
    char number[40] = "";
    memcpy(number, line.data + n + 1, line.n - n - 1 < sizeof number - 1 ? line.n - n - 1 : sizeof number - 1);
    struct bytes series = {line.data, n};
    *(uint32_t *)map_put(w->live, series, NULL) = w->round;
    add_sample(w, series, bits_of(strtod(number, NULL)), wall_ms);
}

/* What was there and is not any more gets its marker once. */
static void mark_gone(struct remote_write *w, int64_t wall_ms)
{
    struct bytes series;
    size_t at = 0;
    for (uint32_t *round; (round = map_next(w->live, &at, &series));) {
        if (*round == w->round)
            continue;
        add_sample(w, series, STALE_MARKER, wall_ms);
        map_remove(w->live, series);
    }
}

static void send_message(struct remote_write *w)
{
    if (w->message.n == 0)
        return;
    buf_clear(&w->packed);
    snappy_add(&w->packed, buf_view(&w->message));
    push_add(w->push, buf_view(&w->packed));
}

void remote_write_send(struct remote_write *w, struct bytes page, int64_t wall_ms)
{
    /* ORDER  a clock that went back would make every sample out of order */
    if (wall_ms <= w->last_wall_ms)
        wall_ms = w->last_wall_ms + 1;
    w->last_wall_ms = wall_ms;
    w->round++;
    buf_clear(&w->message);
    const char *end = page.data + page.n;
    for (const char *line = page.data, *stop; line < end; line = stop + 1) {
        stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        read_line(w, (struct bytes){line, (size_t)(stop - line)}, wall_ms);
    }
    mark_gone(w, wall_ms);
    send_message(w);
}

/* ---- life ---- */

static char *authorization_text(const struct remote_write_config *config)
{
    struct buf text = {0};
    if (config->bearer_token)
        buf_printf(&text, "Bearer %s", config->bearer_token);
    else if (config->user)
        push_basic(&text, config->user, config->password);
    return buf_take(&text, NULL);
}

/* "http://host:9090/api/v1/write" -> what the client connects to, and the path. */
static size_t path_at(const char *url)
{
    const char *host = strstr(url, "://");
    const char *slash = host ? strchr(host + 3, '/') : NULL;
    return slash ? (size_t)(slash - url) : strlen(url);
}

int remote_write_new(struct loop *l, const struct remote_write_config *config, struct remote_write **ret_w,
                     struct err *e)
{
    struct remote_write *w = mem_zero(1, sizeof *w);
    size_t at = path_at(config->url);
    _cleanup_free_ char *server = mem_text_n(config->url, at), *authorization = authorization_text(config);
    struct push_config push = {.url = server,
                               .path = config->url[at] ? config->url + at : "/api/v1/write",
                               .content_type = "application/x-protobuf",
                               .authorization = authorization,
                               .headers = push_headers,
                               .headers_n = sizeof push_headers / sizeof *push_headers,
                               .queue_max = config->queue_max};
    int r = push_new(l, &push, &w->push, e);
    if (r < 0) {
        free(w);
        return err_wrap(e, "remote-write");
    }
    w->live = map_new(sizeof(uint32_t));
    w->external = mem_zero(config->external_labels_n + 1, sizeof *w->external);
    for (w->external_n = 0; w->external_n < config->external_labels_n; w->external_n++) {
        const struct prometheus_label *label = &config->external_labels[w->external_n];
        w->external[w->external_n] = (struct prometheus_label){mem_text(label->name), mem_text(label->value)};
    }
    *ret_w = w;
    return 0;
}

void remote_write_free(struct remote_write *w)
{
    if (!w)
        return;
    push_free(w->push);
    for (uint32_t i = 0; i < w->external_n; i++) {
        free((char *)w->external[i].name);
        free((char *)w->external[i].value);
    }
    free(w->external);
    map_free(w->live);
    buf_free(&w->message);
    buf_free(&w->packed);
    free(w);
}

struct push_counts remote_write_counts(const struct remote_write *w)
{
    return push_counts(w->push);
}
