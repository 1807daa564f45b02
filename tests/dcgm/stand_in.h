/* stand_in.h - a library that behaves like libdcgm.so.4 with a host engine, for machines without GPUs; what a test sets and sees of it
 *
 * The test opens the library too and finds `struct dcgm_stand_in stand_in` there. It has no threads: set it while no call runs, but for
 * `hang`. While one may run, read only `reads_n`.
 */
#ifndef TESTS_DCGM_STAND_IN_H
#define TESTS_DCGM_STAND_IN_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "gpu/dcgm.h"

struct dcgm_stand_in {
    /* what there is: entity ids are 10 + position, of instances 100 + position */
    struct { char uuid[48]; } gpus[8];
    uint32_t gpus_n;
    struct { uint32_t gpu, gi; double graphics; } instances[16];
    uint32_t instances_n;
    double number[8];           /* field 1001 of each GPU; 1009 gives a million times that */
    /* faults */
    bool down;                  /* nobody listens */
    bool no_embedded;
    bool old_values;            /* values carry another version word */
    bool one_by_one;            /* several fields in one watch are refused */
    uint16_t unsupported, blank; /* this field is refused; has no value */
    int64_t age_us;             /* of the values */
    int64_t now_us;             /* they were taken at now_us - age_us */
    atomic_bool hang;           /* reads do not return */
    atomic_uint reads_n;        /* that have not returned */
    /* what was done */
    uint32_t connects_n, open_n, watches_n, embedded_n;
    long long period_us;
    char address[64];
    bool is_unix_socket;
};

#endif
