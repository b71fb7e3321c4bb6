/* What an engine was asked and what it answered, so that a killed run can be gone through again without the
 * engine, to the same bits: whoever asks the same questions gets the same answers, until the journal ends or
 * another question comes. From there on it is written anew.
 *
 * Its first line says whose answers these are (engine, model, system). Then two lines a question: it, and
 * its answer; or {"failed":STATUS,"message":TEXT} where there was none. A torn end, of a run that was killed
 * while it wrote, is cut off, and so are failures at the end: what ended a run may have passed, and is asked
 * again. */
#ifndef BERTH_JOURNAL_H
#define BERTH_JOURNAL_H

#include "arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct berth_journal berth_journal;

/* Open path: to be gone through from its beginning where resume is set and it is there, else empty. of: its
 * first line, without the newline. Lives in mem; berth_journal_close closes the file. Fails: BERTH_EINVAL
 * (the one that is there is of something else; it stays as it is), BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_journal_open(const char *path, bool resume, const char *of, berth_arena *mem,
                                berth_journal **out, berth_err *err);
/* j may be NULL. */
void berth_journal_close(berth_journal *j);

/* The answer to the question, where it is the next one; else NULL, and what the journal held from here on is
 * dropped. */
const char *berth_journal_answer(berth_journal *j, const char *question);

/* Add a question, after berth_journal_answer has said NULL to it, and its answer. Neither has a newline.
 * Fails: BERTH_EIO. */
berth_status berth_journal_add(berth_journal *j, const char *question, const char *answer, berth_err *err);

/* Questions that were answered from the journal. */
int32_t berth_journal_replayed(const berth_journal *j);

#endif
