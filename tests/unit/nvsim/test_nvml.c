/* test_nvml.c - libnvidia-ml.so.1 of a simulated node, called as clients call it: sizes, versions, permissions, MIG, GPM, faults */
#include <string.h>
#include <sys/wait.h>
#include "../../../libnvsim/client_calls.h"
#include "library.h"

CLIENT_CALLS(NVML_DECLARE)

static void start_and_end(void **s)
{
    uint32_t n;
    char text[96];
    assert_int_equal(nvmlShutdown(), NVML_UNINITIALIZED);
    assert_int_equal(nvmlDeviceGetCount_v2(&n), NVML_UNINITIALIZED);
    assert_int_equal(unsetenv("NVSIM_STATE"), 0);
    assert_int_equal(nvmlInit_v2(), NVML_DRIVER_NOT_LOADED);
    assert_int_equal(setenv("NVSIM_STATE", "/nonexistent/state", 1), 0);
    assert_int_equal(nvmlInit_v2(), NVML_DRIVER_NOT_LOADED);
    begin("t4", 3);
    assert_int_equal(nvmlInitWithFlags(NVML_INIT_NO_GPUS), NVML_OK);
    assert_int_equal(nvmlInitWithFlags(0x80), NVML_INVALID_ARGUMENT);
    assert_int_equal(nvmlShutdown(), NVML_OK);
    assert_int_equal(nvmlDeviceGetCount_v2(&n), NVML_OK);
    assert_int_equal(n, 3);
    assert_int_equal(nvmlSystemGetDriverVersion(text, 3), NVML_INSUFFICIENT_SIZE);
    assert_int_equal(nvmlSystemGetDriverVersion(text, sizeof text), NVML_OK);
    assert_string_equal(text, "580.95.05");
    assert_int_equal(nvmlDeviceGetCount_v2(NULL), NVML_INVALID_ARGUMENT);
    assert_string_equal(nvmlErrorString(NVML_GPU_IS_LOST), "GPU is lost");
    assert_string_equal(nvmlErrorString(12345), "Unknown Error");
    end();
    assert_int_equal(nvmlShutdown(), NVML_UNINITIALIZED);
}

static void identity(void **s)
{
    begin("a100-40gb", 4);
    struct nvml_device *d = gpu(3), *same;
    char uuid[96], serial[30], name[96], legacy[80];
    struct nvml_pci_info pci;
    assert_int_equal(nvmlDeviceGetUUID(d, uuid, sizeof uuid), NVML_OK);
    assert_int_equal(nvmlDeviceGetHandleByUUID(uuid, &same), NVML_OK);
    assert_ptr_equal(same, d);
    assert_int_equal(nvmlDeviceGetHandleByUUID("GPU-x", &same), NVML_NOT_FOUND);
    assert_int_equal(nvmlDeviceGetSerial(d, serial, sizeof serial), NVML_OK);
    assert_int_equal(nvmlDeviceGetHandleBySerial(serial, &same), NVML_OK);
    assert_ptr_equal(same, d);
    assert_int_equal(nvmlDeviceGetPciInfo_v3(d, &pci), NVML_OK);
    assert_string_equal(pci.bus_id, "00000000:4E:00.0");
    assert_string_equal(pci.bus_id_legacy, "0000:4E:00.0");
    assert_int_equal(pci.pci_device_id, 0x20b010de);
    assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2(pci.bus_id, &same), NVML_OK);
    assert_ptr_equal(same, d);
    assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2("0000:4e:00.0", &same), NVML_OK);
    assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2("4e:00", &same), NVML_OK);
    assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2("ff:00.0", &same), NVML_NOT_FOUND);
    assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2("nonsense", &same), NVML_INVALID_ARGUMENT);
    memset(&pci, 0x55, sizeof pci); /* the older name writes no more than its callers have */
    assert_int_equal(nvmlDeviceGetPciInfo(d, &pci), NVML_OK);
    assert_int_equal(pci.bus_id[0], 0x55);
    assert_int_equal(nvmlDeviceGetName(d, name, 5), NVML_INSUFFICIENT_SIZE);
    assert_int_equal(nvmlDeviceGetName(d, name, sizeof name), NVML_OK);
    assert_string_equal(name, "NVIDIA A100-SXM4-40GB");
    assert_int_equal(nvmlDeviceGetUUID(NULL, legacy, sizeof legacy), NVML_INVALID_ARGUMENT);
    assert_int_equal(nvmlDeviceGetUUID((struct nvml_device *)&pci, legacy, sizeof legacy), NVML_INVALID_ARGUMENT);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(4, &same), NVML_INVALID_ARGUMENT);
    int level;
    assert_int_equal(nvmlDeviceGetTopologyCommonAncestor(gpu(0), gpu(1), &level), NVML_OK);
    assert_int_equal(level, NVML_TOPOLOGY_MULTIPLE);
    assert_int_equal(nvmlDeviceGetTopologyCommonAncestor(gpu(0), d, &level), NVML_OK);
    assert_int_equal(level, NVML_TOPOLOGY_SYSTEM);
    end();
}

