/* device_list.h - the devices of a pod as one text: annotation capstan.dev/devices, and wherever else they are named
 *
 *     "nvidia.com/gpu=GPU-a,GPU-b;keti.com/mpsgpu=GPU-a::3"        a resource may stand in several parts
 *
 * BAD INPUT  a part without '=' and an empty id are passed over.
 */
#ifndef CORE_DEVICE_LIST_H
#define CORE_DEVICE_LIST_H
#include "base/bytes.h"

#define DEVICES_ANNOTATION "capstan.dev/devices" /* on pods this text; on nodes a JSON list, which codec/decode/decode_node.c reads */

struct device_list { /* begin with rest = the text, else zero */
    struct bytes rest, part; /* part: the resource of the one that is being read */
    struct bytes resource, id; /* of the last device_list_next; in the text */
};
/* The next device; false: there is none. */
bool device_list_next(struct device_list *l);
/* Adds one device; `last`: the resource of the one that was added before, NULL none. */
void device_list_add(struct buf *out, const char *last, const char *resource, const char *id);

#endif
