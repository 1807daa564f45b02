/* replay.c - capstan replay: a recording decided again: is it the same, and why did something wait then? */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "core/explain/explain.h"
#include "sched/record/player.h"

enum { LINES_MOST = 10000, KEYS_MOST = 20 };

struct asked {
    const char *ns, *name;
    struct map *keys;   /* of gangs that it may be: what was in the recording until then */
    struct json *lines; /* {"at", "what", ...} */
    uint64_t left_out_n;
    struct arena *a;
    struct json *gangs; /* at the end: {"gang", "phase", "why", "tree"} */
};

static const char *const effects[] = {[EFFECT_ADMIT] = "admit",   [EFFECT_BIND] = "bind",       [EFFECT_EVICT] = "evict",
                                      [EFFECT_EXPLAIN] = "waits", [EFFECT_RESERVE] = "reserve", [EFFECT_MOVE] = "move"};
static const char *const phases[] = {
    [GANG_UNKNOWN] = "unknown",   [GANG_WAITING] = "waiting", [GANG_CHECKING] = "checking", [GANG_RESERVED] = "reserved",
    [GANG_ADMITTED] = "admitted", [GANG_BOUND] = "bound",     [GANG_LEAVING] = "leaving",   [GANG_OVER] = "over"};

/* "workload/team-a/job-train-1a2b3" for team-a/train: KIND-NAME-HASH, as Workloads of jobs are called. */
static bool is_of_job(const char *name, const char *job)
{
    const char *dash = strchr(name, '-');
    size_t n = strlen(job);
    for (; dash; dash = strchr(dash + 1, '-'))
        if (strncmp(dash + 1, job, n) == 0 && dash[1 + n] == '-' && !strchr(dash + 2 + n, '-'))
            return true;
    return false;
}

static bool is_asked(const struct asked *x, const char *key)
{
    const char *ns = strchr(key, '/'), *name = ns ? strchr(ns + 1, '/') : NULL;
    size_t n = strlen(x->ns);
    return name && (size_t)(name - ns - 1) == n && memcmp(ns + 1, x->ns, n) == 0 &&
           (text_equal(name + 1, x->name) || (text_starts(key, "workload/") && is_of_job(name + 1, x->name)));
}

/* The gang that a change is about, in the arena; "": none. */
static const char *gang_of(struct arena *a, const struct intern *names, const struct change *c)
{
    if (c->type == CHANGE_GANG)
        return intern_name(names, c->gang.key);
    if (c->type != CHANGE_POD)
        return "";
    return c->pod.gang ? intern_name(names, c->pod.gang) : arena_printf(a, "pod/%s", intern_name(names, c->pod.key));
}

static void on_change(void *arg, const struct player *p, const struct change *c)
{
    struct asked *x = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const char *key = gang_of(a, state_names(p->state), c);
    if (*key && is_asked(x, key) && map_count(x->keys) < KEYS_MOST)
        (void)map_put(x->keys, bytes_of(key), NULL); /* the key itself is all */
}

static void set_sentence(struct asked *x, struct json *to, const char *member, const struct reason *r, const struct intern *names)
{
    _cleanup_buf_ struct buf text = {0};
    if (!r)
        return;
    explain_sentence(&text, r, names);
    json_set_text(x->a, to, member, text.data ? text.data : "");
}

static void on_plan(void *arg, const struct player *p, const struct plan *plan)
{
    struct asked *x = arg;
    const struct intern *names = state_names(p->state);
    char at[TIME_TEXT_MAX];
    for (uint32_t i = 0; i < plan->entries_n; i++) {
        const struct plan_entry *e = &plan->entries[i];
        if (!map_find_text(x->keys, intern_name(names, e->gang)))
            continue;
        if (x->lines->n >= LINES_MOST) {
            x->left_out_n++;
            continue;
        }
        struct json *line = json_new(x->a, JSON_OBJECT);
        json_set_text(x->a, line, "at", time_format(at, p->now_ms));
        json_set_text(x->a, line, "gang", intern_name(names, e->gang));
        json_set_text(x->a, line, "what", effects[e->effect]);
        if (e->effect == EFFECT_BIND) {
            json_set_text(x->a, line, "pod", intern_name(names, e->pod));
            json_set_text(x->a, line, "node", intern_name(names, e->node));
            json_set_text(x->a, line, "devices", e->devices ? e->devices : "");
        }
        if (e->queue)
            json_set_text(x->a, line, "queue", intern_name(names, e->queue));
        set_sentence(x, line, "why", e->reason, names);
        json_append(x->lines, line);
    }
}

