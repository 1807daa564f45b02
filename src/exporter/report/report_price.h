/* report_price.h - what a GPU-hour costs, by model
 *
 *     "2.50"                      every model
 *     "h100=4.10,A100=2.20,0.5"   by parts of the model's name, the first that fits; a number by itself: all others
 */
#ifndef EXPORTER_REPORT_PRICE_H
#define EXPORTER_REPORT_PRICE_H
#include "base/arena.h"
#include "base/err.h"

#define LIMIT_REPORT_PRICES 64

struct report_prices;
/* -E_INVALID: what is wrong, and what to write. */
int report_prices_parse(struct arena *a, const char *text, const struct report_prices **ret_prices, struct err *e);
/* -1: none fits. Upper and lower case, and blanks and dashes, are the same. */
double report_price_of(const struct report_prices *p, const char *model);

#endif
