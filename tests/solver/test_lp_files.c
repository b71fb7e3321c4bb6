/* Models written as MPS files, read by a foreign reader (COIN-OR): the same value as when they are
 * handed over directly. */
#include "lp.h"
#include "rng.h"
#include "support.h"

#include <coin/Cbc_C_Interface.h>

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Columns and rows of all kinds: free, bounded, whole; equal, ranged, one-sided, without sides. */
static void random_model(berth_lp *lp, uint64_t seed, berth_arena *mem)
{
	berth_err err;
	berth_rng rng = berth_rng_seed(seed, 11);
	berth_lp_init(lp, "model", mem);
	lp->offset = seed % 3 == 0 ? 0 : 2.5;
	for (int32_t c = 0; c < 9; c++) {
		double low = c % 4 == 0   ? -3.5
		             : c % 4 == 1 ? 1
		                          : 0,
		       high = c % 3 == 0   ? 40
		              : c % 3 == 1 ? 7.25
		                           : BERTH_LP_INF;
		if (c == 8)
			low = -BERTH_LP_INF;
		assert_ok(berth_lp_col(lp, c % 2 ? "odd" : NULL, low, high,
		                       (double)berth_rng_below(&rng, 9) - (c == 8 ? 0 : 2), c % 2 == 0, NULL,
		                       &err),
		          &err);
		lp->col_name[c] = c % 2 ? berth_arena_printf(mem, "odd_%d", (int)c) : NULL;
	}
	for (int32_t r = 0; r < 7; r++) {
		double side = 20 + berth_rng_below(&rng, 20);
		double low = r % 3 == 0 ? -BERTH_LP_INF
		             : r == 1   ? side
		                        : -40,
		       high = r == 5 ? BERTH_LP_INF : side;
		assert_ok(berth_lp_row(lp, NULL, low, high, &err), &err);
		for (int32_t c = 0; c < 9; c++)
			assert_ok(berth_lp_put(lp, c, c == 8 ? 1 : berth_rng_below(&rng, 5), &err), &err);
	}
	assert_ok(berth_lp_row_of(lp, NULL, 0.5, BERTH_LP_INF, 2, (int32_t[]){0, 8}, (double[]){1, 1}, &err),
	          &err);
}

static double foreign_value(berth_strbuf *text, const berth_lp *lp)
{
	char path[] = "/tmp/berth-lp-XXXXXX.mps";
	const char *data;
	size_t len;
	berth_err err;
	int fd = mkstemps(path, 4);
	assert_true(fd >= 0);
	assert_ok(berth_strbuf_done(text, &data, &len, &err), &err);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
	Cbc_Model *m = Cbc_newModel();
	Cbc_setLogLevel(m, 0);
	Cbc_setParameter(m, "log", "0");
	int failed = Cbc_readMps(m, path);
	unlink(path);
	assert_int_equal(failed, 0);
	assert_int_equal(Cbc_getNumCols(m), lp->n_cols);
	assert_int_equal(Cbc_getNumIntegers(m), 5);
	Cbc_setLogLevel(m, 0);
	Cbc_solve(m);
	double value = Cbc_isProvenOptimal(m) ? Cbc_getObjValue(m) : INFINITY;
	Cbc_deleteModel(m);
	return value;
}

static void foreign_reader_finds_the_same_value(void **state)
{
	int solved = 0;
	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		berth_arena mem;
		berth_lp lp;
		berth_err err;
		berth_lp_result out;
		berth_arena_init(&mem, NULL);
		random_model(&lp, seed, &mem);
		assert_ok(berth_lp_solve(&lp, NULL, &mem, &mem, &out, &err), &err);
		berth_strbuf mps = {.mem = &mem};
		berth_lp_write_mps(&lp, &mps);
		double by_mps = foreign_value(&mps, &lp);
		if (out.status == BERTH_LP_OPTIMAL) {
			solved++;
			assert_near(by_mps, out.value, 1e-6);
		} else {
			assert_true(by_mps == INFINITY);
		}
		berth_arena_free(&mem);
	}
	assert_true(solved >= 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(foreign_reader_finds_the_same_value)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
