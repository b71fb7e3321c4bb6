/* Engines: the example really runs a graph; broken ones are survived, each with a message that says what was
 * wrong. */
#include "file.h"
#include "graph_format.h"
#include "leftovers.h"
#include "measured.h"
#include "support.h"
#include "system_json.h"
#include "text.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char graph_text[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"diamond\",\"ops\":[{\"name\":\"p\",\"type\":"
        "\"Conv\",\"flops\":1e6},{\"name\":\"q\",\"type\":\"Conv\",\"flops\":2e6},"
	"{\"name\":\"r\",\"type\":\"Relu\",\"flops\":1e5},{\"name\":\"s\",\"type\":\"Add\",\"flops\":1e3}],"
	"\"edges\":[{\"from\":\"p\",\"to\":\"q\",\"bytes\":4000},{\"from\":\"p\",\"to\":\"r\",\"bytes\":4000}"
        ","
	"{\"from\":\"q\",\"to\":\"s\",\"bytes\":4000},{\"from\":\"r\",\"to\":\"s\",\"bytes\":4000}]}";

typedef struct fault {
	const char *name;
	berth_status st;
	const char *part;
} fault;

typedef struct world {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	const char *argv[4];
	berth_measured_cfg cfg;
	berth_measured m;
	berth_err err;
} world;

static void make_world(world *w, const char *program, const char *flaw, const char *once, const char *dev0,
                       const char *dev1)
{
	char text[400];
	*w = (world){0};
	assert_ok(
		berth_graph_parse_json("g", graph_text, strlen(graph_text), &w->mem, &w->tmp, &w->g, &w->err),
		&w->err);
	snprintf(text, sizeof text,
	         "{\"format\":\"berth-system\",\"version\":1,\"name\":\"two\",\"devices\":[{\"name\":\"%s\","
	         "\"peak_flops\":1e9},{\"name\":\"%s\",\"peak_flops\":1e9}],"
	         "\"links\":[{\"from\":\"%s\",\"to\":\"%s\",\"bandwidth\":1e9,\"both_ways\":true}]}",
	         dev0, dev1, dev0, dev1);
	assert_ok(berth_system_parse_json("s", text, strlen(text), &w->mem, &w->tmp, &w->s, &w->err),
	          &w->err);
	w->argv[0] = program;
	w->argv[1] = flaw;
	w->argv[2] = once;
	w->cfg = berth_measured_cfg_default();
	w->cfg.engine = (berth_engine_cfg){.name = "broken", .argv = w->argv, .hello_s = 30};
	w->cfg.model = "diamond.json";
	w->cfg.answer_s = 30;
}

static void end_world(world *w)
{
	berth_measured_close(&w->m);
	berth_arena_free(&w->mem);
	berth_arena_free(&w->tmp);
}

static berth_status open_world(world *w)
{
	return berth_measured_open(&w->cfg, &w->g, &w->s, &w->mem, &w->m, &w->err);
}

static const int32_t split[] = {0, 0, 1, 1};

static berth_status run_world(world *w, berth_measurement *r)
{
	return berth_measured_run(&w->m, split, NULL, 1, 7, &w->mem, &w->tmp, r, &w->err);
}

/* ---- the example ---- */

static void example_runs(void **state)
{
	(void)state;
	world w;
	berth_measurement r = {0}, whole = {0};
	const int32_t order[] = {0, 2, 1, 3};
	make_world(&w, BERTH_SOURCE "/engines/example.py", NULL, NULL, "single", "double");
	assert_ok(open_world(&w), &w.err);
	assert_string_equal(berth_engine_says(w.m.engine)->engine, "example");
	assert_ok(berth_measured_run(&w.m, split, order, 1, 7, &w.mem, &w.tmp, &r, &w.err), &w.err);
	assert_int_equal(r.n_samples, 7);
	assert_int_equal(r.n_segments, 4);
	assert_true(r.wall.low <= r.wall.median && r.wall.median <= r.wall.high && r.wall.median > 0);
	assert_true(r.max_difference >= 0 && r.max_difference < 1e-3);
	for (int32_t i = 0; i < 4; i++)
		assert_int_equal(r.segment[i].dev, split[r.segment[i].op[0]]);
	assert_ok(berth_measured_whole(&w.m, 1, 0, 3, &w.mem, &w.tmp, &whole, &w.err), &w.err);
	assert_int_equal(whole.n_segments, 0);
	assert_int_equal(w.m.runs, 8 + 3);
	end_world(&w);
}