static void versions_are_checked(void **s)
{
    begin("h100-80gb", 2);
    struct nvml_memory_v2 m = {.version = 2};
    assert_int_equal(nvmlDeviceGetMemoryInfo_v2(gpu(0), &m), NVML_ARGUMENT_VERSION_MISMATCH);
    m.version = NVML_MEMORY_V2;
    assert_int_equal(nvmlDeviceGetMemoryInfo_v2(gpu(0), &m), NVML_OK);
    assert_int_equal(m.total_bytes, (uint64_t)81559 << 20);
    assert_int_equal(m.total_bytes, m.free_bytes + m.used_bytes + m.reserved_bytes);
    struct nvml_fabric_info_v2 f = {0};
    assert_int_equal(nvmlDeviceGetGpuFabricInfoV(gpu(0), &f), NVML_ARGUMENT_VERSION_MISMATCH);
    f.version = NVML_FABRIC_INFO_V2;
    assert_int_equal(nvmlDeviceGetGpuFabricInfoV(gpu(0), &f), NVML_OK);
    assert_int_equal(f.state, NVML_FABRIC_COMPLETED);
    struct nvml_gi_profile_v3 p = {.version = NVML_VERSION(sizeof p, 4)};
    assert_int_equal(nvmlDeviceGetGpuInstanceProfileInfoV(gpu(0), 0, (void *)&p), NVML_ARGUMENT_VERSION_MISMATCH);
    p.version = NVML_GI_PROFILE_V3;
    assert_int_equal(nvmlDeviceGetGpuInstanceProfileInfoV(gpu(0), 0, (void *)&p), NVML_OK);
    assert_string_equal(p.name, "MIG 1g.10gb");
    assert_int_equal(nvmlDeviceGetGpuInstanceProfileInfoV(gpu(0), NVML_GI_8, (void *)&p), NVML_NOT_SUPPORTED);
    assert_int_equal(nvmlDeviceGetGpuInstanceProfileInfoV(gpu(0), NVML_GI_PROFILES_N, (void *)&p), NVML_INVALID_ARGUMENT);
    end();
}

static void process_lists(void **s)
{
    begin("a100-40gb", 1);
    for (uint32_t pid = 1; pid <= 3; pid++) {
        struct nvsim_work w = node_work(pid, 0);
        w.kind = pid - 1;
        assert_int_equal(nvsim_work_start(node, &w, NULL), 0);
    }
    struct nvml_process_v1 older[3];
    struct nvml_process list[3];
    uint32_t n = 0;
    assert_int_equal(nvmlDeviceGetComputeRunningProcesses(gpu(0), &n, NULL), NVML_INSUFFICIENT_SIZE);
    assert_int_equal(n, 2);
    memset(older, 0x55, sizeof older);
    assert_int_equal(nvmlDeviceGetComputeRunningProcesses(gpu(0), &n, older), NVML_OK);
    assert_int_equal(older[0].pid, 1);
    assert_int_equal(older[1].pid, 3); /* 16 bytes an entry */
    assert_int_equal(older[2].pid, 0x55555555);
    n = 3;
    assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(gpu(0), &n, list), NVML_OK);
    assert_int_equal(n, 2);
    assert_int_equal(list[0].used_bytes, 1000ull << 20);
    assert_int_equal(list[0].gpu_instance, NVML_NONE_U32);
    n = 3;
    assert_int_equal(nvmlDeviceGetGraphicsRunningProcesses_v3(gpu(0), &n, list), NVML_OK);
    assert_int_equal(n, 1);
    assert_int_equal(nvmlDeviceGetMPSComputeRunningProcesses_v3(gpu(0), &n, list), NVML_OK);
    assert_int_equal(n, 1);
    struct nvml_process_utilization_sample sample[3];
    n = 3;
    assert_int_equal(nvmlDeviceGetProcessUtilization(gpu(0), sample, &n, 0), NVML_OK);
    assert_int_equal(n, 3);
    assert_int_equal(sample[0].sm_percent, 33); /* three that want half each */
    assert_int_equal(nvmlDeviceGetProcessUtilization(gpu(0), sample, &n, sample[0].timestamp_us + 10000000), NVML_NOT_FOUND);
    char name[80];
    assert_int_equal(nvmlSystemGetProcessName((uint32_t)getpid(), name, sizeof name), NVML_OK);
    assert_non_null(strstr(name, "nvsim"));
    assert_int_equal(nvmlSystemGetProcessName(0x7ffffff0, name, sizeof name), NVML_NOT_FOUND);
    end();
}

static void accounting(void **s)
{
    begin("t4", 1);
    struct nvsim_work w = node_work(9, 0);
    uint32_t n = 0, pids[4];
    struct nvml_accounting stats;
    assert_int_equal(nvmlDeviceGetAccountingPids(gpu(0), &n, NULL), NVML_NOT_SUPPORTED);
    assert_int_equal(nvmlDeviceSetAccountingMode(gpu(0), NVML_ENABLED), NVML_OK);
    assert_int_equal(nvsim_work_start(node, &w, NULL), 0);
    assert_int_equal(nvmlDeviceGetAccountingStats(gpu(0), 9, &stats), NVML_OK);
    assert_int_equal(stats.running, 1);
    assert_int_equal(nvsim_work_stop(node, 9, NULL), 0);
    assert_int_equal(nvmlDeviceGetAccountingPids(gpu(0), &n, NULL), NVML_INSUFFICIENT_SIZE);
    assert_int_equal(nvmlDeviceGetAccountingPids(gpu(0), &n, pids), NVML_OK);
    assert_int_equal(n, 1);
    assert_int_equal(nvmlDeviceGetAccountingStats(gpu(0), pids[0], &stats), NVML_OK);
    assert_int_equal(stats.running, 0);
    assert_int_equal(stats.gpu_percent, 50);
    assert_int_equal(stats.max_memory_bytes, 1000ull << 20);
    assert_int_equal(nvmlDeviceClearAccountingPids(gpu(0)), NVML_OK);
    assert_int_equal(nvmlDeviceGetAccountingStats(gpu(0), 9, &stats), NVML_NOT_FOUND);
    end();
}

