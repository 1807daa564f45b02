/* store_writer.c - see store_writer.h */
#include "apiserver/store/store_writer.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/memory.h"

enum { STACK_SIZE = 512 * 1024 }; /* UNIT bytes; SQLite takes a tenth */

struct store_writer {
    struct loop_async *async;
    loop_fn work, done;
    void *arg;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t asked;
    bool is_asked, is_done, is_ending;
};

static void *writer_main(void *arg)
{
    struct store_writer *w = arg;
    (void)pthread_mutex_lock(&w->lock);
    while (w->is_asked || !w->is_ending) {
        if (!w->is_asked) {
            (void)pthread_cond_wait(&w->asked, &w->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&w->lock);
        w->work(w->arg);
        (void)pthread_mutex_lock(&w->lock);
        w->is_asked = false;
        w->is_done = true;
        loop_async_send(w->async);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void on_async(void *arg)
{
    struct store_writer *w = arg;
    (void)pthread_mutex_lock(&w->lock);
    bool is_done = w->is_done;
    w->is_done = false;
    (void)pthread_mutex_unlock(&w->lock);
    if (is_done)
        w->done(w->arg);
}

static bool thread_start(struct store_writer *w)
{
    sigset_t all, before;
    pthread_attr_t a;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the loop's */
    (void)pthread_attr_init(&a);
    (void)pthread_attr_setstacksize(&a, STACK_SIZE);
    bool ok = pthread_create(&w->thread, &a, writer_main, w) == 0;
    (void)pthread_attr_destroy(&a);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

static void writer_release(struct store_writer *w)
{
    loop_async_free(w->async);
    (void)pthread_cond_destroy(&w->asked);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
}

struct store_writer *store_writer_new(struct loop *l, loop_fn work, loop_fn done, void *arg)
{
    struct store_writer *w = mem_zero(1, sizeof *w);
    w->work = work;
    w->done = done;
    w->arg = arg;
    w->async = loop_async_new(l, on_async, w);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->asked, NULL);
    if (thread_start(w))
        return w;
    writer_release(w);
    return NULL;
}

void store_writer_start(struct store_writer *w)
{
    (void)pthread_mutex_lock(&w->lock);
    assert(!w->is_asked && !w->is_done);
    w->is_asked = true;
    (void)pthread_cond_signal(&w->asked);
    (void)pthread_mutex_unlock(&w->lock);
}

void store_writer_free(struct store_writer *w)
{
    if (!w)
        return;
    (void)pthread_mutex_lock(&w->lock);
    w->is_ending = true;
    (void)pthread_cond_signal(&w->asked);
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->thread, NULL);
    if (w->is_done)
        w->done(w->arg);
    writer_release(w);
}
