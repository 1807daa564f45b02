/* view_part.h - inside the view: a pass over the cluster, and what is kept between passes
 *
 *   view_row.c       a row: written, compared with what it said before
 *   view_history.c   rows that stay as they are: events, runs that are over, usage over time
 *   view_nodes.c  view_queues.c  view_jobs.c   the rows of each kind
 *   view_pass.c      all of them; what differs becomes one delta
 *   view_sessions.c  who is on the devices of a node
 *   view_stream.c    who looks
 *   view_files.c     the page
 *   view.c           paths; when a pass is due
 *
 * SHAPE  row: {"id":"n/a100-0","k":"n",...}: k is n node, q queue, j job, r run that is over, e event, u usage, m the whole.
 */
#ifndef SCHED_VIEW_PART_H
#define SCHED_VIEW_PART_H
#include "sched/scheduler.h"
#include "sched/view/view.h"

struct row { /* first in the values of all maps below */
    uint64_t hash;
    uint32_t pass; /* in which it was written last */
};

struct view_node {
    struct row row;
    bool ready, unschedulable;
    int32_t sick_n;   /* devices that are not healthy */
    int64_t xid_ms;   /* the latest error of its devices that was told */
};

struct view_queue {
    struct row row;
    uint64_t object;  /* hash of the object that the texts are from */
    char *cohort, *strategy;
    bool deleting, active;
    bool placement_wrong; /* its annotation names no policy: the last good one holds */
};

enum view_state { VIEW_WAITING, VIEW_HELD, VIEW_RESERVED, VIEW_STARTING, VIEW_RUNNING, VIEW_LEAVING, VIEW_DONE, VIEW_FAILED };
struct view_job {
    struct row row;
    uint64_t object;             /* as above */
    char *kind, *name, *queue;   /* queue: NULL none */
    enum view_state state;
    int64_t created_ms, started_ms, ended_ms, until_ms; /* 0: not yet, or not known */
    int64_t back_ms;             /* since when it waits again; 0: it has not had to go */
    int64_t limit_ms;            /* how long it may run; 0: no limit */
    int64_t hung_ms;             /* when it was found that it hangs (hung/hung.h); 0: it does not */
    bool object_failed, starts_again; /* starts_again: when it hangs */
    bool hung_told;
    int32_t held_n;              /* devices that it has now */
    int64_t held_micro;          /* the same in millionths of GPUs */
    uint32_t held_pass;          /* counted in this pass */
    int32_t devices_n;
};

/* Texts that are kept as they were written, the oldest going first. */
struct ring {
    struct blob **all;
    uint32_t first, n, most;
    uint64_t added;
};

enum { VIEW_EVENTS_MAX = 500, VIEW_RUNS_MAX = 1000, VIEW_RECENT_MAX = 360, VIEW_PAST_MAX = 2016, VIEW_TEAMS_MAX = 24 };
enum { VIEW_RECENT_MS = 10000, VIEW_PAST_MS = 300000 }; /* one row of usage every ten seconds for an hour, every five minutes for a week */

struct viewers;
struct view {
    struct loop *loop;
    struct scheduler *s;
    struct loop_timer *tick;
    struct arena *arena, *scratch;             /* of one pass; of one row */
    struct map *nodes, *queues, *jobs;         /* name or key -> struct view_node, view_queue, view_job */
    struct ring events, runs, recent, past;
    int64_t recent_ms, past_ms;                /* when the last row of usage was made */
    struct buf all, set, del;                  /* rows of this pass; those that are other; ids of those that are gone */
    bool is_read;                              /* somebody reads the rows of this pass; else those of jobs are not written */
    size_t row_at;                             /* where the row that is being written begins in `all` */
    uint32_t pass;
    uint64_t version, seen_changes;
    int64_t now_ms;                            /* wall time of the pass */
    int64_t last_ms, rest_ms;                  /* when the last pass was, on the loop's clock; how long none follows it */
    struct blob *snapshot;                     /* of `version`; NULL: nobody has asked */
    /* In millionths of GPUs: all there are; what somebody has; what of those is busy, where that is measured; what is waited for. A device
     * that is a part of a GPU counts as that part of it, in equal parts. */
    int64_t gpus_micro, held_micro, active_micro, measured_micro, waiting_micro, sick_n;
    uint32_t states_n[VIEW_FAILED + 1];        /* jobs in each state */
    struct viewers *viewers;
    struct view_asking *asking;                /* questions about sessions that are not answered yet */
    uint32_t asking_n;
};