/* ---- MIG ---- */

static struct nvml_device *make_mig(const char *profile, uint32_t ci_profile, struct nvml_gpu_instance **gi,
                                    struct nvml_compute_instance **ci)
{
    struct nvml_ci_info info;
    const struct mig_profile *p = mig_profile_find(node->model, profile);
    assert_int_equal(nvmlDeviceCreateGpuInstance(gpu(0), p->id, gi), NVML_OK);
    assert_int_equal(nvmlGpuInstanceCreateComputeInstance(*gi, ci_profile, ci), NVML_OK);
    assert_int_equal(nvmlComputeInstanceGetInfo_v2(*ci, &info), NVML_OK);
    return info.device;
}

static void mig_mode(void **s)
{
    int activation;
    uint32_t now, pending;
    begin("t4", 1);
    assert_int_equal(nvmlDeviceGetMigMode(gpu(0), &now, &pending), NVML_NOT_SUPPORTED);
    assert_int_equal(nvmlDeviceSetMigMode(gpu(0), 1, &activation), NVML_NOT_SUPPORTED);
    end();
    begin("a100-40gb", 1); /* needs a reset */
    assert_int_equal(nvmlDeviceSetMigMode(gpu(0), 1, &activation), NVML_OK);
    assert_int_equal(activation, NVML_RESET_REQUIRED);
    assert_int_equal(nvmlDeviceGetMigMode(gpu(0), &now, &pending), NVML_OK);
    assert_true(now == 0 && pending == 1);
    assert_int_equal(nvsim_reset(node, 0, NULL), 0);
    assert_int_equal(nvmlDeviceGetMigMode(gpu(0), &now, &pending), NVML_OK);
    assert_true(now == 1 && pending == 1);
    end();
    begin("h100-80gb", 1); /* does not, unless it is busy */
    struct nvsim_work w = node_work(9, 0);
    assert_int_equal(nvsim_work_start(node, &w, NULL), 0);
    assert_int_equal(nvmlDeviceSetMigMode(gpu(0), 1, &activation), NVML_OK);
    assert_int_equal(activation, NVML_IN_USE);
    assert_int_equal(nvsim_work_stop(node, 9, NULL), 0);
    assert_int_equal(nvmlDeviceSetMigMode(gpu(0), 1, &activation), NVML_OK);
    assert_int_equal(activation, NVML_OK);
    end();
}

