/* table_columns_service.c - Service, Endpoints, EndpointSlice, Ingress, NetworkPolicy, volumes and storage classes */
#include "apiserver/tables/table_columns.h"

static const struct json *spec_of(const struct json *object, const char *field)
{
    return json_path(object, "spec", field, NULL);
}

/* Text members of a list (or of its members' field), joined by commas. */
static const char *list_joined(struct table_cells *c, const struct json *list, const char *field)
{
    struct buf text = {0};
    JSON_EACH (item, list) {
        const char *value = field ? json_get_text(item, field, "") : json_text(item, "");
        if (*value)
            buf_printf(&text, "%s%s", text.n ? "," : "", value);
    }
    const char *result = arena_text_n(c->arena, text.data ? text.data : "", text.n);
    buf_free(&text);
    return result;
}

/* ---- Service ---- */

static const char *ingress_addresses(struct table_cells *c, const struct json *object)
{
    const struct json *ingress = json_path(object, "status", "loadBalancer", "ingress", NULL);
    const char *ips = list_joined(c, ingress, "ip");
    return *ips ? ips : list_joined(c, ingress, "hostname");
}

static const char *service_external(struct table_cells *c, const struct json *service, const char *type)
{
    const char *external = list_joined(c, spec_of(service, "externalIPs"), NULL);
    if (strcmp(type, "ExternalName") == 0)
        return json_text(spec_of(service, "externalName"), "<none>");
    if (strcmp(type, "LoadBalancer") == 0 && !*external) {
        const char *balancer = ingress_addresses(c, service);
        return *balancer ? balancer : "<pending>";
    }
    return *external ? external : "<none>";
}

static void service_ports(struct table_cells *c, const struct json *service)
{
    struct buf text = {0};
    JSON_EACH (port, spec_of(service, "ports")) {
        int64_t node_port = json_get_int64(port, "nodePort", 0);
        buf_printf(&text, "%s%lld", text.n ? "," : "", (long long)json_get_int64(port, "port", 0));
        if (node_port)
            buf_printf(&text, ":%lld", (long long)node_port);
        buf_printf(&text, "/%s", json_get_text(port, "protocol", "TCP"));
    }
    cell_text_or_none(c, text.data);
    buf_free(&text);
}

static void service_cells(struct table_cells *c, const struct json *service)
{
    const char *type = json_text(spec_of(service, "type"), "ClusterIP");
    const char *ip =
        json_text(json_item(spec_of(service, "clusterIPs"), 0), json_text(spec_of(service, "clusterIP"), ""));
    cell_name(c, service);
    cell_text(c, type);
    cell_text_or_none(c, ip);
    cell_text(c, service_external(c, service, type));
    service_ports(c, service);
    cell_age(c, service);
    cell_text(c, cell_labels(c, spec_of(service, "selector")));
}
static const struct table_column service_columns[] = {
    COLUMN_NAME,
    {"Type", "string", "", 0, "ClusterIP, NodePort, LoadBalancer or ExternalName."},
    {"Cluster-IP", "string", "", 0, "Address inside the cluster."},
    {"External-IP", "string", "", 0, "Address outside the cluster."},
    {"Port(s)", "string", "", 0, "Ports and protocols."},
    COLUMN_AGE,
    {"Selector", "string", "", 1, "Labels of the pods that serve."},
};

/* ---- Endpoints: three addresses are shown, the rest is counted ---- */

#define ENDPOINTS_SHOWN 3

struct endpoint_list {
    struct buf text;
    unsigned n;
};

static void endpoint_add(struct endpoint_list *list, const char *ip, int64_t port)
{
    if (list->n++ >= ENDPOINTS_SHOWN)
        return;
    bool v6 = strchr(ip, ':') != NULL && port;
    buf_printf(&list->text, "%s%s%s%s", list->text.n ? "," : "", v6 ? "[" : "", ip, v6 ? "]" : "");
    if (port)
        buf_printf(&list->text, ":%lld", (long long)port);
}

