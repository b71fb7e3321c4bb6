/* Any bytes as the journal of a measured training that goes on. Its answers are taken as the engine's would
 * be; the journal that is left tells the same again. */
#include "engine_lines.h"
#include "fuzz.h"
#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Hello and load, and nothing more: all other answers are the journal's. */
static const char hello[] = "{\"id\":?,\"ok\":true,\"protocol\":1,\"engine\":\"e\",\"version\":\"1\","
                            "\"clock\":\"cpu\",\"devices\":["
			    "{\"name\":\"x\",\"kind\":\"cpu\"},{\"name\":\"y\",\"kind\":\"gpu\"}]}\n"
			    "{\"id\":?,\"ok\":true,\"ops\":6}\n";

/* A file without a name, made once. */
static const char *journal_path(int *fd)
{
	static char path[64];
	static int kept = -1;
	if (kept < 0) {
		char name[32] = "/dev/shm/berth-XXXXXX"; /* in memory, where there is such a folder */
		if ((kept = mkstemp(name)) < 0)
			kept = mkstemp(strcpy(name, "/tmp/berth-XXXXXX"));
		must(kept >= 0 && unlink(name) == 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", kept);
	}
	*fd = kept;
	return path;
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
	int fd;
	int32_t replayed = 0, again = 0;
	const char *path = journal_path(&fd);
	fuzz_begin(&a);
	must(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	int32_t taken = go_through(path, &replayed, &a);
	if (taken > 0) {
		must(go_through(path, &again, &a) >= taken);
		must(again >= taken);
	}
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return mutate_lines(data, size, max_size, seed, engine_lines_words);
}
