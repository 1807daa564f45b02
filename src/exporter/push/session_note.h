/* session_note.h - who is on which device, on the node: annotation capstan.dev/gpu-sessions, which the page of a node shows
 *
 *     {"at":1750000000,"period":15,"more":2,"sessions":[{"unit":"GPU-…","pid":4711,"command":"python3","pod":"ns/name","container":"main",
 *       "memory":1024 MiB,"busy":50 %,"since":1749990000}]}
 *
 * What is not known is not there: the pod of a process of the node itself, `busy` on a MIG device. `more`: sessions beyond 16 KiB.
 * WHEN  with each write of feedback.h, and when somebody has come or gone, at most once a period: that is a real change, too.
 */
#ifndef EXPORTER_SESSION_NOTE_H
#define EXPORTER_SESSION_NOTE_H
#include "exporter/sample.h"

#define SESSIONS_ANNOTATION "capstan.dev/gpu-sessions"
/* The text of a sample; `out` is cleared first. Returns a number that differs when other processes are there, however busy. */
uint64_t session_note_text(const struct sample *s, int64_t period_ms, struct buf *out);

#endif