static void subset_add(struct endpoint_list *list, const struct json *subset)
{
    const struct json *ports = json_get(subset, "ports"), *addresses = json_get(subset, "addresses");
    if (!ports || ports->n == 0) {
        JSON_EACH (address, addresses) {
            endpoint_add(list, json_get_text(address, "ip", ""), 0);
        }
        return;
    }
    JSON_EACH (port, ports) {
        JSON_EACH (address, addresses) {
            endpoint_add(list, json_get_text(address, "ip", ""), json_get_int64(port, "port", 0));
        }
    }
}

static void endpoints_cells(struct table_cells *c, const struct json *endpoints)
{
    struct endpoint_list list = {0};
    JSON_EACH (subset, json_get(endpoints, "subsets")) {
        subset_add(&list, subset);
    }
    if (list.n > ENDPOINTS_SHOWN)
        buf_printf(&list.text, " + %u more...", list.n - ENDPOINTS_SHOWN);
    cell_name(c, endpoints);
    cell_text_or_none(c, list.text.data);
    cell_age(c, endpoints);
    buf_free(&list.text);
}
static const struct table_column endpoints_columns[] = {
    COLUMN_NAME,
    {"Endpoints", "string", "", 0, "Addresses and ports."},
    COLUMN_AGE,
};

static void endpoint_slice_cells(struct table_cells *c, const struct json *slice)
{
    struct buf ports = {0}, addresses = {0};
    unsigned n = 0;
    JSON_EACH (port, json_get(slice, "ports")) {
        buf_printf(&ports, "%s%lld", ports.n ? "," : "", (long long)json_get_int64(port, "port", 0));
    }
    JSON_EACH (endpoint, json_get(slice, "endpoints")) {
        if (n++ < ENDPOINTS_SHOWN)
            buf_printf(&addresses, "%s%s", addresses.n ? "," : "",
                       list_joined(c, json_get(endpoint, "addresses"), NULL));
    }
    if (n > ENDPOINTS_SHOWN)
        buf_printf(&addresses, " + %u more...", n - ENDPOINTS_SHOWN);
    cell_name(c, slice);
    cell_text(c, json_get_text(slice, "addressType", ""));
    cell_text(c, ports.n ? ports.data : "<unset>");
    cell_text(c, addresses.n ? addresses.data : "<unset>");
    cell_age(c, slice);
    buf_free(&ports);
    buf_free(&addresses);
}
static const struct table_column endpoint_slice_columns[] = {
    COLUMN_NAME,
    {"AddressType", "string", "", 0, "IPv4, IPv6 or FQDN."},
    {"Ports", "string", "", 0, "Ports."},
    {"Endpoints", "string", "", 0, "Addresses."},
    COLUMN_AGE,
};

/* ---- networking ---- */

static void ingress_cells(struct table_cells *c, const struct json *ingress)
{
    const struct json *tls = spec_of(ingress, "tls");
    const char *hosts = list_joined(c, spec_of(ingress, "rules"), "host");
    cell_name(c, ingress);
    cell_text_or_none(c, json_text(spec_of(ingress, "ingressClassName"), ""));
    cell_text(c, *hosts ? hosts : "*");
    cell_text(c, ingress_addresses(c, ingress));
    cell_text(c, tls && tls->n ? "80, 443" : "80");
    cell_age(c, ingress);
}
static const struct table_column ingress_columns[] = {
    COLUMN_NAME,
    {"Class", "string", "", 0, "Which controller serves it."},
    {"Hosts", "string", "", 0, "Host names of the rules."},
    {"Address", "string", "", 0, "Addresses of the load balancer."},
    {"Ports", "string", "", 0, "Ports that are open."},
    COLUMN_AGE,
};

static void network_policy_cells(struct table_cells *c, const struct json *policy)
{
    cell_name(c, policy);
    cell_text(c, cell_selector(c, spec_of(policy, "podSelector")));
    cell_age(c, policy);
}
static const struct table_column network_policy_columns[] = {
    COLUMN_NAME,
    {"Pod-Selector", "string", "", 0, "Which pods it is about."},
    COLUMN_AGE,
};

/* ---- storage ---- */

