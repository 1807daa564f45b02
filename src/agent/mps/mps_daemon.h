/* mps_daemon.h - one MPS control daemon and its life (only for mps.c)
 *
 *     OFF ─▶ STARTING ─answers─▶ LIMITS ─▶ READY ⟲ check       any failure ─▶ BACKOFF ─▶ STARTING       STOPPING ─▶ OFF
 *
 * OWNER  mps.c makes, changes and frees daemons; `changed` is called when the state has changed, never from inside a call to this file.
 * The control program is run with commands on its standard input: its documented interface to a running daemon.
 */
#ifndef AGENT_MPS_DAEMON_H
#define AGENT_MPS_DAEMON_H
#include <sys/types.h>
#include "base/bytes.h"
#include "loop/loop.h"
#include "net/grpc/grpc.h"

#define LIMIT_MPS_SERVERS 64 /* of one daemon: one per user that has clients */
#define LIMIT_MPS_DAEMON_CLIENTS 256
#define MPS_COMMAND_BYTES 65536

struct mps_device {
    char uuid[48];
    uint32_t memory_mib; /* limit of a client; 0: none */
};
/* What a daemon is to be. */
struct mps_spec {
    char *resource, *key; /* key: directory below the root, unique */
    char *pipe, *log, *started; /* directories; started: file that says "ready", NULL none */
    struct mps_device *devices;
    uint32_t devices_n;
    uint32_t thread_percentage; /* 0: no limits are set */
};
void mps_spec_free(struct mps_spec *s); /* NULL-safe; what it points to and itself */

#define MPS_STATES(X)                                                                                                                      \
    X(OFF, "off") X(STARTING, "starting") X(LIMITS, "setting limits") X(READY, "ready") X(BACKOFF, "waiting") X(STOPPING, "stopping")
enum mps_state {
#define X(name, text) MPS_##name,
    MPS_STATES(X)
#undef X
};

struct mps_daemon_client {
    uint32_t pid, server;
};
struct mps_daemon {
    struct loop *loop;
    const char *program;
    int64_t check_ms, command_ms, backoff_first_ms;
    void (*changed)(void *arg);
    void *arg;

    struct mps_spec *spec; /* of the running daemon; of the next one when OFF or BACKOFF */
    enum mps_state state;
    struct loop_child *child, *command; /* the daemon; the command that is on its way */
    struct loop_timer *timer;
    struct grpc_client *keeper; /* who starts it, and whose child it is; NULL: it is ours, and ends with us */
    uint64_t call;              /* to the keeper; 0 none */
    int adopted;  /* pid of a daemon that was found running, or that the keeper has; 0 none */
    bool foreign; /* and that nobody here started: never stopped */
    bool quit_sent;
    int64_t state_ms, backoff_ms;
    uint32_t misses, restarts_n;
    off_t log_from;     /* what its log had when it was started */
    struct err problem; /* the last */
    uint32_t servers[LIMIT_MPS_SERVERS], servers_n, servers_at;
    struct mps_daemon_client clients[LIMIT_MPS_DAEMON_CLIENTS], fresh[LIMIT_MPS_DAEMON_CLIENTS];
    uint32_t clients_n, fresh_n;
    bool relimit; /* limits have changed since they were told */
};
/* Takes the spec over. */
void mps_daemon_init(struct mps_daemon *d, struct loop *l, struct mps_spec *spec);
void mps_daemon_clear(struct mps_daemon *d); /* kills it, unless somebody else started it, or has it: then it goes on */
void mps_daemon_start(struct mps_daemon *d); /* from OFF */
void mps_daemon_stop(struct mps_daemon *d);  /* ends OFF */
void mps_daemon_relimit(struct mps_daemon *d, struct mps_spec *spec); /* the same devices, other limits; takes the spec over */
int mps_daemon_pid(const struct mps_daemon *d); /* 0: none */
const char *mps_state_name(enum mps_state s);
/* Ours without CUDA's, plus those of this daemon. One block, freed by the caller. */
char **mps_environment_make(const struct mps_spec *s);

#endif
