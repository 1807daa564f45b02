/* stand_in.c - a program that behaves like nvidia-cuda-mps-control, for machines without GPUs
 *
 *     stand_in -f     the control daemon: serves <pipe directory>/control, writes nvidia-cuda-mps-control.pid there and control.log to
 *                     the log directory
 *     stand_in        commands from standard input to that daemon, answers to standard output; status 1 when there is none
 *
 * Commands: get_server_list, get_client_list PID, get/set_default_active_thread_percentage, set_active_thread_percentage PID N,
 * get/set_default_device_pinned_mem_limit DEVICE [VALUE], set_device_pinned_mem_limit PID DEVICE VALUE, quit.
 * Devices are those of CUDA_VISIBLE_DEVICES, by UUID or position; another one is refused.
 * Faults are files in $STAND_IN_FAULTS: crash (ends at its start, with the file's text in control.log), silent (takes connections, never
 * answers), refuse (set commands fail); clients: lines "SERVER CLIENT CLIENT...". A daemon ends by itself after a minute.
 * SOURCE NVIDIA, "Multi-Process Service", appendix on nvidia-cuda-mps-control.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define DEVICES_MAX 64

struct device {
    char uuid[64], limit[32];
};
static struct device devices[DEVICES_MAX];
static int devices_n;
static int percentage = 100;
static FILE *control_log;
static char pipe_directory[90];

static bool has_fault(const char *name)
{
    char path[4200];
    const char *folder = getenv("STAND_IN_FAULTS");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "/nonexistent", name);
    return access(path, F_OK) == 0;
}

static void path_of(char *to, size_t room, const char *name)
{
    snprintf(to, room, "%s/%s", pipe_directory, name);
}

static bool address_make(struct sockaddr_un *a)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    int n = snprintf(pipe_directory, sizeof pipe_directory, "%s", folder ? folder : "/tmp/nvidia-mps");
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    int m = snprintf(a->sun_path, sizeof a->sun_path, "%s/control", pipe_directory);
    return n < (int)sizeof pipe_directory && m < (int)sizeof a->sun_path;
}

static int connect_to(const struct sockaddr_un *a)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)a, sizeof *a) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int run_client(const struct sockaddr_un *a)
{
    char text[4096];
    size_t n;
    int fd = connect_to(a);
    if (fd < 0) {
        puts("Cannot find MPS control daemon process");
        return 1;
    }
    while ((n = fread(text, 1, sizeof text, stdin)) > 0) {
        if (write(fd, text, n) != (ssize_t)n)
            return 1;
    }
    shutdown(fd, SHUT_WR);
    bool failed = false;
    for (ssize_t got; (got = read(fd, text, sizeof text - 1)) > 0;) {
        text[got] = '\0';
        failed = failed || strstr(text, "Failed") != NULL;
        fwrite(text, 1, (size_t)got, stdout);
    }
    return failed ? 1 : 0;
}

static struct device *device_find(const char *name)
{
    for (int i = 0; i < devices_n; i++) {
        char position[16];
        snprintf(position, sizeof position, "%d", i);
        if (strcmp(devices[i].uuid, name) == 0 || strcmp(position, name) == 0)
            return &devices[i];
    }
    return NULL;
}

static void list_answer(FILE *out, const char *server)
{
    char path[4200], line[4096];
    const char *folder = getenv("STAND_IN_FAULTS");
    snprintf(path, sizeof path, "%s/clients", folder ? folder : "/nonexistent");
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        char *save, *first = strtok_r(line, " \n", &save);
        if (first && !server)
            fprintf(out, "%s\n", first);
        for (char *client; first && server && strcmp(first, server) == 0 && (client = strtok_r(NULL, " \n", &save));)
            fprintf(out, "%s\n", client);
    }
    if (file)
        fclose(file);
}

/* False: quit. */
static bool command_run(char *line, FILE *out)
{
    char *save, *words[5] = {NULL};
    for (int i = 0; i < 4; i++)
        words[i] = strtok_r(i ? NULL : line, " \n", &save);
    const char *verb = words[0] ? words[0] : "";
    struct device *d = words[1] ? device_find(words[1]) : NULL;
    if (strncmp(verb, "set_", 4) == 0 && has_fault("refuse")) {
        fprintf(out, "Failed\n");
    } else if (strcmp(verb, "quit") == 0) {
        return false;
    } else if (strcmp(verb, "get_server_list") == 0) {
        list_answer(out, NULL);
    } else if (strcmp(verb, "get_client_list") == 0 && words[1]) {
        list_answer(out, words[1]);
    } else if (strcmp(verb, "get_default_active_thread_percentage") == 0) {
        fprintf(out, "%d.0\n", percentage);
    } else if (strcmp(verb, "set_default_active_thread_percentage") == 0 && words[1]) {
        percentage = (int)strtol(words[1], NULL, 10);
        fprintf(out, "%d.0\n", percentage);
    } else if (strcmp(verb, "set_default_device_pinned_mem_limit") == 0 && d && words[2]) {
        snprintf(d->limit, sizeof d->limit, "%s", words[2]);
    } else if (strcmp(verb, "get_default_device_pinned_mem_limit") == 0 && d) {
        fprintf(out, "%s\n", d->limit);
    } else if (strcmp(verb, "set_active_thread_percentage") == 0 && words[2]) {
        fprintf(out, "%s.0\n", words[2]);
    } else if (strcmp(verb, "set_device_pinned_mem_limit") == 0 && words[2] && device_find(words[2]) && words[3]) {
        fprintf(out, "%s", "");
    } else if (verb[0]) {
        fprintf(out, "Failed: %s\n", verb);
    }
    return true;
}

