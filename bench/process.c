/* process.c - children, folders, ports and resident memory for programs that measure processes from outside */
#include "process.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN_MAX 8

extern char **environ;

static pid_t children[CHILDREN_MAX]; /* 0: free */
static char folder[64], build[512];

static void folder_remove(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/rm", "rm", "-rf", folder, (char *)NULL);
        _exit(127);
    }
    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
}

static void all_end(void)
{
    for (int i = 0; i < CHILDREN_MAX; i++)
        process_end(&children[i]);
    if (folder[0])
        folder_remove();
}

/* Of what it calls, all may be called in a handler. */
static void on_signal(int number)
{
    all_end();
    _exit(128 + number);
}

void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    exit(1);
}

void figure(const char *name, double value, const char *unit)
{
    printf("{\"name\":\"%s\",\"value\":%.3f,\"unit\":\"%s\"}\n", name, value, unit);
    (void)fflush(stdout);
}

/* ---- folders ---- */

const char *process_build(void)
{
    ssize_t n = readlink("/proc/self/exe", build, sizeof build - 1);
    must(n > 0, "where am I?");
    build[n] = '\0';
    for (int i = 0; i < 2; i++) /* .../bench/bench_agent */
        *strrchr(build, '/') = '\0';
    return build;
}

const char *process_folder(const char *bench)
{
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/bench-%s-XXXXXX", tmp && strlen(tmp) < 30 ? tmp : "/tmp", bench);
    must(mkdtemp(folder) != NULL, "no directory");
    must(atexit(all_end) == 0, "atexit");
    (void)signal(SIGTERM, on_signal);
    (void)signal(SIGINT, on_signal);
    return folder;
}

char *path_of(const char *in, const char *name)
{
    char *path = NULL;
    must(asprintf(&path, "%s/%s", in, name) > 0, "path");
    return path;
}

/* ---- children ---- */

static pid_t child_fork(const char *const argv[])
{
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid > 0)
        return pid;
    int null = open("/dev/null", O_RDWR);
    (void)dup2(null, 0);
    (void)dup2(null, 1);
    if (!getenv("BENCH_LOG"))
        (void)dup2(null, 2);
    execve(argv[0], (char *const *)argv, environ);
    _exit(127);
}

pid_t process_start(const char *const argv[])
{
    pid_t pid = child_fork(argv);
    for (int i = 0; i < CHILDREN_MAX; i++)
        if (children[i] == 0) {
            children[i] = pid;
            return pid;
        }
    must(false, "too many children");
    return 0;
}

void process_run(const char *const argv[])
{
    int status = 0;
    pid_t pid = child_fork(argv);
    must(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0, argv[0]);
}

void process_end(pid_t *pid)
{
    pid_t ended = *pid;
    if (ended <= 0)
        return;
    if (kill(ended, SIGTERM) == 0)
        (void)waitpid(ended, NULL, 0);
    for (int i = 0; i < CHILDREN_MAX; i++)
        if (children[i] == ended)
            children[i] = 0;
    *pid = 0;
}

long process_resident_kb(pid_t pid, long *ret_anonymous_kb)
{
    char path[64], line[512];
    bool counts = true;
    long rss = 0, anonymous = 0, kb;
    (void)snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
    FILE *f = fopen(path, "re");
    must(f != NULL, "the process is gone");
    while (fgets(line, sizeof line, f)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            counts = !strstr(line, "libnvidia-ml") && !strstr(line, "/node/state");
        else if (counts && sscanf(line, "Rss: %ld", &kb) == 1)
            rss += kb;
        else if (counts && sscanf(line, "Anonymous: %ld", &kb) == 1)
            anonymous += kb;
    }
    (void)fclose(f);
    if (ret_anonymous_kb)
        *ret_anonymous_kb = anonymous;
    return rss;
}

/* ---- ports ---- */

int port_connect(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

int port_free(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && getsockname(fd, (struct sockaddr *)&at, &n) == 0, "no port");
    (void)close(fd);
    return ntohs(at.sin_port);
}
