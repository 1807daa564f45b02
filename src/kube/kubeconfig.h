/* kubeconfig.h - where the API server is and how to prove who we are
 *
 * SOURCE client-go clientcmd: KUBECONFIG is a list of files, first value wins; else ~/.kube/config; in a pod the service account. Users:
 *        client certificate (data or file), token, tokenFile, username/password, exec plugin (reference: client.authentication.k8s.io/v1).
 */
#ifndef KUBE_KUBECONFIG_H
#define KUBE_KUBECONFIG_H
#include "base/bytes.h"

struct kubeconfig {
    char *server, *ca_pem, *tls_server_name, *proxy_url;
    char *client_cert_pem, *client_key_pem;
    char *token, *token_file, *basic_user, *basic_password;
    char *default_namespace; /* of the context; "default" when unset */
    bool insecure_skip_verify;
    char **exec_argv, **exec_env; /* NULL = no exec plugin; NULL terminated */
    char *exec_api_version;
};
/* path NULL: $KUBECONFIG, then ~/.kube/config, then (allow_in_cluster) the service account. context NULL:
 * current-context. Errors name the file, the field and what to do. */
int kubeconfig_load(const char *path, const char *context, bool allow_in_cluster, struct kubeconfig **ret_k,
                    struct err *e);
void kubeconfig_free(struct kubeconfig *k);

#endif
