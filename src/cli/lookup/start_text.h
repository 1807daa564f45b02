/* start_text.h - when something starts, in words */
#ifndef CLI_LOOKUP_START_TEXT_H
#define CLI_LOOKUP_START_TEXT_H
#include "base/arena.h"
#include "wire/json.h"

/* "about 2026-01-31T17:20:00Z (in 3h; as far as limits of time tell)"; basis: bits of enum end_basis (core/time/forecast.h). */
const char *start_text(struct arena *a, int64_t start_ms, uint8_t basis, int64_t now_ms);
/* The same of "start" in a tree of reasons (sched/forecast/start_note.h); NULL: there is none, or none that can be read. */
const char *start_text_of(struct arena *a, const struct json *start, int64_t now_ms);

/* The start that it is promised, of a tree of reasons: {"code":"start-promised","about":..,"children":[nodes]}; NULL: none. */
const struct json *start_promised(const struct json *tree);

#endif
