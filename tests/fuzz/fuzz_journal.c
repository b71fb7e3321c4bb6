/* Any lines as the journal of a measured training that goes on: the first line, questions and answers, sealed
 * here with the checks that fit. Behind a '!' bytes are taken as they are. Answers are taken as the engine's
 * would be; the journal that is left tells the same again. */
#include "engine_lines.h"
#include "fuzz.h"
#include "mutate.h"
#include "sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHECK = 16 };

/* Hello and load, and nothing more: all other answers are the journal's. */
static const char hello[] = "{\"id\":?,\"ok\":true,\"protocol\":1,\"engine\":\"e\",\"version\":\"1\","
			    "\"clock\":\"cpu\",\"devices\":[{\"name\":\"x\",\"kind\":\"cpu\"},"
			    "{\"name\":\"y\",\"kind\":\"gpu\"}]}\n"
			    "{\"id\":?,\"ok\":true,\"ops\":6}\n";

/* In memory, where there is such a folder. */
static const char *journal_path(void)
{
	static char path[40];
	if (!path[0])
		snprintf(path, sizeof path, "%s/berth-journal-%ld",
		         access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
	return path;
}

/* Behind the next n lines of data[size]; SIZE_MAX: there are fewer. */
static size_t behind_lines(const char *data, size_t size, size_t at, int n)
{
	for (; n > 0; n--) {
		const char *end = memchr(data + at, '\n', size - at);
		if (!end)
			return SIZE_MAX;
		at = (size_t)(end - data) + 1;
	}
	return at;
}

/* The entries, each with the check of all that is before it and of itself; what is behind them as it is. */
static void write_sealed(FILE *f, const char *data, size_t size, berth_arena *mem)
{
	char hex[65] = "", *both = berth_arena_alloc(mem, size + CHECK, 1);
	size_t at = 0, end;
	must(both != NULL);
	for (int lines = 1; (end = behind_lines(data, size, at, lines)) != SIZE_MAX; lines = 2, at = end) {
		size_t before = at ? CHECK : 0;
		memcpy(both, hex, before);
		memcpy(both + before, data + at, end - at);
		berth_sha256_hex(both, before + end - at, hex);
		fwrite(data + at, 1, end - at, f);
		fprintf(f, "%.*s\n", CHECK, hex);
	}
	fwrite(data + at, 1, size - at, f);
}

static int32_t go_through(const char *path, int32_t *replayed, fuzz_arenas *a)
{
	berth_measured m;
	berth_journal *j = NULL;
	berth_err err = {0};
	int32_t taken = -1;
	if (berth_journal_open(path, true, "of", &a->mem, &j, &err) == BERTH_OK) {
		engine_lines((const uint8_t *)hello, sizeof hello - 1, 0);
		must(engine_lines_open(j, &a->mem, &m, &err) == BERTH_OK);
		taken = engine_lines_ask(&m, &a->mem, &a->tmp);
		berth_measured_close(&m);
		*replayed = berth_journal_replayed(j);
	} else {
		must(err.code == BERTH_EINVAL && err.msg[0]);
	}
	berth_journal_close(j);
	return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	const char *path = journal_path(), *text = (const char *)data;
	int32_t replayed = 0, again = 0;
	FILE *f = fopen(path, "wb");
	fuzz_begin(&a);
	must(f != NULL);
	if (size && text[0] == '!')
		fwrite(text + 1, 1, size - 1, f);
	else
		write_sealed(f, text, size, &a.mem);
	must(fclose(f) == 0);
	int32_t taken = go_through(path, &replayed, &a);
	if (taken > 0) {
		must(go_through(path, &again, &a) >= taken);
		must(again >= taken);
	}
	unlink(path);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return mutate_lines(data, size, max_size, seed, engine_lines_words);
}
