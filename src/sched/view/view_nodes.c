/* view_nodes.c - nodes: their devices one by one, who has each, how busy and how well it is
 *
 * SHAPE  {"n":name,"m":product,"z":zone,"ok":1,"co":1 cordoned,"at":when measured,"res":[resource...],"h":[[gang,pod]...],
 *         "g":[[gpu, resource, healthy, holder, activity ‰, memory MiB used, total, throttled, XID]...],   -1: nobody, not known
 *         "a":[[resource, total]...],"t":[[resource, holder, n]...],   of devices that are only counted
 *         "s":[[gpu, holder, thousandths]...]}                         parts of GPUs that are given in parts
 */
#include "gpu/model.h"
#include "sched/view/view_part.h"
#include "wire/json.h"

#define PRODUCT "nvidia.com/gpu.product"
#define ZONE "topology.kubernetes.io/zone"

enum { GPUS_TOLD_APART = 64 };

struct holder {
    name_id gang, pod;
};
struct node_writing {
    struct view *v;
    struct node_detail d;
    const struct device_feedback *feedback;
    uint32_t feedback_n;
    name_id *resources;
    struct holder *holders;
    uint32_t resources_n, holders_n;
    int32_t sick_n;
    uint16_t parts[GPUS_TOLD_APART]; /* devices of each GPU */
};

static const char *label_of(const struct view *v, const struct node_look *node, name_id key)
{
    for (uint32_t i = 0; key && i < node->labels_n; i++)
        if (node->labels[i].key == key)
            return intern_name(v->s->names, node->labels[i].value);
    return NULL;
}

static uint32_t resource_at(struct node_writing *w, name_id resource)
{
    for (uint32_t i = w->resources_n; i-- > 0;)
        if (w->resources[i] == resource)
            return i;
    w->resources[w->resources_n] = resource;
    return w->resources_n++;
}

static int32_t holder_at(struct node_writing *w, name_id gang, name_id pod)
{
    if (!gang && !pod)
        return -1;
    for (uint32_t i = w->holders_n; i-- > 0;) /* those of one pod mostly stand together */
        if (w->holders[i].gang == gang && w->holders[i].pod == pod)
            return (int32_t)i;
    w->holders[w->holders_n] = (struct holder){gang, pod};
    return (int32_t)w->holders_n++;
}

/* Of the device; of a share, or where a node has too many devices, of its GPU. */
static const struct device_feedback *measured(const struct node_writing *w, name_id id)
{
    for (uint32_t i = 0; i < w->feedback_n; i++)
        if (w->feedback[i].id == id)
            return &w->feedback[i];
    const char *text = intern_name(w->v->s->names, id), *share = strstr(text, "::");
    name_id gpu = w->feedback_n && share ? intern_find(w->v->s->names, (struct bytes){text, (size_t)(share - text)}) : 0;
    for (uint32_t i = 0; gpu && i < w->feedback_n; i++)
        if (w->feedback[i].id == gpu)
            return &w->feedback[i];
    return NULL;
}

static int64_t parts_of(const struct node_writing *w, uint16_t gpu)
{
    uint16_t n = w->parts[gpu % GPUS_TOLD_APART];
    return n ? n : 1;
}

static void device_write(struct node_writing *w, struct buf *out, const struct device_look *d, bool is_first)
{
    struct view *v = w->v;
    const struct device_feedback *f = measured(w, d->id);
    int32_t holder = holder_at(w, d->gang, d->pod);
    buf_printf(out, "%s[%u,%u,%d,%d", is_first ? "" : ",", d->gpu, resource_at(w, d->resource), d->healthy, holder);
    if (f)
        buf_printf(out, ",%d,%u,%u,%d,%u", f->activity_permille, f->memory_used_mib, f->memory_total_mib, f->throttled, f->xid);
    buf_char(out, ']');
    int64_t micro = 1000000 / parts_of(w, d->gpu);
    v->gpus_micro += micro;
    v->held_micro += holder >= 0 ? micro : 0;
    w->sick_n += !d->healthy;
    if (f && f->activity_permille >= 0 && holder >= 0) { /* what was measured may be older than who has it */
        v->measured_micro += micro;
        v->active_micro += f->activity_permille * micro / 1000;
    }
    if (d->gang)
        view_jobs_hold(v, d->gang, 1, micro);
}

