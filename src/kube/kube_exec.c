/* kube_exec.c - credential plugins: a program that prints an ExecCredential
 *
 * WHY  It is waited for: without its answer no request can be sent. Runs at start and again when the server says 401.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/memory.h"
#include "kube/kubeconfig_parts.h"
#include "wire/json.h"

enum { PLUGIN_TIMEOUT_MS = 30 * 1000, PLUGIN_OUTPUT_BYTES = 1 << 20 };

static void text_replace(char **at, const char *text)
{
    if (!text)
        return;
    free(*at);
    *at = mem_text(text);
}

int kube_exec_parse(struct kubeconfig *k, struct bytes output, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *doc = json_parse(a, output, NULL, e);
    if (!doc)
        return err_wrap(e, "exec plugin %s: output", k->exec_argv[0]);
    const char *version = json_get_text(doc, "apiVersion", "");
    if (!text_equal(json_get_text(doc, "kind", ""), "ExecCredential") || !text_equal(version, k->exec_api_version))
        return err_set(e, E_PROTO,
                       "exec plugin %s: printed apiVersion \"%s\", the kubeconfig asks for ExecCredential %s",
                       k->exec_argv[0], version, k->exec_api_version);
    const struct json *status = json_get(doc, "status");
    const char *token = json_get_text(status, "token", NULL),
               *cert = json_get_text(status, "clientCertificateData", NULL),
               *key = json_get_text(status, "clientKeyData", NULL);
    if (!token && !(cert && key))
        return err_set(e, E_PROTO,
                       "exec plugin %s: status has neither token nor clientCertificateData with clientKeyData",
                       k->exec_argv[0]);
    text_replace(&k->token, token);
    if (cert && key) {
        text_replace(&k->client_cert_pem, cert);
        text_replace(&k->client_key_pem, key);
    }
    return 0;
}

/* Read until the end or the time limit. */
static int plugin_read(int fd, struct buf *out, int64_t until_us)
{
    for (;;) {
        int64_t left_ms = (until_us - clock_monotonic_us()) / 1000;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (left_ms <= 0 || out->n > PLUGIN_OUTPUT_BYTES || poll(&p, 1, (int)left_ms) == 0)
            return -E_AGAIN;
        char *at = buf_reserve(out, 4096);
        ssize_t n = read(fd, at, 4096);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -E_IO : 0;
        out->n += (size_t)n;
    }
}

int kube_exec_run(struct kubeconfig *k, struct err *e)
{
    _cleanup_buf_ struct buf out = {0};
    int fds[2], status = 0;
    pid_t pid;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_errno(e, errno, "exec plugin %s: pipe", k->exec_argv[0]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    int failed = posix_spawnp(&pid, k->exec_argv[0], &actions, NULL, k->exec_argv, k->exec_env);
    posix_spawn_file_actions_destroy(&actions);
    (void)close(fds[1]);
    if (failed) {
        (void)close(fds[0]);
        return err_errno(e, failed, "exec plugin %s cannot be run", k->exec_argv[0]);
    }
    int r = plugin_read(fds[0], &out, clock_monotonic_us() + PLUGIN_TIMEOUT_MS * INT64_C(1000));
    (void)close(fds[0]);
    if (r < 0)
        (void)kill(pid, SIGKILL); /* gone already: fine */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (r < 0)
        return err_set(e, -r, "exec plugin %s: no answer within %d s", k->exec_argv[0], PLUGIN_TIMEOUT_MS / 1000);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(e, E_DENIED, "exec plugin %s failed (exit %d); run it by hand to see why", k->exec_argv[0],
                       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return kube_exec_parse(k, (struct bytes){out.data ? out.data : "", out.n}, e);
}
