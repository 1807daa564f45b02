/* selector.h - label and field selectors, matched on the JSON text of an object without building a tree, or on the tree that there is
 *
 * SOURCE apimachinery labels and fields selectors: `a=b`, `a==b`, `a!=b`, `a in (x,y)`, `a notin (x,y)`, `a`, `!a`; field selectors know
 *        only = == != and one list of fields per kind.
 * LIMIT  the URL's (LIMIT_URL_BYTES).
 */
#ifndef APISERVER_SELECTOR_H
#define APISERVER_SELECTOR_H
#include "base/arena.h"
#include "wire/json.h"

enum selector_op { SELECTOR_IN, SELECTOR_NOT_IN, SELECTOR_EXISTS, SELECTOR_NOT_EXISTS };
struct selector_term {
    enum selector_op op;
    const char *key;
    const char **values;
    uint32_t values_n;
    const struct selector_field *field; /* field selectors: where the value stands */
    struct selector_term *next;
};
struct selector {
    struct selector_term *labels, *fields; /* both empty: everything matches */
};

/* Which fields can be selected by. */
struct selector_kind {
    const char *group, *plural;
    const char *const *selectable; /* of its definition; NULL = none */
};
/* Texts may be NULL. Errors: -E_INVALID with Kubernetes' words (`field label not supported: spec.foo`). */
int selector_parse(struct arena *a, const char *label_text, const char *field_text, const struct selector_kind *k,
                   struct selector *ret_s, struct err *e);
/* A LabelSelector of an object (label_selector.h). False: it selects nothing. */
bool selector_of_object(struct arena *a, const struct json *label_selector, struct selector *ret_s);
bool selector_empty(const struct selector *s);
bool selector_match(const struct selector *s, struct bytes object); /* as json_write prints it */
bool selector_match_tree(const struct selector *s, const struct json *object); /* the same of what it prints */
/* Does it read what stands under this member of the root, and anything else? */
enum selector_reach { SELECTOR_READS_NONE, SELECTOR_READS_SOME, SELECTOR_READS_ONLY };
enum selector_reach selector_reach(const struct selector *s, const char *member);
/* Of one that reads only spec: does it read these members of it, and any others? */
enum selector_reach selector_reach_members(const struct selector *s, const struct json *members);
/* The value that metadata.name must have (watch and list of one object), or NULL. */
const char *selector_name(const struct selector *s);
/* The same of a field selector's text, whatever fields the kind may have besides. */
const char *selector_name_of_text(struct arena *a, const char *field_text);

#endif
