/* nvml.h - the C ABI of libnvidia-ml.so.1, declared by us: codes, constants and structs
 *
 * Two readers: agent/driver/nvml.c (calls it through dlopen) and libnvsim (is it). The functions are in gpu/nvml_calls.h.
 * SHAPE  LP64, natural alignment; every size and offset is asserted below, so a compiler that lays them out differently does not build.
 *        Versioned structs carry NVML_VERSION(size, number) in their first word. Reserved parts are called `unused`.
 * UNIT   as the names say; the library speaks MiB, MHz, mW, mJ and percent.
 * SOURCE API 13 of the library (compared with the vendor's header by a program, docs/gpu-check.md).
 */
#ifndef GPU_NVML_H
#define GPU_NVML_H
#include <stddef.h>
#include <stdint.h>

/* Opaque: a GPU or MIG device, a GPU instance, a compute instance, a set of events, a sample of GPU performance monitoring. */
struct nvml_device;
struct nvml_gpu_instance;
struct nvml_compute_instance;
struct nvml_event_set; struct nvml_system_event_set;
struct nvml_gpm_sample;

/* Return code, its number, the short text of nvmlErrorString. */
#define NVML_CODES(X)                                                    \
    X(OK, 0, "Success")                                                  \
    X(UNINITIALIZED, 1, "Uninitialized")                                 \
    X(INVALID_ARGUMENT, 2, "Invalid Argument")                           \
    X(NOT_SUPPORTED, 3, "Not Supported")                                 \
    X(NO_PERMISSION, 4, "Insufficient Permissions")                      \
    X(ALREADY_INITIALIZED, 5, "Already Initialized")                     \
    X(NOT_FOUND, 6, "Not Found")                                         \
    X(INSUFFICIENT_SIZE, 7, "Insufficient Size")                         \
    X(INSUFFICIENT_POWER, 8, "Insufficient External Power")              \
    X(DRIVER_NOT_LOADED, 9, "Driver Not Loaded")                         \
    X(TIMEOUT, 10, "Timeout")                                            \
    X(IRQ_ISSUE, 11, "Interrupt Request Issue")                          \
    X(LIBRARY_NOT_FOUND, 12, "NVML Shared Library Not Found")            \
    X(FUNCTION_NOT_FOUND, 13, "Function Not Found")                      \
    X(CORRUPTED_INFOROM, 14, "Corrupted infoROM")                        \
    X(GPU_IS_LOST, 15, "GPU is lost")                                    \
    X(RESET_REQUIRED, 16, "GPU requires reset")                          \
    X(OPERATING_SYSTEM, 17, "Operating system call failed")              \
    X(LIB_RM_VERSION_MISMATCH, 18, "Driver/library version mismatch")    \
    X(IN_USE, 19, "In use by another client")                            \
    X(MEMORY, 20, "Insufficient Memory")                                 \
    X(NO_DATA, 21, "No data")                                            \
    X(VGPU_ECC_NOT_SUPPORTED, 22, "vGPU ECC not supported")              \
    X(INSUFFICIENT_RESOURCES, 23, "Insufficient Resources")              \
    X(FREQ_NOT_SUPPORTED, 24, "Frequency not supported")                 \
    X(ARGUMENT_VERSION_MISMATCH, 25, "Argument version mismatch")        \
    X(DEPRECATED, 26, "Deprecated")                                      \
    X(NOT_READY, 27, "Not ready")                                        \
    X(GPU_NOT_FOUND, 28, "GPU not found")                                \
    X(INVALID_STATE, 29, "Invalid state")                                \
    X(RESET_TYPE_NOT_SUPPORTED, 30, "Reset type not supported")          \
    X(UNKNOWN, 999, "Unknown Error")
enum nvml_code {
#define X(name, number, text) NVML_##name = number,
    NVML_CODES(X)
#undef X
};
const char *nvml_code_text(int code); /* "GPU is lost"; never NULL */

#define NVML_VERSION(size, number) ((uint32_t)(size) | (uint32_t)(number) << 24)
#define NVML_NONE_U32 0xffffffffu             /* no GPU instance, no compute instance */
#define NVML_NONE_U64 0xffffffffffffffffull   /* value not available */

/* Lengths of text buffers with their NUL, as the library documents them. */
enum {
    NVML_UUID_LENGTH = 96, /* older callers: 80 */
    NVML_NAME_LENGTH = 96, /* older callers: 64 */
    NVML_SERIAL_LENGTH = 30,
    NVML_PART_NUMBER_LENGTH = 80,
    NVML_VBIOS_LENGTH = 32,
    NVML_DRIVER_VERSION_LENGTH = 80,
    NVML_LIBRARY_VERSION_LENGTH = 80,
    NVML_BUS_ID_LENGTH = 32,
    NVML_BUS_ID_LEGACY_LENGTH = 16,
};

