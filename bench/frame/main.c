/* berth-bench: all tables of docs/ that the library makes by itself. */
#include "entries.h"

#define BENCH_ROW(name) &bench_##name,

int main(int argc, char **argv)
{
	static const bench_entry *const entries[] = {BENCH_ENTRIES(BENCH_ROW)};
	return bench_main(argc, argv, entries, sizeof entries / sizeof *entries);
}
