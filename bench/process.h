/* process.h - what the programs share that measure processes from outside: children, a folder of their own, ports, resident memory
 *
 * A step that fails ends the program with a sentence; children and the folder do not outlive it.
 */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H
#include <stdbool.h>
#include <sys/types.h>

void must(bool good, const char *what);
void figure(const char *name, double value, const char *unit); /* one line of JSON */

/* The build folder that this program is in, and a new empty folder named for `bench`. For ever. */
const char *process_build(void);
const char *process_folder(const char *bench);
char *path_of(const char *folder, const char *name); /* never freed */

pid_t process_start(const char *const argv[]); /* what it says goes to /dev/null, or with BENCH_LOG set to stderr */
void process_run(const char *const argv[]);    /* and waits; it must end well */
void process_end(pid_t *pid);                  /* SIGTERM, and waits */
/* Resident memory without what libnvidia-ml maps (its own pages, the simulated driver's state). ret_anonymous_kb may be NULL. */
long process_resident_kb(pid_t pid, long *ret_anonymous_kb);

int port_free(void);
int port_connect(int port); /* -1: nobody listens */

#endif