static bool serve_one(int fd)
{
    char line[4096];
    bool goes_on = true;
    FILE *in = fdopen(fd, "r+");
    FILE *out = fdopen(dup(fd), "w");
    while (goes_on && in && out && fgets(line, sizeof line, in)) {
        fprintf(control_log, "%s", line);
        fflush(control_log);
        goes_on = command_run(line, out);
    }
    if (out)
        fclose(out);
    if (in)
        fclose(in);
    return goes_on;
}

static bool daemon_files(const struct sockaddr_un *a, int *ret_fd)
{
    char path[4200];
    const char *folder = getenv("CUDA_MPS_LOG_DIRECTORY");
    snprintf(path, sizeof path, "%s/control.log", folder ? folder : "/var/log/nvidia-mps");
    control_log = fopen(path, "ae");
    if (!control_log)
        return false;
    unlink(a->sun_path);
    *ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*ret_fd < 0 || bind(*ret_fd, (const struct sockaddr *)a, sizeof *a) < 0 || listen(*ret_fd, 8) < 0)
        return false;
    path_of(path, sizeof path, "nvidia-cuda-mps-control.pid");
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    fprintf(control_log, "start %s\n", visible ? visible : "");
    fflush(control_log);
    char list[8192];
    snprintf(list, sizeof list, "%s", visible ? visible : "");
    for (char *save, *uuid = strtok_r(list, ",", &save); uuid && devices_n < DEVICES_MAX; uuid = strtok_r(NULL, ",", &save))
        snprintf(devices[devices_n++].uuid, sizeof devices[0].uuid, "%s", uuid);
    return true;
}

/* The reason that a real one would write, from the file of the fault. */
static int crash(void)
{
    char path[4200], text[256];
    const char *folder = getenv("CUDA_MPS_LOG_DIRECTORY"), *faults = getenv("STAND_IN_FAULTS");
    snprintf(path, sizeof path, "%s/crash", faults);
    FILE *from = fopen(path, "re");
    snprintf(path, sizeof path, "%s/control.log", folder ? folder : "/var/log/nvidia-mps");
    FILE *to = fopen(path, "ae");
    while (from && to && fgets(text, sizeof text, from))
        fputs(text, to);
    if (from)
        fclose(from);
    if (to)
        fclose(to);
    return 3;
}

static int run_daemon(const struct sockaddr_un *a)
{
    int listener, old = connect_to(a);
    if (old >= 0) {
        fputs("An instance of this daemon is already running\n", stderr);
        return 1;
    }
    if (has_fault("crash"))
        return crash();
    alarm(60);
    if (!daemon_files(a, &listener)) {
        perror("stand_in");
        return 1;
    }
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        if (has_fault("silent"))
            continue; /* kept open */
        if (!serve_one(fd))
            break;
    }
    unlink(a->sun_path);
    char path[4200];
    path_of(path, sizeof path, "nvidia-cuda-mps-control.pid");
    unlink(path);
    return 0;
}

int main(int argc, char **argv)
{
    struct sockaddr_un a;
    signal(SIGPIPE, SIG_IGN);
    if (!address_make(&a)) {
        fputs("the pipe directory has too long a name\n", stderr);
        return 1;
    }
    return argc > 1 && strcmp(argv[1], "-f") == 0 ? run_daemon(&a) : run_client(&a);
}