enum { NVML_DISABLED = 0, NVML_ENABLED = 1 };
enum nvml_init_flag { NVML_INIT_NO_GPUS = 1, NVML_INIT_NO_ATTACH = 2 };
enum nvml_brand {
    NVML_BRAND_UNKNOWN = 0, NVML_BRAND_QUADRO = 1, NVML_BRAND_TESLA = 2, NVML_BRAND_NVS = 3, NVML_BRAND_GRID = 4,
    NVML_BRAND_GEFORCE = 5, NVML_BRAND_TITAN = 6, NVML_BRAND_QUADRO_RTX = 12, NVML_BRAND_NVIDIA_RTX = 13, NVML_BRAND_NVIDIA = 14,
};
enum nvml_architecture {
    NVML_ARCH_KEPLER = 2, NVML_ARCH_MAXWELL = 3, NVML_ARCH_PASCAL = 4, NVML_ARCH_VOLTA = 5, NVML_ARCH_TURING = 6, NVML_ARCH_AMPERE = 7,
    NVML_ARCH_ADA = 8, NVML_ARCH_HOPPER = 9, NVML_ARCH_BLACKWELL = 10, NVML_ARCH_RUBIN = 13,
};
enum nvml_compute_mode {
    NVML_COMPUTE_DEFAULT = 0, NVML_COMPUTE_EXCLUSIVE_THREAD = 1, NVML_COMPUTE_PROHIBITED = 2, NVML_COMPUTE_EXCLUSIVE_PROCESS = 3,
};
enum nvml_topology {
    NVML_TOPOLOGY_INTERNAL = 0, NVML_TOPOLOGY_SINGLE = 10, NVML_TOPOLOGY_MULTIPLE = 20, NVML_TOPOLOGY_HOST_BRIDGE = 30,
    NVML_TOPOLOGY_NODE = 40, NVML_TOPOLOGY_SYSTEM = 50,
};
enum nvml_affinity_scope { NVML_AFFINITY_NODE = 0, NVML_AFFINITY_SOCKET = 1 };
enum nvml_p2p_index { NVML_P2P_READ = 0, NVML_P2P_WRITE = 1, NVML_P2P_NVLINK = 2, NVML_P2P_ATOMICS = 3, NVML_P2P_PCI = 4 };
enum nvml_p2p_status {
    NVML_P2P_OK = 0, NVML_P2P_NO_CHIPSET = 1, NVML_P2P_NO_GPU = 2, NVML_P2P_NO_IOH = 3, NVML_P2P_OFF_BY_REGKEY = 4,
    NVML_P2P_NOT_SUPPORTED = 5, NVML_P2P_UNKNOWN = 6,
};
enum nvml_virtualization {
    NVML_VIRTUALIZATION_NONE = 0, NVML_VIRTUALIZATION_PASSTHROUGH = 1, NVML_VIRTUALIZATION_VGPU = 2, NVML_VIRTUALIZATION_HOST_VGPU = 3,
    NVML_VIRTUALIZATION_HOST_VSGA = 4,
};
enum nvml_fabric_state {
    NVML_FABRIC_NOT_SUPPORTED = 0, NVML_FABRIC_NOT_STARTED = 1, NVML_FABRIC_IN_PROGRESS = 2, NVML_FABRIC_COMPLETED = 3,
};
/* Fabric health: two-bit answers (1 yes, 2 no) at these shifts; incorrect configuration has four bits, 12 is one more two-bit answer. */
enum nvml_fabric_shift {
    NVML_FABRIC_DEGRADED_BANDWIDTH = 0, NVML_FABRIC_ROUTE_RECOVERY = 2, NVML_FABRIC_ROUTE_UNHEALTHY = 4,
    NVML_FABRIC_ACCESS_TIMEOUT = 6, NVML_FABRIC_INCORRECT_CONFIG = 8, NVML_FABRIC_PARTITION_ASSIGNED = 12,
};
enum nvml_fabric_summary { NVML_FABRIC_HEALTHY = 1, NVML_FABRIC_UNHEALTHY = 2, NVML_FABRIC_LIMITED = 3 };

enum nvml_value_type {
    NVML_VALUE_DOUBLE = 0, NVML_VALUE_U32 = 1, NVML_VALUE_ULONG = 2, NVML_VALUE_U64 = 3, NVML_VALUE_S64 = 4, NVML_VALUE_S32 = 5,
    NVML_VALUE_U16 = 6,
};
enum nvml_sample_type {
    NVML_SAMPLE_POWER = 0, NVML_SAMPLE_GPU = 1, NVML_SAMPLE_MEMORY = 2, NVML_SAMPLE_ENCODER = 3, NVML_SAMPLE_DECODER = 4,
    NVML_SAMPLE_PROCESSOR_CLOCK = 5, NVML_SAMPLE_MEMORY_CLOCK = 6, NVML_SAMPLE_MODULE_POWER = 7, NVML_SAMPLE_JPEG = 8,
    NVML_SAMPLE_OFA = 9,
};
enum nvml_process_mode { NVML_PROCESS_COMPUTE = 0, NVML_PROCESS_GRAPHICS = 1, NVML_PROCESS_MPS = 2, NVML_PROCESS_ALL = 3 };
enum nvml_threshold {
    NVML_THRESHOLD_SHUTDOWN = 0, NVML_THRESHOLD_SLOWDOWN = 1, NVML_THRESHOLD_MEMORY_MAX = 2, NVML_THRESHOLD_GPU_MAX = 3,
    NVML_THRESHOLD_ACOUSTIC_MIN = 4, NVML_THRESHOLD_ACOUSTIC_NOW = 5, NVML_THRESHOLD_ACOUSTIC_MAX = 6, NVML_THRESHOLD_GPS_NOW = 7,
};
enum nvml_clock { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_CLOCK_VIDEO = 3 };
enum nvml_power_scope { NVML_POWER_GPU = 0, NVML_POWER_MODULE = 1, NVML_POWER_MEMORY = 2 };
enum nvml_clock_reason { /* bits */
    NVML_CLOCK_IDLE = 1, NVML_CLOCK_APPLICATION = 2, NVML_CLOCK_SW_POWER_CAP = 4, NVML_CLOCK_HW_SLOWDOWN = 8,
    NVML_CLOCK_SYNC_BOOST = 0x10, NVML_CLOCK_SW_THERMAL = 0x20, NVML_CLOCK_HW_THERMAL = 0x40, NVML_CLOCK_HW_POWER_BRAKE = 0x80,
    NVML_CLOCK_DISPLAY = 0x100,
};
enum nvml_violation {
    NVML_VIOLATION_POWER = 0, NVML_VIOLATION_THERMAL = 1, NVML_VIOLATION_SYNC_BOOST = 2, NVML_VIOLATION_BOARD = 3,
    NVML_VIOLATION_LOW_UTILIZATION = 4, NVML_VIOLATION_RELIABILITY = 5, NVML_VIOLATION_APPLICATION_CLOCKS = 10,
    NVML_VIOLATION_BASE_CLOCKS = 11,
};
enum { NVML_PSTATE_UNKNOWN = 32 };
enum nvml_ecc_error { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1 };
enum nvml_ecc_counter { NVML_ECC_VOLATILE = 0, NVML_ECC_AGGREGATE = 1 };
enum nvml_ecc_location {
    NVML_ECC_L1 = 0, NVML_ECC_L2 = 1, NVML_ECC_DRAM = 2, NVML_ECC_REGISTER_FILE = 3, NVML_ECC_TEXTURE = 4, NVML_ECC_SHARED = 5,
    NVML_ECC_CBU = 6, NVML_ECC_SRAM = 7,
};
enum nvml_pcie_counter { NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 };
enum { NVML_NVLINKS_MAX = 36 };
enum nvml_nvlink_remote {
    NVML_REMOTE_GPU = 0, NVML_REMOTE_IBM_NPU = 1, NVML_REMOTE_SWITCH = 2, NVML_REMOTE_UNKNOWN = 255,
};
enum nvml_nvlink_capability {
    NVML_LINK_P2P = 0, NVML_LINK_SYSMEM = 1, NVML_LINK_P2P_ATOMICS = 2, NVML_LINK_SYSMEM_ATOMICS = 3, NVML_LINK_SLI = 4,
    NVML_LINK_VALID = 5,
};
enum nvml_nvlink_error {
    NVML_LINK_ERROR_REPLAY = 0, NVML_LINK_ERROR_RECOVERY = 1, NVML_LINK_ERROR_CRC_FLIT = 2, NVML_LINK_ERROR_CRC_DATA = 3,
    NVML_LINK_ERROR_ECC_DATA = 4,
};

