/* berth-bench: all tables of docs/ that the library makes by itself. BENCH_TABLES are those of entries.h, or
 * fewer. */
#include "entries.h"

#define BENCH_ROW(name, words, page, takes, about, ...) \
	{#name, words, page, takes, about, {__VA_ARGS__}, table_##name},

int main(int argc, char **argv)
{
	static const bench_entry entries[] = {BENCH_TABLES(BENCH_ROW)};
	return bench_main(argc, argv, entries, BENCH_N(entries));
}
