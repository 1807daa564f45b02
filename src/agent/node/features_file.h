/* features_file.h - the labels as a file for node feature discovery: written whole, and tried again until it stands there
 *
 * UNIT   the wait between tries: 1 s doubling to 60 s. An error is logged once, until it is another or the file is written.
 */
#ifndef AGENT_FEATURES_FILE_H
#define AGENT_FEATURES_FILE_H
#include <stdbool.h>
#include "base/bytes.h"
#include "loop/loop.h"

struct features_file;
struct features_file *features_file_new(struct loop *l);
void features_file_free(struct features_file *f); /* NULL-safe; the file stays */
/* What the file at `path` is to hold from now on; both are copied. Tried at once. */
void features_file_set(struct features_file *f, const char *path, struct bytes text);
void features_file_unset(struct features_file *f); /* no file is wanted; one that was written stays */
bool features_file_written(const struct features_file *f); /* it stands there as it was set, or none is wanted */

#endif