/* Field ids of nvmlDeviceGetFieldValues. `scope` is the link where it says so. */
enum nvml_field {
    NVML_FIELD_ECC_SBE_VOLATILE = 3, NVML_FIELD_ECC_DBE_VOLATILE = 4, NVML_FIELD_ECC_SBE_AGGREGATE = 5, NVML_FIELD_ECC_DBE_AGGREGATE = 6,
    NVML_FIELD_NVLINK_CRC_FLIT_TOTAL = 38, NVML_FIELD_NVLINK_CRC_DATA_TOTAL = 45, NVML_FIELD_NVLINK_REPLAY_TOTAL = 52,
    NVML_FIELD_NVLINK_RECOVERY_TOTAL = 59,
    NVML_FIELD_THROTTLE_POWER_CAP = 74, NVML_FIELD_THROTTLE_SYNC_BOOST = 76, NVML_FIELD_THROTTLE_SW_THERMAL = 269,
    NVML_FIELD_THROTTLE_HW_THERMAL = 270, NVML_FIELD_THROTTLE_POWER_BRAKE = 271, /* time, counting up */
    NVML_FIELD_MEMORY_TEMPERATURE = 82, NVML_FIELD_ENERGY_MJ = 83, NVML_FIELD_NVLINK_N = 91,
    NVML_FIELD_PCIE_REPLAY = 94, NVML_FIELD_PCIE_REPLAY_ROLLOVER = 95,
    NVML_FIELD_NVLINK_DATA_TX_KIB = 138, NVML_FIELD_NVLINK_DATA_RX_KIB = 139, NVML_FIELD_NVLINK_RAW_TX_KIB = 140,
    NVML_FIELD_NVLINK_RAW_RX_KIB = 141, /* scope: link, NVML_NONE_U32 = all */
    NVML_FIELD_ROWS_REMAPPED_CORRECTABLE = 142, NVML_FIELD_ROWS_REMAPPED_UNCORRECTABLE = 143, NVML_FIELD_ROWS_REMAP_PENDING = 144,
    NVML_FIELD_ROWS_REMAP_FAILURE = 145, NVML_FIELD_NVSWITCH_LINKS_N = 147,
    NVML_FIELD_C2C_LINKS_N = 170, NVML_FIELD_C2C_STATUS = 171, NVML_FIELD_C2C_MAX_BANDWIDTH = 172,
    NVML_FIELD_RESETLESS_MIG = 184,
    NVML_FIELD_POWER_AVERAGE_MW = 185, NVML_FIELD_POWER_INSTANT_MW = 186, NVML_FIELD_POWER_MIN_LIMIT_MW = 187,
    NVML_FIELD_POWER_MAX_LIMIT_MW = 188, NVML_FIELD_POWER_DEFAULT_LIMIT_MW = 189, NVML_FIELD_POWER_LIMIT_MW = 190,
    NVML_FIELD_T_LIMIT_SHUTDOWN = 193, NVML_FIELD_T_LIMIT_SLOWDOWN = 194, NVML_FIELD_T_LIMIT_MEMORY_MAX = 195,
    NVML_FIELD_T_LIMIT_GPU_MAX = 196, NVML_FIELD_PCIE_TX_BYTES = 197, NVML_FIELD_PCIE_RX_BYTES = 198,
    NVML_FIELD_MIG_QUERY_INDEPENDENT = 199,
    NVML_FIELD_RESET_STATUS = 226, NVML_FIELD_DRAIN_AND_RESET = 227, NVML_FIELD_RECOVERY_ACTION = 230,
    NVML_FIELD_LIMIT = 303,
};
enum nvml_recovery {
    NVML_RECOVERY_NONE = 0, NVML_RECOVERY_GPU_RESET = 1, NVML_RECOVERY_NODE_REBOOT = 2, NVML_RECOVERY_DRAIN_P2P = 3,
    NVML_RECOVERY_DRAIN_AND_RESET = 4, NVML_RECOVERY_RECOVER_IMEX = 5,
};

/* Profile argument of nvmlDeviceGetGpuInstanceProfileInfo (not the hardware's profile id, which the answer holds). */
enum nvml_gpu_instance_profile {
    NVML_GI_1 = 0, NVML_GI_2 = 1, NVML_GI_3 = 2, NVML_GI_4 = 3, NVML_GI_7 = 4, NVML_GI_8 = 5, NVML_GI_6 = 6,
    NVML_GI_1_MEDIA = 7, NVML_GI_2_MEDIA = 8, NVML_GI_1_DOUBLE_MEMORY = 9, NVML_GI_1_GRAPHICS = 10, NVML_GI_2_GRAPHICS = 11,
    NVML_GI_4_GRAPHICS = 12, NVML_GI_1_NO_MEDIA = 13, NVML_GI_2_NO_MEDIA = 14, NVML_GI_1_ALL_MEDIA = 15, NVML_GI_2_ALL_MEDIA = 16,
    NVML_GI_3_GRAPHICS = 17,
    NVML_GI_PROFILES_N = 18, /* grows with the library: ask until INVALID_ARGUMENT */
};
enum nvml_compute_instance_profile {
    NVML_CI_1 = 0, NVML_CI_2 = 1, NVML_CI_3 = 2, NVML_CI_4 = 3, NVML_CI_7 = 4, NVML_CI_8 = 5, NVML_CI_6 = 6, NVML_CI_1_REVISION_1 = 7,
    NVML_CI_7_NVL = 8,
    NVML_CI_PROFILES_N = 9,
};
enum { NVML_CI_ENGINE_SHARED = 0 };
enum nvml_gi_capability { NVML_GI_CAN_P2P = 1, NVML_GI_CAN_GRAPHICS = 2 };