static void mig_life(void **s)
{
    begin("h100-80gb", 1);
    int activation;
    uint32_t n, id;
    char text[96];
    struct nvml_gpu_instance *gi, *other;
    struct nvml_compute_instance *ci;
    struct nvml_device *found, *parent;
    assert_int_equal(nvmlDeviceGetMaxMigDeviceCount(gpu(0), &n), NVML_OK);
    assert_int_equal(n, 0);
    assert_int_equal(nvmlDeviceSetMigMode(gpu(0), 1, &activation), NVML_OK);
    struct nvml_device *mig = make_mig("3g.40gb", NVML_CI_1, &gi, &ci);
    assert_int_equal(nvmlDeviceGetName(mig, text, sizeof text), NVML_OK);
    assert_string_equal(text, "NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb");
    assert_int_equal(nvmlDeviceGetUUID(mig, text, sizeof text), NVML_OK);
    assert_memory_equal(text, "MIG-", 4);
    assert_int_equal(nvmlDeviceGetHandleByUUID(text, &found), NVML_OK);
    assert_ptr_equal(found, mig);
    assert_int_equal(nvmlDeviceGetMaxMigDeviceCount(gpu(0), &n), NVML_OK);
    assert_int_equal(n, 7);
    assert_int_equal(nvmlDeviceGetMigDeviceHandleByIndex(gpu(0), 0, &found), NVML_OK);
    assert_ptr_equal(found, mig);
    assert_int_equal(nvmlDeviceGetMigDeviceHandleByIndex(gpu(0), 1, &found), NVML_NOT_FOUND);
    assert_int_equal(nvmlDeviceGetMigDeviceHandleByIndex(gpu(0), 7, &found), NVML_INVALID_ARGUMENT);
    assert_int_equal(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig, &parent), NVML_OK);
    assert_ptr_equal(parent, gpu(0));
    struct nvml_attributes a;
    assert_int_equal(nvmlDeviceGetAttributes_v2(mig, &a), NVML_OK);
    assert_true(a.sm_n == 16 && a.gi_slices_n == 3 && a.ci_slices_n == 1);
    assert_int_equal(nvmlDeviceGetGpuInstanceId(mig, &id), NVML_OK);
    struct nvsim_work w = node_work(9, 0);
    w.gi = id, w.ci = 0;
    assert_int_equal(nvsim_work_start(node, &w, NULL), 0);
    struct nvml_utilization rates;
    assert_int_equal(nvmlDeviceGetUtilizationRates(mig, &rates), NVML_NOT_SUPPORTED);
    assert_int_equal(nvmlDeviceGetUtilizationRates(gpu(0), &rates), NVML_NOT_SUPPORTED);
    struct nvml_memory memory;
    assert_int_equal(nvmlDeviceGetMemoryInfo(mig, &memory), NVML_OK);
    assert_int_equal(memory.used_bytes, 1000ull << 20);
    struct nvml_process list[2];
    n = 2;
    assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(gpu(0), &n, list), NVML_OK);
    assert_true(n == 1 && list[0].gpu_instance == id && list[0].compute_instance == 0);
    assert_int_equal(nvmlComputeInstanceDestroy(ci), NVML_IN_USE);
    assert_int_equal(nvmlGpuInstanceDestroy(gi), NVML_IN_USE);
    assert_int_equal(nvmlDeviceSetMigMode(gpu(0), 0, &activation), NVML_IN_USE);
    const struct nvml_placement taken = {.start = 4, .size = 4};
    uint8_t three = mig_profile_find(node->model, "3g.40gb")->id;
    struct nvml_gi_info info;
    assert_int_equal(nvmlGpuInstanceGetInfo(gi, &info), NVML_OK);
    struct nvml_placement at = {.start = info.placement.start, .size = 4};
    assert_int_equal(nvmlDeviceCreateGpuInstanceWithPlacement(gpu(0), three, &at, &other), NVML_INSUFFICIENT_RESOURCES);
    at.size = 3;
    assert_int_equal(nvmlDeviceCreateGpuInstanceWithPlacement(gpu(0), three, &at, &other), NVML_INVALID_ARGUMENT);
    assert_int_equal(taken.start, info.placement.start);
    assert_int_equal(nvsim_work_stop(node, 9, NULL), 0);
    assert_int_equal(nvmlComputeInstanceDestroy(ci), NVML_OK);
    assert_int_equal(nvmlComputeInstanceDestroy(ci), NVML_NOT_FOUND);
    assert_int_equal(nvmlDeviceGetUUID(mig, text, sizeof text), NVML_INVALID_ARGUMENT); /* stale handle */
    assert_int_equal(nvmlGpuInstanceDestroy(gi), NVML_OK);
    assert_int_equal(nvmlGpuInstanceDestroy(gi), NVML_NOT_FOUND);
    struct nvml_device *next = make_mig("3g.40gb", NVML_CI_1, &gi, &ci);
    assert_ptr_not_equal(next, mig); /* same place, another UUID */
    end();
}

/* Every profile of every model: the numbers of the table come back, each fits as often as it says, its files follow. */
static void mig_tables(void **s)
{
    for (uint32_t m = 0; m < gpu_models_n; m++) {
        if (!gpu_models[m].mig_slices)
            continue;
        int activation;
        begin(gpu_models[m].key, 1);
        assert_int_equal(nvmlDeviceSetMigMode(gpu(0), 1, &activation), NVML_OK);
        if (activation == NVML_RESET_REQUIRED)
            assert_int_equal(nvsim_reset(node, 0, NULL), 0);
        for (uint32_t i = 0; i < NVML_GI_PROFILES_N; i++) {
            struct nvml_gi_profile p;
            struct nvml_gpu_instance *list[8], *again[8];
            uint32_t n = 0, fits;
            if (nvmlDeviceGetGpuInstanceProfileInfo(gpu(0), i, &p) == NVML_NOT_SUPPORTED)
                continue;
            assert_int_equal(nvmlDeviceGetGpuInstanceRemainingCapacity(gpu(0), p.id, &fits), NVML_OK);
            assert_int_equal(fits, p.instances_n);
            while (n < 8 && nvmlDeviceCreateGpuInstance(gpu(0), p.id, &list[n]) == NVML_OK)
                n++;
            assert_int_equal(n, p.instances_n);
            assert_int_equal(nvmlDeviceGetGpuInstances(gpu(0), p.id, again, &n), NVML_OK);
            assert_int_equal(n, p.instances_n);
            while (n > 0)
                assert_int_equal(nvmlGpuInstanceDestroy(list[--n]), NVML_OK);
        }
        end();
    }
}

/* ---- faults ---- */

static void lost_gpus(void **s)
{
    begin("h100-80gb", 2);
    struct nvml_device *d = gpu(1), *again;
    uint32_t n, celsius;
    struct nvml_event_set *set;
    struct nvml_event_data ev;
    assert_int_equal(nvmlEventSetCreate(&set), NVML_OK);
    assert_int_equal(nvmlDeviceRegisterEvents(d, NVML_EVENT_XID, set), NVML_OK);
    assert_int_equal(nvsim_fault(node, 1, -1, -1, "xid", "79", NULL), 0);
    assert_int_equal(nvmlEventSetWait_v2(set, &ev, 1000), NVML_OK);
    assert_true(ev.type == NVML_EVENT_XID && ev.data == 79 && ev.device == d && ev.gpu_instance == NVML_NONE_U32);
    assert_int_equal(nvmlDeviceGetTemperature(d, 0, &celsius), NVML_GPU_IS_LOST);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(1, &again), NVML_GPU_IS_LOST);
    assert_int_equal(nvmlDeviceSetPersistenceMode(d, 0), NVML_GPU_IS_LOST);
    assert_int_equal(nvmlDeviceGetCount_v2(&n), NVML_OK);
    assert_int_equal(n, 2);
    assert_int_equal(nvmlDeviceGetTemperature(gpu(0), 0, &celsius), NVML_OK);
    assert_int_equal(nvsim_reset(node, 1, NULL), 0);
    assert_int_equal(nvmlDeviceGetTemperature(d, 0, &celsius), NVML_OK);
    assert_int_equal(nvsim_fault(node, 1, -1, -1, "off-bus", "", NULL), 0);
    struct err e = {0};
    assert_int_equal(nvsim_reset(node, 1, &e), -E_CONFLICT);
    assert_int_equal(nvsim_fault(node, 1, -1, -1, "back", "", NULL), 0);
    assert_int_equal(nvmlDeviceGetTemperature(d, 0, &celsius), NVML_OK);
    assert_int_equal(nvmlEventSetFree(set), NVML_OK);
    end();
}

