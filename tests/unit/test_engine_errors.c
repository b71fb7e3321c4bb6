/* Errors of engines: which rows count, and what the user keeps. */
#define _DEFAULT_SOURCE
#include "engine_errors.h"
#include "fail_each.h"
#include "load.h"
#include "support.h"
#include "system_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char system_text[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"a,b\",\"devices\":["
	"{\"name\":\"cpu0\",\"kind\":\"cpu\"},{\"name\":\"gpu0\",\"kind\":\"gpu\"}],"
	"\"links\":[{\"from\":\"cpu0\",\"to\":\"gpu0\",\"bandwidth\":1e9,\"both_ways\":true}]}";

typedef struct fixture {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	char folder[64], *before;
	bool brief;
} fixture;

static void open_fixture(fixture *f)
{
	static const char text[] = "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\","
				   "\"ops\":[{\"name\":\"a\"},{\"name\":\"b\"}]}";
	berth_err err = {0};
	*f = (fixture){.folder = "/tmp/berth_errors_XXXXXX"};
	assert_non_null(mkdtemp(f->folder));
	const char *before = getenv("XDG_CACHE_HOME");
	f->before = before ? strdup(before) : NULL;
	assert_int_equal(setenv("XDG_CACHE_HOME", f->folder, 1), 0);
	assert_ok(berth_graph_parse("g", text, sizeof text - 1, NULL, &f->mem, &f->tmp, &f->g, NULL, &err),
	          &err);
	assert_ok(berth_system_parse_json("s", system_text, sizeof system_text - 1, &f->mem, &f->tmp, &f->s,
	                                  &err),
	          &err);
}

static void close_fixture(fixture *f)
{
	char path[128];
	snprintf(path, sizeof path, "%s/berth/engine_errors.csv", f->folder);
	unlink(path);
	snprintf(path, sizeof path, "%s/berth", f->folder);
	rmdir(path);
	rmdir(f->folder);
	assert_int_equal(f->before ? setenv("XDG_CACHE_HOME", f->before, 1) : unsetenv("XDG_CACHE_HOME"), 0);
	free(f->before);
	berth_arena_free(&f->mem);
	berth_arena_free(&f->tmp);
}

static berth_engine_error of(fixture *f, const char *engine, int32_t a, int32_t b)
{
	berth_engine_error out;
	berth_err err = {0};
	assert_ok(berth_engine_error_of(engine, &f->g, &f->s, (int32_t[]){a, b}, NULL, f->brief, &f->tmp,
	                                &out, &err),
	          &err);
	return out;
}

/* Of the rows that come with berth: the engine first, then devices, then the kind of plan. */
static void test_choice(void **state)
{
	(void)state;
	fixture f;
	open_fixture(&f);
	assert_int_equal(of(&f, "ort", 0, 0).n, 6);
	assert_true(fabs(of(&f, "ort:rules", 0, 0).mean - 0.1298) < 0.0001);
	assert_true(fabs(of(&f, "ort", 0, 0).median - 0.1165) < 0.0001);
	assert_true(of(&f, "ort", 1, 1).mean == 0.248);
	assert_true(of(&f, "ort", 0, 1).mean == 0.20);
	assert_true(of(&f, "openvino", 0, 1).mean == 0.13);
	assert_true(of(&f, "llama.cpp", 1, 1).mean == 0.13);
	assert_true(of(&f, "llama.cpp", 0, 1).mean > 0.4);
	f.brief = true; /* operators of a few microseconds */
	assert_true(fabs(of(&f, "ort", 0, 0).mean - 0.4295) < 0.0001);
	assert_true(of(&f, "ort", 1, 1).mean == 0.248);
	assert_true(of(&f, "openvino", 0, 1).mean == 0.13);
	close_fixture(&f);
}

static berth_status keep(fixture *f, const char *engine, const char *graph, int32_t n, double off,
                         const char **path, berth_err *err)
{
	double predicted[10] = {2 - 2 * off, 1,           1,           1,           1,
	                        2 - 2 * off, 2 - 2 * off, 2 - 2 * off, 2 - 2 * off, 1};
	static const double measured[10] = {2, 1, 1, 1, 1, 2, 2, 2, 2, 1};
	return berth_engine_errors_keep(engine, &f->s, graph, n, predicted, measured, &f->mem, &f->tmp, path,
	                                err);
}

/* A pipe in the place of the file is not waited for, and nothing is kept. */
static void test_pipe(void **state)
{
	(void)state;
	fixture f;
	char path[128];
	const char *kept;
	berth_err err = {0};
	open_fixture(&f);
	snprintf(path, sizeof path, "%s/berth", f.folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/berth/engine_errors.csv", f.folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(of(&f, "ort", 0, 0).n, 6);
	assert_ok(keep(&f, "ort", "g", 10, 0.5, &kept, &err), &err);
	assert_null(kept);
	close_fixture(&f);
}

static void test_own(void **state)
{
	(void)state;
	fixture f;
	berth_err err = {0};
	const char *path;
	open_fixture(&f);
	assert_ok(keep(&f, "nobody", "g", 10, 0.5, &path, &err), &err);
	assert_null(path);
	assert_ok(keep(&f, "ort", "g", 10, 0.5, &path, &err), &err);
	assert_non_null(path);
	assert_true(fabs(of(&f, "ort", 0, 1).mean - 0.25) < 1e-9); /* of all devices of the system */
	assert_int_equal(of(&f, "ort", 0, 0).n, 6);
	assert_ok(keep(&f, "ort", "g", 10, 0.1, &path, &err), &err); /* in the place of the first */
	assert_ok(keep(&f, "ort", "h,\"\n", 10, 0.2, &path, &err), &err);
	assert_ok(keep(&f, "ort", "few", 9, 0.9, &path, &err), &err); /* counts for nothing */
	assert_int_equal(of(&f, "ort", 0, 1).n, 2);
	assert_true(fabs(of(&f, "ort", 0, 1).mean - 0.075) < 1e-9);
	assert_true(of(&f, "torch", 0, 1).mean > 0.4);
	close_fixture(&f);
}

static void test_bad_file(void **state)
{
	(void)state;
	fixture f;
	berth_err err = {0};
	berth_engine_error out;
	const char *path;
	open_fixture(&f);
	assert_ok(keep(&f, "ort", "g", 10, 0.5, &path, &err), &err);
	FILE *file = fopen(path, "a");
	assert_non_null(file);
	fputs("ort,cpu,*,x,1,7,here\n", file);
	fclose(file);
	assert_int_equal(
		berth_engine_error_of("ort", &f.g, &f.s, (int32_t[]){0, 0}, NULL, false, &f.tmp, &out, &err),
		BERTH_EFORMAT);
	assert_non_null(strstr(err.msg, "line 3: '7' is no error from 0 to 1"));
	close_fixture(&f);
}

static berth_status work(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	fixture *f = ctx;
	berth_engine_error out;
	const char *path;
	BERTH_TRY(berth_engine_errors_keep("ort", &f->s, "g", 1, (double[]){1}, (double[]){2}, mem, tmp,
	                                   &path, err));
	return berth_engine_error_of("ort", &f->g, &f->s, (int32_t[]){0, 0}, NULL, false, tmp, &out, err);
}

static void test_out_of_memory(void **state)
{
	(void)state;
	fixture f;
	open_fixture(&f);
	assert_fails_each(work, &f, 1);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice), cmocka_unit_test(test_own),
	                                   cmocka_unit_test(test_pipe),
	                                   cmocka_unit_test(test_bad_file),
	                                   cmocka_unit_test(test_out_of_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