#define VIEW_PLAIN "text/plain; charset=utf-8"
#define VIEW_JSON "application/json"


static inline long long view_milli(int64_t micro) /* rows say thousandths */
{
    return (long long)((micro + 500) / 1000);
}

/* view_row.c */
struct buf *view_row_begin(struct view *v, char kind, const char *id); /* {"id":"k/id","k":"k" stands there; the rest is the caller's */
void view_row_end(struct view *v, struct row *row);
void view_row_unwritten(struct view *v, struct row *row); /* instead of begin and end, where nobody reads it: it is there */
void view_row_gone(struct view *v, char kind, struct bytes id);
void view_row_text(struct buf *out, const char *key, const char *text); /* ,"key":"text"; nothing for NULL and "" */
void view_row_number(struct buf *out, const char *key, int64_t n);      /* ,"key":n; nothing for 0 */
bool view_row_object_is_new(uint64_t *hash, struct bytes raw);          /* other bytes than those it was made from? Remembers them. */

/* view_history.c */
void view_history_init(struct view *v);
void view_history_fini(struct view *v);
enum event_level { EVENT_PLAIN, EVENT_GOOD, EVENT_WARNS, EVENT_BAD };
/* kind: "n", "q" or "j" and id: of whom; not in the first pass, which finds all as it is. */
void view_history_event(struct view *v, const char *kind, const char *id, enum event_level level, const char *format, ...)
    PRINTF_LIKE(5, 6);
void view_history_run(struct view *v, const char *key, const struct view_job *j, const char *ns, const char *end);
void view_history_usage(struct view *v); /* when it is time */
void view_history_write(const struct view *v, struct buf *out); /* all rows, a comma before each */

/* view_nodes.c, view_queues.c, view_jobs.c */
void view_nodes_write(struct view *v);
void view_nodes_detail(const struct view *v, struct arena *a, name_id node, struct buf *out); /* the same */
void view_queues_write(struct view *v);
void view_jobs_write(struct view *v);
void view_jobs_hold(struct view *v, name_id gang, int64_t devices_n, int64_t micro); /* so many more it has in this pass */
void view_jobs_why(const struct view *v, const char *key, struct buf *out); /* nothing: there is no such job */
void view_queues_drop(struct view_queue *q);
void view_jobs_drop(struct view_job *j);

/* view_sessions.c */
bool view_sessions_ask(struct view *v, struct http_exchange *x, const char *node); /* answers, later; false: there is no such node */
void view_sessions_free(struct view *v); /* whoever waits is told */

/* view_pass.c */
bool view_pass(struct view *v); /* true: there is a delta in `set` and `del` */
struct blob *view_pass_snapshot(struct view *v); /* of the last pass; a reference that the caller has */
void view_pass_forget(struct view *v);           /* the texts of the last pass, which nobody reads: whoever comes gets a new one */

/* view_stream.c */
struct viewers *view_stream_new(struct loop *l);
void view_stream_free(struct viewers *all);
uint32_t view_stream_count(const struct viewers *all);
void view_stream_tell(struct viewers *all, struct blob *delta); /* takes the reference */
void view_stream_look(struct viewers *all);                     /* lets those go that have not read for long */
void view_stream_add(struct viewers *all, struct http_exchange *x, struct blob *snapshot); /* takes the reference */

/* view_files.c */
bool view_files_answer(struct http_exchange *x, const char *name);

#endif
