/* The contract of `berth` as a program of its own, small, for the test of that name. */
#include "bench.h"

extern const bench_entry bench_contract;

int main(int argc, char **argv)
{
	static const bench_entry *const alone[] = {&bench_contract};
	return bench_main(argc, argv, alone, 1);
}
