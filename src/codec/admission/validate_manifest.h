/* validate_manifest.h - what is wrong in a file of manifests, and the file as it should have been
 *
 * Each document goes the way that it would go in the API server (repair, types and unknown fields, defaults, checks), without a server:
 * references to other objects are not followed.
 */
#ifndef CODEC_VALIDATE_MANIFEST_H
#define CODEC_VALIDATE_MANIFEST_H
#include "codec/kinds/kind.h"
#include "wire/json.h"

struct manifest_finding {
    const char *file;
    uint32_t document;   /* from 1; 0 = the file as a whole */
    uint32_t line;       /* where it stands, from 1: the field, or the nearest that is written; 0 not known */
    const char *object;  /* "ClusterQueue/gpu"; "" when it is none */
    const char *path;    /* "" = the object */
    const char *problem; /* what is wrong, and what to write instead */
    bool refused;        /* false: accepted with a warning */
    struct manifest_finding *next;
};
struct manifest_subject; /* an object that is looked at */
struct manifest_report {
    struct arena *arena;
    const struct kind_table *kinds;
    bool strict_kueue;
    struct manifest_finding *first, *last;
    uint32_t findings_n, refused_n;
    struct json *fixed;      /* array: every Kubernetes object, corrected as far as it is known how */
    uint32_t objects_n, left_out_n; /* left out of `fixed`: no Kubernetes objects */
    uint32_t remaining_n;    /* refusals that the corrected objects would still meet */
    /* What rooms above know of an object's contents, or of a file that is none (then: is it known?). NULL: nothing. */
    bool (*more)(struct manifest_subject *s, const struct json *object);
};
void manifest_report_init(struct manifest_report *r, struct arena *a, const struct kind_table *kinds, bool strict_kueue);
/* Findings of one file are appended. Broken YAML is a finding too. */
void manifest_check(struct manifest_report *r, const char *file, struct bytes text);
/* For `more`: a finding in the text of one field ("data[any]"), which is a file of its own, or (field "") in what was given itself. */
struct manifest_told {
    const char *path; /* in that file; "": none */
    uint32_t line;    /* in that file; 0: that of the path */
    bool refused;     /* by whoever reads the file */
    const char *problem;
};
void manifest_tell(struct manifest_subject *s, const char *field, struct bytes text, const struct manifest_told *told);
/* One line a finding: `FILE:LINE KIND/NAME: PATH: PROBLEM`, with "warning: " before the path where the object is accepted. */
void manifest_print_findings(struct buf *out, const struct manifest_report *r);
/* The corrected objects as one YAML stream. */
void manifest_print_fixed(struct buf *out, const struct manifest_report *r);

#endif