enum nvml_event { /* bits */
    NVML_EVENT_ECC_SINGLE = 1, NVML_EVENT_ECC_DOUBLE = 2, NVML_EVENT_PSTATE = 4, NVML_EVENT_XID = 8, NVML_EVENT_CLOCK = 0x10,
    NVML_EVENT_POWER_SOURCE = 0x80, NVML_EVENT_MIG_CONFIG = 0x100, NVML_EVENT_ECC_STORM = 0x200, NVML_EVENT_DRAM_RETIREMENT = 0x400,
    NVML_EVENT_DRAM_RETIREMENT_FAILURE = 0x800, NVML_EVENT_POISON = 0x1000, NVML_EVENT_POISON_FATAL = 0x2000,
    NVML_EVENT_GPU_UNAVAILABLE = 0x4000, NVML_EVENT_RECOVERY_ACTION = 0x8000,
};
enum nvml_system_event { NVML_SYSTEM_EVENT_UNBIND = 1, NVML_SYSTEM_EVENT_BIND = 2 };

/* What GPU performance monitoring measures; percent unless said. Media engines, links and copy engines count on from the first. */
enum nvml_gpm {
    NVML_GPM_GRAPHICS = 1, NVML_GPM_SM = 2, NVML_GPM_OCCUPANCY = 3, NVML_GPM_INTEGER = 4, NVML_GPM_TENSOR = 5, NVML_GPM_DFMA = 6,
    NVML_GPM_HMMA = 7, NVML_GPM_DMMA = 8, NVML_GPM_IMMA = 9, NVML_GPM_DRAM = 10, NVML_GPM_FP64 = 11, NVML_GPM_FP32 = 12,
    NVML_GPM_FP16 = 13, NVML_GPM_PCIE_TX = 20, NVML_GPM_PCIE_RX = 21, /* MiB/s */
    NVML_GPM_DECODER_0 = 30, NVML_GPM_JPEG_0 = 40, NVML_GPM_OFA_0 = 50, NVML_GPM_OFA_1 = 51,
    NVML_GPM_NVLINK_RX = 60, NVML_GPM_NVLINK_TX = 61, NVML_GPM_LINK_0_RX = 62, NVML_GPM_LINK_0_TX = 63, /* MiB/s; link n: + 2n */
    NVML_GPM_C2C_TX = 100, NVML_GPM_ENCODER_0 = 166,
};
enum { NVML_GPM_VERSION = 1 };

/* One assertion a field: the offset is the contract. */
#define NVML_AT(tag, field, offset) _Static_assert(offsetof(struct tag, field) == (offset), #tag "." #field " is elsewhere")
#define NVML_SIZE(tag, size) _Static_assert(sizeof(struct tag) == (size), #tag " has another size")

/* ---- identity and topology ---- */

/* Calls older than _v3 fill no more than the first 36 bytes (callers gave 52). */
struct nvml_pci_info {
    char bus_id_legacy[NVML_BUS_ID_LEGACY_LENGTH]; /* "0000:07:00.0" */
    uint32_t domain, bus, device;
    uint32_t pci_device_id;    /* device << 16 | vendor */
    uint32_t pci_subsystem_id;
    char bus_id[NVML_BUS_ID_LENGTH]; /* "00000000:07:00.0" */
};
NVML_SIZE(nvml_pci_info, 68);
NVML_AT(nvml_pci_info, domain, 16);
NVML_AT(nvml_pci_info, bus, 20);
NVML_AT(nvml_pci_info, device, 24);
NVML_AT(nvml_pci_info, pci_device_id, 28);
NVML_AT(nvml_pci_info, pci_subsystem_id, 32);
NVML_AT(nvml_pci_info, bus_id, 36);

struct nvml_pci_info_ext {
    uint32_t version, domain, bus, device, pci_device_id, pci_subsystem_id, base_class, sub_class;
    char bus_id[NVML_BUS_ID_LENGTH];
};
#define NVML_PCI_INFO_EXT_V1 NVML_VERSION(sizeof(struct nvml_pci_info_ext), 1)
NVML_SIZE(nvml_pci_info_ext, 64);
NVML_AT(nvml_pci_info_ext, domain, 4);
NVML_AT(nvml_pci_info_ext, bus, 8);
NVML_AT(nvml_pci_info_ext, device, 12);
NVML_AT(nvml_pci_info_ext, pci_device_id, 16);
NVML_AT(nvml_pci_info_ext, pci_subsystem_id, 20);
NVML_AT(nvml_pci_info_ext, base_class, 24);
NVML_AT(nvml_pci_info_ext, sub_class, 28);
NVML_AT(nvml_pci_info_ext, bus_id, 32);

struct nvml_uuid {
    uint32_t version;
    uint32_t type; /* 1 text, 2 binary */
    union {
        char text[41];
        uint8_t binary[16];
    } value;
};
#define NVML_UUID_V1 NVML_VERSION(sizeof(struct nvml_uuid), 1)
NVML_SIZE(nvml_uuid, 52);
NVML_AT(nvml_uuid, type, 4);
NVML_AT(nvml_uuid, value, 8);

struct nvml_fabric_info {
    uint8_t cluster_uuid[16];
    int32_t status; /* enum nvml_code; means something when state is COMPLETED */
    uint32_t clique_id;
    uint8_t state;
};
NVML_SIZE(nvml_fabric_info, 28);
NVML_AT(nvml_fabric_info, status, 16);
NVML_AT(nvml_fabric_info, clique_id, 20);
NVML_AT(nvml_fabric_info, state, 24);

struct nvml_fabric_info_v2 {
    uint32_t version;
    uint8_t cluster_uuid[16];
    int32_t status;
    uint32_t clique_id;
    uint8_t state;
    uint32_t health_mask;
};
#define NVML_FABRIC_INFO_V2 NVML_VERSION(sizeof(struct nvml_fabric_info_v2), 2)
NVML_SIZE(nvml_fabric_info_v2, 36);
NVML_AT(nvml_fabric_info_v2, cluster_uuid, 4);
NVML_AT(nvml_fabric_info_v2, status, 20);
NVML_AT(nvml_fabric_info_v2, clique_id, 24);
NVML_AT(nvml_fabric_info_v2, state, 28);
NVML_AT(nvml_fabric_info_v2, health_mask, 32);

