/* kubeconfig.c - merge the files, resolve context -> cluster and user, say exactly what is wrong
 *
 * ORDER  of several files the first that has a named entry (or a current-context) wins, as client-go's clientcmd does it.
 */
#include "kube/kubeconfig.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/file.h"
#include "base/memory.h"
#include "kube/kubeconfig_parts.h"
#include "wire/yaml.h"

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

struct source {
    const char *path;
    struct json *doc;
};

struct sources {
    struct arena *a;
    struct source items[LIMIT_KUBECONFIG_FILES];
    size_t n;
};

/* One named entry and the file that it stands in. */
struct entry {
    const struct json *value; /* the "cluster", "context" or "user" object */
    const char *path;         /* of the file */
    const char *kind, *name;
};

int kube_file_read(const char *path, struct buf *out, struct err *e)
{
    buf_clear(out);
    int r = file_read(path, LIMIT_KUBECONFIG_BYTES, out, e);
    return r == -E_LIMIT ? err_set(e, E_LIMIT, "%s: larger than 1 MiB; is this a kubeconfig or certificate file?", path) : r;
}

static int source_add(struct sources *s, const char *path, bool must_exist, struct err *e)
{
    _cleanup_buf_ struct buf text = {0};
    struct json *docs = NULL;
    struct err local = {0};
    if (s->n == LIMIT_KUBECONFIG_FILES)
        return err_set(e, E_LIMIT, "KUBECONFIG: more than %d files", LIMIT_KUBECONFIG_FILES);
    int r = kube_file_read(path, &text, &local);
    if (r == -E_NOTFOUND && !must_exist)
        return 0;
    if (r < 0)
        return err_set(e, local.code, "%s%s", local.text,
                       r == -E_NOTFOUND ? "; give the path of a kubeconfig file (\"capstan up\" writes one)" : "");
    r = yaml_parse(s->a, buf_view(&text), &docs, NULL, &local);
    if (r < 0)
        return err_set(e, local.code, "%s: %s", path, local.text);
    struct json *doc = json_item(docs, 0);
    if (!doc)
        return 0; /* an empty file is an empty configuration */
    if (!json_is(doc, JSON_OBJECT))
        return err_set(e, E_INVALID, "%s: is no kubeconfig: expected a mapping with clusters, contexts and users",
                       path);
    s->items[s->n++] = (struct source){arena_text(s->a, path), doc};
    return 0;
}

/* The entry `name` of list clusters|contexts|users in the first file that has it. */
static bool entry_find(const struct sources *s, const char *list, const char *kind, const char *name, struct entry *ret)
{
    for (size_t i = 0; i < s->n; i++) {
        JSON_EACH (item, json_get(s->items[i].doc, list)) {
            if (text_equal(json_get_text(item, "name", NULL), name)) {
                *ret = (struct entry){json_get(item, kind), s->items[i].path, kind, name};
                return true;
            }
        }
    }
    return false;
}

static void names_list(const struct sources *s, const char *list, struct buf *out)
{
    for (size_t i = 0; i < s->n; i++) {
        JSON_EACH (item, json_get(s->items[i].doc, list)) {
            if (out->n > 120) {
                buf_text(out, ", ...");
                return;
            }
            buf_printf(out, "%s\"%s\"", out->n ? ", " : "", json_get_text(item, "name", ""));
        }
    }
    if (!out->n)
        buf_text(out, "none");
}

static int entry_missing(const struct sources *s, const char *list, const char *what, const char *name, struct err *e)
{
    _cleanup_buf_ struct buf there = {0};
    names_list(s, list, &there);
    return err_set(e, E_INVALID, "%s: %s \"%s\" is not in %s (there: %s)", s->n ? s->items[0].path : "kubeconfig", what,
                   name, list, there.data);
}

static char *text_of(const struct entry *en, const char *field)
{
    const char *text = json_get_text(en->value, field, "");
    return *text ? mem_text(text) : NULL;
}

