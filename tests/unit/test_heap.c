/* Binary heaps beside sorted arrays: elements of any size, equal ones, a comparison that looks elsewhere. */
#include "rng.h"
#include "sort.h"
#include "support.h"

#include <stdlib.h>

typedef struct three {
	int32_t key, serial, other;
} three;

static bool by_key(const void *ctx, const void *a, const void *b)
{
	(void)ctx;
	return ((const three *)a)->key < ((const three *)b)->key;
}

static int compare(const void *a, const void *b)
{
	int32_t x = ((const three *)a)->key, y = ((const three *)b)->key;
	return (x > y) - (x < y);
}

/* Elements come and go at random; each that goes has the least key of those that are there, and all that came
 * go, once. */
static void test_beside_a_sorted_array(void **state)
{
	(void)state;
	enum { MOST = 200 };
	for (uint64_t seed = 1; seed <= 300; seed++) {
		berth_rng rng = berth_rng_seed(seed, 0);
		three heap[MOST], sorted[MOST];
		bool here[MOST] = {false};
		size_t n = 0;
		int32_t came = 0, went = 0;
		while (went < MOST) {
			if (came < MOST && (n == 0 || berth_rng_below(&rng, 3))) {
				three new = {(int32_t)berth_rng_below(&rng, 1 + (uint32_t)seed), came, -came};
				berth_heap_push(heap, n, sizeof new, &new, by_key, NULL);
				sorted[n++] = new;
				here[came++] = true;
				continue;
			}
			three first = heap[0];
			qsort(sorted, n, sizeof *sorted, compare);
			assert_true(first.key == sorted[0].key && here[first.serial] &&
			            first.other == -first.serial);
			here[first.serial] = false;
			went++;
			berth_heap_pop(heap, n--, sizeof *heap, by_key, NULL);
			for (size_t i = 0, to = 0; i <= n; i++)
				if (sorted[i].serial != first.serial)
					sorted[to++] = sorted[i];
		}
		assert_int_equal(n, 0);
	}
}

static bool by_rank(const void *ctx, const void *a, const void *b)
{
	const int32_t *rank = ctx;
	return rank[*(const uint8_t *)a] > rank[*(const uint8_t *)b];
}

/* One byte an element, the largest rank first. */
static void test_by_what_stands_elsewhere(void **state)
{
	(void)state;
	static const int32_t rank[] = {3, 9, 1, 7, 5};
	uint8_t heap[5], said[5];
	for (uint8_t i = 0; i < 5; i++)
		berth_heap_push(heap, (size_t)i, 1, &i, by_rank, rank);
	for (size_t n = 5; n > 0; n--) {
		said[5 - n] = heap[0];
		berth_heap_pop(heap, n, 1, by_rank, rank);
	}
	assert_memory_equal(said, ((uint8_t[]){1, 3, 4, 0, 2}), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_beside_a_sorted_array),
	                                   cmocka_unit_test(test_by_what_stands_elsewhere)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