static void example_tells_of_operators(void **state)
{
	(void)state;
	world w;
	berth_operator_time *x;
	int32_t n = 0;
	make_world(&w, BERTH_SOURCE "/engines/example.py", NULL, NULL, "single", "double");
	assert_ok(open_world(&w), &w.err);
	assert_ok(berth_measured_operators(&w.m, split, NULL, &w.mem, &w.tmp, &x, &n, &w.err), &w.err);
	assert_int_equal(n, w.m.g->n_ops);
	for (int32_t i = 0; i < n; i++) {
		assert_int_equal(x[i].dev, split[x[i].op]);
		assert_true(x[i].in == -1 && x[i].start_s <= x[i].end_s);
		for (int32_t k = 0; k < n; k++) /* p comes before all, s after */
			assert_true((x[k].op != 0 && x[i].op != 3) || k == i || x[k].end_s <= x[i].start_s);
	}
	end_world(&w);
}

/* Run the placement, then the unsplit model, with the journal at path. */
static void run_with_journal(const char *path, bool resume, berth_measurement *r, int32_t replayed)
{
	world w;
	berth_measurement whole;
	make_world(&w, BERTH_SOURCE "/engines/example.py", NULL, NULL, "single", "double");
	assert_ok(berth_journal_open(path, resume, "{}", &w.mem, &w.cfg.journal, &w.err), &w.err);
	assert_ok(open_world(&w), &w.err);
	berth_measurement run;
	assert_ok(run_world(&w, &run), &w.err);
	for (int i = 0; i < 7; i++)
		r->wall_s[i] = run.wall_s[i];
	assert_ok(berth_measured_whole(&w.m, 1, 0, resume ? 2 : 3, &w.mem, &w.tmp, &whole, &w.err),
	          &w.err); /* another question, when resumed */
	assert_int_equal(berth_journal_replayed(w.cfg.journal), replayed);
	assert_int_equal(w.m.runs, 8 + (resume ? 2 : 3));
	berth_journal_close(w.cfg.journal);
	end_world(&w);
}

static void journal_goes_through_a_run_again(void **state)
{
	(void)state;
	char path[64];
	double first[7], second[7];
	berth_measurement a = {.wall_s = first}, b = {.wall_s = second};
	snprintf(path, sizeof path, "/tmp/berth-journal-%ld", (long)getpid());
	run_with_journal(path, false, &a, 0);
	FILE *torn = fopen(path, "a");
	assert_non_null(torn);
	fputs("\"do\":\"run\",\"pla", torn);
	fclose(torn);
	for (int n = 1; n < 3; n++) { /* the first: the run; the second: also what was asked else in its place
		                       */
		run_with_journal(path, true, &b, n);
		for (int i = 0; i < 7; i++)
			assert_true(first[i] == second[i]);
	}
	run_with_journal(path, false, &b, 0); /* not resumed: begun anew */
	unlink(path);
}

/* A full disk is no fault of the engine's. */
static void journal_cannot_be_written(void **state)
{
	(void)state;
	world w;
	berth_measurement run;
	char path[64];
	struct rlimit was, small = {.rlim_cur = 200};
	snprintf(path, sizeof path, "/tmp/berth-journal-full-%ld", (long)getpid());
	make_world(&w, BERTH_SOURCE "/engines/example.py", NULL, NULL, "single", "double");
	assert_ok(berth_journal_open(path, false, "{}", &w.mem, &w.cfg.journal, &w.err), &w.err);
	assert_ok(open_world(&w), &w.err);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small.rlim_max = was.rlim_max;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	berth_status st = run_world(&w, &run);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	signal(SIGXFSZ, handler);
	assert_int_equal(st, BERTH_EIO);
	assert_true(w.m.unwritten && w.m.failures == 0);
	assert_contains(w.err.msg, path);
	berth_journal_close(w.cfg.journal);
	unlink(path);
	end_world(&w);
}

/* A journal of something else is refused and stays as it is, also where its end is torn; a torn first line
 * is none. */
