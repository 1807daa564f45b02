/* configuration_part.h - inside codec/configuration: its fields as a table, and what walks it */
#ifndef CODEC_CONFIGURATION_PART_H
#define CODEC_CONFIGURATION_PART_H
#include "codec/configuration/configuration.h"

enum configuration_form {
    FORM_TEXT, FORM_BOOL, FORM_INT, FORM_NUMBER, FORM_DURATION,
    FORM_WORD,     /* one of the row's words */
    FORM_TEXTS,    /* a list; of words, where the row has some */
    FORM_OBJECT, FORM_OBJECTS, /* rows below it say what they hold; of a list "PATH[]" */
    FORM_SELECTOR, /* a LabelSelector */
    FORM_BOOLS, FORM_INTS, FORM_NUMBERS, FORM_QUANTITIES, /* maps */
    FORM_RAW,      /* not looked into */
};
enum { V1BETA1 = 1, V1BETA2 = 2, BOTH = V1BETA1 | V1BETA2 };
struct configuration_field {
    const char *path;
    enum configuration_form form;
    uint8_t versions;
    const char *words;  /* "Eviction|Creation"; NULL = any */
    const char *unused; /* why it does nothing, with all that stands below it; NULL = it works */
    int64_t least;      /* of FORM_INT */
};
extern const struct configuration_field configuration_fields[];
extern const uint32_t configuration_fields_n;

/* Kueue's feature gates. What Capstan does is fixed, but where `honoured`. */
enum configuration_gate_effect { GATE_ALWAYS, GATE_NEVER, GATE_INSIDE, GATE_HONOURED };
struct configuration_gate {
    const char *name;
    enum configuration_gate_effect effect; /* GATE_INSIDE: a matter of Kueue's own program */
};
extern const struct configuration_gate configuration_gates[];
extern const uint32_t configuration_gates_n;

struct configuration_reader {
    struct arena *a;
    struct buf *warnings, *problems;
    uint8_t version; /* V1BETA1 or V1BETA2 */
    uint32_t problems_n;
};
void configuration_problem(struct configuration_reader *r, const char *path, const char *format, ...) PRINTF_LIKE(3, 4);
/* All of it against the table: configuration_check.c. */
void configuration_check(struct configuration_reader *r, const struct json *root);

/* What was checked: the texts of a list; configuration_workloads.c, configuration_charge.c. */
const char *const *configuration_texts(struct arena *a, const struct json *list, uint32_t *ret_n);
void configuration_read_charge(struct configuration_reader *r, const struct json *root, struct charge_policy *p);
void configuration_read_workloads(struct configuration_reader *r, const struct json *root, struct workload_policy *p);

#endif