static void devices_write(struct node_writing *w, struct buf *out)
{
    for (uint32_t i = 0; i < w->d.devices_n; i++)
        w->parts[w->d.devices[i].gpu % GPUS_TOLD_APART] += gpu_is_resource(intern_name(w->v->s->names, w->d.devices[i].resource));
    buf_text(out, ",\"g\":[");
    bool is_first = true;
    for (uint32_t i = 0; i < w->d.devices_n; i++)
        if (gpu_is_resource(intern_name(w->v->s->names, w->d.devices[i].resource))) {
            device_write(w, out, &w->d.devices[i], is_first);
            is_first = false;
        }
    buf_char(out, ']');
}

/* BAD INPUT  whatever a node claims to have, sums of it stay far from where they wrap. */
static int64_t whole_micro(int64_t devices_n)
{
    return (devices_n < 1000000 ? devices_n : 1000000) * 1000000;
}

static void amounts_write(struct node_writing *w, struct buf *out)
{
    struct view *v = w->v;
    const char *before = ",\"a\":[";
    for (uint32_t i = 0; i < w->d.amounts_n; i++)
        if (gpu_is_resource(intern_name(v->s->names, w->d.amounts[i].resource))) {
            buf_printf(out, "%s[%u,%lld]", before, resource_at(w, w->d.amounts[i].resource), (long long)w->d.amounts[i].value);
            before = ",";
            v->gpus_micro += whole_micro(w->d.amounts[i].value);
        }
    if (*before == ',' && before[1])
        return;
    before = "],\"t\":[";
    for (uint32_t i = 0; i < w->d.taken_n; i++) {
        const struct amount_look *t = &w->d.taken[i];
        if (!gpu_is_resource(intern_name(v->s->names, t->resource)))
            continue;
        buf_printf(out, "%s[%u,%d,%lld]", before, resource_at(w, t->resource), holder_at(w, t->gang, t->pod), (long long)t->value);
        before = ",";
        v->held_micro += whole_micro(t->value);
        if (t->gang)
            view_jobs_hold(v, t->gang, t->value, whole_micro(t->value));
    }
    buf_char(out, ']');
}

/* Of a GPU that is cut in slots too a pod has one with its share, and that has been told. */
static bool is_told(const struct node_writing *w, const struct share_look *share)
{
    for (uint32_t i = 0; i < w->d.devices_n; i++) {
        const struct device_look *d = &w->d.devices[i];
        if (d->gpu == share->gpu && d->gang == share->gang && d->pod == share->pod &&
            gpu_is_resource(intern_name(w->v->s->names, d->resource)))
            return true;
    }
    return false;
}

static void shares_write(struct node_writing *w, struct buf *out)
{
    struct view *v = w->v;
    const char *before = ",\"s\":[";
    for (uint32_t i = 0; i < w->d.shares_n; i++) {
        const struct share_look *share = &w->d.shares[i];
        int64_t micro = share->milli * INT64_C(1000);
        if (is_told(w, share))
            continue;
        buf_printf(out, "%s[%u,%d,%u]", before, share->gpu, holder_at(w, share->gang, share->pod), share->milli);
        before = ",";
        v->held_micro += micro;
        if (share->gang)
            view_jobs_hold(v, share->gang, 1, micro);
    }
    buf_text(out, before[1] ? "" : "]");
}

static void names_write(struct node_writing *w, struct buf *out)
{
    const struct intern *names = w->v->s->names;
    buf_text(out, ",\"res\":[");
    for (uint32_t i = 0; i < w->resources_n; i++) {
        buf_text(out, i ? "," : "");
        json_write_string(out, bytes_of(intern_name(names, w->resources[i])));
    }
    buf_text(out, "],\"h\":[");
    for (uint32_t i = 0; i < w->holders_n; i++) {
        buf_text(out, i ? ",[" : "[");
        json_write_string(out, bytes_of(intern_name(names, w->holders[i].gang)));
        buf_char(out, ',');
        json_write_string(out, bytes_of(intern_name(names, w->holders[i].pod)));
        buf_char(out, ']');
    }
    buf_char(out, ']');
}