static void journal_of_something_else(void **state)
{
	(void)state;
	char path[64];
	berth_arena mem = {0};
	berth_journal *j = NULL;
	berth_err err = {0};
	snprintf(path, sizeof path, "/tmp/berth-journal-%ld", (long)getpid());
	assert_ok(berth_journal_open(path, false, "one", &mem, &j, &err), &err);
	assert_ok(berth_journal_add(j, "question", "answer", &err), &err);
	berth_journal_close(j);
	j = NULL;
	assert_int_equal(berth_journal_open(path, true, "other", &mem, &j, &err), BERTH_EINVAL);
	assert_contains(err.msg, "cannot resume: it was begun with another engine, model or system, one...");
	assert_null(j);
	assert_ok(berth_journal_open(path, true, "one", &mem, &j, &err), &err);
	assert_string_equal(berth_journal_answer(j, "question"), "answer");
	berth_journal_close(j);
	FILE *torn = fopen(path, "w");
	assert_non_null(torn);
	fputs("oth", torn);
	fclose(torn);
	assert_ok(berth_journal_open(path, true, "one", &mem, &j, &err), &err);
	assert_null(berth_journal_answer(j, "question"));
	berth_journal_close(j);
	unlink(path);
	berth_arena_free(&mem);
}

/* How many of the entries question-K, answer-K a journal with these bytes goes through again; all must be
 * right. */
static int32_t entries_of(const char *path, const char *bytes, size_t size)
{
	char question[32], answer[32];
	const char *said;
	berth_arena mem = {0};
	berth_journal *j;
	berth_err err;
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	assert_ok(berth_journal_open(path, true, "of this", &mem, &j, &err), &err);
	int32_t n = 0;
	for (;; n++) {
		snprintf(question, sizeof question, "question-%d", (int)n);
		snprintf(answer, sizeof answer, "answer-%d", (int)n);
		if (!(said = berth_journal_answer(j, question)))
			break;
		assert_string_equal(said, answer);
	}
	berth_journal_close(j);
	berth_arena_free(&mem);
	return n;
}

static char *journal_bytes(const char *path, int32_t n, const char *kind, size_t *size, berth_arena *mem)
{
	char question[32], answer[32], *bytes;
	berth_journal *j;
	berth_err err;
	assert_ok(berth_journal_open(path, false, "of this", mem, &j, &err), &err);
	for (int32_t i = 0; i < n; i++) {
		snprintf(question, sizeof question, "question-%d", (int)i);
		snprintf(answer, sizeof answer, "%s-%d", kind, (int)i);
		assert_ok(berth_journal_add(j, question, answer, &err), &err);
	}
	berth_journal_close(j);
	assert_ok(berth_file_read(BERTH_READS_MODEL, path, mem, &bytes, size, &err), &err);
	return bytes;
}

/* Cut anywhere, any byte changed, any range zeroed, or its end that of another run with the same questions:
 * what is left is a beginning. */
static void torn_journal_is_a_beginning(void **state)
{
	(void)state;
	enum { N = 3, STEP = 7 };
	char path[64];
	berth_arena mem = {0};
	size_t size, n;
	snprintf(path, sizeof path, "/tmp/berth-journal-%ld", (long)getpid());
	char *whole = journal_bytes(path, N, "answer", &size, &mem), *torn = berth_arena_alloc(&mem, size, 1);
	const char *other = journal_bytes(path, N, "ANSWER", &n, &mem);
	assert_int_equal(entries_of(path, whole, size), N);
	int32_t before = 0;
	for (size_t at = 0; at < size; at += STEP) {
		int32_t left = entries_of(path, whole, at);
		assert_true(left >= before && left < N);
		before = left;
		memcpy(torn, whole, size);
		torn[at] ^= 4;
		assert_true(entries_of(path, torn, size) < N);
		torn[at] ^= 4;
		memset(torn + at, 0, at + 20 < size ? 20 : size - at);
		assert_true(entries_of(path, torn, size) < N);
		memcpy(torn, whole, at);
		memcpy(torn + at, other + at, size - at);
		if (memcmp(torn, other, size) != 0 && memcmp(torn, whole, size) != 0)
			assert_true(entries_of(path, torn, size) < N);
	}
	unlink(path);
	berth_arena_free(&mem);
}

/* `runs` runs of an engine with a fault, with the journal at path. What the last came to. */
static berth_status journaled_run(const char *flaw, const char *path, bool resume, int32_t runs, world *w)
{
	berth_measurement r;
	berth_status st = BERTH_OK;
	make_world(w, BERTH_SOURCE "/tests/engines/broken.py", flaw, NULL, "a", "b");
	assert_ok(berth_journal_open(path, resume, "{}", &w->mem, &w->cfg.journal, &w->err), &w->err);
	assert_ok(open_world(w), &w->err);
	for (int32_t i = 0; i < runs; i++)
		st = berth_measured_run(&w->m, split, NULL, 0, i + 1, &w->mem, &w->tmp, &r, &w->err);
	return st;
}

static void end_journaled(world *w)
{
	berth_journal_close(w->cfg.journal);
	end_world(w);
}

