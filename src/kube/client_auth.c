/* client_auth.c - see client_auth.h */
#include "kube/client_auth.h"
#include <stdlib.h>
#include "base/memory.h"
#include "kube/kubeconfig_parts.h"

enum {
    TOKEN_FILE_AGE_MS = 60 * 1000,
    PLUGIN_WAIT_MS = 30 * 1000,
    PLUGIN_OUTPUT_BYTES = 1 << 20,
    PLUGIN_RETRY_MS = 2000
};

struct kube_auth {
    struct loop *l;
    struct kubeconfig *config;
    struct buf header;
    int64_t file_read_ms;
    bool is_running; /* the plugin */
    bool is_freed;   /* while it runs */
};

static void header_set(struct kube_auth *a)
{
    const struct kubeconfig *k = a->config;
    buf_clear(&a->header);
    if (k->token && *k->token) {
        buf_printf(&a->header, "Bearer %s", k->token);
    } else if (k->basic_user) {
        _cleanup_buf_ struct buf pair = {0};
        buf_printf(&pair, "%s:%s", k->basic_user, k->basic_password ? k->basic_password : "");
        buf_text(&a->header, "Basic ");
        base64_encode(&a->header, buf_view(&pair));
    }
}

/* WHY  A file that cannot be read now keeps the old token: the kubelet replaces it by renaming, a moment's absence
 * means nothing. */
static void token_file_read(struct kube_auth *a)
{
    _cleanup_buf_ struct buf text = {0};
    a->file_read_ms = loop_now_ms(a->l);
    if (kube_file_read(a->config->token_file, &text, NULL) < 0)
        return;
    while (text.n && (text.data[text.n - 1] == '\n' || text.data[text.n - 1] == '\r' || text.data[text.n - 1] == ' '))
        text.data[--text.n] = 0;
    if (!text.n)
        return;
    free(a->config->token);
    a->config->token = buf_take(&text, NULL);
    header_set(a);
}

int kube_auth_new(struct loop *l, const struct kubeconfig *k, struct kube_auth **ret_a, struct err *e)
{
    struct kube_auth *a = mem_zero(1, sizeof *a);
    a->l = l;
    a->config = kubeconfig_copy(k);
    int r = 0;
    if (k->exec_argv && !k->token && !k->client_cert_pem)
        r = kube_exec_run(a->config, e);
    if (r == 0 && k->token_file) {
        token_file_read(a);
        if (!a->config->token)
            r = err_set(e, E_INVALID, "tokenFile %s: cannot be read or is empty", k->token_file);
    }
    if (r < 0) {
        kube_auth_free(a);
        return r;
    }
    header_set(a);
    *ret_a = a;
    return 0;
}

void kube_auth_free(struct kube_auth *a)
{
    if (!a)
        return;
    if (a->is_running) { /* plugin_done frees */
        a->is_freed = true;
        return;
    }
    kubeconfig_free(a->config);
    buf_free(&a->header);
    free(a);
}

const struct kubeconfig *kube_auth_config(const struct kube_auth *a)
{
    return a->config;
}

const char *kube_auth_header(void *auth)
{
    struct kube_auth *a = auth;
    if (a->config->token_file && loop_now_ms(a->l) - a->file_read_ms > TOKEN_FILE_AGE_MS)
        token_file_read(a);
    return a->header.n ? a->header.data : "";
}

static void plugin_done(void *arg, int exit_code, const char *output, size_t n)
{
    struct kube_auth *a = arg;
    a->is_running = false;
    if (a->is_freed) {
        kube_auth_free(a);
        return;
    }
    if (exit_code == 0 && kube_exec_parse(a->config, (struct bytes){output, n}, NULL) == 0)
        header_set(a); /* else the old one stays: the server refuses it again and says so */
}

int64_t kube_auth_refused(struct kube_auth *a)
{
    if (!a)
        return -1;
    if (a->config->token_file) {
        token_file_read(a);
        return 0;
    }
    if (!a->config->exec_argv)
        return -1;
    if (!a->is_running)
        a->is_running = loop_child_run(a->l, a->config->exec_argv, a->config->exec_env, PLUGIN_OUTPUT_BYTES,
                                       PLUGIN_WAIT_MS, plugin_done, a, NULL) == 0;
    return a->is_running ? PLUGIN_RETRY_MS : -1;
}