/* Paths in a kubeconfig are relative to its own folder. */
static char *path_of(const struct entry *en, const char *field)
{
    const char *path = json_get_text(en->value, field, ""), *slash = strrchr(en->path, '/');
    struct buf out = {0};
    if (!*path)
        return NULL;
    if (path[0] != '/' && slash)
        buf_add(&out, en->path, (size_t)(slash - en->path) + 1);
    buf_text(&out, path);
    return buf_take(&out, NULL);
}

static int field_error(const struct entry *en, const char *field, const char *what, struct err *e)
{
    return err_set(e, E_INVALID, "%s: %s \"%s\": %s: %s", en->path, en->kind, en->name, field, what);
}

/* PEM from field "x-data" (base64) or the file named by "x". NULL when neither is set. */
static int pem_of(const struct entry *en, const char *field, char **ret, struct err *e)
{
    char data_field[64];
    (void)snprintf(data_field, sizeof data_field, "%s-data", field); /* field names are ours */
    const char *data = json_get_text(en->value, data_field, "");
    _cleanup_free_ char *path = path_of(en, field);
    _cleanup_buf_ struct buf out = {0};
    *ret = NULL;
    if (*data) {
        if (!base64_decode(&out, bytes_of(data)))
            return field_error(en, data_field, "is not base64; paste the output of \"base64 -w0 FILE\"", e);
    } else if (path) {
        int r = kube_file_read(path, &out, e);
        if (r < 0)
            return err_wrap(e, "%s: %s \"%s\": %s", en->path, en->kind, en->name, field);
    } else {
        return 0;
    }
    if (!out.data || !strstr(out.data, "-----BEGIN "))
        return field_error(en, *data ? data_field : field, "holds no PEM text (\"-----BEGIN ...\")", e);
    *ret = buf_take(&out, NULL);
    return 0;
}

static int cluster_take(struct kubeconfig *k, const struct entry *en, struct err *e)
{
    k->server = text_of(en, "server");
    if (!k->server)
        return field_error(en, "server", "is missing; write for example https://10.0.0.1:6443", e);
    if (!text_starts(k->server, "http://") && !text_starts(k->server, "https://") && !text_starts(k->server, "unix:/"))
        return field_error(en, "server", "must start with https:// or http://", e);
    k->tls_server_name = text_of(en, "tls-server-name");
    k->proxy_url = text_of(en, "proxy-url");
    k->insecure_skip_verify = json_get_bool(en->value, "insecure-skip-tls-verify", false);
    return pem_of(en, "certificate-authority", &k->ca_pem, e);
}

static bool exec_version_known(const char *version)
{
    return strcmp(version, "client.authentication.k8s.io/v1") == 0 ||
           strcmp(version, "client.authentication.k8s.io/v1beta1") == 0;
}

static void exec_env_take(struct kubeconfig *k, const struct json *exec)
{
    extern char **environ;
    _cleanup_buf_ struct buf text = {0};
    size_t n = 0, cap = 0;
    for (char **v = environ; v && *v; v++) {
        MEM_RESERVE(k->exec_env, cap, n + 1);
        k->exec_env[n++] = mem_text(*v);
    }
    JSON_EACH (item, json_get(exec, "env")) {
        buf_clear(&text);
        buf_printf(&text, "%s=%s", json_get_text(item, "name", ""), json_get_text(item, "value", ""));
        MEM_RESERVE(k->exec_env, cap, n + 1);
        k->exec_env[n++] = mem_text(text.data);
    }
    buf_clear(&text);
    buf_printf(
        &text,
        "KUBERNETES_EXEC_INFO={\"apiVersion\":\"%s\",\"kind\":\"ExecCredential\",\"spec\":{\"interactive\":false}}",
        k->exec_api_version);
    MEM_RESERVE(k->exec_env, cap, n + 2);
    k->exec_env[n++] = mem_text(text.data);
    k->exec_env[n] = NULL;
}