/* What ended a run is asked again when it is resumed, of an engine that is well by then. */
static void last_failure_is_asked_again(void **state)
{
	(void)state;
	static const fault ends[] = {{"crash-run", BERTH_EIO, ""},
	                             {"device-gone", BERTH_EINFEASIBLE, ""},
	                             {"differs", BERTH_EFORMAT, ""},
	                             {"slow-clock", BERTH_EIO, ""}};
	char path[64];
	snprintf(path, sizeof path, "/tmp/berth-journal-%ld", (long)getpid());
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		world w;
		assert_int_equal(journaled_run(ends[i].name, path, false, 1, &w), ends[i].st);
		end_journaled(&w);
		assert_int_equal(journaled_run("none", path, true, 1, &w), BERTH_OK);
		assert_int_equal(berth_journal_replayed(w.cfg.journal), 0);
		end_journaled(&w);
	}
	unlink(path);
}

/* A lie that other answers followed is the same failure when it is gone through again, and counts as much. */
static void lies_are_recalled_as_failures(void **state)
{
	(void)state;
	static const fault lies[] = {{"slow-clock", BERTH_EIO, "its times add up"},
	                             {"other-device", BERTH_EIO, "ran on another device"},
	                             {"binary-run", BERTH_EIO, "no answer"},
	                             {"device-gone", BERTH_EINFEASIBLE, "is gone"}};
	char path[64], once[64];
	snprintf(path, sizeof path, "/tmp/berth-journal-%ld", (long)getpid());
	snprintf(once, sizeof once, "/tmp/berth-broken-%ld", (long)getpid());
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		int32_t failures = 0;
		int64_t runs = 0;
		unlink(once);
		for (int resume = 0; resume < 2; resume++) {
			world w;
			berth_measurement r;
			make_world(&w, BERTH_SOURCE "/tests/engines/broken.py", lies[i].name, once, "a", "b");
			assert_ok(berth_journal_open(path, resume, "{}", &w.mem, &w.cfg.journal, &w.err),
			          &w.err);
			assert_ok(open_world(&w), &w.err);
			assert_int_equal(run_world(&w, &r), lies[i].st);
			assert_contains(w.err.msg, lies[i].part);
			assert_ok(berth_measured_run(&w.m, split, NULL, 0, 3, &w.mem, &w.tmp, &r, &w.err),
			          &w.err);
			assert_int_equal(berth_journal_replayed(w.cfg.journal), 2 * resume);
			assert_int_equal(w.m.failures, resume ? failures : w.m.failures);
			assert_int_equal(w.m.runs, resume ? runs : w.m.runs);
			failures = w.m.failures;
			runs = w.m.runs;
			end_journaled(&w);
		}
	}
	unlink(once);
	unlink(path);
}

/* One that ended is no longer among what is ended with berth: its number may be another's by then. */
static void death_is_noted(void **state)
{
	(void)state;
	world w;
	berth_measurement r = {0};
	int before = berth_leftover_file("/nothing");
	berth_leftover_forget(before);
	make_world(&w, BERTH_SOURCE "/tests/engines/broken.py", "crash-run", NULL, "a", "b");
	assert_ok(open_world(&w), &w.err);
	assert_int_equal(run_world(&w, &r), BERTH_EIO);
	int after = berth_leftover_file("/nothing");
	berth_leftover_forget(after);
	assert_int_equal(after, before);
	end_world(&w);
}

static void gets_no_file_of_ours(void **state)
{
	(void)state;
	world w;
	make_world(&w, BERTH_SOURCE "/tests/engines/broken.py", "open-files", NULL, "a", "b");
	assert_ok(open_world(&w), &w.err);
	assert_string_equal(berth_engine_says(w.m.engine)->version, "0");
	end_world(&w);
}

static void profile_survives_one_death(void **state)
{
	(void)state;
	char path[64], once[64];
	snprintf(path, sizeof path, "/tmp/berth-journal-%ld", (long)getpid());
	snprintf(once, sizeof once, "/tmp/berth-broken-%ld", (long)getpid());
	unlink(once);
	for (int resume = 0; resume < 2; resume++) {
		world w;
		berth_profile_row *rows;
		berth_engine_overheads over;
		make_world(&w, BERTH_SOURCE "/tests/engines/broken.py", "crash-profile", once, "a", "b");
		assert_ok(berth_journal_open(path, resume, "{}", &w.mem, &w.cfg.journal, &w.err), &w.err);
		assert_ok(open_world(&w), &w.err);
		assert_ok(
			berth_measured_profile(&w.m, NULL, 4, 1, 0, 3, &w.mem, &w.tmp, &rows, &over, &w.err),
			&w.err);
		assert_int_equal(rows[3].n, 3);
		assert_int_equal(w.m.failures, 1);
		assert_int_equal(berth_journal_replayed(w.cfg.journal), 2 * resume);
		end_journaled(&w);
	}
	unlink(once);
	unlink(path);
}

