/* Beginnings of names beside a search through all of them; the work grows with the names, not with their
 * square. */
#include "name_parts.h"
#include "rng.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 12, LONGEST = 8 };

typedef struct names {
	char text[MOST][LONGEST + 1];
	const char *name[MOST];
	int32_t owner[MOST], n;
} names;

static names random_names(berth_rng *rng)
{
	names x = {.n = 1 + (int32_t)berth_rng_below(rng, MOST)};
	for (int32_t i = 0; i < x.n; i++) {
		uint32_t len = 1 + berth_rng_below(rng, LONGEST);
		for (uint32_t k = 0; k < len; k++)
			x.text[i][k] = "ab/"[berth_rng_below(rng, 3)];
		x.name[i] = x.text[i];
		x.owner[i] = (int32_t)berth_rng_below(rng, 3);
	}
	return x;
}

static bool is_elsewhere(const names *x, const char *text, int32_t owner)
{
	for (int32_t i = 0; i < x->n; i++)
		if (x->owner[i] != owner && strstr(x->name[i], text))
			return true;
	return false;
}

/* The shortest one, by trying all. */
static size_t own_by_search(const names *x, int32_t i)
{
	char text[LONGEST + 1] = "";
	size_t len = strlen(x->name[i]);
	for (size_t n = 1; n <= len; n++) {
		memcpy(text, x->name[i], n);
		if ((n == len || text[n - 1] == '/') && !is_elsewhere(x, text, x->owner[i]))
			return n;
	}
	return 0;
}

static void check_names(const names *x)
{
	berth_arena mem = {0};
	berth_err err = {0};
	name_parts parts;
	bool taken[MOST] = {false};
	assert_ok(name_parts_new(x->name, x->owner, x->n, &mem, &parts, &err), &err);
	for (int32_t i = 0; i < x->n; i++) {
		size_t n = name_parts_own(&parts, x->name[i], "/");
		assert_int_equal(n, own_by_search(x, i));
		assert_int_equal(name_parts_taken(&parts, x->name[i]), taken[i]);
		if (!n || taken[i])
			continue;
		char text[LONGEST + 1] = "";
		memcpy(text, x->name[i], n);
		name_parts_take(&parts, x->name[i], n);
		for (int32_t k = 0; k < x->n; k++)
			taken[k] = taken[k] || strstr(x->name[k], text);
	}
	berth_arena_free(&mem);
}

static void all_as_a_search_finds_them(void **state)
{
	(void)state;
	berth_rng rng = berth_rng_seed(1, 0);
	for (int round = 0; round < 3000; round++) {
		names x = random_names(&rng);
		check_names(&x);
	}
}

/* Layers by turns on two devices, and names that are ends of each other: each needs a rule of its own. */
static int64_t steps_of(int32_t n, const char *format)
{
	berth_arena mem = {0};
	berth_err err = {0};
	name_parts parts;
	const char **name;
	int32_t *owner;
	assert_ok(BERTH_NEW(&mem, name, n, &err), &err);
	assert_ok(BERTH_NEW(&mem, owner, n, &err), &err);
	for (int32_t i = 0; i < n; i++) {
		name[i] = berth_arena_printf(&mem, format, i / 8, i % 8);
		assert_non_null(name[i]);
		owner[i] = i / 8 % 2;
	}
	assert_ok(name_parts_new(name, owner, n, &mem, &parts, &err), &err);
	for (int32_t i = 0; i < n; i++)
		if (!name_parts_taken(&parts, name[i]))
			name_parts_take(&parts, name[i], name_parts_own(&parts, name[i], "/"));
	int64_t steps = parts.n_steps;
	berth_arena_free(&mem);
	return steps;
}

static void work_grows_with_the_names(void **state)
{
	(void)state;
	const char *const format[] = {"/model/layers.%05d/mlp/MatMul_%d", "/%05d/aaaaaaaaaaaaaaaaaaaaaa%d"};
	for (int i = 0; i < 2; i++) {
		int64_t small = steps_of(2000, format[i]), large = steps_of(20000, format[i]);
		print_message("%s: %lld steps of 2,000 names, %lld of 20,000\n", format[i], (long long)small,
		              (long long)large);
		assert_true(large < 12 * small);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_as_a_search_finds_them),
		cmocka_unit_test(work_grows_with_the_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