static int exec_take(struct kubeconfig *k, const struct entry *en, const struct json *exec, struct err *e)
{
    struct entry inner = {exec, en->path, "user", en->name};
    const char *command = json_get_text(exec, "command", "");
    size_t n = 0, cap = 0;
    if (!*command)
        return field_error(en, "exec.command", "is missing; name the program that prints the credential", e);
    k->exec_api_version = text_of(&inner, "apiVersion");
    if (!k->exec_api_version || !exec_version_known(k->exec_api_version))
        return field_error(en, "exec.apiVersion", "must be client.authentication.k8s.io/v1 or .../v1beta1", e);
    MEM_RESERVE(k->exec_argv, cap, 1);
    k->exec_argv[n++] = strchr(command, '/') ? path_of(&inner, "command") : mem_text(command);
    JSON_EACH (arg, json_get(exec, "args")) {
        MEM_RESERVE(k->exec_argv, cap, n + 1);
        k->exec_argv[n++] = mem_text(json_text(arg, ""));
    }
    MEM_RESERVE(k->exec_argv, cap, n + 1);
    k->exec_argv[n] = NULL;
    exec_env_take(k, exec);
    return 0;
}

static int user_take(struct kubeconfig *k, const struct entry *en, struct err *e)
{
    int r = pem_of(en, "client-certificate", &k->client_cert_pem, e);
    if (r == 0)
        r = pem_of(en, "client-key", &k->client_key_pem, e);
    if (r < 0)
        return r;
    if (k->client_cert_pem && !k->client_key_pem)
        return field_error(en, "client-key", "is missing; a client certificate needs its key", e);
    if (k->client_key_pem && !k->client_cert_pem)
        return field_error(en, "client-certificate", "is missing; a client key needs its certificate", e);
    k->token = text_of(en, "token");
    k->token_file = path_of(en, "tokenFile");
    k->basic_user = text_of(en, "username");
    k->basic_password = text_of(en, "password");
    if (json_get(en->value, "auth-provider"))
        return field_error(en, "auth-provider", "was removed from Kubernetes in 1.26; use an exec plugin", e);
    const struct json *exec = json_get(en->value, "exec");
    return json_is(exec, JSON_OBJECT) ? exec_take(k, en, exec, e) : 0;
}

static int context_resolve(const struct sources *s, const char *context, struct kubeconfig *k, struct err *e)
{
    struct entry en;
    for (size_t i = 0; i < s->n && !context; i++) {
        const char *current = json_get_text(s->items[i].doc, "current-context", "");
        context = *current ? current : NULL;
    }
    if (!context)
        return err_set(e, E_INVALID, "%s: current-context is not set; set it or name a context", s->items[0].path);
    if (!entry_find(s, "contexts", "context", context, &en))
        return entry_missing(s, "contexts", "context", context, e);
    const char *cluster = json_get_text(en.value, "cluster", ""), *user = json_get_text(en.value, "user", "");
    k->default_namespace = mem_text(json_get_text(en.value, "namespace", "default"));
    if (!*cluster)
        return field_error(&en, "cluster", "is missing", e);
    if (!entry_find(s, "clusters", "cluster", cluster, &en))
        return entry_missing(s, "clusters", "cluster", cluster, e);
    int r = cluster_take(k, &en, e);
    if (r < 0 || !*user) /* a context without user is anonymous */
        return r;
    if (!entry_find(s, "users", "user", user, &en))
        return entry_missing(s, "users", "user", user, e);
    return user_take(k, &en, e);
}

int kubeconfig_load_files(const char *list, bool must_exist, const char *context, struct kubeconfig **ret_k,
                          struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct sources s = {.a = a};
    while (*list) {
        size_t n = strcspn(list, ":");
        int r = n ? source_add(&s, arena_text_n(a, list, n), must_exist, e) : 0;
        if (r < 0)
            return r;
        list += n + (list[n] == ':');
    }
    if (s.n == 0)
        return err_set(
            e, E_NOTFOUND,
            "no kubeconfig found; set KUBECONFIG or name a file (\"capstan up\" writes one into its data directory)");
    struct kubeconfig *k = mem_zero(1, sizeof *k);
    int r = context_resolve(&s, context, k, e);
    if (r < 0) {
        kubeconfig_free(k);
        return r;
    }
    *ret_k = k;
    return 0;
}

