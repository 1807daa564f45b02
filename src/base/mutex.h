/* mutex.h - a lock that a thread waits for with a limit */
#ifndef BASE_MUTEX_H
#define BASE_MUTEX_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* ThreadSanitizer does not see locks that are taken with a limit, nor that one may answer EOWNERDEAD and is held then: there they are tried
 * for again and again. */
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER
#endif
#endif

/* False: not within ms. */
bool mutex_lock_within(pthread_mutex_t *m, int64_t ms);

#endif