struct nvml_fabric_info_v3 {
    uint32_t version;
    uint8_t cluster_uuid[16];
    int32_t status;
    uint32_t clique_id;
    uint8_t state;
    uint32_t health_mask;
    uint8_t health_summary;
};
#define NVML_FABRIC_INFO_V3 NVML_VERSION(sizeof(struct nvml_fabric_info_v3), 3)
NVML_SIZE(nvml_fabric_info_v3, 40);
NVML_AT(nvml_fabric_info_v3, cluster_uuid, 4);
NVML_AT(nvml_fabric_info_v3, status, 20);
NVML_AT(nvml_fabric_info_v3, clique_id, 24);
NVML_AT(nvml_fabric_info_v3, state, 28);
NVML_AT(nvml_fabric_info_v3, health_mask, 32);
NVML_AT(nvml_fabric_info_v3, health_summary, 36);

struct nvml_platform_info {
    uint32_t version;
    uint8_t infiniband_guid[16], chassis_serial[16];
    uint8_t slot, tray, host_id, peer_type, module_id;
};
#define NVML_PLATFORM_INFO_V2 NVML_VERSION(sizeof(struct nvml_platform_info), 2)
NVML_SIZE(nvml_platform_info, 44);
NVML_AT(nvml_platform_info, infiniband_guid, 4);
NVML_AT(nvml_platform_info, chassis_serial, 20);
NVML_AT(nvml_platform_info, slot, 36);
NVML_AT(nvml_platform_info, tray, 37);
NVML_AT(nvml_platform_info, host_id, 38);
NVML_AT(nvml_platform_info, peer_type, 39);
NVML_AT(nvml_platform_info, module_id, 40);

struct nvml_addressing_mode {
    uint32_t version, mode; /* 0 none, 1 heterogeneous memory, 2 address translation service */
};
#define NVML_ADDRESSING_MODE_V1 NVML_VERSION(sizeof(struct nvml_addressing_mode), 1)
NVML_SIZE(nvml_addressing_mode, 8);
NVML_AT(nvml_addressing_mode, mode, 4);

/* ---- memory, utilisation, processes ---- */

struct nvml_memory {
    uint64_t total_bytes, free_bytes, used_bytes; /* used includes what the driver holds */
};
NVML_SIZE(nvml_memory, 24);
NVML_AT(nvml_memory, free_bytes, 8);
NVML_AT(nvml_memory, used_bytes, 16);

struct nvml_memory_v2 {
    uint32_t version;
    uint64_t total_bytes, reserved_bytes, free_bytes, used_bytes;
};
#define NVML_MEMORY_V2 NVML_VERSION(sizeof(struct nvml_memory_v2), 2)
NVML_SIZE(nvml_memory_v2, 40);
NVML_AT(nvml_memory_v2, total_bytes, 8);
NVML_AT(nvml_memory_v2, reserved_bytes, 16);
NVML_AT(nvml_memory_v2, free_bytes, 24);
NVML_AT(nvml_memory_v2, used_bytes, 32);

struct nvml_bar1_memory {
    uint64_t total_bytes, free_bytes, used_bytes;
};
NVML_SIZE(nvml_bar1_memory, 24);
NVML_AT(nvml_bar1_memory, free_bytes, 8);
NVML_AT(nvml_bar1_memory, used_bytes, 16);

struct nvml_utilization {
    uint32_t gpu_percent, memory_percent;
};
NVML_SIZE(nvml_utilization, 8);
NVML_AT(nvml_utilization, memory_percent, 4);

/* Entry of the unsuffixed process lists. */
struct nvml_process_v1 {
    uint32_t pid;
    uint64_t used_bytes;
};
NVML_SIZE(nvml_process_v1, 16);
NVML_AT(nvml_process_v1, used_bytes, 8);

/* Entry of the _v2 and _v3 process lists. */
struct nvml_process {
    uint32_t pid;
    uint64_t used_bytes;                  /* NVML_NONE_U64: not available */
    uint32_t gpu_instance, compute_instance; /* NVML_NONE_U32 when not MIG */
};
NVML_SIZE(nvml_process, 24);
NVML_AT(nvml_process, used_bytes, 8);
NVML_AT(nvml_process, gpu_instance, 16);
NVML_AT(nvml_process, compute_instance, 20);

struct nvml_process_detail {
    uint32_t pid;
    uint64_t used_bytes;
    uint32_t gpu_instance, compute_instance;
    uint64_t protected_bytes;
};
NVML_SIZE(nvml_process_detail, 32);
NVML_AT(nvml_process_detail, used_bytes, 8);
NVML_AT(nvml_process_detail, gpu_instance, 16);
NVML_AT(nvml_process_detail, compute_instance, 20);
NVML_AT(nvml_process_detail, protected_bytes, 24);

struct nvml_process_detail_list {
    uint32_t version, mode, n; /* mode: enum nvml_process_mode */
    struct nvml_process_detail *list;
};
#define NVML_PROCESS_DETAIL_LIST_V1 NVML_VERSION(sizeof(struct nvml_process_detail_list), 1)
NVML_SIZE(nvml_process_detail_list, 24);
NVML_AT(nvml_process_detail_list, mode, 4);
NVML_AT(nvml_process_detail_list, n, 8);
NVML_AT(nvml_process_detail_list, list, 16);

struct nvml_process_utilization_sample {
    uint32_t pid;
    uint64_t timestamp_us;
    uint32_t sm_percent, memory_percent, encoder_percent, decoder_percent;
};
NVML_SIZE(nvml_process_utilization_sample, 32);
NVML_AT(nvml_process_utilization_sample, timestamp_us, 8);
NVML_AT(nvml_process_utilization_sample, sm_percent, 16);
NVML_AT(nvml_process_utilization_sample, memory_percent, 20);
NVML_AT(nvml_process_utilization_sample, encoder_percent, 24);
NVML_AT(nvml_process_utilization_sample, decoder_percent, 28);

