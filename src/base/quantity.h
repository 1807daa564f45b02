/* quantity.h - Kubernetes resource amounts as exact integers
 *
 * UNIT   values are kept in thousandths (milli) as a 128-bit number while parsing and handed out as int64 in the unit asked for.
 * SOURCE apimachinery pkg/api/resource, Quantity: suffixes n u m "" k M G T P E, Ki Mi Gi Ti Pi Ei, decimal exponent e/E, sign, fraction.
 */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H
#include <stdbool.h>
#include <stdint.h>
#include "base/bytes.h"

enum quantity_format { QUANTITY_DECIMAL_SI, QUANTITY_BINARY_SI, QUANTITY_DECIMAL_EXPONENT };

struct quantity {
    __int128 nano; /* value x 10^9, exact; fractions below 1n are rounded up. LIMIT binary suffixes +-(2^63-1) units, others 10^27 */
    enum quantity_format format;
};
/* Parse the whole text. On failure returns -E_INVALID with a sentence that says what a quantity looks like. */
int quantity_parse(struct bytes text, struct quantity *ret_q, struct err *e);
int64_t quantity_whole(struct quantity q); /* units, rounded up (away from zero), clamped to int64: Quantity.Value() */
int64_t quantity_milli(struct quantity q); /* thousandths, rounded up, clamped to int64: Quantity.MilliValue() */
int quantity_sign(struct quantity q);      /* -1, 0, 1 */
int quantity_compare(struct quantity a, struct quantity b);

#define QUANTITY_TEXT_MAX 48
/* Canonical form, as Quantity.String() prints it: "1500m" not "1.5", "1Gi" not "1024Mi", "1k" not "1000". */
char *quantity_format(char text[QUANTITY_TEXT_MAX], struct quantity q);
struct quantity quantity_of_whole(int64_t units, enum quantity_format format);
struct quantity quantity_of_milli(int64_t milli);

#endif
