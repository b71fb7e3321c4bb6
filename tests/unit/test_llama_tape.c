/* The rule of ggml's graph allocator: places taken over, the smallest free block, blocks joined. */
#include "llama_tape.h"
#include "support.h"

#include <stdlib.h>

typedef struct tape {
	berth_arena mem, tmp;
	llama_tape *t;
} tape;

static int setup(void **state)
{
	tape *x = calloc(1, sizeof *x);
	assert_non_null(x);
	x->t = llama_tape_new(&x->mem);
	assert_non_null(x->t);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	tape *x = *state;
	berth_arena_free(&x->mem);
	berth_arena_free(&x->tmp);
	free(x);
	return 0;
}

static int32_t add(tape *x, int64_t bytes, int32_t a, int32_t b, bool in_place)
{
	berth_err err = {0};
	int32_t i;
	llama_step step = {.bytes = bytes, .arg = {a, b, -1, -1}, .in_place = in_place};
	assert_ok(llama_tape_add(x->t, step, &i, &err), &err);
	return i;
}

static int64_t all(tape *x)
{
	berth_err err = {0};
	int64_t bytes;
	assert_ok(llama_tape_bytes(x->t, &x->tmp, &bytes, &err), &err);
	return bytes;
}

static void chain_takes_two_places(void **state)
{
	tape *x = *state;
	int32_t a = add(x, 1280, -1, -1, false);
	for (int i = 0; i < 5; i++)
		a = add(x, 1280, a, -1, false);
	assert_int_equal(all(x), 2560);
}

static void in_place_takes_one(void **state)
{
	tape *x = *state;
	int32_t a = add(x, 1280, -1, -1, false);
	for (int i = 0; i < 5; i++)
		a = add(x, 1280, a, -1, true);
	assert_int_equal(all(x), 1280);
}

static void needed_argument_is_left_alone(void **state)
{
	tape *x = *state;
	int32_t a = add(x, 1280, -1, -1, false), b = add(x, 1280, a, -1, true);
	add(x, 1280, a, b, true);
	assert_int_equal(all(x), 2560);
}

/* Free blocks of 512 and 256 bytes, apart: 200 bytes go into the second. */
static void smallest_block_that_is_large_enough(void **state)
{
	tape *x = *state;
	int32_t a = add(x, 512, -1, -1, false), b = add(x, 128, -1, -1, false);
	int32_t c = add(x, 256, -1, -1, false), d = add(x, 128, -1, -1, false);
	add(x, 0, a, c, false);
	add(x, 200, -1, -1, false);
	add(x, 512, -1, -1, false);
	add(x, 0, b, d, false);
	assert_int_equal(all(x), 1024);
}

static void free_neighbours_join(void **state)
{
	tape *x = *state;
	int32_t a = add(x, 256, -1, -1, false), b = add(x, 256, -1, -1, false);
	int32_t c = add(x, 256, -1, -1, false);
	add(x, 128, -1, -1, false);
	add(x, 0, a, c, false);
	add(x, 0, b, -1, false);
	add(x, 768, -1, -1, false);
	assert_int_equal(all(x), 896);
}

static void inputs_stand_first(void **state)
{
	tape *x = *state;
	berth_err err = {0};
	int32_t a = add(x, 1280, -1, -1, false), i;
	add(x, 1280, a, -1, false);
	llama_step input = {.bytes = 1280, .arg = {-1, -1, -1, -1}, .first = true, .kept = true};
	assert_ok(llama_tape_add(x->t, input, &i, &err), &err);
	assert_int_equal(all(x), 3840);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(chain_takes_two_places, setup, teardown),
		cmocka_unit_test_setup_teardown(in_place_takes_one, setup, teardown),
		cmocka_unit_test_setup_teardown(needed_argument_is_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(smallest_block_that_is_large_enough, setup, teardown),
		cmocka_unit_test_setup_teardown(free_neighbours_join, setup, teardown),
		cmocka_unit_test_setup_teardown(inputs_stand_first, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