static void on_end(void *arg, struct player *p)
{
    struct asked *x = arg;
    struct intern *names = state_names(p->state);
    size_t at = 0;
    struct bytes key;
    while (map_next(x->keys, &at, &key)) {
        struct json *gang = json_new(x->a, JSON_OBJECT);
        name_id id = intern_find(names, key);
        const struct reason *r = id ? state_gang_reason(p->state, id) : NULL;
        _cleanup_buf_ struct buf tree = {0};
        json_set(x->a, gang, "gang", json_new_text_n(x->a, key));
        json_set_text(x->a, gang, "phase", id ? phases[state_gang_phase(p->state, id)] : "gone");
        set_sentence(x, gang, "why", r, names);
        if (r)
            explain_tree(&tree, r, names);
        if (tree.n)
            json_set_text(x->a, gang, "tree", tree.data);
        json_append(x->gangs, gang);
    }
}

/* ---- result ---- */

static const char *time_or_null(char text[TIME_TEXT_MAX], int64_t ms)
{
    return ms ? time_format(text, ms) : "";
}

static struct json *result_json(struct arena *a, const char *run, const struct player_result *r)
{
    struct json *root = json_new(a, JSON_OBJECT);
    char text[TIME_TEXT_MAX];
    json_set_text(a, root, "run", run);
    json_set_int64(a, root, "files", (int64_t)r->files_n);
    json_set_int64(a, root, "bytes", (int64_t)r->bytes_n);
    json_set_int64(a, root, "changes", (int64_t)r->changes_n);
    json_set_int64(a, root, "cycles", (int64_t)r->cycles_n);
    json_set_int64(a, root, "planEntries", (int64_t)r->entries_n);
    json_set_text(a, root, "first", time_or_null(text, r->first_ms));
    json_set_text(a, root, "last", time_or_null(text, r->last_ms));
    json_set_int64(a, root, "otherwise", (int64_t)r->otherwise_n);
    json_set_text(a, root, "firstOtherwise", time_or_null(text, r->otherwise_ms));
    json_set_bool(a, root, "ended", r->ended);
    json_set_bool(a, root, "stateIsOther", r->state_is_other);
    json_set_text(a, root, "cut", r->cut);
    return root;
}

static void print_result(const char *run, const struct player_result *r)
{
    char text[TIME_TEXT_MAX];
    printf("run %s: %llu changes, %llu cycles, %llu plan entries in %llu files of %.1f MiB\n", run, (unsigned long long)r->changes_n,
           (unsigned long long)r->cycles_n, (unsigned long long)r->entries_n, (unsigned long long)r->files_n,
           (double)r->bytes_n / (1 << 20));
    if (r->first_ms)
        printf("from %s ", time_format(text, r->first_ms));
    if (r->last_ms)
        printf("to %s\n", time_format(text, r->last_ms));
    if (*r->cut)
        printf("%s: played up to there\n", r->cut);
    if (r->otherwise_n)
        printf("DECIDED OTHERWISE in %llu cycles, first at %s\n", (unsigned long long)r->otherwise_n, time_format(text, r->otherwise_ms));
    else if (r->state_is_other)
        printf("DECIDED ALIKE, AND ANOTHER STATE at the end\n");
    else
        printf("decided alike, to the bit%s\n", r->ended ? ", and the same state at the end" : "");
}

