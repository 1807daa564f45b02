/* label_selector.h - a LabelSelector of an object against labels, both as trees
 *
 * SOURCE meta/v1 LabelSelector: matchLabels and matchExpressions, all of which must hold.
 */
#ifndef CODEC_LABEL_SELECTOR_H
#define CODEC_LABEL_SELECTOR_H
#include "wire/json.h"

/* NULL selects nothing, an empty one everything. */
bool label_selector_matches(const struct json *label_selector, const struct json *labels);

#endif