static void the_driver_goes(void **s)
{
    begin("t4", 1);
    struct nvml_device *d = gpu(0);
    uint32_t n;
    struct nvml_system_event_create c = {.version = NVML_SYSTEM_EVENT_CREATE_V1};
    assert_int_equal(nvmlSystemEventSetCreate(&c), NVML_OK);
    struct nvml_system_event_register r = {.version = NVML_SYSTEM_EVENT_REGISTER_V1, .types = 3, .set = c.set};
    assert_int_equal(nvmlSystemRegisterEvents(&r), NVML_OK);
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "driver", "not-loaded", NULL), 0);
    assert_int_equal(nvmlDeviceGetMinorNumber(d, &n), NVML_DRIVER_NOT_LOADED);
    struct nvml_system_event_data data;
    struct nvml_system_event_wait w = {
        .version = NVML_SYSTEM_EVENT_WAIT_V1, .timeout_ms = 1000, .set = c.set, .data = &data, .data_size = sizeof data};
    assert_int_equal(nvmlSystemEventSetWait(&w), NVML_OK);
    assert_true(w.events_n == 1 && data.type == NVML_SYSTEM_EVENT_UNBIND);
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "driver", "mismatch", NULL), 0);
    assert_int_equal(nvmlDeviceGetCount_v2(&n), NVML_LIB_RM_VERSION_MISMATCH);
    assert_int_equal(nvmlSystemEventSetFree(&c), NVML_OK);
    assert_int_equal(nvmlShutdown(), NVML_OK);
    assert_int_equal(nvmlInit_v2(), NVML_LIB_RM_VERSION_MISMATCH);
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "driver", "ok", NULL), 0);
    assert_int_equal(nvmlInit_v2(), NVML_OK);
    end();
}

static void slow_and_hanging_calls(void **s)
{
    begin("t4", 2);
    struct nvml_device *d = gpu(0);
    uint32_t n;
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "slow", "50", NULL), 0);
    int64_t t = nvsim_now_us();
    assert_int_equal(nvmlDeviceGetMinorNumber(d, &n), NVML_OK);
    assert_true(nvsim_now_us() - t >= 50000);
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "hang", "60", NULL), 0);
    t = nvsim_now_us();
    assert_int_equal(nvmlDeviceGetMinorNumber(gpu(1), &n), NVML_OK); /* the others answer */
    assert_true(nvsim_now_us() - t < 5000000);
    pid_t child = fork();
    if (child == 0)
        _exit(nvmlDeviceGetMinorNumber(d, &n) == NVML_OK ? 7 : 8);
    int status;
    (void)usleep(100000);
    assert_int_equal(waitpid(child, &status, WNOHANG), 0);
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "back", "", NULL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    end();
}

static void memory_faults(void **s)
{
    begin("a100-40gb", 1);
    uint32_t corrected, uncorrected, pending, failure;
    unsigned long long n;
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "ecc", "single", NULL), 0);
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "ecc", "double", NULL), 0);
    assert_int_equal(nvmlDeviceGetTotalEccErrors(gpu(0), NVML_ECC_CORRECTED, NVML_ECC_VOLATILE, &n), NVML_OK);
    assert_int_equal(n, 1);
    assert_int_equal(nvmlDeviceGetTotalEccErrors(gpu(0), NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE, &n), NVML_OK);
    assert_int_equal(n, 1);
    assert_int_equal(nvmlDeviceGetRemappedRows(gpu(0), &corrected, &uncorrected, &pending, &failure), NVML_OK);
    assert_true(corrected == 0 && uncorrected == 1 && pending == 1 && failure == 0);
    struct nvml_field_value f[3] = {{.field = NVML_FIELD_RECOVERY_ACTION}, {.field = NVML_FIELD_ECC_DBE_VOLATILE}, {.field = 9999}};
    assert_int_equal(nvmlDeviceGetFieldValues(gpu(0), 3, f), NVML_OK);
    assert_true(f[0].code == NVML_OK && f[0].value.u32 == NVML_RECOVERY_DRAIN_AND_RESET);
    assert_true(f[1].code == NVML_OK && f[1].value.u64 == 1);
    assert_int_equal(f[2].code, NVML_INVALID_ARGUMENT);
    assert_int_equal(nvsim_reset(node, 0, NULL), 0);
    assert_int_equal(nvmlDeviceGetTotalEccErrors(gpu(0), NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, &n), NVML_OK);
    assert_int_equal(n, 0);
    struct err e = {0};
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "ecc", "triple", &e), -E_INVALID);
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "fire", "", &e), -E_INVALID);
    assert_int_equal(nvsim_fault(node, 1, -1, -1, "lost", "", &e), -E_NOTFOUND);
    assert_int_equal(nvsim_fault(node, 0, 3, -1, "xid", "13", &e), -E_NOTFOUND);
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "hang", "-1", &e), -E_INVALID);
    end();
}

