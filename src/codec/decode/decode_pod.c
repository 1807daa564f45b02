#include "base/clock.h"
#include "codec/decode/decode_part.h"
#include "codec/groups/task_groups.h"

const char *const decode_scheduler_names[] = {"capstan",       "volcano",  "gpu-scheduler", "coscheduling", "scheduler-plugins-scheduler",
                                              "kai-scheduler", "yunikorn", NULL};

bool decode_is_scheduler(const char *name)
{
    bool is = text_equal(name, DECODE_DEFAULT_SCHEDULER);
    for (const char *const *known = decode_scheduler_names; *known && !is; known++)
        is = text_equal(name, *known);
    return is;
}

/* What metadata says; names are copied into the fixed texts since the reader's views end with the next escape. */
struct pod_meta {
    struct label_list labels;
    char ns[LIMIT_NAME + 1], name[LIMIT_NAME + 1];
    name_id uid, devices, volcano_task;
    name_id application, task_group;                /* YuniKorn's */
    name_id kai_group;
    name_id percentage, pinned_memory;              /* annotations that the agent reads, too */
    name_id notes[SHARE_NOTES_N];
    struct bytes workload, volcano_group;           /* interned texts: live as long as the pool */
    int64_t created_ms;
    bool deleting, is_placeholder, asks_queue_gate;
};

static void copy_name(char out[LIMIT_NAME + 1], struct bytes text)
{
    size_t n = text.n <= LIMIT_NAME ? text.n : 0; /* too long to be a name: as if absent */
    if (n)
        memcpy(out, text.data, n);
    out[n] = '\0';
}

static struct bytes interned(const struct decoder *d, name_id id)
{
    return bytes_of(intern_name(d->names, id));
}

/* Longer texts than a node has devices for say nothing. */
static name_id read_devices(const struct decoder *d, struct json_reader *r, struct buf *scratch)
{
    struct bytes text;
    bool fits = json_reader_string(r, scratch, &text) && text.n > 0 && text.n <= LIMIT_DEVICES_TEXT_BYTES;
    return fits ? intern_id(d->names, text) : 0;
}

static bool read_share_note(const struct decoder *d, struct bytes key, struct json_reader *r, struct buf *scratch, struct pod_meta *m)
{
    if (!key.n || (key.data[0] != 'g' && key.data[0] != 'G'))
        return false;
    for (int i = 0; i < SHARE_NOTES_N; i++)
        if (bytes_is(key, share_notes[i])) {
            m->notes[i] = decode_read_name(d, r, scratch);
            return true;
        }
    return false;
}

/* What YuniKorn's users write, and what it writes itself; KAI's group; that Volcano's queue opens its gate. */
static bool read_group_note(const struct decoder *d, struct bytes key, struct json_reader *r, struct buf *scratch, struct pod_meta *m)
{
    struct bytes text;
    if (DECODE_IS(key, YUNIKORN_TASK_GROUP))
        m->task_group = decode_read_name(d, r, scratch);
    else if (DECODE_IS(key, YUNIKORN_APP))
        m->application = decode_read_name(d, r, scratch);
    else if (DECODE_IS(key, DECODE_KAI_GROUP_ANNOTATION))
        m->kai_group = decode_read_name(d, r, scratch);
    else if (DECODE_IS(key, DECODE_VOLCANO_GATE))
        m->asks_queue_gate = json_reader_string(r, scratch, &text) && bytes_is(text, "true");
    else if (is_placeholder_note(key))
        m->is_placeholder = json_reader_string(r, scratch, &text) && bytes_is(text, "true");
    else
        return false;
    return true;
}

static void read_annotations(const struct decoder *d, struct json_reader *r, struct buf *scratch, struct pod_meta *m)
{
    struct bytes key;
    if (!json_reader_object(r))
        return;
    while (json_reader_key(r, &key)) {
        if (DECODE_IS(key, DEVICES_ANNOTATION))
            m->devices = read_devices(d, r, scratch);
        else if (DECODE_IS(key, DECODE_WORKLOAD_ANNOTATION))
            m->workload = interned(d, decode_read_name(d, r, scratch));
        else if (DECODE_IS(key, DECODE_VOLCANO_GROUP_ANNOTATION))
            m->volcano_group = interned(d, decode_read_name(d, r, scratch));
        else if (DECODE_IS(key, DECODE_VOLCANO_TASK_ANNOTATION))
            m->volcano_task = decode_read_name(d, r, scratch);
        else if (DECODE_IS(key, DECODE_PERCENTAGE_ANNOTATION))
            m->percentage = decode_read_name(d, r, scratch);
        else if (DECODE_IS(key, DECODE_PINNED_MEMORY_ANNOTATION))
            m->pinned_memory = decode_read_name(d, r, scratch);
        else if (!read_share_note(d, key, r, scratch, m) && !read_group_note(d, key, r, scratch, m))
            json_reader_skip(r);
    }
}

