/* share.h - dominant resource shares: how much of what its cohort could lend somebody has borrowed
 *
 *     share(n) = max over resources of  sum over flavors of max(0, U(n) - S(n)) / lendable(parent of n)  / weight(n)
 *     lendable(n) = what n could have at most if nothing were used, all flavors of a resource together (quota.h: potential)
 *
 * SHAPE  a fraction that is never divided: two are compared by their products, in 192 bits, so equal shares are equal.
 *        Who has no cohort has no share, and who borrows nothing has none, whatever he uses. Weight 0: who borrows has more than anybody
 *        with a weight.
 * SOURCE Kueue, fair sharing.
 */
#ifndef CORE_SHARE_H
#define CORE_SHARE_H
#include "core/quota/quota.h"

/* After quota_settle, with the tree as it stands. Remembered until something is used or given back at the node, or below it. */
const struct share *share_of(struct quota *q, uint32_t node);
int share_compare(const struct share *a, const struct share *b); /* -1, 0, 1 */
/* As status.fairSharing.weightedShare has it: in thousandths, rounded up; INT64_MAX where the weight is 0. */
int64_t share_weighted(const struct share *a);
bool share_borrows(const struct quota *q, uint32_t node, name_id flavor, name_id resource);
bool share_borrows_upwards(const struct quota *q, uint32_t node, name_id flavor, name_id resource); /* it, or a cohort above it */

#endif
