/* mpi_objects.c - what an MPIJob is made of besides its workers' templates; see training.h
 *
 *     Service <job> ── names the pods;  Secret <job>-ssh ── their keys;  ConfigMap <job>-config ── the hosts
 *     pods <job>-worker-<i>;  Job <job>-launcher
 */
#include "jobs/controllers.h"
#include "jobs/kubeflow/training.h"
#include "jobs/volcano/vcjob_plugins.h"

#define HOSTFILE "/etc/mpi/hostfile"

static struct json *object_new(struct arena *a, const struct training *t, const char *api_version, const char *kind, const char *name)
{
    struct json *owners = job_owner(a, t->job, training_api_version(a, t), t->kind->of->kind),
                *object = job_object(a, t->job, owners, api_version, kind, name),
                *labels = json_ensure_object(a, json_get(object, "metadata"), "labels");
    json_set_text(a, labels, "app", t->name);
    json_set_text(a, labels, TRAINING_JOB_LABEL, t->name);
    json_set_text(a, labels, TRAINING_OPERATOR_LABEL, t->kind->operator_name);
    return object;
}

const char *mpi_launcher_name(struct arena *a, const struct training *t)
{
    return arena_printf(a, "%s-launcher", t->name);
}

static const char *implementation(const struct training *t)
{
    return json_get_text(json_get(t->job, "spec"), "mpiImplementation", "OpenMPI");
}

static bool is_worker_too(const struct training *t) /* the launcher */
{
    return json_get_bool(json_get(t->job, "spec"), "runLauncherAsWorker", false);
}

static const char *slots(struct arena *a, const struct training *t)
{
    return arena_printf(a, "%lld", (long long)json_get_int64(json_get(t->job, "spec"), "slotsPerWorker", 1));
}

static struct json *named(struct arena *a, struct json *list, const char *name)
{
    struct json *item = json_new(a, JSON_OBJECT);
    json_set_text(a, item, "name", name);
    json_append(list, item);
    return item;
}

/* ---- pods ---- */

static void add_item(struct arena *a, struct json *list, const char *key, const char *path, int64_t mode)
{
    struct json *item = json_new(a, JSON_OBJECT);
    json_set_text(a, item, "key", key);
    json_set_text(a, item, "path", path);
    if (mode)
        json_set_int64(a, item, "mode", mode);
    json_append(list, item);
}

static void mount(struct arena *a, struct json *container, const char *volume, const char *path)
{
    json_set_text(a, named(a, json_ensure_array(a, container, "volumeMounts"), volume), "mountPath", path);
}

/* Hosts find each other by name, and trust each other. */
static void connect(struct arena *a, const struct training *t, const char *host, struct json *spec)
{
    struct json *container = json_first(json_get(spec, "containers"));
    json_set_text(a, spec, "hostname", host);
    json_set_text(a, spec, "subdomain", t->name);
    struct json *secret = json_ensure_object(a, named(a, json_ensure_array(a, spec, "volumes"), "ssh-auth"), "secret");
    struct json *items = json_ensure_array(a, secret, "items");
    json_set_int64(a, secret, "defaultMode", 0600);
    json_set_text(a, secret, "secretName", arena_printf(a, "%s-ssh", t->name));
    add_item(a, items, "ssh-privatekey", "id_rsa", 0);
    add_item(a, items, "ssh-publickey", "id_rsa.pub", 0);
    add_item(a, items, "ssh-publickey", "authorized_keys", 0);
    if (container)
        mount(a, container, "ssh-auth", json_get_text(json_get(t->job, "spec"), "sshAuthMountPath", "/root/.ssh"));
}

void mpi_worker(struct arena *a, const struct training *t, int64_t i, struct json *pod)
{
    struct json *spec = json_get(pod, "spec"), *container = json_first(json_get(spec, "containers"));
    const char *name = arena_printf(a, "%s-worker-%lld", t->name, (long long)i);
    struct json *searches = json_ensure_array(a, json_ensure_object(a, spec, "dnsConfig"), "searches");
    json_append(searches, json_new_text(a, arena_printf(a, "%s.%s.svc.cluster.local", t->name, t->ns)));
    connect(a, t, name, spec);
    if (!container)
        return;
    if (!json_get(container, "command") && !json_get(container, "args")) {
        struct json *command = json_ensure_array(a, container, "command");
        json_append(command, json_new_text(a, "/usr/sbin/sshd"));
        json_append(command, json_new_text(a, "-De"));
    }
    (void)training_env_add(a, container, "K_MPI_JOB_ROLE", "worker");
}