/* What has become other since the last pass, in words. */
static void node_tell(struct node_writing *w, struct view_node *n, const char *name)
{
    struct view *v = w->v;
    bool known = n->row.pass != 0;
    if (!known)
        view_history_event(v, "n", name, EVENT_PLAIN, "node %s has joined", name);
    else if (n->ready != w->d.ready)
        view_history_event(v, "n", name, w->d.ready ? EVENT_GOOD : EVENT_BAD, "node %s is %s", name,
                           w->d.ready ? "ready again" : "not ready");
    if (known && n->unschedulable != w->d.unschedulable)
        view_history_event(v, "n", name, EVENT_WARNS, "node %s %s", name, w->d.unschedulable ? "is cordoned" : "takes pods again");
    if (known && n->sick_n != w->sick_n)
        view_history_event(v, "n", name, w->sick_n > n->sick_n ? EVENT_BAD : EVENT_GOOD, "node %s: %d of its devices %s not healthy", name,
                           (int)w->sick_n, w->sick_n == 1 ? "is" : "are");
    for (uint32_t i = 0; i < w->feedback_n; i++)
        if (w->feedback[i].xid && w->feedback[i].xid_ms > n->xid_ms) {
            n->xid_ms = w->feedback[i].xid_ms;
            view_history_event(v, "n", name, EVENT_BAD, "node %s: XID %u of %s", name, w->feedback[i].xid,
                               intern_name(v->s->names, w->feedback[i].id));
        }
    n->ready = w->d.ready;
    n->unschedulable = w->d.unschedulable;
    n->sick_n = w->sick_n;
}

static void node_write(struct view *v, const struct node_look *node, name_id product, name_id zone)
{
    struct arena *a = v->scratch;
    const char *name = intern_name(v->s->names, node->name);
    struct node_writing w = {.v = v};
    int64_t age_ms = 0;
    if (!state_node_detail(v->s->state, node->name, a, &w.d))
        return;
    w.feedback_n = state_node_feedback(v->s->state, node->name, v->now_ms, &w.feedback, &age_ms);
    w.resources = arena_alloc(a, (w.d.devices_n + w.d.amounts_n + 1) * sizeof *w.resources);
    w.holders = arena_alloc(a, (w.d.devices_n + w.d.taken_n + w.d.shares_n + 1) * sizeof *w.holders);
    struct view_node *n = map_put(v->nodes, bytes_of(name), NULL);
    struct buf *out = view_row_begin(v, 'n', name);
    view_row_text(out, "m", label_of(v, node, product));
    view_row_text(out, "z", label_of(v, node, zone));
    view_row_number(out, "ok", w.d.ready);
    view_row_number(out, "co", w.d.unschedulable);
    view_row_number(out, "at", w.feedback_n ? v->now_ms - age_ms : 0);
    devices_write(&w, out);
    amounts_write(&w, out);
    shares_write(&w, out);
    names_write(&w, out);
    node_tell(&w, n, name);
    v->sick_n += w.sick_n;
    view_row_end(v, &n->row);
}

void view_nodes_write(struct view *v)
{
    struct node_look *nodes;
    name_id product = intern_find(v->s->names, BYTES(PRODUCT)), zone = intern_find(v->s->names, BYTES(ZONE));
    uint32_t n = state_nodes(v->s->state, v->arena, &nodes);
    for (uint32_t i = 0; i < n; i++)
        node_write(v, &nodes[i], product, zone);
}

void view_nodes_detail(const struct view *v, struct arena *a, name_id node, struct buf *out)
{
    struct node_detail d;
    const struct intern *names = v->s->names;
    if (!state_node_detail(v->s->state, node, a, &d))
        return;
    buf_text(out, "{\"labels\":{");
    for (uint32_t i = 0; i < d.labels_n; i++)
        json_write_member(out, intern_name(names, d.labels[i].key), intern_name(names, d.labels[i].value), i ? ',' : ' ');
    buf_text(out, "},\"devices\":[");
    const char *before = "";
    for (uint32_t i = 0; i < d.devices_n; i++)
        if (gpu_is_resource(intern_name(names, d.devices[i].resource))) {
            buf_text(out, before);
            json_write_string(out, bytes_of(intern_name(names, d.devices[i].id)));
            before = ",";
        }
    buf_text(out, "]}");
}
