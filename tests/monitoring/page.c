/* page.c - prints or pushes what a node of made.h would: stands in for an agent where no GPU is
 *
 *     made_page print NODE START AT text|openmetrics|sessions|stalled     START, AT: seconds since 1970
 *     made_page influx NODE URL v1|v2|keti                                v1: database "d"
 *     made_page remote-write NODE URL SECONDS                             one page a second, stale markers at the end
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "exporter/push/influx.h"
#include "exporter/push/remote_write.h"
#include "made.h"

#define WAIT_MS 60000

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void render(const struct made *m, double start_s, double at_s, const char *format, struct buf *out)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct page_config config = {.sessions = true, .processes = true, .dcgm = true};
    struct page_counter *counters;
    page_counters_default(a, &counters, &config.counters_n);
    config.counters = counters;
    const struct sample *s = made_sample(m, start_s, at_s);
    struct account *books = made_account(m, start_s, at_s);
    struct page_cache *cache = page_cache_new();
    struct collect_state state = made_state(at_s, (uint64_t)(at_s - start_s) + 1, text_equal(format, "stalled"));
    if (text_equal(format, "sessions"))
        page_render_sessions(&config, cache, s, out);
    else
        page_render(&config, cache, s, books, &state, text_equal(format, "openmetrics"), out);
    page_cache_free(cache);
    account_close(books);
    sample_unref(s);
}

static int print(const struct made *m, const char *start, const char *at, const char *format)
{
    _cleanup_buf_ struct buf out = {0};
    render(m, strtod(start, NULL), strtod(at, NULL), format, &out);
    return fwrite(out.data, 1, out.n, stdout) == out.n ? 0 : 1;
}

static int outcome(struct push_counts c, uint64_t wanted)
{
    if (c.sent_n == wanted)
        return 0;
    (void)fprintf(stderr, "sent %llu of %llu, refused %llu: %s\n", (unsigned long long)c.sent_n,
                  (unsigned long long)wanted, (unsigned long long)c.refused_n, c.last_error);
    return 1;
}

static int influx(const struct made *m, const char *url, const char *schema)
{
    struct loop *l = loop_new();
    struct influx *i = NULL;
    struct err e = {0};
    bool keti = text_equal(schema, "keti");
    struct influx_config config = {.url = url,
                                   .version = text_equal(schema, "v2") ? 2 : 1,
                                   .database = "d",
                                   .org = "o",
                                   .bucket = "d/autogen",
                                   .token = "u:p",
                                   .node_name = "node-a",
                                   .keti = keti};
    if (influx_new(l, &config, &i, &e) < 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    double at_s = now_s();
    const struct sample *s = made_sample(m, at_s - 5, at_s);
    influx_send(i, s);
    for (int ms = 0; ms < WAIT_MS && influx_counts(i).queued_n; ms += 10)
        loop_run_for(l, 10, NULL);
    int r = outcome(influx_counts(i), keti ? 2 : 1);
    sample_unref(s);
    influx_free(i);
    loop_free(l);
    return r;
}

static int remote_write(const struct made *m, const char *url, const char *seconds)
{
    static const struct prometheus_label external[] = {{"instance", "pushed"}, {"job", "push"}};
    struct loop *l = loop_new();
    struct remote_write *w = NULL;
    struct err e = {0};
    int64_t n = 0;
    if (!bytes_int64(bytes_of(seconds), &n) || n < 1 || n > 3600) {
        (void)fprintf(stderr, "'%s': how many seconds, 1 to 3600\n", seconds);
        return 1;
    }
    if (remote_write_new(l,
                         &(struct remote_write_config){.url = url, .external_labels = external, .external_labels_n = 2},
                         &w, &e) < 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    double start_s = now_s() - 10; /* made_page's processes end 12 s after the start: two seconds from now */
    for (int64_t i = 0; i < n; i++) {
        _cleanup_buf_ struct buf page = {0};
        double at_s = now_s();
        render(m, start_s, at_s, "text", &page);
        remote_write_send(w, buf_view(&page), (int64_t)(at_s * 1000));
        loop_run_for(l, 1000, NULL);
    }
    remote_write_send(w, BYTES(""), (int64_t)(now_s() * 1000));
    for (int ms = 0; ms < WAIT_MS && remote_write_counts(w).queued_n; ms += 10)
        loop_run_for(l, 10, NULL);
    int r = outcome(remote_write_counts(w), (uint64_t)n + 1);
    remote_write_free(w);
    loop_free(l);
    return r;
}

int main(int argc, char **argv)
{
    const struct made *m = argc >= 5 ? made_find(argv[2]) : NULL;
    if (m && argc == 6 && text_equal(argv[1], "print"))
        return print(m, argv[3], argv[4], argv[5]);
    if (m && argc == 5 && text_equal(argv[1], "influx"))
        return influx(m, argv[3], argv[4]);
    if (m && argc == 5 && text_equal(argv[1], "remote-write"))
        return remote_write(m, argv[3], argv[4]);
    (void)fprintf(
        stderr,
        "usage: made_page print NODE START AT FORMAT | influx NODE URL SCHEMA | remote-write NODE URL SECONDS\n");
    return 2;
}