static void launcher_env(struct arena *a, const struct training *t, struct json *container)
{
    const char *mpi = implementation(t);
    static const char *const names[][3] = {{"OpenMPI", "OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_args"},
                                           {"Intel", "I_MPI_HYDRA_HOST_FILE", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"},
                                           {"MPICH", "HYDRA_HOST_FILE", "HYDRA_LAUNCH_EXTRA_ARGS"}};
    (void)training_env_add(a, container, "K_MPI_JOB_ROLE", "launcher");
    if (strcmp(mpi, "OpenMPI") == 0)
        (void)training_env_add(a, container, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(mpi, names[i][0]) == 0) {
            (void)training_env_add(a, container, names[i][1], HOSTFILE);
            (void)training_env_add(a, container, names[i][2], "-o ConnectionAttempts=10");
        }
    if (strcmp(mpi, "OpenMPI") == 0)
        (void)training_env_add(a, container, "OMPI_MCA_orte_set_default_slots", slots(a, t));
    if (strcmp(mpi, "Intel") == 0)
        (void)training_env_add(a, container, "I_MPI_PERHOST", slots(a, t));
    if (is_worker_too(t))
        return;
    (void)training_env_add(a, container, "NVIDIA_VISIBLE_DEVICES", ""); /* WHY the launcher was given no GPU */
    (void)training_env_add(a, container, "NVIDIA_DRIVER_CAPABILITIES", "");
}

static void launcher_template(struct arena *a, const struct training *t, const struct training_role *role, struct json *template)
{
    struct json *meta = json_ensure_object(a, template, "metadata"), *labels = json_ensure_object(a, meta, "labels"),
                *spec = json_ensure_object(a, template, "spec"), *container = json_first(json_get(spec, "containers"));
    json_set_text(a, labels, TRAINING_JOB_LABEL, t->name);
    json_set_text(a, labels, TRAINING_OPERATOR_LABEL, t->kind->operator_name);
    json_set_text(a, labels, TRAINING_PART_LABEL, "launcher");
    if (t->gang && !training_waits_for_workers(t))
        json_set_text(a, labels, "scheduling.x-k8s.io/pod-group", t->name);
    json_set_text(a, spec, "restartPolicy", strcmp(training_restarts(t, role), "OnFailure") == 0 ? "OnFailure" : "Never");
    connect(a, t, mpi_launcher_name(a, t), spec);
    struct json *config = json_ensure_object(a, named(a, json_ensure_array(a, spec, "volumes"), "mpi-job-config"), "configMap");
    struct json *items = json_ensure_array(a, config, "items");
    json_set_text(a, config, "name", arena_printf(a, "%s-config", t->name));
    add_item(a, items, "hostfile", "hostfile", 0444);
    add_item(a, items, "discover_hosts.sh", "discover_hosts.sh", 0555);
    if (!container)
        return;
    launcher_env(a, t, container);
    mount(a, container, "mpi-job-config", "/etc/mpi");
}

struct json *mpi_launcher(struct arena *a, const struct training *t)
{
    const struct training_role *role = training_role_named(t, "Launcher");
    if (!role || !json_get(role->spec, "template"))
        return NULL;
    struct json *job = object_new(a, t, "batch/v1", "Job", mpi_launcher_name(a, t)), *spec = json_ensure_object(a, job, "spec"),
                *template = json_clone(a, json_get(role->spec, "template"));
    static const char *const same[] = {"ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const struct json *said = json_path(t->job, "spec", "runPolicy", same[i], NULL);
        if (said)
            json_set(a, spec, same[i], json_clone(a, said));
    }
    launcher_template(a, t, role, template);
    json_set(a, spec, "template", template);
    return job;
}

/* ---- what they share ---- */

struct json *mpi_service(struct arena *a, const struct training *t)
{
    struct json *service = object_new(a, t, "v1", "Service", t->name), *spec = json_ensure_object(a, service, "spec"),
                *selector = json_ensure_object(a, spec, "selector");
    json_set_text(a, spec, "clusterIP", "None");
    json_set_bool(a, spec, "publishNotReadyAddresses", true);
    json_set_text(a, selector, TRAINING_JOB_LABEL, t->name);
    json_set_text(a, selector, TRAINING_OPERATOR_LABEL, t->kind->operator_name);
    return service;
}

static void add_host(struct buf *out, struct arena *a, const struct training *t, const char *name, bool counts)
{
    const char *form = !counts ? "" : strcmp(implementation(t), "OpenMPI") == 0 ? " slots=" : ":";
    buf_printf(out, "%s%s.%s.%s.svc%s%s\n", counts ? "" : "echo ", name, t->name, t->ns, form, counts ? slots(a, t) : "");
}

struct json *mpi_config(struct arena *a, const struct training *t)
{
    const struct training_role *workers = training_role_named(t, "Worker");
    struct json *config = object_new(a, t, "v1", "ConfigMap", arena_printf(a, "%s-config", t->name)),
                *data = json_ensure_object(a, config, "data");
    _cleanup_buf_ struct buf hosts = {0}, found = {0};
    buf_text(&found, "#!/bin/sh\n");
    if (is_worker_too(t)) {
        add_host(&hosts, a, t, mpi_launcher_name(a, t), true);
        add_host(&found, a, t, mpi_launcher_name(a, t), false);
    }
    for (int64_t i = 0; workers && i < workers->replicas; i++) {
        const char *phase = json_text(json_path(workers->pods[i], "status", "phase", NULL), "");
        add_host(&hosts, a, t, training_pod_name(a, t, workers, i), true);
        if (strcmp(phase, "Running") == 0)
            add_host(&found, a, t, training_pod_name(a, t, workers, i), false);
    }
    json_set_text(a, data, "hostfile", hosts.data ? arena_text_n(a, hosts.data, hosts.n) : "");
    json_set_text(a, data, "discover_hosts.sh", arena_text_n(a, found.data, found.n));
    return config;
}

struct json *mpi_secret(struct arena *a, const struct training *t)
{
    char *private, *public;
    if (vcjob_ssh_key_short(a, &private, &public, NULL) < 0)
        return NULL;
    struct json *secret = object_new(a, t, "v1", "Secret", arena_printf(a, "%s-ssh", t->name)),
                *data = json_ensure_object(a, secret, "stringData");
    json_set_text(a, secret, "type", "kubernetes.io/ssh-auth");
    json_set_text(a, data, "ssh-privatekey", private);
    json_set_text(a, data, "ssh-publickey", public);
    return secret;
}
