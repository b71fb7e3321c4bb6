/* What an engine was asked and what it answered. With it a killed run is gone through again without the
 * engine, to the same bits: the same questions get the same answers, until the journal ends or another
 * question comes. From there on it is written anew.
 *
 * The first line says whose answers these are (engine, model, system). Each question has two lines: the
 * question, and its answer or {"failed":STATUS,"message":TEXT}. Each of these entries is followed by a line
 * with its check, which holds in its place only: the first 16 hexadecimal digits of the SHA-256 of the check
 * before it and the entry. What an engine has said outlasts a loss of power before it is asked again.
 *
 * Two things at the end are cut off. One is what does not fit its check, of a run that ended while it wrote.
 * The other is failures: what ended a run may have passed, so that it is asked again. */
#pragma once

#include "arena.h"

typedef struct berth_journal berth_journal;

/* Open the journal at path. With resume, one that is there is gone through from its beginning; else it
 * starts empty. of: its first line, without the newline. Lives in mem; berth_journal_close closes the file.
 * Fails: BERTH_EINVAL (the one that is there has another first line; it stays as it is), BERTH_EIO,
 * BERTH_ENOMEM. */
berth_status berth_journal_open(const char *path, bool resume, const char *of, berth_arena *mem,
                                berth_journal **out, berth_err *err);
/* j may be NULL. */
void berth_journal_close(berth_journal *j);

/* The answer to the question, if that is the next one. Otherwise NULL, and the journal drops all that it held
 * from here on. */
const char *berth_journal_answer(berth_journal *j, const char *question);

/* Add a question, after berth_journal_answer has said NULL to it, and its answer. Neither has a newline.
 * Fails: BERTH_EIO (what was said is then not on the disk), BERTH_ENOMEM. */
berth_status berth_journal_add(berth_journal *j, const char *question, const char *answer, berth_err *err);

/* Questions that were answered from the journal. */
int32_t berth_journal_replayed(const berth_journal *j);
