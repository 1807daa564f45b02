/* change_io.h - records of flow.h as bytes, and back: one walk over each record for both ways
 *
 * SHAPE  numbers are varints (7 bits a byte, the least first; signed ones zigzag), lists their length and their items, names numbers of a
 *        dictionary: 0 none, 1 a new one (length and bytes follow; it gets the next number), else number + 1.
 * LIMIT  a list has at most as many items as bytes are left.
 * BAD INPUT  reading sets `bad`; nothing beyond `end` is touched.
 */
#ifndef SCHED_RECORD_CHANGE_IO_H
#define SCHED_RECORD_CHANGE_IO_H
#include "base/arena.h"
#include "base/collections/intern.h"
#include "core/decide.h"
#include "core/flow.h"

struct change_io {
    bool reading, bad;
    struct intern *names;
    struct buf *out;      /* writing */
    const char *at, *end; /* reading */
    struct arena *arena;  /* reading: what records point to */
    /* the dictionary; both sides forget it together */
    uint32_t *numbers; /* writing: by name_id; 0 = not there */
    size_t numbers_cap;
    name_id *ids; /* reading: by number */
    size_t ids_cap;
    uint32_t numbers_n;
};
void change_io_fini(struct change_io *io);
void change_io_forget(struct change_io *io); /* names may have gone, and ids be given to others */
void change_io_number(struct change_io *io, int64_t *n);
void change_io_name(struct change_io *io, name_id *name);
void change_io_change(struct change_io *io, struct change *c);
void change_io_config(struct change_io *io, struct decide_config *c);
/* weights of the consumption policy stand in the arena when read */
void change_io_policy(struct change_io *io, struct policy *p);
void varint_put(struct buf *out, uint64_t v);

#endif
