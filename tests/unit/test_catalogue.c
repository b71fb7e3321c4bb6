/* The catalogue of devices: its figures hold against each other, its names are well formed, and its reader
 * refuses what is none. */
#include "catalogue.h"
#include "support.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static berth_catalogue whole(berth_arena *mem)
{
	berth_catalogue c;
	berth_err err = {0};
	assert_ok(berth_catalogue_read(mem, &c, &err), &err);
	assert_true(c.n_devices > 0 && c.n_links > 0);
	return c;
}

/* Small letters, digits, points and pluses, in words with hyphens between. */
static void check_name(const char *name)
{
	assert_true(islower((unsigned char)*name) != 0);
	for (const char *c = name; *c; c++) {
		unsigned char here = (unsigned char)*c;
		bool word = islower(here) || isdigit(here) || here == '.' || here == '+';
		if (!word && !(*c == '-' && isalnum((unsigned char)c[1])))
			fail_msg("'%s' is no name", name);
	}
}

static void test_names(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_catalogue c = whole(&mem);
	for (int32_t i = 0; i < c.n_devices; i++) {
		const berth_device_row *d = &c.device[i], *found;
		berth_err err = {0};
		check_name(d->name);
		assert_ok(berth_device_find(&c, d->name, &mem, &found, &err), &err);
		assert_ptr_equal(found, d); /* so there is no other of that name */
		assert_true(*d->vendor && *d->architecture && *d->source);
	}
	for (int32_t i = 0; i < c.n_links; i++) {
		const berth_link_row *found;
		berth_err err = {0};
		check_name(c.link[i].name);
		assert_ok(berth_link_find(&c, c.link[i].name, &mem, &found, &err), &err);
		assert_ptr_equal(found, &c.link[i]);
		assert_true(*found->source != 0);
	}
	berth_arena_free(&mem);
}

/* Shorter floats are no slower than what stands in for them; the vector pipes give f32, or less than it where
 * there are matrix units for it. */
static void check_peaks(const berth_device_row *d)
{
	for (int p = BERTH_PRECISION_NONE + 1; p < BERTH_N_PRECISIONS; p++) {
		double other = d->peak[berth_precision_fallback((berth_precision)p)];
		bool float_of_f32 = p == BERTH_TF32 || p == BERTH_F16 || p == BERTH_BF16 || p == BERTH_F8;
		if (float_of_f32 && d->peak[p] > 0 && d->peak[p] < other * 0.99)
			fail_msg("%s: %s is slower than what stands in for it", d->name,
			         berth_precision_name((berth_precision)p));
	}
	double vector = (double)d->units * d->lanes * 2 * d->clock_hz, f32 = d->peak[BERTH_F32];
	if (d->lanes > 0 && (f32 < vector * 0.98 || (f32 > vector * 1.02 && f32 < vector * 1.9)))
		fail_msg("%s: f32 of %g, but units * lanes * 2 * clock are %g", d->name, f32, vector);
}

static void test_figures(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_catalogue c = whole(&mem);
	for (int32_t i = 0; i < c.n_devices; i++) {
		const berth_device_row *d = &c.device[i];
		check_peaks(d);
		assert_true(d->year >= 2010 && d->year < 2030);
		assert_true(d->device_class == BERTH_CLASS_NPU || d->peak[BERTH_F32] > 1e9);
		assert_true(d->device_class == BERTH_CLASS_NPU || d->mem_bandwidth > 1e9);
	}
	for (int32_t i = 0; i < c.n_links; i++) {
		const berth_link_row *l = &c.link[i];
		assert_true(l->bandwidth > 0 && l->bandwidth <= l->raw_bandwidth);
		assert_true(l->latency_s > 1e-7 && l->latency_s < 1e-2);
	}
	berth_arena_free(&mem);
}

