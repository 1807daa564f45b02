/* kind.h - the resources that exist: names, scope, subresources, columns; built-in ones from data/kinds.tsv, others from CRDs
 *
 * ORDER  the order of groups in discovery is the order of the table (clients resolve short names by it): core, apps, batch, events, ...,
 *        apiextensions, then kueue, volcano, coscheduling, kai, trainer, kubeflow, jobset; metrics last.
 */
#ifndef CODEC_KIND_H
#define CODEC_KIND_H
#include "codec/schema/schema.h"

enum kind_flags {
    KIND_NAMESPACED = 1 << 0,
    KIND_STATUS = 1 << 1,          /* has /status */
    KIND_SCALE = 1 << 2,           /* has /scale */
    KIND_CUSTOM = 1 << 3,          /* behaves as a custom resource: no strategic merge (415), items keep apiVersion/kind */
    KIND_GENERATION = 1 << 4,      /* metadata.generation counts spec changes */
    KIND_REVIEW = 1 << 5,          /* create-only, nothing stored (SubjectAccessReview, ...) */
    KIND_READ_ONLY = 1 << 6,       /* computed (metrics.k8s.io) */
    KIND_PARENT = 1 << 7,          /* read-only, and only its subresources are served (visibility.kueue.x-k8s.io) */
};
struct kind_column {               /* custom kinds: additionalPrinterColumns; built-in: table.c knows */
    const char *name, *type, *json_path, *format;
    int priority;
};
struct kind_version {
    const char *version;           /* "v1beta2" */
    const struct schema *schema;
    const struct kind_column *columns;
    uint32_t columns_n;
    const char *deprecation_warning; /* NULL = none; sent as Warning header */
    bool served;
    const char *const *selectable; /* field selectors besides metadata: "spec.color"; NULL terminated, NULL = none */
};
struct kind {
    const char *group, *kind, *list_kind, *plural, *singular;
    const char *const *short_names; /* NULL terminated */
    const char *const *categories;
    const struct kind_version *versions; /* preferred first */
    uint32_t versions_n;
    uint32_t storage;              /* index of the version that is stored */
    const struct kind *stored;     /* the kind as which its objects are stored; NULL = itself. events.k8s.io: the Event of core */
    uint32_t flags;
    const char *scale_spec_path, *scale_status_path, *scale_selector_path; /* ".spec.replicas"; NULL: as built-in kinds have them */
};

struct kind_table;
struct kind_table *kind_table_new(void); /* with the built-in kinds */
void kind_table_free(struct kind_table *t);
const struct kind *kind_find(const struct kind_table *t, const char *group, const char *plural);
const struct kind *kind_find_kind(const struct kind_table *t, const char *group, const char *kind);
const struct kind_version *kind_version_find(const struct kind *k, const char *version);
/* As which the store keeps its objects: mostly itself. Kinds of two groups may be two views of the same objects. */
const struct kind *kind_stored(const struct kind *k);
const struct kind_version *kind_storage(const struct kind *k); /* the version of kind_stored that is stored */
bool kind_is_built_in(const struct kind *k); /* of data/kinds.tsv, whatever definitions are stored */
/* All kinds in discovery order. */
uint32_t kind_count(const struct kind_table *t);
const struct kind *kind_at(const struct kind_table *t, uint32_t index);
/* Add or replace from a CustomResourceDefinition object; remove. Errors name the field. A kind of the built-in table cannot be redefined:
 * the same names are accepted without effect (upstream CRD manifests apply cleanly), other names are refused. */
int kind_table_add_crd(struct kind_table *t, const struct json *crd, struct field_errors *errors);
int kind_table_check_crd(const struct kind_table *t, const struct json *crd, struct field_errors *errors); /* would it be added? */
void kind_table_remove_crd(struct kind_table *t, const char *group, const char *plural);
uint64_t kind_table_generation(const struct kind_table *t); /* counts changes: discovery and OpenAPI caches */

/* Convert an object in place to a version of k: from another one (Kueue v1beta1 <-> v1beta2), or from the kind as which k is stored and
 * back. The object says what it is; no-op when it is that already. */
void kind_convert(struct arena *a, const struct kind *k, struct json *object, const char *to_version);

/* The OpenAPI v3 document of a group-version with paths (list, post, patch with dryRun+fieldValidation) and components. */
void kind_openapi(const struct kind_table *t, const char *group, const char *version, struct buf *out);

#endif
