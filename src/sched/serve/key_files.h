/* key_files.h - a certificate and its private key in files that somebody replaces while we run
 *
 * A mounted Secret is replaced whole by one rename, between any two of our reads: what comes back is of one time.
 * LIMIT  regular files of at most KEY_FILES_MAX_BYTES each.
 */
#ifndef SCHED_KEY_FILES_H
#define SCHED_KEY_FILES_H
#include "base/err.h"

#define KEY_FILES_MAX_BYTES (1u << 20) /* as much as a Secret holds */

struct key_pair {
    char *cert_pem, *key_pem;
};
/* -E_NOTFOUND, -E_DENIED, -E_LIMIT, -E_IO, -E_INVALID. The caller frees the pair. */
int key_files_read(const char *cert_path, const char *key_path, struct key_pair *ret_pair, struct err *e);
void key_pair_free(struct key_pair *p); /* the key is overwritten; NULL texts are fine */

#endif