int kubeconfig_load_in_cluster(const char *folder, struct kubeconfig **ret_k, struct err *e)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    _cleanup_buf_ struct buf text = {0}, path = {0};
    if (!host || !*host || !port || !*port)
        return err_set(e, E_NOTFOUND, "not in a pod: KUBERNETES_SERVICE_HOST is not set");
    buf_printf(&path, "%s/ca.crt", folder);
    int r = kube_file_read(path.data, &text, e);
    if (r < 0)
        return err_wrap(e, "service account");
    struct kubeconfig *k = mem_zero(1, sizeof *k);
    k->ca_pem = mem_text(text.data);
    buf_clear(&path);
    buf_printf(&path, "%s/token", folder);
    k->token_file = mem_text(path.data);
    buf_clear(&path);
    buf_printf(&path, "%s/namespace", folder);
    k->default_namespace = mem_text(kube_file_read(path.data, &text, NULL) == 0 && text.n ? text.data : "default");
    buf_clear(&text);
    buf_printf(&text, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
    k->server = mem_text(text.data);
    *ret_k = k;
    return 0;
}

int kubeconfig_load(const char *path, const char *context, bool allow_in_cluster, struct kubeconfig **ret_k,
                    struct err *e)
{
    const char *env = getenv("KUBECONFIG"), *home = getenv("HOME");
    _cleanup_buf_ struct buf default_path = {0};
    if (path && *path)
        return kubeconfig_load_files(path, true, context, ret_k, e);
    if (env && *env)
        return kubeconfig_load_files(env, strchr(env, ':') == NULL, context, ret_k, e);
    if (allow_in_cluster && kubeconfig_load_in_cluster(SERVICE_ACCOUNT, ret_k, NULL) == 0)
        return 0;
    buf_printf(&default_path, "%s/.kube/config", home ? home : "");
    return kubeconfig_load_files(default_path.data, false, context, ret_k, e);
}

static char **texts_copy(char *const *texts)
{
    size_t n = 0;
    if (!texts)
        return NULL;
    while (texts[n])
        n++;
    char **copy = mem_zero(n + 1, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = mem_text(texts[i]);
    return copy;
}

struct kubeconfig *kubeconfig_copy(const struct kubeconfig *k)
{
    struct kubeconfig *copy = mem_zero(1, sizeof *copy);
    *copy = (struct kubeconfig){
        .server = mem_text(k->server),
        .ca_pem = mem_text(k->ca_pem),
        .tls_server_name = mem_text(k->tls_server_name),
        .proxy_url = mem_text(k->proxy_url),
        .client_cert_pem = mem_text(k->client_cert_pem),
        .client_key_pem = mem_text(k->client_key_pem),
        .token = mem_text(k->token),
        .token_file = mem_text(k->token_file),
        .basic_user = mem_text(k->basic_user),
        .basic_password = mem_text(k->basic_password),
        .default_namespace = mem_text(k->default_namespace),
        .insecure_skip_verify = k->insecure_skip_verify,
        .exec_argv = texts_copy(k->exec_argv),
        .exec_env = texts_copy(k->exec_env),
        .exec_api_version = mem_text(k->exec_api_version),
    };
    return copy;
}

static void texts_free(char **texts)
{
    for (char **t = texts; t && *t; t++)
        free(*t);
    free(texts);
}

/* WHY  Keys and passwords do not stay in freed memory. */
static void secret_free(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void kubeconfig_free(struct kubeconfig *k)
{
    if (!k)
        return;
    free(k->server);
    free(k->ca_pem);
    free(k->tls_server_name);
    free(k->proxy_url);
    free(k->client_cert_pem);
    secret_free(k->client_key_pem);
    secret_free(k->token);
    free(k->token_file);
    free(k->basic_user);
    secret_free(k->basic_password);
    free(k->default_namespace);
    texts_free(k->exec_argv);
    texts_free(k->exec_env);
    free(k->exec_api_version);
    free(k);
}