static void print_asked(const struct asked *x)
{
    putchar('\n');
    JSON_EACH (line, x->lines) {
        const char *what = json_get_text(line, "what", ""), *why = json_get_text(line, "why", NULL),
                   *queue = json_get_text(line, "queue", NULL);
        printf("%s  %s %s", json_get_text(line, "at", ""), what, json_get_text(line, "gang", ""));
        if (json_get(line, "node"))
            printf(": %s to %s %s", json_get_text(line, "pod", ""), json_get_text(line, "node", ""), json_get_text(line, "devices", ""));
        if (queue)
            printf(" in %s", queue);
        printf("%s%s\n", why ? ": " : "", why ? why : "");
    }
    if (x->left_out_n)
        printf("... and %llu more\n", (unsigned long long)x->left_out_n);
    JSON_EACH (gang, x->gangs) {
        printf("\n%s: %s\n", json_get_text(gang, "gang", ""), json_get_text(gang, "phase", ""));
        if (json_get(gang, "tree"))
            fputs(json_get_text(gang, "tree", ""), stdout);
    }
}

/* ---- command ---- */

/* NULL: what is wrong was said in e. */
static const char *find_run(const char *dir, const char *wanted, struct arena *a, struct err *e)
{
    const char *const *runs;
    uint32_t n;
    if (player_runs(dir, a, &runs, &n, e) < 0)
        return NULL;
    if (!wanted)
        return runs[n - 1];
    for (uint32_t i = 0; i < n; i++)
        if (text_starts(runs[i], wanted))
            return runs[i];
    (void)err_set(e, E_NOTFOUND, "%s: there is no run %.40s: the first is %s, the last %s", dir, wanted, runs[0], runs[n - 1]);
    return NULL;
}

static int tell(const struct options *o, struct arena *a, const char *run, const struct player_result *r, const struct asked *x)
{
    if (output_format_of(o) == OUTPUT_TABLE) {
        print_result(run, r);
        if (x->ns)
            print_asked(x);
    } else {
        struct json *root = result_json(a, run, r);
        if (x->ns) {
            json_set(a, root, "decisions", x->lines);
            json_set(a, root, "gangs", x->gangs);
        }
        output_json(root, output_format_of(o));
    }
    if (x->ns && !x->gangs->n) {
        fprintf(stderr, "capstan replay: %s/%s: nothing of this name was there until then\n", x->ns, x->name);
        return EXIT_NOT_FOUND;
    }
    return r->otherwise_n || r->state_is_other ? EXIT_FAILED : EXIT_OK;
}

int replay_main(const struct options *o)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *at = option_text(o, OPT_REPLAY_AT), *explain = option_text(o, OPT_REPLAY_EXPLAIN), *dir = o->arguments[0];
    struct asked x = {.a = a, .lines = json_new(a, JSON_ARRAY), .gangs = json_new(a, JSON_ARRAY)};
    struct player_options given = {.until_ms = INT64_MAX, .arg = &x};
    struct player_result result;
    struct err e = {0};
    if (at && !time_parse(bytes_of(at), &given.until_ms))
        return options_wrong(o, "--at %s: want a time as 2026-01-01T10:00:00Z", at);
    const char *slash = explain ? strchr(explain, '/') : NULL;
    if (explain && (!slash || slash == explain || !slash[1]))
        return options_wrong(o, "--explain %s: want NAMESPACE/NAME, as team-a/train", explain);
    if (explain) {
        x.ns = arena_text_n(a, explain, (size_t)(slash - explain));
        x.name = slash + 1;
        given.change = on_change;
        given.plan = on_plan;
        given.end = on_end;
    }
    x.keys = map_new(sizeof(char));
    const char *run = find_run(dir, option_text(o, OPT_REPLAY_RUN), a, &e);
    int r = run ? player_play(dir, run, &given, &result, &e) : -e.code;
    int code = r < 0 ? e.code == E_NOTFOUND ? EXIT_NOT_FOUND : EXIT_FAILED : tell(o, a, run, &result, &x);
    map_free(x.keys);
    if (r < 0)
        fprintf(stderr, "capstan replay: %s\n", e.text);
    return code;
}
