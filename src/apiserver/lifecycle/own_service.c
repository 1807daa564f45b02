#include "apiserver/lifecycle/own_service.h"

#include "apiserver/apply/object_change.h"
#include "apiserver/store/object.h"

static const char service[] =
    "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\",\"labels\":{\"component\":"
    "\"apiserver\",\"provider\":\"kubernetes\"}},\"spec\":{\"type\":\"ClusterIP\",\"clusterIP\":\"10.96.0.1\",\"ports\":[{\"name\":\"https\","
    "\"port\":443,\"targetPort\":6443,\"protocol\":\"TCP\"}]}}";
static const char addresses[] =
    "{\"kind\":\"ServiceCIDR\",\"apiVersion\":\"networking.k8s.io/v1\",\"metadata\":{\"name\":\"kubernetes\"},\"spec\":{\"cidrs\":[\"10.96.0.0/16\"]}}";

static int ensure(struct apiserver *s, struct arena *a, const char *group, const char *plural, const char *text, struct err *e)
{
    const struct kind *k = kind_find(s->kinds, group, plural);
    struct json *object = json_parse(a, bytes_of(text), NULL, e);
    const struct json *metadata = json_get(object, "metadata");
    const char *ns = json_get_text(metadata, "namespace", ""), *name = json_get_text(metadata, "name", "");
    if (!object)
        return -E_INVALID;
    return object_read(s, a, k, ns, name) ? 0 : object_create(s, k, a, object, e);
}

int own_service_seed(struct apiserver *s, struct arena *a, struct err *e)
{
    int r = ensure(s, a, "", "services", service, e);
    return r < 0 ? r : ensure(s, a, "networking.k8s.io", "servicecidrs", addresses, e);
}
