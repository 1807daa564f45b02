/* store_writer.h - one thread that writes to the file while the loop goes on
 *
 * RACE   work(arg) runs on the thread, one at a time; done(arg) in the loop's turn after it. Between store_writer_start and done the loop
 *        must not touch what work writes, nor write what it reads.
 * WHY    a commit of thirty objects takes half a millisecond, and every few seconds as long as the disk needs.
 */
#ifndef APISERVER_STORE_WRITER_H
#define APISERVER_STORE_WRITER_H
#include "loop/loop.h"

struct store_writer;
/* NULL: there is no thread to be had. The loop runs in real time. */
struct store_writer *store_writer_new(struct loop *l, loop_fn work, loop_fn done, void *arg);
void store_writer_start(struct store_writer *w); /* not while one runs: `done` has been called since the last */
void store_writer_free(struct store_writer *w);  /* NULL-safe; waits for what runs, and calls its `done` */

#endif
