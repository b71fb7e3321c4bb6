/* Fuzzing of the reader of systems: whatever it accepts passes the check and survives a round trip bit for
 * bit. */
#include "system_json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void round_trip(const berth_system *s, bool pretty, berth_arena *mem, berth_arena *tmp)
{
	berth_system again;
	const char *text, *middle, *last;
	size_t len, n;
	must(berth_system_write_json(s, false, mem, &text, &n, NULL) == BERTH_OK);
	must(berth_system_write_json(s, pretty, mem, &middle, &len, NULL) == BERTH_OK);
	must(berth_system_parse_json("again", middle, len, mem, tmp, &again, NULL) == BERTH_OK);
	must(berth_system_write_json(&again, false, mem, &last, &len, NULL) == BERTH_OK);
	must(len == n && memcmp(text, last, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	berth_arena mem = {0}, tmp = {0};
	berth_system s;
	berth_err err = {0};
	berth_status st = berth_system_parse_json("fuzz", (const char *)data, size, &mem, &tmp, &s, &err);
	if (st == BERTH_OK) {
		must(berth_system_check(&s, &tmp, &err) == BERTH_OK);
		round_trip(&s, false, &mem, &tmp);
		round_trip(&s, true, &mem, &tmp);
	} else {
		must(err.code == st && err.msg[0]);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return 0;
}
