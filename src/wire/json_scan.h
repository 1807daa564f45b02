/* json_scan.h - find where an object or array ends, over any number of pieces of text (this room only)
 *
 * SHAPE  struct json_scan carries what must be known at a cut between two pieces.
 */
#ifndef WIRE_JSON_SCAN_H
#define WIRE_JSON_SCAN_H
#include <stdint.h>

struct json_scan {
    uint64_t depth;     /* open brackets; set to 1 behind the first one */
    uint64_t in_string; /* all ones inside a string, else 0 */
    uint64_t escaped;   /* 1 when the next byte follows a backslash, else 0 */
};
/* Behind the bracket that brings depth to 0, or NULL when at..end holds none: go on with the next piece. */
const char *json_scan_close(struct json_scan *s, const char *at, const char *end);
const char *json_scan_close_scalar(struct json_scan *s, const char *at,
                                   const char *end); /* same result, byte by byte */

#endif