static void read_metadata(const struct decoder *d, struct json_reader *r, struct buf *scratch, struct pod_meta *m)
{
    struct bytes key, text;
    if (!json_reader_object(r))
        return;
    while (json_reader_key(r, &key)) {
        if (DECODE_IS(key, "name")) {
            if (json_reader_string(r, scratch, &text))
                copy_name(m->name, text);
        } else if (DECODE_IS(key, "namespace")) {
            if (json_reader_string(r, scratch, &text))
                copy_name(m->ns, text);
        } else if (DECODE_IS(key, "uid"))
            m->uid = decode_read_name(d, r, scratch);
        else if (DECODE_IS(key, "labels"))
            decode_read_labels(d, r, scratch, &m->labels);
        else if (DECODE_IS(key, "annotations"))
            read_annotations(d, r, scratch, m);
        else if (DECODE_IS(key, "creationTimestamp")) {
            if (json_reader_string(r, scratch, &text) && !time_parse(text, &m->created_ms))
                m->created_ms = 0;
        } else if (DECODE_IS(key, "deletionTimestamp"))
            m->deleting = json_reader_string(r, scratch, &text) && text.n > 0;
        else
            json_reader_skip(r);
    }
}

static enum pod_phase phase_of(struct bytes text)
{
    return DECODE_IS(text, "Running")     ? POD_RUNNING
           : DECODE_IS(text, "Succeeded") ? POD_SUCCEEDED
           : DECODE_IS(text, "Failed")    ? POD_FAILED
                                          : POD_PENDING;
}

/* SOURCE kubelets write startTime after the pod was admitted, and before its containers start. */
static void read_status(const struct decoder *d, struct json_reader *r, struct buf *scratch, struct pod_record *pod)
{
    struct bytes key, text;
    bool started = false;
    if (!json_reader_object(r))
        return;
    while (json_reader_key(r, &key)) {
        if (DECODE_IS(key, "phase")) {
            if (json_reader_string(r, scratch, &text))
                pod->phase = phase_of(text);
        } else if (DECODE_IS(key, "startTime")) {
            started = json_reader_string(r, scratch, &text) && text.n > 0;
            if (started && !time_parse(text, &pod->started_ms))
                pod->started_ms = 0;
        } else if (DECODE_IS(key, "nominatedNodeName"))
            pod->nominated = decode_read_name(d, r, scratch);
        else
            json_reader_skip(r);
    }
    pod->admitted = started || pod->phase != POD_PENDING;
}

/* The three texts in one, and the share: whoever wrote the same has the same limits. WHY  no ids in it: a text outlives the names that
 * nobody marks. */
static name_id limits_of(const struct decoder *d, const struct pod_meta *m, const struct share *share)
{
    const struct bytes a = interned(d, m->percentage), b = interned(d, m->pinned_memory), c = interned(d, m->notes[NOTE_KETI_LIMITS]);
    if (share->form != SHARE_NONE)
        return intern_text_id(d->names, arena_printf(d->arena, "%zu,%zu:%s%s%s;%lld,%lld,%lld", a.n, b.n, a.data, b.data, c.data,
                                                     (long long)share->milli, (long long)share->bytes, (long long)share->memory_milli));
    if (!a.n && !b.n && !c.n)
        return 0;
    return intern_text_id(d->names, arena_printf(d->arena, "%zu,%zu:%s%s%s", a.n, b.n, a.data, b.data, c.data));
}

/* ---- shares of GPUs ---- */

struct shape_share {
    struct share share;
    struct share_fault fault;
    const struct amount *counted; /* by quota */
    uint32_t counted_n;
};

static int64_t requested(const struct decoder *d, const struct shape *shape, const char *resource)
{
    name_id id = intern_find(d->names, bytes_of(resource));
    for (uint32_t i = 0; id && i < shape->requests_n; i++)
        if (shape->requests[i].resource == id)
            return shape->requests[i].value;
    return 0;
}

/* From annotations (NULL: absent) and the requests of the shape, which become what nodes must hold. 1, 0: it asks for none; -E_INVALID:
 * fault says why, and the shape asks for a whole GPU in parts. */
