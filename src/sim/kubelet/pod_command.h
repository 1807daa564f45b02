/* pod_command.h - how long a container's command runs and how it exits, as far as that can be read from its words
 *
 * Nothing is executed. Understood, as programs of their own or in the script of `sh -c` (also bash, ash, dash):
 *   sleep N[smhd] | sleep infinity     runs that long
 *   true, false, :, exit N             ends with that code
 *   echo, mkdir, export, cat, ...      takes no time, succeeds
 *   tail -f, sshd -D, while true       runs until deleted
 *   a && b, a || b, a; b, set -e       as a shell joins them
 *   trap '' TERM                       is not ended by that signal
 * In images whose contents are known (busybox, alpine, debian, ubuntu, nginx, httpd) a program that none of them has is not
 * found: 127; and a script file that nothing mounts is not there: 2.
 * Images of servers (nginx, redis, ...) without a command run until deleted.
 * Any other program runs for the pod's default time and succeeds; a script with other syntax counts as one such program.
 */
#ifndef SIM_POD_COMMAND_H
#define SIM_POD_COMMAND_H
#include "wire/json.h"

struct pod_command {
    int64_t run_ms; /* simulated; -1 = until deleted */
    int exit_code;
    bool ignores_term; /* one of them runs on until its grace period is over */
};
/* What the pod's containers do together: the longest time, the first exit code that is not 0. `fallback_ms` (-1 = until deleted)
 * is the time of what is not understood. */
struct pod_command pod_command_read(const struct json *pod_spec, int64_t fallback_ms);

#endif
