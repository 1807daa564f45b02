/* mutex.c - see mutex.h */
#include "base/mutex.h"
#include <time.h>
#include <unistd.h>
#include "base/clock.h"

bool mutex_lock_within(pthread_mutex_t *m, int64_t ms)
{
#ifdef THREAD_SANITIZER
    int64_t end_us = clock_monotonic_us() + ms * 1000;
    while (pthread_mutex_trylock(m) != 0) {
        if (clock_monotonic_us() >= end_us)
            return false;
        (void)usleep(200);
    }
    return true;
#else
    struct timespec until = clock_monotonic_after(ms);
    return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &until) == 0;
#endif
}