static void example_profiles(void **state)
{
	(void)state;
	world w;
	berth_profile_row *rows;
	berth_transfer_row *moves;
	berth_engine_overheads over;
	const int64_t sizes[] = {0, 100000};
	const int32_t ops[] = {3, 1};
	make_world(&w, BERTH_SOURCE "/engines/example.py", NULL, NULL, "single", "double");
	assert_ok(open_world(&w), &w.err);
	assert_ok(berth_measured_profile(&w.m, ops, 2, 1, 1, 5, &w.mem, &w.tmp, &rows, &over, &w.err),
	          &w.err);
	assert_int_equal(rows[0].op, 3);
	assert_int_equal(rows[1].dev, 1);
	assert_int_equal(rows[1].n, 5);
	assert_true(rows[1].wall_s[2] > 0 && rows[1].cpu_s[2] > 0);
	assert_true(isnan(over.run_s));
	assert_ok(berth_measured_transfers(&w.m, 0, 1, sizes, 2, 3, &w.mem, &w.tmp, &moves, &w.err), &w.err);
	assert_int_equal(moves[1].bytes, 100000);
	assert_int_equal(berth_measured_set_speed(&w.m, 1, 2, &w.tmp, &w.err), BERTH_EIO);
	assert_contains(w.err.msg, "at most 1");
	assert_ok(berth_measured_set_speed(&w.m, 1, 0.5, &w.tmp, &w.err), &w.err);
	end_world(&w);
}

static void device_that_is_gone(void **state)
{
	(void)state;
	world w;
	berth_measurement r;
	make_world(&w, BERTH_SOURCE "/engines/example.py", NULL, NULL, "single", "gpu9");
	assert_ok(open_world(&w), &w.err);
	assert_int_equal(run_world(&w, &r), BERTH_EINFEASIBLE);
	assert_contains(w.err.msg, "has no device 'gpu9' (it has single, double)");
	end_world(&w);
}

/* ---- broken ones ---- */

static const fault at_start[] = {
	{"crash-hello", BERTH_EIO,
	 "left with exit code 1 before it answered; its last words: no library to run on"},
	{"hang-hello", BERTH_ELIMIT, "gave no answer within 1 s and was ended"},
	{"endless-hello", BERTH_EIO, "wrote an answer of more than 65536 bytes"},
	{"no-devices", BERTH_EIO, "has 0 devices"},
	{"same-devices", BERTH_EIO, "has two devices called 'a'"},
	{"odd-devices", BERTH_EIO, "describes a device badly"},
	{"odd-hello", BERTH_EIO, "gave a bad hello: answer: /fuses: expected true or false"},
	{"protocol", BERTH_EIO, "speaks protocol 9; this berth speaks 1"},
	{"model", BERTH_EFORMAT, "it cannot run operators of type 'Strange'"},
	{"other-ops", BERTH_EIO, "loaded 5 operators; the graph has 4"},
};

static void bad_starts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof at_start / sizeof *at_start; i++) {
		world w;
		make_world(&w, BERTH_SOURCE "/tests/engines/broken.py", at_start[i].name, NULL, "a", "b");
		w.cfg.engine.hello_s = strstr(at_start[i].name, "hang") ? 1 : 30;
		assert_int_equal(open_world(&w), at_start[i].st);
		assert_contains(w.err.msg, at_start[i].part);
		end_world(&w);
	}
}

/* ---- programs that are run for a line ---- */

static berth_status line_of(const char *script, double limit_s, size_t most, berth_arena *mem,
                            const char **text, size_t *size, berth_err *err)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	const berth_engine_cfg cfg = {.name = "sh", .argv = argv};
	*err = (berth_err){0};
	return berth_engine_line(&cfg, "the question\n", limit_s, most, mem, text, size, err);
}

static void a_line_of_a_program(void **state)
{
	berth_arena mem = {0};
	berth_err err;
	const char *text;
	size_t size;
	(void)state;
	assert_ok(line_of("read word; echo to nobody >&2; echo \"the line of $word\"; exit 4", 30, 100, &mem,
	                  &text, &size, &err),
	          &err);
	assert_int_equal(size, 24);
	assert_string_equal(text, "the line of the question");
	berth_arena_free(&mem);
}

