/* mps_folder.h - the directories of one MPS control daemon: made, opened to containers, their logs read and kept short (only for mps*.c)
 *
 * WHY    The log directory is on a tmpfs as a rule (/run/nvidia/mps), and the daemon writes each command down: without a limit it would eat
 *        the node's memory. Containers can write to the pipe directory: nothing there is followed or waited for.
 */
#ifndef AGENT_MPS_FOLDER_H
#define AGENT_MPS_FOLDER_H
#include <stdbool.h>
#include <sys/types.h>
#include "base/err.h"

#define LIMIT_MPS_LOG_BYTES (4u << 20) /* of each of control.log and server.log */
#define MPS_LOG_LINE 160

/* With its parents. `for_containers`: where SELinux is on, it gets the label that containers may use (container_file_t). */
int mps_folder_make(const char *path, bool for_containers, struct err *e);
off_t mps_log_bytes(const char *directory); /* of control.log; 0: none */
/* The last line of control.log that was written after `from`; "" when there is none. Control characters become spaces. */
void mps_log_last(const char *directory, off_t from, char ret_line[MPS_LOG_LINE]);
void mps_log_trim(const char *directory); /* to nothing, beyond the limit */
/* What a regular file holds, `room` bytes at most; -1: it cannot be opened. */
ssize_t mps_file_read(const char *path, char *to, size_t room);

#endif