/* SOURCE nvml.h beside NVML_FI_DEV_POWER_AVERAGE and nvmlDeviceGetNumaNodeId */
static void what_a_model_does_not_have(void **state)
{
    static const struct {
        const char *model;
        int average, numa;
    } rows[] = {{"t4", NVML_NOT_SUPPORTED, NVML_NOT_SUPPORTED}, {"a100-40gb", NVML_NOT_SUPPORTED, NVML_NOT_SUPPORTED},
                {"a10", NVML_OK, NVML_NOT_SUPPORTED}, {"gb200", NVML_OK, NVML_OK}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t numa;
        begin(rows[i].model, 1);
        struct nvml_field_value f[3] = {{.field = NVML_FIELD_POWER_AVERAGE_MW},
                                        {.field = NVML_FIELD_POWER_INSTANT_MW},
                                        {.field = NVML_FIELD_POWER_INSTANT_MW, .scope = NVML_POWER_MEMORY}};
        assert_int_equal(nvmlDeviceGetFieldValues(gpu(0), 3, f), NVML_OK);
        assert_int_equal(f[0].code, rows[i].average);
        assert_int_equal(f[1].code, NVML_OK);
        assert_int_equal(f[2].code, NVML_NOT_SUPPORTED);
        assert_int_equal(nvmlDeviceGetNumaNodeId(gpu(0), &numa), rows[i].numa);
        end();
    }
}

static void events_of_others(void **s)
{
    begin("a100-40gb", 2);
    struct nvml_event_set *set;
    struct nvml_event_data ev;
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "xid", "13", NULL), 0); /* before registration: not told */
    assert_int_equal(nvmlEventSetCreate(&set), NVML_OK);
    assert_int_equal(nvmlDeviceRegisterEvents(gpu(0), 1ull << 40, set), NVML_NOT_SUPPORTED);
    assert_int_equal(nvmlDeviceRegisterEvents(gpu(0), NVML_EVENT_XID, set), NVML_OK);
    assert_int_equal(nvmlEventSetWait_v2(set, &ev, 0), NVML_TIMEOUT);
    assert_int_equal(nvsim_fault(node, 1, -1, -1, "xid", "31", NULL), 0); /* another GPU: not registered */
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "ecc", "single", NULL), 0); /* another kind */
    int64_t t = nvsim_now_us();
    assert_int_equal(nvmlEventSetWait_v2(set, &ev, 60), NVML_TIMEOUT);
    assert_true(nvsim_now_us() - t >= 60000);
    pid_t child = fork();
    if (child == 0) {
        (void)usleep(100000);
        _exit(nvsim_fault(node, 0, -1, -1, "xid", "43", NULL) == 0 ? 0 : 1);
    }
    t = nvsim_now_us();
    assert_int_equal(nvmlEventSetWait_v2(set, &ev, 20000), NVML_OK);
    assert_true(nvsim_now_us() - t < 5000000);
    assert_int_equal(ev.data, 43);
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct { struct nvml_event_data data; uint64_t beyond; } older = {.data.gpu_instance = 0x5555};
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "xid", "45", NULL), 0);
    assert_int_equal(nvmlEventSetWait(set, &older.data, 1000), NVML_OK); /* the older name writes 24 bytes */
    assert_int_equal(older.data.gpu_instance, 0x5555);
    for (int i = 0; i < NVSIM_EVENTS_MAX + 10; i++) /* a waiter that is too slow loses the oldest */
        assert_int_equal(nvsim_fault(node, 0, -1, -1, "xid", i < 11 ? "1" : "2", NULL), 0);
    assert_int_equal(nvmlEventSetWait_v2(set, &ev, 0), NVML_OK);
    assert_int_equal(ev.data, 1);
    assert_int_equal(nvmlEventSetWait_v2(set, &ev, 0), NVML_OK);
    assert_int_equal(ev.data, 2);
    assert_int_equal(nvmlEventSetFree(set), NVML_OK);
    end();
}

/* ---- readings ---- */

