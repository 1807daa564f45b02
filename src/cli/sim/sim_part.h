/* sim_part.h - what all that `capstan sim` replays has in common: factors, progress on a terminal, numbers of a result */
#ifndef CLI_SIM_PART_H
#define CLI_SIM_PART_H
#include <stdbool.h>
#include <stdint.h>
#include "wire/json.h"

#define SIM_FACTOR_MOST 1000
/* A number above 0, up to SIM_FACTOR_MOST. False: it is none. */
bool sim_read_factor(const char *text, double *ret_factor);
/* Rounded to so many digits; null where it is less than 0. */
void sim_set_number(struct arena *a, struct json *to, const char *key, double value, int digits);

typedef void sim_progress_fn(uint64_t done_n, uint64_t all_n);
/* What shows on standard error how far it is, five times a second at most; NULL: that is no terminal. */
sim_progress_fn *sim_progress(const char *of_what);
void sim_progress_end(void); /* takes it away */

#endif
