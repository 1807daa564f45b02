/* Kubeconfig files: merging, every kind of user, and what is said about bad ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/memory.h"
#include "kube/kubeconfig_parts.h"
#include "../folder.h"

static char folder[64];

static char *file_write(const char *name, const char *text)
{
    static char path[8][128];
    static int at;
    char *p = path[at++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    FILE *f = fopen(p, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return p;
}

static int setup(void **state)
{
    folder_make(folder, sizeof folder, "kubeconfig");
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"a",    "b",        "c",       "bad",    "big",
                                        "exec", "cert.pem", "key.pem", "ca.crt", "namespace"};
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    return rmdir(folder);
}

#define CLUSTER "clusters:\n- name: k\n  cluster:\n    server: https://10.0.0.1:6443\n"
#define CONTEXT "contexts:\n- name: c\n  context: {cluster: k, user: u, namespace: team}\ncurrent-context: c\n"
#define PEM_BASE64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==" /* -----BEGIN CERTIFICATE----- */

static void test_token_and_ca(void **state)
{
    struct kubeconfig *k = NULL;
    struct err e = {0};
    char *path = file_write("a", CLUSTER "    certificate-authority-data: " PEM_BASE64
                                         "\n    insecure-skip-tls-verify: true\n    tls-server-name: api\n" CONTEXT
                                         "users:\n- name: u\n  user: {token: abc}\n");
    if (kubeconfig_load(path, NULL, false, &k, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(k->server, "https://10.0.0.1:6443");
    assert_string_equal(k->ca_pem, "-----BEGIN CERTIFICATE-----\n");
    assert_string_equal(k->token, "abc");
    assert_string_equal(k->default_namespace, "team");
    assert_string_equal(k->tls_server_name, "api");
    assert_true(k->insecure_skip_verify);
    struct kubeconfig *copy = kubeconfig_copy(k);
    kubeconfig_free(k);
    assert_string_equal(copy->token, "abc");
    kubeconfig_free(copy);
    kubeconfig_free(NULL);
}

static void test_relative_files_and_json(void **state)
{
    struct kubeconfig *k = NULL;
    struct err e = {0};
    file_write("cert.pem", "-----BEGIN CERTIFICATE-----\n");
    file_write("key.pem", "-----BEGIN PRIVATE KEY-----\n");
    char *path = file_write(
        "a",
        "{\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":\"http://h\",\"certificate-authority\":\"cert.pem\"}}],"
        "\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"k\",\"user\":\"u\"}}],\"current-context\":\"c\","
        "\"users\":[{\"name\":\"u\",\"user\":{\"client-certificate\":\"cert.pem\",\"client-key\":\"key.pem\","
        "\"tokenFile\":\"t\"}}]}");
    if (kubeconfig_load(path, "c", false, &k, &e) < 0)
        fail_msg("%s", e.text);
    assert_non_null(k->ca_pem);
    assert_string_equal(k->client_key_pem, "-----BEGIN PRIVATE KEY-----\n");
    assert_true(text_starts(k->token_file, folder));
    assert_string_equal(k->default_namespace, "default");
    kubeconfig_free(k);
}

static void test_list_of_files_merges_first_wins(void **state)
{
    struct kubeconfig *k = NULL;
    struct err e = {0};
    _cleanup_buf_ struct buf list = {0};
    buf_printf(&list, "%s:%s/absent:",
               file_write("a", "current-context: c\nusers:\n- name: u\n  user: {username: me, password: pw}\n"),
               folder);
    buf_printf(&list, "%s:%s", file_write("b", ""),
               file_write("c", CLUSTER CONTEXT "users:\n- name: u\n  user: {token: second}\n"));
    setenv("KUBECONFIG", list.data, 1);
    if (kubeconfig_load(NULL, NULL, false, &k, &e) < 0)
        fail_msg("%s", e.text);
    unsetenv("KUBECONFIG");
    assert_string_equal(k->basic_user, "me");
    assert_null(k->token);
    kubeconfig_free(k);
}

static void test_bad_files(void **state)
{
    static const struct {
        const char *text, *says;
        int code;
    } bad[] = {
        {"clusters: [", "line ", E_INVALID},
        {"- 1", "is no kubeconfig", E_INVALID},
        {CLUSTER, "current-context is not set", E_INVALID},
        {CLUSTER "current-context: q\ncontexts:\n- name: c\n  context: {cluster: k}\n",
         "context \"q\" is not in contexts (there: \"c\")", E_INVALID},
        {CLUSTER "current-context: q\n", "(there: none)", E_INVALID},
        {CLUSTER "current-context: c\ncontexts:\n- name: c\n  context: {}\n", "cluster: is missing", E_INVALID},
        {CLUSTER "current-context: c\ncontexts:\n- name: c\n  context: {cluster: zz}\n",
         "cluster \"zz\" is not in clusters", E_INVALID},
        {CLUSTER CONTEXT, "user \"u\" is not in users", E_INVALID},
        {CONTEXT "clusters:\n- name: k\n  cluster: {}\n", "server: is missing", E_INVALID},
        {CONTEXT "clusters:\n- name: k\n  cluster: {server: '10.0.0.1:6443'}\n", "must start with https://", E_INVALID},
        {CLUSTER "    certificate-authority-data: '***'\n" CONTEXT, "certificate-authority-data: is not base64",
         E_INVALID},
        {CLUSTER "    certificate-authority-data: aGVsbG8=\n" CONTEXT, "certificate-authority-data: holds no PEM",
         E_INVALID},
        {CLUSTER "    certificate-authority: nowhere.pem\n" CONTEXT, "nowhere.pem", E_NOTFOUND},
        {CLUSTER CONTEXT "users:\n- name: u\n  user: {client-certificate-data: " PEM_BASE64 "}\n",
         "client-key: is missing", E_INVALID},
        {CLUSTER CONTEXT "users:\n- name: u\n  user: {client-key-data: " PEM_BASE64 "}\n",
         "client-certificate: is missing", E_INVALID},
        {CLUSTER CONTEXT "users:\n- name: u\n  user: {auth-provider: {name: gcp}}\n", "use an exec plugin", E_INVALID},
        {CLUSTER CONTEXT "users:\n- name: u\n  user: {exec: {apiVersion: client.authentication.k8s.io/v1}}\n",
         "exec.command: is missing", E_INVALID},
        {CLUSTER CONTEXT "users:\n- name: u\n  user: {exec: {command: x, apiVersion: v7}}\n",
         "exec.apiVersion: must be", E_INVALID},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kubeconfig *k = NULL;
        struct err e = {0};
        char *path = file_write("bad", bad[i].text);
        int r = kubeconfig_load(path, NULL, false, &k, &e);
        if (r != -bad[i].code || !strstr(e.text, bad[i].says) || !strstr(e.text, path))
            fail_msg("%zu: %d \"%s\", wanted \"%s\"", i, r, e.text, bad[i].says);
        assert_null(k);
    }
}

static void test_points_nowhere(void **state)
{
    struct kubeconfig *k = NULL;
    struct err e = {0};
    assert_int_equal(kubeconfig_load("/nonexistent/config", NULL, false, &k, &e), -E_NOTFOUND);
    assert_non_null(strstr(e.text, "/nonexistent/config"));
    assert_non_null(strstr(e.text, "capstan up"));
    setenv("KUBECONFIG", "/nonexistent/config", 1);
    assert_int_equal(kubeconfig_load(NULL, NULL, false, &k, &e), -E_NOTFOUND);
    assert_non_null(strstr(e.text, "/nonexistent/config"));
    unsetenv("KUBECONFIG");
    setenv("HOME", folder, 1);
    assert_int_equal(kubeconfig_load(NULL, NULL, true, &k, &e), -E_NOTFOUND);
    assert_non_null(strstr(e.text, "no kubeconfig found"));
    assert_int_equal(kubeconfig_load(folder, NULL, false, &k, &e), -E_IO); /* a folder */
    char *big = mem_zero(LIMIT_KUBECONFIG_BYTES + 10, 1);
    memset(big, '#', LIMIT_KUBECONFIG_BYTES + 5);
    assert_int_equal(kubeconfig_load(file_write("big", big), NULL, false, &k, &e), -E_LIMIT);
    free(big);
}

static void test_in_cluster(void **state)
{
    struct kubeconfig *k = NULL;
    struct err e = {0};
    unsetenv("KUBERNETES_SERVICE_HOST");
    assert_int_equal(kubeconfig_load_in_cluster(folder, &k, &e), -E_NOTFOUND);
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    assert_int_equal(kubeconfig_load_in_cluster("/nonexistent", &k, &e), -E_NOTFOUND);
    file_write("ca.crt", "-----BEGIN CERTIFICATE-----\n");
    file_write("namespace", "kube-system");
    assert_int_equal(kubeconfig_load_in_cluster(folder, &k, &e), 0);
    assert_string_equal(k->server, "https://[fd00::1]:443");
    assert_string_equal(k->default_namespace, "kube-system");
    assert_true(text_ends(k->token_file, "/token"));
    kubeconfig_free(k);
    unsetenv("KUBERNETES_SERVICE_HOST");
}

#define EXEC(body)                                                                                                     \
    CLUSTER CONTEXT "users:\n- name: u\n  user:\n    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      " \
                    "command: sh\n"                                                                                    \
                    "      args: [\"-c\", " body "]\n      env:\n      - {name: CAPSTAN_TEST, value: tok}\n"

static int exec_load(const char *text, struct kubeconfig **k, struct err *e)
{
    *k = NULL;
    if (kubeconfig_load(file_write("exec", text), NULL, false, k, e) < 0)
        fail_msg("%s", e->text);
    return kube_exec_run(*k, e);
}

static void test_exec_plugin(void **state)
{
    struct kubeconfig *k;
    struct err e = {0};
    int r = exec_load(
        EXEC(
            "'printf \"{\\\"kind\\\":\\\"ExecCredential\\\",\\\"apiVersion\\\":\\\"client.authentication.k8s.io/v1\\\","
            "\\\"status\\\":{\\\"token\\\":\\\"$CAPSTAN_TEST\\\"}}\"'"),
        &k, &e);
    if (r < 0)
        fail_msg("%s", e.text);
    assert_string_equal(k->token, "tok");
    kubeconfig_free(k);
    assert_int_equal(exec_load(EXEC("'exit 3'"), &k, &e), -E_DENIED);
    assert_non_null(strstr(e.text, "exit 3"));
    kubeconfig_free(k);
    assert_int_equal(exec_load(EXEC("'echo no json'"), &k, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "exec plugin sh"));
    assert_int_equal(
        kube_exec_parse(
            k, BYTES("{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}"), &e),
        -E_PROTO);
    assert_int_equal(
        kube_exec_parse(k, BYTES("{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"}"),
                        &e),
        -E_PROTO);
    assert_non_null(strstr(e.text, "neither token nor"));
    free(k->exec_argv[0]);
    k->exec_argv[0] = mem_text("/nonexistent/plugin");
    assert_int_equal(kube_exec_run(k, &e), -E_NOTFOUND);
    kubeconfig_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_and_ca),
        cmocka_unit_test(test_relative_files_and_json),
        cmocka_unit_test(test_list_of_files_merges_first_wins),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_points_nowhere),
        cmocka_unit_test(test_in_cluster),
        cmocka_unit_test(test_exec_plugin),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
