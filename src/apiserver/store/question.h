/* question.h - what watchers ask of the objects of a kind, and the answers noted with each stored body
 *
 * WHY    the state after one change is the state before the next, and several watchers ask the same: each version is asked once. Who
 *        writes it has the tree at hand, which answers for a tenth of what a walk through the text costs.
 * LIMIT  STORE_NOTE_QUESTIONS of each kind for as long as the server runs: those inside come first, and stay.
 */
#ifndef APISERVER_QUESTION_H
#define APISERVER_QUESTION_H
#include "apiserver/store/selector.h"
#include "apiserver/store/store.h"

struct questions;
struct questions *questions_new(void);
void questions_free(struct questions *q);
/* The number of a question among those of its kind, whose texts are those of a selector that was parsed. STORE_NOTE_QUESTIONS: one too
 * many, asked each time. */
uint32_t question_of(struct questions *q, uint32_t kind_id, const struct selector_kind *k, const char *labels, const char *fields);
bool question_answer(const struct questions *q, uint32_t kind_id, uint32_t number, struct blob *body);
/* Note with the body what the object that it was printed of answers to all of them, and whether it is plain (STORE_NOTE_PLAIN).
 * was: the object lacks its spec, which is that of this body, but for the members spec_added (store/apart.h). */
void questions_note(const struct questions *q, uint32_t kind_id, const struct json *object, const struct blob *was,
                    const struct json *spec_added, struct blob *body);

#endif