static int decode_share(const struct decoder *d, const char *const notes[SHARE_NOTES_N], const struct pod_spec *spec, struct shape *shape,
                 struct shape_share *ret_share)
{
    struct share_input in = {.containers_n = spec->share_containers_n};
    bool any = in.containers_n > 0;
    *ret_share = (struct shape_share){.counted = shape->requests, .counted_n = shape->requests_n};
    for (int i = 0; i < SHARE_NOTES_N; i++) {
        in.notes[i] = notes[i];
        any |= notes[i] != NULL;
    }
    if (!any)
        return 0;
    for (int i = 0; i < SHARE_AMOUNTS_N; i++)
        in.amounts[i] = requested(d, shape, share_amounts[i]);
    int r = share_read(&in, &ret_share->share, &ret_share->fault);
    if (r < 0) /* WHY  whoever runs with it all the same has as much of a GPU as there is */
        ret_share->share = (struct share){.form = SHARE_OWN, .count = 1, .milli = 1000, .memory_milli = 1000};
    if (r)
        share_apply(&ret_share->share, d->arena, d->names, &shape->requests, &shape->requests_n, &ret_share->counted,
                    &ret_share->counted_n);
    return r;
}

/* "metadata.annotations[gpu-fraction]: write ..."; metadata, spec: their paths, with the point. */
static const char *decode_share_fault(struct arena *a, const struct share_fault *fault, const char *metadata, const char *spec)
{
    return fault->note ? arena_printf(a, "%sannotations[%s]: %s", metadata, fault->note, fault->text)
                       : arena_printf(a, "%scontainers[*].resources.limits[%s]: %s", spec, fault->resource, fault->text);
}

/* What is wrong with the share of a pod that is bound counts as a whole GPU; others are refused. */
static int read_share(const struct decoder *d, const struct pod_meta *m, const struct pod_spec *spec, struct pod_record *pod,
                      struct share *ret_share, struct err *e)
{
    const char *notes[SHARE_NOTES_N];
    struct shape_share read;
    for (int i = 0; i < SHARE_NOTES_N; i++)
        notes[i] = m->notes[i] ? intern_name(d->names, m->notes[i]) : NULL;
    int r = decode_share(d, notes, spec, &pod->shape, &read);
    *ret_share = read.share;
    pod->share_slots = read.share.slots > 0;
    pod->shares = read.share.form != SHARE_NONE;
    return r >= 0 || spec->node ? 0 : err_set(e, E_INVALID, "%s", decode_share_fault(d->arena, &read.fault, "metadata.", "spec."));
}

static name_id label_value(const struct decoder *d, const struct label_list *labels, const char *key)
{
    name_id id = intern_find(d->names, bytes_of(key));
    for (uint32_t i = 0; id && i < labels->n; i++)
        if (labels->items[i].key == id)
            return labels->items[i].value;
    return 0;
}

/* "native/ns/NAME" of PodGroup NAME, "native/ns/NAME/GROUP[/KEY]" of group GROUP (replica KEY) of Workload NAME. */
static name_id native_gang(const struct decoder *d, const struct pod_meta *m, const struct pod_spec *spec)
{
    if (spec->native_workload.n == 0)
        return decode_gang_key(d, GANG_NATIVE, bytes_of(m->ns), spec->native_group);
    char name[3 * LIMIT_NAME];
    int n = snprintf(name, sizeof name, "%.*s/%.*s%s%.*s", (int)spec->native_workload.n, spec->native_workload.data,
                     (int)spec->native_group.n, spec->native_group.data, spec->native_replica.n ? "/" : "",
                     (int)spec->native_replica.n, spec->native_replica.n ? spec->native_replica.data : "");
    return n < 0 || (size_t)n >= sizeof name
               ? 0
               : decode_gang_key(d, GANG_NATIVE, bytes_of(m->ns), (struct bytes){name, (size_t)n});
}

/* The PodGroup of a pod's application; 0: it is of no task group, or makes the pods of the others when it runs. */
static name_id task_gang(const struct decoder *d, const struct pod_meta *m, const struct pod_spec *spec)
{
    if (!m->task_group || !bytes_is(interned(d, spec->scheduler), YUNIKORN_SCHEDULER) ||
        bytes_is(interned(d, label_value(d, &m->labels, SPARK_ROLE_LABEL)), "driver"))
        return 0;
    const char *application = application_of(intern_name(d->names, label_value(d, &m->labels, YUNIKORN_APP)),
                                             intern_name(d->names, m->application),
                                             intern_name(d->names, label_value(d, &m->labels, YUNIKORN_APP_LABEL)),
                                             intern_name(d->names, label_value(d, &m->labels, YUNIKORN_SPARK_LABEL)));
    return *application ? decode_gang_key(d, GANG_VOLCANO, bytes_of(m->ns), bytes_of(application_group(d->arena, application))) : 0;
}

