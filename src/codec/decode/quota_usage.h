/* quota_usage.h - what an object counts for in the ResourceQuotas of its namespace, and in which of them
 *
 * SOURCE kube-apiserver's ResourceQuota plugin and its evaluators: pods, claims and services by what they ask for, every other kind
 *        by how many there are ("count/deployments.apps").
 */
#ifndef CODEC_QUOTA_USAGE_H
#define CODEC_QUOTA_USAGE_H
#include "codec/decode/amounts.h"
#include "codec/kinds/kind.h"

/* A kind that counts for more than its number: its objects have to be read. */
bool quota_usage_reads(const struct kind *k);
/* Adds what the object counts for. `object` may be NULL for kinds that quota_usage_reads does not name. */
void quota_usage(struct amounts *out, const struct kind *k, const struct json *object);
/* Is the object in the scopes of the quota? */
bool quota_usage_in_scope(const struct json *quota, const struct kind *k, const struct json *object);
/* "must specify cpu for: c": what the pod must write because the quota bounds it; NULL = nothing. */
const char *quota_usage_unsaid(struct arena *a, const struct json *hard, const struct kind *k, const struct json *object);

#endif