static void programs_without_a_line(void **state)
{
	static const struct {
		const char *script;
		double limit_s;
		fault is;
	} program[] = {
		{"echo noise >&2; echo 'berth-engine-x: m.py:3: no' >&2; exit 4", 30,
	         {"", BERTH_EFORMAT, "m.py:3: no"}},
		{"printf 'word? ' >&2; echo berth-engine-x: word >&2; exit 2", 30,
	         {"", BERTH_EINVAL, "word"}},
		{"echo no library >&2; exit 5", 30, {"", BERTH_EIO, "no library"}},
		{"echo traceback >&2; exit 1", 30,
	         {"", BERTH_EIO, "engine 'sh' left with exit code 1 before it answered; its last words: "
	                         "traceback"}},
		{"exit 4", 30, {"", BERTH_EFORMAT, "sh: exit code 4"}},
		{"printf half; exit 0", 30,
	         {"", BERTH_EIO, "engine 'sh' left with exit code 0 before it answered"}},
		{"yes one two | head -99 >&2; echo 'the last one' >&2; exit 1", 30,
	         {"", BERTH_EIO, "its last words: ... one two one two"}},
		{"yes one two | head -99 >&2; echo 'the last one' >&2; exit 1", 30,
	         {"", BERTH_EIO, "one two the last one"}},
		{"yes one two | head -99 | tr '\\n' ' ' >&2; exit 1", 30,
	         {"", BERTH_EIO, "its last words: ... two one two one two"}},
		{"sleep 60 & echo waits >&2; sleep 60", 2,
	         {"", BERTH_ELIMIT, "engine 'sh' gave no answer within 2 s and was ended; its last words: "
	                            "waits"}},
		{"yes | tr -d '\\n'", 30, {"", BERTH_EIO, "wrote an answer of more than 100 bytes"}},
	};
	(void)state;
	for (size_t i = 0; i < sizeof program / sizeof *program; i++) {
		berth_arena mem = {0};
		berth_err err;
		const char *text;
		size_t size;
		berth_status st =
			line_of(program[i].script, program[i].limit_s, 100, &mem, &text, &size, &err);
		assert_int_equal(st, program[i].is.st);
		if (program[i].is.st == BERTH_EIO || program[i].is.st == BERTH_ELIMIT)
			assert_contains(err.msg, program[i].is.part);
		else
			assert_string_equal(err.msg, program[i].is.part);
		berth_arena_free(&mem);
	}
}

static const fault in_run[] = {
	{"crash-run", BERTH_EIO,
	 "was ended by signal 11 before it answered; its last words: about to fall over"},
	{"hang-run", BERTH_ELIMIT, "gave no answer within 1 s and was ended"},
	{"endless-run", BERTH_EIO, "bytes, which is more than the question can have"},
	{"orphan-run", BERTH_EIO, "left with exit code 4 before it answered"},
	{"no-kind", BERTH_EIO, "not today"},
	{"half-run", BERTH_EIO, "left with exit code 3 before it answered"},
	{"garbage-run", BERTH_EIO, "wrote what is no answer: 'Segmentation fault (core not dumped)'"},
	{"binary-run", BERTH_EIO, "wrote what is no answer: '\\xff\\xfe\\x1b[31m gar\xc3\xa9" "bage \\xc3'"},
	{"binary-words", BERTH_EIO, "its last words: \\xffodd words"},
	{"long-refusal", BERTH_EINFEASIBLE, "'broken': x\xc3\xa9\xc3\xa9"},
	{"device-gone", BERTH_EINFEASIBLE, "device 'b' is gone"},
	{"differs", BERTH_EFORMAT, "differ from the unsplit model's by 0.5"},
	{"other-device", BERTH_EIO, "ran on another device than it was asked to"},
	{"fewer-samples", BERTH_EIO, "\"wall_s\" has 6 entries; 7 were expected"},
	{"negative", BERTH_EIO, "no number of seconds >= 0"},
	{"nan", BERTH_EIO, "no number of seconds >= 0"},
	{"slow-clock", BERTH_EIO, "its times add up to 7000 s"},
	{"op-twice", BERTH_EIO, "do not hold each operator once"},
	{"op-missing", BERTH_EIO, "do not hold each operator once"},
	{"empty-segment", BERTH_EIO, "a segment has no operators"},
	{"ends-late", BERTH_EIO, "ends before it starts or after the run"},
	{"wrong-id", BERTH_EIO, "answered question 77"},
	{"two-lines", BERTH_EIO, "more than one line"},
};

