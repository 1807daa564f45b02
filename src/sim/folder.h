/* folder.h - the folders and small files that a cluster makes for itself */
#ifndef SIM_FOLDER_H
#define SIM_FOLDER_H
#include <sys/types.h>
#include "base/bytes.h"
#include "base/err.h"

/* The folder and those above it; the last one has this mode when it is new, the others the usual. There already: 0. */
int folder_make(const char *path, mode_t mode, struct err *e);
/* It and all in it, links not followed. What cannot be removed stays. */
void folder_remove(const char *path);
/* A whole file, made anew with this mode where it is not there. */
int folder_write_file(const char *path, mode_t mode, struct bytes text, struct err *e);

#endif