static const char *access_modes(struct table_cells *c, const struct json *modes)
{
    static const char *const names[][2] = {
        {"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
    struct buf text = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        JSON_EACH (mode, modes) {
            if (strcmp(json_text(mode, ""), names[i][0]) == 0)
                buf_printf(&text, "%s%s", text.n ? "," : "", names[i][1]);
        }
    const char *result = arena_text_n(c->arena, text.data ? text.data : "", text.n);
    buf_free(&text);
    return result;
}

static void volume_claim_cells(struct table_cells *c, const struct json *claim)
{
    const char *volume = json_text(spec_of(claim, "volumeName"), "");
    bool going = json_path(claim, "metadata", "deletionTimestamp", NULL) != NULL;
    cell_name(c, claim);
    cell_text(c, going ? "Terminating" : json_text(json_path(claim, "status", "phase", NULL), "Pending"));
    cell_text(c, volume);
    cell_text(c, *volume ? json_text(json_path(claim, "status", "capacity", "storage", NULL), "") : "");
    cell_text(c, *volume ? access_modes(c, json_path(claim, "status", "accessModes", NULL)) : "");
    cell_text(c, json_text(spec_of(claim, "storageClassName"), ""));
    cell_text(c, json_text(spec_of(claim, "volumeAttributesClassName"), "<unset>"));
    cell_age(c, claim);
    cell_text(c, json_text(spec_of(claim, "volumeMode"), "Filesystem"));
}
static const struct table_column volume_claim_columns[] = {
    COLUMN_NAME,
    {"Status", "string", "", 0, "Bound, Pending or Lost."},
    {"Volume", "string", "", 0, "Volume that is bound."},
    {"Capacity", "string", "", 0, "Size of the volume."},
    {"Access Modes", "string", "", 0, "Who may mount it how."},
    {"StorageClass", "string", "", 0, "Class of the storage."},
    {"VolumeAttributesClass", "string", "", 0, "Class of the volume's attributes."},
    COLUMN_AGE,
    {"VolumeMode", "string", "", 1, "Filesystem or Block."},
};

static void storage_class_cells(struct table_cells *c, const struct json *class)
{
    const struct json *annotations = json_path(class, "metadata", "annotations", NULL);
    bool is_default =
        strcmp(json_get_text(annotations, "storageclass.kubernetes.io/is-default-class", ""), "true") == 0;
    cell_printf(c, "%s%s", json_text(json_path(class, "metadata", "name", NULL), ""), is_default ? " (default)" : "");
    cell_text(c, json_get_text(class, "provisioner", ""));
    cell_text(c, json_get_text(class, "reclaimPolicy", "Delete"));
    cell_text(c, json_get_text(class, "volumeBindingMode", "Immediate"));
    cell_text(c, json_get_bool(class, "allowVolumeExpansion", false) ? "true" : "false");
    cell_age(c, class);
}
static const struct table_column storage_class_columns[] = {
    COLUMN_NAME,
    {"Provisioner", "string", "", 0, "Who makes the volumes."},
    {"ReclaimPolicy", "string", "", 0, "What becomes of a volume after its claim."},
    {"VolumeBindingMode", "string", "", 0, "When volumes are bound."},
    {"AllowVolumeExpansion", "string", "", 0, "Whether volumes can grow."},
    COLUMN_AGE,
};

const struct table_layout table_layouts_service[] = {
    {"", "Service", TABLE_COLUMNS(service_columns), service_cells},
    {"", "Endpoints", TABLE_COLUMNS(endpoints_columns), endpoints_cells},
    {"discovery.k8s.io", "EndpointSlice", TABLE_COLUMNS(endpoint_slice_columns), endpoint_slice_cells},
    {"networking.k8s.io", "Ingress", TABLE_COLUMNS(ingress_columns), ingress_cells},
    {"networking.k8s.io", "NetworkPolicy", TABLE_COLUMNS(network_policy_columns), network_policy_cells},
    {"", "PersistentVolumeClaim", TABLE_COLUMNS(volume_claim_columns), volume_claim_cells},
    {"storage.k8s.io", "StorageClass", TABLE_COLUMNS(storage_class_columns), storage_class_cells},
    {0},
};