static void assert_printable(const char *text)
{
	assert_true(berth_text_is_utf8(text, strlen(text)));
	for (; *text; text++)
		assert_true((unsigned char)*text >= ' ');
}

/* Each fault fails one run; the next one finds a new engine, which has the graph. */
static void bad_runs_are_survived(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof in_run / sizeof *in_run; i++) {
		world w;
		berth_measurement r = {0};
		char once[64];
		snprintf(once, sizeof once, "/tmp/berth-broken-%ld", (long)getpid());
		unlink(once);
		make_world(&w, BERTH_SOURCE "/tests/engines/broken.py", in_run[i].name, once, "a", "b");
		assert_ok(open_world(&w), &w.err);
		w.m.cfg.answer_s = strstr(in_run[i].name, "hang") ? 1 : 30;
		assert_int_equal(run_world(&w, &r), in_run[i].st);
		w.m.cfg.answer_s = 30;
		assert_contains(w.err.msg, in_run[i].part);
		assert_printable(w.err.msg);
		assert_int_equal(r.n_samples, 0);
		assert_ok(berth_measured_run(&w.m, split, NULL, 0, 3, &w.mem, &w.tmp, &r, &w.err), &w.err);
		assert_int_equal(r.n_samples, 3);
		end_world(&w);
		unlink(once);
	}
}

/* The engine has a and b, the system a and c: nothing may run on b, not even a piece without operators or a
 * kernel of none. */
static void devices_that_the_system_lacks(void **state)
{
	(void)state;
	static const int32_t alone[] = {0, 0, 0, 0};
	world w;
	berth_measurement r;
	berth_operator_time *x;
	int32_t n = 0;
	make_world(&w, BERTH_SOURCE "/tests/engines/broken.py", "stray-segment", NULL, "a", "c");
	assert_ok(open_world(&w), &w.err);
	assert_int_equal(berth_measured_run(&w.m, alone, NULL, 0, 3, &w.mem, &w.tmp, &r, &w.err), BERTH_EIO);
	assert_contains(w.err.msg, "it used a device that the system lacks");
	end_world(&w);
	make_world(&w, BERTH_SOURCE "/tests/engines/broken.py", "stray-kernel", NULL, "a", "c");
	assert_ok(open_world(&w), &w.err);
	assert_ok(berth_measured_run(&w.m, alone, NULL, 0, 3, &w.mem, &w.tmp, &r, &w.err), &w.err);
	assert_int_equal(berth_measured_operators(&w.m, alone, NULL, &w.mem, &w.tmp, &x, &n, &w.err),
	                 BERTH_EIO);
	assert_contains(w.err.msg, "it used a device that the system lacks");
	end_world(&w);
}

static void always_dying_is_given_up(void **state)
{
	(void)state;
	world w;
	berth_measurement r;
	make_world(&w, BERTH_SOURCE "/tests/engines/broken.py", "crash-run", NULL, "a", "b");
	w.cfg.max_starts = 2;
	assert_ok(open_world(&w), &w.err);
	assert_int_equal(run_world(&w, &r), BERTH_EIO);
	assert_int_equal(run_world(&w, &r), BERTH_EIO);
	assert_contains(w.err.msg, "signal 11");
	assert_int_equal(w.m.failures, 2);
	assert_int_equal(run_world(&w, &r), BERTH_EIO);
	assert_contains(w.err.msg, "it is given up");
	end_world(&w);
}

static void other_devices_after_a_restart(void **state)
{
	(void)state;
	world w;
	berth_measurement r;
	char once[64];
	snprintf(once, sizeof once, "/tmp/berth-broken-%ld", (long)getpid());
	unlink(once);
	make_world(&w, BERTH_SOURCE "/tests/engines/broken.py", "new-devices", once, "a", "b");
	assert_ok(open_world(&w), &w.err);
	assert_int_equal(run_world(&w, &r), BERTH_EIO);
	assert_int_equal(run_world(&w, &r), BERTH_EIO);
	assert_contains(w.err.msg, "other devices than at its first start");
	end_world(&w);
	unlink(once);
}

static void program_that_is_not_there(void **state)
{
	(void)state;
	world w;
	make_world(&w, "/nowhere/engine", NULL, NULL, "a", "b");
	assert_int_equal(open_world(&w), BERTH_EIO);
	assert_contains(w.err.msg, "/nowhere/engine");
	end_world(&w);
}

/* ---- medians ---- */

/* Memory that runs out while an answer is read is berth's trouble: told as such, and the engine lives on. */
static int64_t left;