static void power_and_clocks(void **s)
{
    begin("l4", 1);
    uint32_t mw, mhz, n;
    int state;
    unsigned long long reasons;
    assert_int_equal(nvmlDeviceGetPerformanceState(gpu(0), &state), NVML_OK);
    assert_int_equal(state, 8);
    assert_int_equal(nvmlDeviceSetPowerManagementLimit(gpu(0), 1), NVML_INVALID_ARGUMENT);
    assert_int_equal(nvmlDeviceSetPowerManagementLimit(gpu(0), 50000), NVML_OK);
    assert_int_equal(nvmlDeviceGetEnforcedPowerLimit(gpu(0), &mw), NVML_OK);
    assert_int_equal(mw, 50000);
    assert_int_equal(nvmlDeviceSetGpuLockedClocks(gpu(0), 600, 900), NVML_OK);
    struct nvsim_work w = node_work(9, 0);
    assert_int_equal(nvsim_work_start(node, &w, NULL), 0);
    assert_int_equal(nvmlDeviceGetClockInfo(gpu(0), NVML_CLOCK_SM, &mhz), NVML_OK);
    assert_int_equal(mhz, 900);
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "throttle", "thermal", NULL), 0);
    assert_int_equal(nvmlDeviceGetCurrentClocksEventReasons(gpu(0), &reasons), NVML_OK);
    assert_int_equal(reasons & (NVML_CLOCK_HW_THERMAL | NVML_CLOCK_HW_SLOWDOWN), NVML_CLOCK_HW_THERMAL | NVML_CLOCK_HW_SLOWDOWN);
    assert_int_equal(nvmlDeviceGetFanSpeed(gpu(0), &n), NVML_NOT_SUPPORTED); /* cooled by the server's fans */
    assert_int_equal(nvmlDeviceGetNvLinkState(gpu(0), 0, &state), NVML_NOT_SUPPORTED);
    int type;
    struct nvml_sample samples[100];
    n = 100;
    (void)usleep(400000);
    assert_int_equal(nvmlDeviceGetSamples(gpu(0), NVML_SAMPLE_GPU, 0, &type, &n, samples), NVML_OK);
    assert_true(n >= 1 && samples[n - 1].value.u32 == 50);
    end();
}

static void performance_monitoring(void **s)
{
    begin("h200-141gb", 1);
    struct nvml_gpm_support support = {.version = NVML_GPM_VERSION};
    struct nvml_gpm_sample *a, *b;
    struct nvml_gpm_metrics *m = calloc(1, sizeof *m + 3 * sizeof m->metrics[0]);
    assert_non_null(m);
    m->version = NVML_GPM_VERSION, m->metrics_n = 3;
    m->metrics[0].id = NVML_GPM_GRAPHICS, m->metrics[1].id = NVML_GPM_DRAM, m->metrics[2].id = 3000;
    assert_int_equal(nvmlGpmQueryDeviceSupport(gpu(0), &support), NVML_OK);
    assert_int_equal(support.supported, 1);
    struct nvsim_work w = node_work(9, 0);
    assert_int_equal(nvsim_work_start(node, &w, NULL), 0);
    assert_int_equal(nvmlGpmSampleAlloc(&a), NVML_OK);
    assert_int_equal(nvmlGpmSampleAlloc(&b), NVML_OK);
    assert_int_equal(nvmlGpmSampleGet(gpu(0), a), NVML_OK);
    (void)usleep(20000);
    assert_int_equal(nvmlGpmSampleGet(gpu(0), b), NVML_OK);
    m->sample1 = a, m->sample2 = b;
    assert_int_equal(nvmlGpmMetricsGet(m), NVML_OK);
    assert_true(m->metrics[0].code == NVML_OK && m->metrics[0].value > 49.9 && m->metrics[0].value < 50.1);
    assert_true(m->metrics[1].value > 19.9 && m->metrics[1].value < 20.1);
    assert_int_equal(m->metrics[2].code, NVML_INVALID_ARGUMENT);
    m->sample2 = a;
    assert_int_equal(nvmlGpmMetricsGet(m), NVML_INVALID_ARGUMENT);
    assert_int_equal(nvmlGpmSampleFree(a), NVML_OK);
    assert_int_equal(nvmlGpmSampleFree(b), NVML_OK);
    free(m);
    end();
}