/* Of a group's pods those with more start, and stay, before those with less; who says nothing comes after them.
 * SOURCE KAI, plugin taskorder. */
static int32_t kai_order(const struct decoder *d, const struct label_list *labels)
{
    int64_t order;
    if (!bytes_int64(interned(d, label_value(d, labels, DECODE_KAI_ORDER_LABEL)), &order))
        return INT32_MIN;
    return order > INT32_MAX ? INT32_MAX : order < INT32_MIN ? INT32_MIN : (int32_t)order;
}

/* A part of a tree of groups: of the whole, and of that part by a label. */
static void find_native_gang(const struct decoder *d, struct pod_meta *m, const struct pod_spec *spec, struct pod_record *pod)
{
    pod->gang = native_gang(d, m, spec);
    name_id whole = pod->gang && !spec->native_workload.n && d->whole_of ? d->whole_of(d->ctx, pod->gang) : 0;
    if (!whole)
        return;
    pod->gang = whole;
    pod->gang_source = GANG_COMPOSITE;
    pod->pod_set = intern_id(d->names, spec->native_group);
    *DECODE_PUSH(d->arena, m->labels.items, m->labels.n, m->labels.cap) =
        (struct label){intern_text_id(d->names, DECODE_PART_LABEL), pod->pod_set};
    pod->shape.labels = m->labels.items;
    pod->shape.labels_n = m->labels.n;
}

static void find_gang(const struct decoder *d, struct pod_meta *m, const struct pod_spec *spec,
                      struct pod_record *pod)
{
    struct bytes ns = bytes_of(m->ns);
    name_id coscheduling = label_value(d, &m->labels, DECODE_COSCHEDULING_LABEL);
    pod->gang_source = m->workload.n ? GANG_WORKLOAD : m->volcano_group.n ? GANG_VOLCANO : coscheduling ? GANG_COSCHEDULING
                       : spec->native_group.n ? GANG_NATIVE : GANG_POD;
    if (m->workload.n) {
        pod->gang = decode_gang_key(d, GANG_WORKLOAD, ns, m->workload);
        pod->pod_set = label_value(d, &m->labels, DECODE_PODSET_LABEL);
    } else if (m->volcano_group.n) {
        pod->gang = decode_gang_key(d, GANG_VOLCANO, ns, m->volcano_group);
        pod->pod_set = m->volcano_task;
    } else if (coscheduling)
        pod->gang = decode_gang_key(d, GANG_COSCHEDULING, ns, interned(d, coscheduling));
    else if (spec->native_group.n)
        find_native_gang(d, m, spec, pod);
    else if ((pod->gang = task_gang(d, m, spec))) {
        pod->gang_source = GANG_VOLCANO;
        pod->pod_set = m->task_group;
    } else if (m->kai_group && bytes_is(interned(d, spec->scheduler), DECODE_KAI_SCHEDULER)) {
        pod->gang = decode_gang_key(d, GANG_KAI, ns, interned(d, m->kai_group));
        pod->gang_source = pod->gang ? GANG_KAI : GANG_POD;
        pod->pod_set = label_value(d, &m->labels, DECODE_KAI_SUBGROUP_LABEL);
        pod->priority = pod->gang ? kai_order(d, &m->labels) : pod->priority;
    }
}

static bool is_ours(const struct decoder *d, name_id scheduler)
{
    for (uint32_t i = 0; i < d->schedulers_n; i++)
        if (d->schedulers[i] == scheduler)
            return true;
    return false;
}

/* "ns/name"; "/name" never occurs on a server. */
static name_id pod_key(const struct decoder *d, const struct pod_meta *m)
{
    char key[2 * LIMIT_NAME + 2];
    size_t ns_n = strlen(m->ns), name_n = strlen(m->name);
    memcpy(key, m->ns, ns_n);
    key[ns_n] = '/';
    memcpy(key + ns_n + 1, m->name, name_n);
    return intern_id(d->names, (struct bytes){key, ns_n + 1 + name_n});
}