struct nvml_process_utilization {
    uint64_t timestamp_us;
    uint32_t pid, sm_percent, memory_percent, encoder_percent, decoder_percent, jpeg_percent, ofa_percent;
};
NVML_SIZE(nvml_process_utilization, 40);
NVML_AT(nvml_process_utilization, pid, 8);
NVML_AT(nvml_process_utilization, sm_percent, 12);
NVML_AT(nvml_process_utilization, memory_percent, 16);
NVML_AT(nvml_process_utilization, encoder_percent, 20);
NVML_AT(nvml_process_utilization, decoder_percent, 24);
NVML_AT(nvml_process_utilization, jpeg_percent, 28);
NVML_AT(nvml_process_utilization, ofa_percent, 32);

struct nvml_process_utilization_list {
    uint32_t version, n;
    uint64_t last_seen_us;
    struct nvml_process_utilization *list;
};
#define NVML_PROCESS_UTILIZATION_LIST_V1 NVML_VERSION(sizeof(struct nvml_process_utilization_list), 1)
NVML_SIZE(nvml_process_utilization_list, 24);
NVML_AT(nvml_process_utilization_list, n, 4);
NVML_AT(nvml_process_utilization_list, last_seen_us, 8);
NVML_AT(nvml_process_utilization_list, list, 16);

union nvml_value { /* enum nvml_value_type says which */
    double d;
    int32_t s32;
    uint32_t u32;
    unsigned long ul;
    uint64_t u64;
    int64_t s64;
    uint16_t u16;
};
struct nvml_sample {
    uint64_t timestamp_us;
    union nvml_value value;
};
NVML_SIZE(nvml_sample, 16);
NVML_AT(nvml_sample, value, 8);

struct nvml_field_value {
    uint32_t field, scope;
    int64_t timestamp_us, latency_us;
    int32_t value_type, code; /* enum nvml_value_type, enum nvml_code */
    union nvml_value value;
};
NVML_SIZE(nvml_field_value, 40);
NVML_AT(nvml_field_value, scope, 4);
NVML_AT(nvml_field_value, timestamp_us, 8);
NVML_AT(nvml_field_value, latency_us, 16);
NVML_AT(nvml_field_value, value_type, 24);
NVML_AT(nvml_field_value, code, 28);
NVML_AT(nvml_field_value, value, 32);

struct nvml_accounting {
    uint32_t gpu_percent, memory_percent;
    uint64_t max_memory_bytes, time_ms, start_us;
    uint32_t running, unused[5];
};
NVML_SIZE(nvml_accounting, 56);
NVML_AT(nvml_accounting, memory_percent, 4);
NVML_AT(nvml_accounting, max_memory_bytes, 8);
NVML_AT(nvml_accounting, time_ms, 16);
NVML_AT(nvml_accounting, start_us, 24);
NVML_AT(nvml_accounting, running, 32);
NVML_AT(nvml_accounting, unused, 36);

struct nvml_accounting_v2 {
    uint32_t pid, running, gpu_percent, memory_percent;
    uint64_t max_memory_bytes, samples_n, sum_gpu, sum_memory, time_ms, start_us;
};
NVML_SIZE(nvml_accounting_v2, 64);
NVML_AT(nvml_accounting_v2, running, 4);
NVML_AT(nvml_accounting_v2, gpu_percent, 8);
NVML_AT(nvml_accounting_v2, memory_percent, 12);
NVML_AT(nvml_accounting_v2, max_memory_bytes, 16);
NVML_AT(nvml_accounting_v2, samples_n, 24);
NVML_AT(nvml_accounting_v2, sum_gpu, 32);
NVML_AT(nvml_accounting_v2, sum_memory, 40);
NVML_AT(nvml_accounting_v2, time_ms, 48);
NVML_AT(nvml_accounting_v2, start_us, 56);

/* ---- temperature, power, ECC ---- */

struct nvml_temperature {
    uint32_t version;
    int32_t sensor; /* 0: the GPU */
    int32_t celsius;
};
#define NVML_TEMPERATURE_V1 NVML_VERSION(sizeof(struct nvml_temperature), 1)
NVML_SIZE(nvml_temperature, 12);
NVML_AT(nvml_temperature, sensor, 4);
NVML_AT(nvml_temperature, celsius, 8);

struct nvml_margin_temperature {
    uint32_t version;
    int32_t celsius; /* until the slowdown */
};
#define NVML_MARGIN_TEMPERATURE_V1 NVML_VERSION(sizeof(struct nvml_margin_temperature), 1)
NVML_SIZE(nvml_margin_temperature, 8);
NVML_AT(nvml_margin_temperature, celsius, 4);

struct nvml_power_value {
    uint32_t version;
    uint8_t scope; /* enum nvml_power_scope */
    uint32_t power_mw;
};
#define NVML_POWER_VALUE_V2 NVML_VERSION(sizeof(struct nvml_power_value), 2)
NVML_SIZE(nvml_power_value, 12);
NVML_AT(nvml_power_value, scope, 4);
NVML_AT(nvml_power_value, power_mw, 8);

struct nvml_violation_time {
    uint64_t reference_us, violation_ns;
};
NVML_SIZE(nvml_violation_time, 16);
NVML_AT(nvml_violation_time, violation_ns, 8);

struct nvml_ecc_sram {
    uint32_t version;
    uint64_t aggregate_parity, aggregate_secded, aggregate_corrected, volatile_parity, volatile_secded, volatile_corrected;
    uint64_t aggregate_l2, aggregate_sm, aggregate_pcie, aggregate_mcu, aggregate_other; /* uncorrected, by place */
    uint32_t threshold_exceeded;
};
#define NVML_ECC_SRAM_V1 NVML_VERSION(sizeof(struct nvml_ecc_sram), 1)
NVML_SIZE(nvml_ecc_sram, 104);
NVML_AT(nvml_ecc_sram, aggregate_parity, 8);
NVML_AT(nvml_ecc_sram, aggregate_secded, 16);
NVML_AT(nvml_ecc_sram, aggregate_corrected, 24);
NVML_AT(nvml_ecc_sram, volatile_parity, 32);
NVML_AT(nvml_ecc_sram, volatile_secded, 40);
NVML_AT(nvml_ecc_sram, volatile_corrected, 48);
NVML_AT(nvml_ecc_sram, aggregate_l2, 56);
NVML_AT(nvml_ecc_sram, aggregate_sm, 64);
NVML_AT(nvml_ecc_sram, aggregate_pcie, 72);
NVML_AT(nvml_ecc_sram, aggregate_mcu, 80);
NVML_AT(nvml_ecc_sram, aggregate_other, 88);
NVML_AT(nvml_ecc_sram, threshold_exceeded, 96);