static void *one_fails(size_t size)
{
	return left-- == 0 ? NULL : malloc(size);
}

static void memory_of_answers(void **state)
{
	(void)state;
	cJSON_Hooks failing = {one_fails, free};
	world w;
	int64_t k = 0;
	berth_status st = BERTH_ENOMEM;
	make_world(&w, BERTH_SOURCE "/engines/example.py", NULL, NULL, "single", "double");
	assert_ok(open_world(&w), &w.err);
	for (; st != BERTH_OK; k += 1 + k / 8) {
		berth_measurement r = {0};
		left = k;
		cJSON_InitHooks(&failing);
		st = berth_measured_run(&w.m, split, NULL, 0, 1, &w.mem, &w.tmp, &r, &w.err);
		cJSON_InitHooks(NULL);
		assert_true(st == BERTH_OK || st == BERTH_ENOMEM);
		assert_true(berth_engine_runs(w.m.engine));
	}
	assert_true(k > 20);
	assert_int_equal(berth_engine_starts(w.m.engine), 1);
	assert_int_equal(w.m.failures, 0);
	end_world(&w);
	left = 3; /* of the hello */
	make_world(&w, BERTH_SOURCE "/engines/example.py", NULL, NULL, "single", "double");
	cJSON_InitHooks(&failing);
	assert_int_equal(open_world(&w), BERTH_ENOMEM);
	cJSON_InitHooks(NULL);
	end_world(&w);
}

static void intervals_of_medians(void **state)
{
	(void)state;
	berth_arena tmp = {0};
	berth_err err;
	berth_spread s;
	const double x[] = {5, 1, 4, 2, 3, 6, 9, 8, 7, 10};
	assert_ok(berth_spread_of(x, 5, &tmp, &s, &err), &err);
	assert_near(s.median, 3, 0);
	assert_near(s.low, 1, 0);
	assert_near(s.high, 5, 0);
	assert_near(s.mad, 1, 0);
	/* n = 10: P(B <= 1) = 11/1024, so the second from either end is 97.9 %, the third 89.1 % */
	assert_ok(berth_spread_of(x, 10, &tmp, &s, &err), &err);
	assert_near(s.median, 5.5, 0);
	assert_near(s.low, 2, 0);
	assert_near(s.high, 9, 0);
	assert_ok(berth_spread_of(x, 1, &tmp, &s, &err), &err);
	assert_near(berth_spread_width(&s), 0, 0);
	berth_arena_free(&tmp);
}

/* Of 0, 1, 2, ...: the interval's ends are the order statistics themselves, from exact sums of binomials. */
static void intervals_of_many_samples(void **state)
{
	(void)state;
	enum { N = 2000 };
	static double x[N];
	berth_arena tmp = {0};
	berth_err err;
	berth_spread s;
	for (int i = 0; i < N; i++)
		x[i] = i;
	assert_ok(berth_spread_of(x, 1000, &tmp, &s, &err), &err);
	assert_near(s.low, 468, 0);
	assert_near(s.high, 531, 0);
	assert_ok(berth_spread_of(x, N, &tmp, &s, &err), &err);
	assert_near(s.median, 999.5, 0);
	assert_near(s.low, 955, 0);
	assert_near(s.high, 1044, 0);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example_runs),
		cmocka_unit_test(example_tells_of_operators),
		cmocka_unit_test(journal_goes_through_a_run_again),
		cmocka_unit_test(journal_of_something_else),
		cmocka_unit_test(torn_journal_is_a_beginning),
		cmocka_unit_test(journal_cannot_be_written),
		cmocka_unit_test(last_failure_is_asked_again),
		cmocka_unit_test(lies_are_recalled_as_failures),
		cmocka_unit_test(death_is_noted),
		cmocka_unit_test(gets_no_file_of_ours),
		cmocka_unit_test(profile_survives_one_death),
		cmocka_unit_test(example_profiles),
		cmocka_unit_test(device_that_is_gone),
		cmocka_unit_test(bad_starts),
		cmocka_unit_test(a_line_of_a_program),
		cmocka_unit_test(programs_without_a_line),
		cmocka_unit_test(bad_runs_are_survived),
		cmocka_unit_test(devices_that_the_system_lacks),
		cmocka_unit_test(always_dying_is_given_up),
		cmocka_unit_test(other_devices_after_a_restart),
		cmocka_unit_test(program_that_is_not_there),
		cmocka_unit_test(memory_of_answers),
		cmocka_unit_test(intervals_of_medians),
		cmocka_unit_test(intervals_of_many_samples),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
