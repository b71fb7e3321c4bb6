/* SIGINT and SIGTERM. A verb that has nothing to save ends at once. A search is asked to end, and has 0.15 s
 * to tell its answer itself, less where the graph is large. After that the rescue takes over: another thread
 * writes the best so far and ends the program, whatever the search is doing. A second signal ends it at once.
 * Files are whole in any case, temporary files and child processes go. docs/execution-model.md,
 * "Interruption". */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

/* From here on a signal ends the program, and cleanly. One that is ignored stays so. An input that is cut off
 * while it is read ends it, too: told, with the code of BERTH_EIO. */
void cli_signals_start(void);

/* The command writes so many files. Once all have their names the first signal changes nothing any more: the
 * exit code tells that they are there. For verbs that do not catch signals. */
void cli_signals_write(int files);

/* From here on the first signal sets the flag that is returned, one that was ignored as well. */
atomic_int *cli_catch_signals(void);

/* What the rescue does: write what there is, and say so in text, without a full stop. It runs on a thread of
 * its own beside all others, and is given up after a second. */
typedef void cli_rescue_fn(void *ctx, char *text, size_t size);

/* From here on this is what the rescue does, in about needs_ns; NULL: it has nothing to write. Waits for one
 * that has begun, thus for the end of the program: afterwards nothing reads what ctx leads to. */
void cli_rescue_by(cli_rescue_fn *rescue, void *ctx, long needs_ns);

/* Standard output gets a document in between. The rescue does not cut it while somebody reads it. From here
 * on signals are caught. */
void cli_document_begin(void);
void cli_document_end(void);

/* The verb has done its work: no rescue begins any more. */
void cli_signals_over(void);

/* A file that would grow beyond the limit of the process is an error of the write, and no signal. */
void cli_ignore_file_limit(void);