/* Does a list of names, '|' between them, have this one of n bytes? */
static bool has_name(const char *list, const char *name, size_t n)
{
	for (; *list; list += strcspn(list, "|"), list += *list == '|')
		if (strcspn(list, "|") == n && strncmp(list, name, n) == 0)
			return true;
	return false;
}

/* By a driver's name and the memory there is at most one row. */
static void test_drivers(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_catalogue c = whole(&mem);
	for (int32_t i = 0; i < c.n_devices; i++)
		for (const char *name = c.device[i].drivers; *name;) {
			size_t n = strcspn(name, "|");
			assert_true(n > 0);
			for (int32_t k = 0; k < i; k++)
				if (fabs(c.device[k].memory_bytes - c.device[i].memory_bytes) <=
				            0.12 * c.device[i].memory_bytes &&
				    has_name(c.device[k].drivers, name, n))
					fail_msg("%s has a name of %s", c.device[i].name, c.device[k].name);
			name += n + (name[n] == '|');
		}
	berth_arena_free(&mem);
}

static void test_rows(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_catalogue c = whole(&mem);
	berth_err err = {0};
	const berth_device_row *d;
	assert_ok(berth_device_find(&c, "nvidia-a100-pcie-40gb", &mem, &d, &err), &err);
	assert_near(d->peak[BERTH_BF16], 312e12, 1);
	assert_near(d->mem_bandwidth, 1555e9, 1);
	assert_int_equal(d->units, 108);
	assert_string_equal(d->drivers, "NVIDIA A100-PCIE-40GB|A100-PCIE-40GB");
	assert_ok(berth_device_find(&c, "rtx-3060", &mem, &d, &err), &err);
	assert_string_equal(d->name, "nvidia-rtx-3060-12gb");
	assert_ok(berth_device_find(&c, "nvidia-a100-pcie", &mem, &d, &err), &err);
	assert_string_equal(d->name, "nvidia-a100-pcie-40gb");
	static const char *const loose[] = {"RTX 3060", "rtx3060", "NVIDIA RTX-3060-12GB", "rtx_3060"};
	for (int i = 0; i < 4; i++) {
		assert_ok(berth_device_find(&c, loose[i], &mem, &d, &err), &err);
		assert_string_equal(d->name, "nvidia-rtx-3060-12gb");
	}
	assert_int_equal(berth_device_find(&c, "a100", &mem, &d, &err), BERTH_EFORMAT);
	assert_int_equal(berth_device_find(&c, "", &mem, &d, &err), BERTH_EFORMAT);
	assert_int_equal(berth_device_find(&c, "nvidia-a100-pcie-4gb", &mem, &d, &err), BERTH_EFORMAT);
	assert_non_null(strstr(err.msg, "did you mean 'nvidia-a100-pcie-40gb'"));
	const berth_link_row *l;
	assert_int_equal(berth_link_find(&c, "pcie3x166", &mem, &l, &err), BERTH_EFORMAT);
	assert_non_null(strstr(err.msg, "did you mean 'pcie3x16'"));
	berth_arena_free(&mem);
}

static void test_malformed(void **state)
{
	(void)state;
	berth_arena mem = {0};
	static const char *const bad[][2] = {
		{"a,b\n", "line 1: no names of columns"},
		{"device,f33\n", "line 1: unknown column 'f33'"},
		{"# x\ndevice,f32\na,b\n", "line 3: 'b' is no f32"},
		{"device,f32\na,-1\n", "line 2: '-1' is no f32"},
		{"device,class\na,tpu\n", "line 2: 'tpu' is no class"},
		{"device,units\na,1.5\n", "line 2: '1.5' is no units"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		berth_catalogue c;
		berth_err err = {0};
		assert_int_equal(berth_catalogue_parse(bad[i][0], strlen(bad[i][0]), &mem, &c, &err),
		                 BERTH_EFORMAT);
		assert_non_null(strstr(err.msg, bad[i][1]));
	}
	berth_arena_free(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_drivers),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_malformed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
