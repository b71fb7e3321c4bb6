/* An engine in the place of a process: what it writes are the bytes of an input. The programs that use it are
 * linked with --wrap for the system calls that start a process and speak to it, so that the client runs as it
 * is, tens of thousands of times a second.
 *
 * The input is one answer a line. For '?' the number of the latest question stands; a byte of 31 is a line's
 * end inside an answer; at the input's end the engine has left. */
#pragma once

#include "measured.h"

#include <stddef.h>
#include <stdint.h>

/* From now on it answers data[size], in pieces of at most so many bytes (0: any). */
void engine_lines(const uint8_t *data, size_t size, size_t piece);

/* Open it for the small graph on the small system (fuzz.h). */
berth_status engine_lines_open(berth_journal *journal, berth_arena *mem, berth_measured *out, berth_err *err);

/* Ask each question of measured.h in turn. Of what was answered is checked what the headers promise, and a
 * calibration is fitted to the run. Returns how many answers were taken. */
int32_t engine_lines_ask(berth_measured *m, berth_arena *mem, berth_arena *tmp);

/* Words of the protocol, for mutators. */
extern const char *const engine_lines_words[];