struct nvml_row_histogram { /* banks by how many spare rows they still have */
    uint32_t max, high, partial, low, none;
};
NVML_SIZE(nvml_row_histogram, 20);
NVML_AT(nvml_row_histogram, high, 4);
NVML_AT(nvml_row_histogram, partial, 8);
NVML_AT(nvml_row_histogram, low, 12);
NVML_AT(nvml_row_histogram, none, 16);

/* ---- MIG ---- */

struct nvml_placement {
    uint32_t start, size; /* memory slices of the GPU; compute slices of the GPU instance */
};
NVML_SIZE(nvml_placement, 8);
NVML_AT(nvml_placement, size, 4);

struct nvml_gi_profile {
    uint32_t id, p2p, slices_n, instances_n, sm_n, copy_n, decoder_n, encoder_n, jpeg_n, ofa_n;
    uint64_t memory_mib;
};
NVML_SIZE(nvml_gi_profile, 48);
NVML_AT(nvml_gi_profile, p2p, 4);
NVML_AT(nvml_gi_profile, slices_n, 8);
NVML_AT(nvml_gi_profile, instances_n, 12);
NVML_AT(nvml_gi_profile, sm_n, 16);
NVML_AT(nvml_gi_profile, copy_n, 20);
NVML_AT(nvml_gi_profile, decoder_n, 24);
NVML_AT(nvml_gi_profile, encoder_n, 28);
NVML_AT(nvml_gi_profile, jpeg_n, 32);
NVML_AT(nvml_gi_profile, ofa_n, 36);
NVML_AT(nvml_gi_profile, memory_mib, 40);

struct nvml_gi_profile_v2 {
    uint32_t version, id, p2p, slices_n, instances_n, sm_n, copy_n, decoder_n, encoder_n, jpeg_n, ofa_n;
    uint64_t memory_mib;
    char name[NVML_NAME_LENGTH]; /* "MIG 1g.5gb" */
};
#define NVML_GI_PROFILE_V2 NVML_VERSION(sizeof(struct nvml_gi_profile_v2), 2)
NVML_SIZE(nvml_gi_profile_v2, 152);
NVML_AT(nvml_gi_profile_v2, id, 4);
NVML_AT(nvml_gi_profile_v2, p2p, 8);
NVML_AT(nvml_gi_profile_v2, slices_n, 12);
NVML_AT(nvml_gi_profile_v2, instances_n, 16);
NVML_AT(nvml_gi_profile_v2, sm_n, 20);
NVML_AT(nvml_gi_profile_v2, copy_n, 24);
NVML_AT(nvml_gi_profile_v2, decoder_n, 28);
NVML_AT(nvml_gi_profile_v2, encoder_n, 32);
NVML_AT(nvml_gi_profile_v2, jpeg_n, 36);
NVML_AT(nvml_gi_profile_v2, ofa_n, 40);
NVML_AT(nvml_gi_profile_v2, memory_mib, 48);
NVML_AT(nvml_gi_profile_v2, name, 56);

struct nvml_gi_profile_v3 {
    uint32_t version, id, slices_n, instances_n, sm_n, copy_n, decoder_n, encoder_n, jpeg_n, ofa_n;
    uint64_t memory_mib;
    char name[NVML_NAME_LENGTH];
    uint32_t capabilities; /* bits of enum nvml_gi_capability */
};
#define NVML_GI_PROFILE_V3 NVML_VERSION(sizeof(struct nvml_gi_profile_v3), 3)
NVML_SIZE(nvml_gi_profile_v3, 152);
NVML_AT(nvml_gi_profile_v3, id, 4);
NVML_AT(nvml_gi_profile_v3, slices_n, 8);
NVML_AT(nvml_gi_profile_v3, instances_n, 12);
NVML_AT(nvml_gi_profile_v3, sm_n, 16);
NVML_AT(nvml_gi_profile_v3, copy_n, 20);
NVML_AT(nvml_gi_profile_v3, decoder_n, 24);
NVML_AT(nvml_gi_profile_v3, encoder_n, 28);
NVML_AT(nvml_gi_profile_v3, jpeg_n, 32);
NVML_AT(nvml_gi_profile_v3, ofa_n, 36);
NVML_AT(nvml_gi_profile_v3, memory_mib, 40);
NVML_AT(nvml_gi_profile_v3, name, 48);
NVML_AT(nvml_gi_profile_v3, capabilities, 144);

struct nvml_gi_info {
    struct nvml_device *device;
    uint32_t id, profile_id;
    struct nvml_placement placement;
};
NVML_SIZE(nvml_gi_info, 24);
NVML_AT(nvml_gi_info, id, 8);
NVML_AT(nvml_gi_info, profile_id, 12);
NVML_AT(nvml_gi_info, placement, 16);

struct nvml_ci_profile {
    uint32_t id, slices_n, instances_n, sm_n, copy_n, decoder_n, encoder_n, jpeg_n, ofa_n;
};
NVML_SIZE(nvml_ci_profile, 36);
NVML_AT(nvml_ci_profile, slices_n, 4);
NVML_AT(nvml_ci_profile, instances_n, 8);
NVML_AT(nvml_ci_profile, sm_n, 12);
NVML_AT(nvml_ci_profile, copy_n, 16);
NVML_AT(nvml_ci_profile, decoder_n, 20);
NVML_AT(nvml_ci_profile, encoder_n, 24);
NVML_AT(nvml_ci_profile, jpeg_n, 28);
NVML_AT(nvml_ci_profile, ofa_n, 32);