int decode_pod(const struct decoder *d, struct bytes text, struct pod_record *ret_pod, struct err *e)
{
    struct json_reader r;
    _cleanup_buf_ struct buf scratch;
    struct pod_meta m = {.created_ms = 0};
    struct pod_spec spec;
    struct pod_record pod;
    struct bytes key;
    memset(&pod, 0, sizeof pod);
    memset(&spec, 0, sizeof spec);
    buf_init(&scratch);
    json_reader_init(&r, text);
    bool object = json_reader_object(&r);
    while (object && json_reader_key(&r, &key)) {
        int failed = 0;
        if (DECODE_IS(key, "metadata"))
            read_metadata(d, &r, &scratch, &m);
        else if (DECODE_IS(key, "spec"))
            failed = decode_read_pod_spec(d, &r, &scratch, "spec.", &pod.shape, &spec, e);
        else if (DECODE_IS(key, "status"))
            read_status(d, &r, &scratch, &pod);
        else
            json_reader_skip(&r);
        if (failed < 0)
            return failed;
    }
    if (r.failed || !object)
        return err_set(e, E_INVALID, "pod: not a JSON object (byte %zu)", (size_t)(r.at - r.start));
    if (m.name[0] == '\0')
        return err_set(e, E_INVALID, "metadata.name: missing");
    pod.key = pod_key(d, &m);
    pod.uid = m.uid;
    pod.shape.ns = m.ns[0] ? intern_text_id(d->names, m.ns) : 0;
    pod.shape.labels = m.labels.items;
    pod.shape.labels_n = m.labels.n;
    pod.priority = spec.priority;
    pod.created_ms = m.created_ms;
    pod.node = spec.node;
    pod.devices = m.devices;
    pod.device_asks = spec.device_asks;
    pod.deleting = m.deleting;
    pod.preempts_nobody = spec.preempts_nobody;
    pod.scheduler = spec.scheduler;
    pod.limit_s = spec.limit_s;
    pod.ours = is_ours(d, spec.scheduler) && !m.is_placeholder; /* one that YuniKorn has left keeps nobody's place */
    pod.gated = spec.gated || (spec.queue_gated && !(m.asks_queue_gate && pod.ours)); /* the gate of its queue is ours to open */
    find_gang(d, &m, &spec, &pod);
    struct share share;
    if (read_share(d, &m, &spec, &pod, &share, e) < 0)
        return -E_INVALID;
    pod.device_limits = limits_of(d, &m, &share);
    int failed = decode_shape_finish(d, &spec, "spec.", &pod.shape, e);
    if (failed < 0)
        return failed;
    *ret_pod = pod;
    return 0;
}

int decode_template_counted(const struct decoder *d, const struct json *pod_template, name_id ns, const char *path, struct shape *ret_shape,
                            const struct amount **ret_counted, uint32_t *ret_counted_n, const char **ret_broken, struct err *e)
{
    /* One reader for pods and templates: the template is printed and read again. Workloads are few. */
    _cleanup_buf_ struct buf text, scratch;
    struct json_reader r;
    struct pod_spec spec;
    struct shape shape;
    buf_init(&text);
    buf_init(&scratch);
    memset(&shape, 0, sizeof shape);
    memset(&spec, 0, sizeof spec);
    shape.ns = ns;
    decode_labels(d, json_path(pod_template, "metadata", "labels", NULL), &shape.labels, &shape.labels_n);
    const struct json *tree = json_get(pod_template, "spec");
    if (tree) {
        json_write(&text, tree);
        json_reader_init(&r, buf_view(&text));
        if (decode_read_pod_spec(d, &r, &scratch, "spec.", &shape, &spec, e) < 0 ||
            decode_shape_finish(d, &spec, "spec.", &shape, e) < 0)
            return err_wrap(e, "%s", path);
    }
    const char *notes[SHARE_NOTES_N];
    struct shape_share read;
    for (int i = 0; i < SHARE_NOTES_N; i++)
        notes[i] = json_text(json_path(pod_template, "metadata", "annotations", share_notes[i], NULL), NULL);
    bool broken = decode_share(d, notes, &spec, &shape, &read) < 0;
    *ret_broken = broken ? decode_share_fault(d->arena, &read.fault, arena_printf(d->arena, "%s.metadata.", path),
                                              arena_printf(d->arena, "%s.spec.", path))
                         : NULL;
    *ret_counted = read.counted;
    *ret_counted_n = read.counted_n;
    *ret_shape = shape;
    return 0;
}

int decode_template(const struct decoder *d, const struct json *pod_template, name_id ns, const char *path, struct shape *ret_shape,
                    struct err *e)
{
    const struct amount *counted;
    uint32_t counted_n;
    const char *broken;
    int r = decode_template_counted(d, pod_template, ns, path, ret_shape, &counted, &counted_n, &broken, e);
    return r == 0 && broken ? err_set(e, E_INVALID, "%s", broken) : r;
}
