/* terms.h - what only pod groups ask for, as their object says it: kept with the gang, and compared when it comes again */
#ifndef CORE_GROUP_TERMS_H
#define CORE_GROUP_TERMS_H
#include "core/state/model.h"

void group_take_terms(struct gang_object *o, const struct gang_record *r);
bool group_same_terms(const struct gang *g, const struct gang_record *r);
void group_terms_free(struct group_terms *terms); /* NULL-safe */
/* A list of amounts that the caller owns becomes a copy of another one. */
void group_take_amounts(struct amount **to, uint32_t *to_n, const struct amount *from, uint32_t n);
bool group_same_amounts(const struct amount *a, uint32_t a_n, const struct amount *b, uint32_t b_n);
/* Some of its subgroups have to stand in one domain, or would like to. */
bool group_has_subgroup_tiers(const struct gang *g);

#endif
