/* view.h - the cluster as the web page shows it: one snapshot, and what has changed since, for everybody who looks
 *
 *   core, seen gangs, caches ──a pass──▶ rows (JSON) ──those that differ──▶ one delta ──the same bytes──▶ every open page
 *
 *   GET /ui/              the page and its parts, out of the program (web/)
 *   GET /ui/api/cluster   everything: {"v":version,"t":now,"full":true,"set":[row...]}
 *   GET /ui/api/stream    server-sent events: the same first, then {"v","t","set":[rows that are other],"del":[ids]}
 *   GET /ui/api/why       ?job=KEY: why it waits, as a tree, and what would help
 *   GET /ui/api/node      ?name=N: its labels and the identifiers of its devices
 *   GET /ui/api/sessions  ?name=N: who is on which of its devices, as its agent has told
 *
 * Nothing is written, and nothing but sessions is asked of the API server: the rows say what the scheduler knows and decides by.
 * WHY    a pass takes a hundredth of the time at most, however large the cluster is and however many look: the next one waits so long.
 * LIMIT  VIEW_VIEWERS_MAX streams. Who stops reading is let go; his page connects again by itself.
 */
#ifndef SCHED_VIEW_H
#define SCHED_VIEW_H
#include "net/http.h"
#include "sched/sched.h"

enum { VIEW_VIEWERS_MAX = 256 };
struct view;
struct view *view_new(struct loop *l, struct scheduler *s);
void view_free(struct view *v); /* NULL-safe. ORDER  before its scheduler; streams that are open may end later */
/* Answers /ui and what is below it, and "/" where a browser asks; false: it is neither. Who may ask is the caller's to decide. */
bool view_handle(void *view, struct http_exchange *x);
uint32_t view_viewers(const struct view *v);

#endif
