/* Without MPI there is one rank; several are refused, for they would write one file. */
#include "all_gather.h"
#include "support.h"

#include <stdlib.h>

static void test_alone(void **state)
{
	berth_arena mem = {0};
	berth_wire wire;
	berth_ranks r;
	berth_err err;
	(void)state;
	assert_int_equal(unsetenv("OMPI_COMM_WORLD_SIZE") | unsetenv("PMIX_RANK"), 0);
	for (int k = 0; k < 2; k++) {
		assert_ok(berth_wire_open(&mem, &wire, &err), &err);
		assert_ok(berth_ranks_open(&wire, &mem, &r, &err), &err);
		assert_int_equal(r.n, 1);
		assert_int_equal(r.me, 0);
		assert_int_equal(berth_ranks_agree(&r, BERTH_EIO, NULL), BERTH_EIO);
		assert_false(berth_ranks_cancelled(&r));
		berth_ranks_close(&r);
		assert_int_equal(setenv("OMPI_COMM_WORLD_SIZE", "1", 1), 0);
	}
	berth_arena_free(&mem);
}

static void test_several_are_refused(void **state)
{
	berth_arena mem = {0};
	berth_wire wire;
	berth_err err;
	(void)state;
	assert_int_equal(setenv("OMPI_COMM_WORLD_SIZE", "3", 1), 0);
	assert_int_equal(berth_wire_open(&mem, &wire, &err), BERTH_EUNSUPPORTED);
	assert_contains(err.msg, "one of 3 ranks");
	assert_contains(err.msg, "libopenmpi-dev");
	assert_int_equal(unsetenv("OMPI_COMM_WORLD_SIZE"), 0);
	assert_int_equal(setenv("PMIX_RANK", "2", 1), 0);
	assert_int_equal(berth_wire_open(&mem, &wire, &err), BERTH_EUNSUPPORTED);
	assert_int_equal(unsetenv("PMIX_RANK"), 0);
	berth_arena_free(&mem);
}

/* By their work, the largest first; a rank too many has nothing. */
static void test_deal(void **state)
{
	static const int64_t work[] = {5, 9, 1, 5, 3};
	static const int32_t order[] = {1, 0, 3, 4, 2}, three[] = {1, 0, 2, 2, 1};
	int64_t load[6];
	int32_t rank[5];
	(void)state;
	berth_ranks_deal(3, 5, order, work, load, rank);
	for (int i = 0; i < 5; i++)
		assert_int_equal(rank[i], three[i]);
	assert_true(load[0] == 9 && load[1] == 8 && load[2] == 6);
	berth_ranks_deal(1, 5, order, work, load, rank);
	for (int i = 0; i < 5; i++)
		assert_int_equal(rank[i], 0);
	berth_ranks_deal(6, 5, order, work, load, rank);
	assert_int_equal(load[5], 0);
}

/* What is taken is what was put; beyond its end there are zeros, and that is told. */
static void test_pack(void **state)
{
	unsigned char bytes[16];
	int64_t x = INT64_C(0x0102030405060708), y = 5;
	int32_t z = 7;
	berth_pack put = {.how = BERTH_PACK_PUT, .at = bytes}, count = {.how = BERTH_PACK_COUNT};
	(void)state;
	BERTH_PACK(&count, x);
	BERTH_PACK(&count, z);
	berth_pack_bytes(&count, NULL, 0);
	assert_int_equal(count.n, 12);
	BERTH_PACK(&put, x);
	BERTH_PACK(&put, z);
	assert_int_equal(put.n, 12);
	berth_pack take = {.how = BERTH_PACK_TAKE, .at = bytes, .n = 12};
	z = 0;
	BERTH_PACK(&take, y);
	BERTH_PACK(&take, z);
	assert_true(y == x && z == 7 && take.n == 0 && !take.ended_early);
	take = (berth_pack){.how = BERTH_PACK_TAKE, .at = bytes, .n = 3};
	BERTH_PACK(&take, y);
	assert_true(take.ended_early && take.n == 0 && ((unsigned char *)&y)[3] == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_several_are_refused),
		cmocka_unit_test(test_deal),
		cmocka_unit_test(test_pack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
