/* quantity.c - what is accepted is printed in a form that reads back as the same amount, and printing that changes
 * nothing */
#include <string.h>
#include "base/quantity.h"
#include "../fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct quantity q, again;
    char text[QUANTITY_TEXT_MAX], second[QUANTITY_TEXT_MAX];
    struct err e = {0};
    if (quantity_parse((struct bytes){(const char *)data, size}, &q, &e) < 0) {
        MUST_HOLD(e.code == E_INVALID);
        return 0;
    }
    quantity_format(text, q);
    MUST_HOLD(quantity_parse(bytes_of(text), &again, NULL) == 0);
    MUST_HOLD(quantity_compare(q, again) == 0);
    MUST_HOLD(strcmp(quantity_format(second, again), text) == 0);
    MUST_HOLD(quantity_sign(q) == quantity_sign(quantity_of_whole(quantity_whole(q), q.format)));
    return 0;
}