struct nvml_ci_profile_v2 {
    uint32_t version, id, slices_n, instances_n, sm_n, copy_n, decoder_n, encoder_n, jpeg_n, ofa_n;
    char name[NVML_NAME_LENGTH];
};
#define NVML_CI_PROFILE_V2 NVML_VERSION(sizeof(struct nvml_ci_profile_v2), 2)
NVML_SIZE(nvml_ci_profile_v2, 136);
NVML_AT(nvml_ci_profile_v2, id, 4);
NVML_AT(nvml_ci_profile_v2, slices_n, 8);
NVML_AT(nvml_ci_profile_v2, instances_n, 12);
NVML_AT(nvml_ci_profile_v2, sm_n, 16);
NVML_AT(nvml_ci_profile_v2, ofa_n, 36);
NVML_AT(nvml_ci_profile_v2, name, 40);

struct nvml_ci_profile_v3 {
    uint32_t version, id, slices_n, instances_n, sm_n, copy_n, decoder_n, encoder_n, jpeg_n, ofa_n;
    char name[NVML_NAME_LENGTH];
    uint32_t capabilities;
};
#define NVML_CI_PROFILE_V3 NVML_VERSION(sizeof(struct nvml_ci_profile_v3), 3)
NVML_SIZE(nvml_ci_profile_v3, 140);
NVML_AT(nvml_ci_profile_v3, id, 4);
NVML_AT(nvml_ci_profile_v3, name, 40);
NVML_AT(nvml_ci_profile_v3, capabilities, 136);

struct nvml_ci_info {
    struct nvml_device *device; /* the MIG device, whose UUID is new */
    struct nvml_gpu_instance *gpu_instance;
    uint32_t id, profile_id;
    struct nvml_placement placement;
};
NVML_SIZE(nvml_ci_info, 32);
NVML_AT(nvml_ci_info, gpu_instance, 8);
NVML_AT(nvml_ci_info, id, 16);
NVML_AT(nvml_ci_info, profile_id, 20);
NVML_AT(nvml_ci_info, placement, 24);

struct nvml_attributes {
    uint32_t sm_n, copy_n, decoder_n, encoder_n, jpeg_n, ofa_n, gi_slices_n, ci_slices_n;
    uint64_t memory_mib;
};
NVML_SIZE(nvml_attributes, 40);
NVML_AT(nvml_attributes, copy_n, 4);
NVML_AT(nvml_attributes, decoder_n, 8);
NVML_AT(nvml_attributes, encoder_n, 12);
NVML_AT(nvml_attributes, jpeg_n, 16);
NVML_AT(nvml_attributes, ofa_n, 20);
NVML_AT(nvml_attributes, gi_slices_n, 24);
NVML_AT(nvml_attributes, ci_slices_n, 28);
NVML_AT(nvml_attributes, memory_mib, 32);

/* ---- events ---- */

struct nvml_event_data {
    struct nvml_device *device; /* NULL: the library does not say which */
    uint64_t type, data;        /* one bit of enum nvml_event; XID number */
    uint32_t gpu_instance, compute_instance; /* NVML_NONE_U32: none */
};
NVML_SIZE(nvml_event_data, 32);
NVML_AT(nvml_event_data, type, 8);
NVML_AT(nvml_event_data, data, 16);
NVML_AT(nvml_event_data, gpu_instance, 24);
NVML_AT(nvml_event_data, compute_instance, 28);

struct nvml_system_event_data {
    uint64_t type; /* enum nvml_system_event */
    uint32_t gpu_id;
};
NVML_SIZE(nvml_system_event_data, 16);
NVML_AT(nvml_system_event_data, gpu_id, 8);

struct nvml_system_event_create { /* and free: the same shape */
    uint32_t version;
    struct nvml_system_event_set *set;
};
#define NVML_SYSTEM_EVENT_CREATE_V1 NVML_VERSION(sizeof(struct nvml_system_event_create), 1)
NVML_SIZE(nvml_system_event_create, 16);
NVML_AT(nvml_system_event_create, set, 8);

struct nvml_system_event_register {
    uint32_t version;
    uint64_t types;
    struct nvml_system_event_set *set;
};
#define NVML_SYSTEM_EVENT_REGISTER_V1 NVML_VERSION(sizeof(struct nvml_system_event_register), 1)
NVML_SIZE(nvml_system_event_register, 24);
NVML_AT(nvml_system_event_register, types, 8);
NVML_AT(nvml_system_event_register, set, 16);

struct nvml_system_event_wait {
    uint32_t version, timeout_ms;
    struct nvml_system_event_set *set;
    struct nvml_system_event_data *data;
    uint32_t data_size, events_n;
};
#define NVML_SYSTEM_EVENT_WAIT_V1 NVML_VERSION(sizeof(struct nvml_system_event_wait), 1)
NVML_SIZE(nvml_system_event_wait, 32);
NVML_AT(nvml_system_event_wait, timeout_ms, 4);
NVML_AT(nvml_system_event_wait, set, 8);
NVML_AT(nvml_system_event_wait, data, 16);
NVML_AT(nvml_system_event_wait, data_size, 24);
NVML_AT(nvml_system_event_wait, events_n, 28);

/* ---- GPU performance monitoring ---- */

struct nvml_gpm_support {
    uint32_t version, supported; /* version: NVML_GPM_VERSION, no size in it */
};
NVML_SIZE(nvml_gpm_support, 8);
NVML_AT(nvml_gpm_support, supported, 4);

struct nvml_gpm_metric {
    uint32_t id;
    int32_t code; /* enum nvml_code */
    double value;
    const char *short_name, *long_name, *unit;
};
NVML_SIZE(nvml_gpm_metric, 40);
NVML_AT(nvml_gpm_metric, code, 4);
NVML_AT(nvml_gpm_metric, value, 8);
NVML_AT(nvml_gpm_metric, short_name, 16);
NVML_AT(nvml_gpm_metric, long_name, 24);
NVML_AT(nvml_gpm_metric, unit, 32);

/* The library reads and writes `metrics_n` entries; the vendor's array has a fixed length that grew over the releases. */
struct nvml_gpm_metrics {
    uint32_t version, metrics_n;
    struct nvml_gpm_sample *sample1, *sample2;
    struct nvml_gpm_metric metrics[];
};
NVML_SIZE(nvml_gpm_metrics, 24);
NVML_AT(nvml_gpm_metrics, metrics_n, 4);
NVML_AT(nvml_gpm_metrics, sample1, 8);
NVML_AT(nvml_gpm_metrics, sample2, 16);
NVML_AT(nvml_gpm_metrics, metrics, 24);

#endif