/* What only clients of others ask. SOURCE of the texts: recorded, data/gpu/models.tsv. */
static void what_clients_ask(void **s)
{
    begin("h100-80gb", 2);
    char text[32];
    int mode, pending, states[16], draining;
    uint32_t n, low, high, stats[3] = {9, 9, 9};
    struct nvml_pci_info at;
    assert_int_equal(nvmlDeviceGetBoardPartNumber(gpu(0), text, sizeof text), NVML_OK);
    assert_string_equal(text, "692-2G520-0200-000");
    assert_int_equal(nvmlDeviceGetInforomImageVersion(gpu(0), text, sizeof text), NVML_OK);
    assert_memory_equal(text, "G520.0200.00.", 13);
    assert_int_equal(nvmlDeviceGetInforomVersion(gpu(0), 0, text, sizeof text), NVML_OK);
    assert_string_equal(text, "2.1");
    assert_int_equal(nvmlDeviceGetInforomVersion(gpu(0), 1, text, sizeof text), NVML_OK);
    assert_string_equal(text, "7.16");
    assert_int_equal(nvmlDeviceGetInforomVersion(gpu(0), 2, text, sizeof text), NVML_NOT_SUPPORTED);
    assert_int_equal(nvmlDeviceGetInforomVersion(gpu(0), 4, text, sizeof text), NVML_INVALID_ARGUMENT);
    assert_int_equal(nvmlDeviceSetEccMode(gpu(0), NVML_DISABLED), NVML_OK);
    assert_int_equal(nvmlDeviceGetEccMode(gpu(0), &mode, &pending), NVML_OK);
    assert_true(mode == NVML_ENABLED && pending == NVML_DISABLED);
    assert_int_equal(nvsim_reset(node, 0, NULL), 0);
    assert_int_equal(nvmlDeviceGetEccMode(gpu(0), &mode, &pending), NVML_OK);
    assert_true(mode == NVML_DISABLED && pending == NVML_DISABLED);
    assert_int_equal(nvmlDeviceClearEccErrorCounts(gpu(0), NVML_ECC_VOLATILE), NVML_NOT_SUPPORTED);
    assert_int_equal(nvmlDeviceGetSupportedPerformanceStates(gpu(0), states, sizeof states - 1), NVML_INSUFFICIENT_SIZE);
    assert_int_equal(nvmlDeviceGetSupportedPerformanceStates(gpu(0), states, sizeof states), NVML_OK);
    assert_true(states[0] == 0 && states[1] == NVML_PSTATE_UNKNOWN && states[15] == NVML_PSTATE_UNKNOWN);
    assert_int_equal(nvmlDeviceGetMinMaxClockOfPState(gpu(0), NVML_CLOCK_SM, 0, &low, &high), NVML_OK);
    assert_true(low == 345 && high == 1980);
    assert_int_equal(nvmlDeviceGetMinMaxClockOfPState(gpu(0), NVML_CLOCK_SM, 8, &low, &high), NVML_NOT_SUPPORTED);
    assert_int_equal(nvmlDeviceGetFBCStats(gpu(0), stats), NVML_OK);
    assert_true(stats[0] == 0 && stats[1] == 0 && stats[2] == 0);
    assert_int_equal(nvmlDeviceGetEncoderCapacity(gpu(0), 0, &n), NVML_NOT_SUPPORTED);
    assert_int_equal(nvmlUnitGetCount(&n), NVML_OK);
    assert_int_equal(n, 0);
    assert_int_equal(nvmlDeviceGetPciInfo_v3(gpu(1), &at), NVML_OK);
    assert_int_equal(nvmlDeviceQueryDrainState(&at, &draining), NVML_OK);
    assert_int_equal(draining, NVML_DISABLED);
    at.bus = 0xee;
    assert_int_equal(nvmlDeviceQueryDrainState(&at, &draining), NVML_NOT_FOUND);
    end();
}

static void counters_are_cleared(void **s)
{
    begin("h100-80gb", 1);
    unsigned long long n;
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "ecc", "single", NULL), 0);
    assert_int_equal(nvmlDeviceClearEccErrorCounts(gpu(0), NVML_ECC_VOLATILE), NVML_OK);
    assert_int_equal(nvmlDeviceGetTotalEccErrors(gpu(0), NVML_ECC_CORRECTED, NVML_ECC_VOLATILE, &n), NVML_OK);
    assert_int_equal(n, 0);
    assert_int_equal(nvmlDeviceGetTotalEccErrors(gpu(0), NVML_ECC_CORRECTED, NVML_ECC_AGGREGATE, &n), NVML_OK);
    assert_int_equal(n, 1);
    assert_int_equal(nvsim_fault(node, 0, -1, -1, "nvlink", "3", NULL), 0);
    assert_int_equal(nvmlDeviceGetNvLinkErrorCounter(gpu(0), 3, NVML_LINK_ERROR_CRC_FLIT, &n), NVML_OK);
    assert_true(n > 0);
    assert_int_equal(nvmlDeviceResetNvLinkErrorCounters(gpu(0), 3), NVML_OK);
    assert_int_equal(nvmlDeviceGetNvLinkErrorCounter(gpu(0), 3, NVML_LINK_ERROR_CRC_FLIT, &n), NVML_OK);
    assert_int_equal(n, 0);
    assert_int_equal(nvmlDeviceResetNvLinkErrorCounters(gpu(0), 99), NVML_INVALID_ARGUMENT);
    end();
}

/* Setters need root, or the user who made the node. */
static void permissions(void **s)
{
    if (geteuid() != 0)
        skip();
    begin("h100-80gb", 1);
    struct nvml_device *d = gpu(0);
    pid_t child = fork();
    if (child == 0) {
        int activation;
        uint32_t n;
        if (chmod(node_dir, 0755) < 0 || setuid(65534) < 0)
            _exit(1);
        bool ok = nvmlDeviceSetMigMode(d, 1, &activation) == NVML_NO_PERMISSION && nvmlDeviceSetComputeMode(d, 3) == NVML_NO_PERMISSION &&
                  nvmlDeviceGetMinorNumber(d, &n) == NVML_OK && nvmlShutdown() == NVML_OK && nvmlInit_v2() == NVML_OK;
        _exit(ok ? 0 : 2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_and_end),
        cmocka_unit_test(identity),
        cmocka_unit_test(versions_are_checked),
        cmocka_unit_test(process_lists),
        cmocka_unit_test(accounting),
        cmocka_unit_test(mig_mode),
        cmocka_unit_test(mig_life),
        cmocka_unit_test(mig_tables),
        cmocka_unit_test(lost_gpus),
        cmocka_unit_test(the_driver_goes),
        cmocka_unit_test(slow_and_hanging_calls),
        cmocka_unit_test(memory_faults),
        cmocka_unit_test(events_of_others),
        cmocka_unit_test(what_a_model_does_not_have),
        cmocka_unit_test(power_and_clocks),
        cmocka_unit_test(performance_monitoring),
        cmocka_unit_test(permissions),
        cmocka_unit_test(what_clients_ask),
        cmocka_unit_test(counters_are_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
