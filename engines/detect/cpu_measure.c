/* What cores do, measured: a crew of threads, one a core, does the same work at once. Products of
 * matrices by OpenBLAS tell the peak, copies the bandwidth, meetings the overhead, a flag between two
 * cores the latency. */
#include "cpu_measure.h"

#include "apart.h"
#include "cores.h"
#include "library.h"
#include "text.h"
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* Rounds are short and many: the shortest has seen no other program on its cores. Waiting takes about a
 * millisecond before a core is given away, so that all can be there at once. */
enum { SIZE = 512, PIECE = 4 << 20, COPY_ROUNDS = 256, ROUNDS = 64, SHORT_ROUNDS = 400 };
enum { MEETINGS = 4, FLAGS = 8, SPINS = 1000000, FRESH = 36 << 20, LINE = 64 };
enum { ENOUGH = 1, OUT_OF_MEMORY }; /* why a crew ends before its rounds do */
#define ENOUGH_S 1.0
#define LEAST_SHARE 0.25 /* of the clock times the width */

typedef struct crew crew;

/* One thread. Its blocks are its own memory, first touched where it runs. */
typedef struct seat {
	crew *crew;
	int32_t index;
	float *a, *b;
	size_t at;    /* byte of its blocks that the next piece begins at */
	double own_s; /* of its core's time, in the last round */
	pthread_t thread;
} seat;

/* What all threads do in each round. */
typedef struct job {
	bool (*prepare)(seat *s); /* false: no memory */
	void (*work)(seat *s);
	int rounds;
	bool waits; /* threads for each other: their cores' time tells nothing */
} job;

/* What is called of OpenBLAS: cblas_sgemm, with its numbers for row-major order and no transposition. */
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };
typedef void sgemm_fn(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef char *corename_fn(void);

struct crew {
	const berth_cpu_team *team, *from; /* from: whose memory is copied; NULL: their own */
	const job *job;
	sgemm_fn *sgemm;
	size_t bytes; /* of a block of a thread, whole pieces */
	atomic_int arrived, phase, over;
	atomic_int ball; /* of the game: 1: the second thread's turn */
	double round_s[SHORT_ROUNDS], own_s[SHORT_ROUNDS]; /* by the clock, of the core that took longest */
	int32_t n_rounds; /* that ended */
	seat seat[];
};

/* ---- threads ---- */

/* Wait until all threads are here: spinning, as those of a runtime do between operators; whoever waits long
 * lets others have the core. */
static void meet(crew *c)
{
	int phase = atomic_load(&c->phase);
	if (atomic_fetch_add(&c->arrived, 1) + 1 == c->team->n_cores) {
		atomic_store(&c->arrived, 0);
		atomic_fetch_add(&c->phase, 1);
		return;
	}
	for (int spins = 0; atomic_load(&c->phase) == phase; spins++)
		if (spins > SPINS)
			sched_yield();
}

/* Of its core's time, that this thread had. */
static double own_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *sit(void *arg)
{
	seat *s = arg;
	crew *c = s->crew;
	double start = berth_wall_seconds();
	berth_cores_bind(c->team->core[s->index]);
	if (!c->job->prepare(s))
		atomic_store(&c->over, OUT_OF_MEMORY);
	for (int i = 0; i < c->job->rounds; i++) {
		meet(c);
		if (atomic_load(&c->over))
			break;
		double from = berth_wall_seconds(), own = own_seconds();
		c->job->work(s);
		s->own_s = own_seconds() - own;
		meet(c);
		if (s->index > 0 || atomic_load(&c->over)) /* a round that was not done counts for nothing */
			continue;
		double now = berth_wall_seconds();
		c->round_s[c->n_rounds] = now - from;
		for (int32_t k = 0; k < c->team->n_cores; k++)
			c->own_s[c->n_rounds] = fmax(c->own_s[c->n_rounds], c->seat[k].own_s);
		c->n_rounds++;
		if (now - start > ENOUGH_S) /* others have the cores: more rounds would take long */
			atomic_store(&c->over, ENOUGH);
	}
	return NULL;
}

/* All seats' threads, the caller's own thread among them not: it keeps the cores that it had. */
static berth_status run_crew(crew *c, berth_err *err)
{
	int32_t n = 0;
	for (; n < c->team->n_cores; n++)
		if (pthread_create(&c->seat[n].thread, NULL, sit, &c->seat[n]) != 0)
			break;
	if (n < c->team->n_cores) { /* those that are there wait for the rest: sit in for it */
		atomic_store(&c->over, OUT_OF_MEMORY);
		atomic_fetch_add(&c->arrived, c->team->n_cores - n - 1);
		meet(c);
	}
	for (int32_t i = 0; i < n; i++)
		pthread_join(c->seat[i].thread, NULL);
	return atomic_load(&c->over) == OUT_OF_MEMORY ? berth_nomem(err) : BERTH_OK;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

berth_cpu_rounds berth_cpu_rounds_of(double *round_s, const double *own_s, int32_t n)
{
	berth_cpu_rounds r = {INFINITY, 1};
	for (int32_t i = 0; own_s && i < n; i++)
		r.best_s = fmin(r.best_s, own_s[i]);
	if (n < 1)
		return r;
	qsort(round_s, (size_t)n, sizeof *round_s, ascending);
	if (!own_s || !(r.best_s > 0) || round_s[0] < BERTH_ROUNDS_DISAGREE * r.best_s)
		r.best_s = round_s[0];
	r.usual = round_s[n / 2] / r.best_s;
	return r;
}

static berth_status run_job(const berth_cpu_team *team, const berth_cpu_team *from, const job *j,
                            sgemm_fn *sgemm, size_t bytes, berth_cpu_rounds *out, berth_err *err)
{
	crew *c = calloc(1, sizeof *c + (size_t)team->n_cores * sizeof *c->seat);
	BERTH_TRY(berth_got(c, err));
	c->team = team;
	c->from = from;
	c->job = j;
	c->sgemm = sgemm;
	c->bytes = bytes;
	for (int32_t i = 0; i < team->n_cores; i++)
		c->seat[i] = (seat){.crew = c, .index = i};
	berth_status st = run_crew(c, err);
	for (int32_t i = 0; i < team->n_cores; i++) {
		free(c->seat[i].a);
		free(c->seat[i].b);
	}
	*out = berth_cpu_rounds_of(c->round_s, j->waits ? NULL : c->own_s, c->n_rounds);
	free(c);
	return st;
}

/* ---- jobs ---- */

static bool get_matrices(seat *s)
{
	s->a = malloc(2 * sizeof *s->a * SIZE * SIZE);
	s->b = malloc(sizeof *s->b * SIZE * SIZE);
	for (int i = 0; s->a && i < 2 * SIZE * SIZE; i++)
		s->a[i] = (float)(i % 17) * 0.0625f;
	if (s->b)
		memset(s->b, 0, sizeof *s->b * SIZE * SIZE);
	return s->a && s->b;
}

static void multiply(seat *s)
{
	s->crew->sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, SIZE, SIZE, SIZE, 1, s->a, SIZE,
	               s->a + SIZE * SIZE, SIZE, 0, s->b, SIZE);
}

static bool get_blocks(seat *s)
{
	const crew *c = s->crew;
	if (c->from) /* the source is touched by a core that it stands next to */
		berth_cores_bind(c->from->core[s->index % c->from->n_cores]);
	s->a = malloc(c->bytes);
	if (s->a)
		memset(s->a, 1, c->bytes);
	berth_cores_bind(c->team->core[s->index]);
	s->b = malloc(c->bytes);
	if (s->b)
		memset(s->b, 2, c->bytes);
	return s->a && s->b;
}

/* The next piece: when the first one comes again, the caches hold it no more. */
static void copy(seat *s)
{
	memcpy((char *)s->b + s->at, (char *)s->a + s->at, PIECE);
	s->at = (s->at + PIECE) % s->crew->bytes;
}

static bool get_nothing(seat *s)
{
	(void)s;
	return true;
}

/* The beginning of a block so large that no library keeps one: each page of it comes from the operating
 * system when it is written. Where there is no room for it the figure is missing. */
static void write_fresh(seat *s)
{
	volatile char *p = malloc(FRESH);
	for (int i = 0; p && i < PIECE; i += LINE)
		p[i] = 1;
	if (!p)
		atomic_store(&s->crew->over, ENOUGH);
	free((void *)p);
}

/* One after the other, so that the last one to come is waited for each time; a round's end is one more. */
static void only_meet(seat *s)
{
	for (int i = 0; i < MEETINGS; i++)
		meet(s->crew);
}

static void wait_ball(crew *c, int at)
{
	for (int spins = 0; atomic_load(&c->ball) != at; spins++)
		if (spins > SPINS)
			sched_yield();
}

/* Of two threads: a flag goes there and back. */
static void play(seat *s)
{
	crew *c = s->crew;
	for (int i = 0; i < FLAGS; i++) {
		if (s->index > 0)
			wait_ball(c, 1);
		atomic_store(&c->ball, s->index == 0);
		if (s->index == 0)
			wait_ball(c, 0);
	}
}

/* ---- figures ---- */

/* Twice the last cache, 64 to 256 MiB, and not more than a sixteenth of the memory; a thread's share, at
 * least a piece. */
static size_t copy_bytes(const berth_cpu_team *t)
{
	const double mib = 1 << 20;
	double bytes = fmin(fmax(2 * (double)t->cache_bytes, 64 * mib), 256 * mib);
	if (t->memory_bytes > 0)
		bytes = fmin(bytes, (double)t->memory_bytes / 16);
	return ((size_t)(bytes / t->n_cores) / PIECE + 1) * PIECE;
}

/* Vector instructions, narrow to wide, by the kernel of OpenBLAS that uses them, with the operations in f32
 * that a core does a cycle by them at most. Kernels that are not named are older or of other families. */
static const struct {
	const char *flags[4], *kernel, *others;
	double per_cycle;
} widths[] = {
	{{NULL},
         "",
         "Generic Prescott Core2 Penryn Dunnington Nehalem Atom Opteron Barcelona Athlon Bobcat Katmai ",
         8},
	{{"avx", NULL}, "Sandybridge", "Bulldozer Piledriver Steamroller ", 16},
	{{"avx2", "fma", NULL}, "Haswell", "Zen Excavator ", 32},
	{{"avx512f", "avx512bw", "avx512vl", NULL}, "SkylakeX", "", 64},
};
enum { N_WIDTHS = sizeof widths / sizeof *widths };

/* The width that a kernel uses; of one that is not known the widest. */
static int width_of_kernel(const char *kernel)
{
	for (int i = 0; i < N_WIDTHS - 1; i++) {
		const char *at = strstr(widths[i].others, kernel);
		if (strcmp(widths[i].kernel, kernel) == 0 || (at && at[strlen(kernel)] == ' '))
			return i;
	}
	return N_WIDTHS - 1;
}

/* The widest one that the CPU has, by /proc/cpuinfo, and its clock in Hz now (0: not told); -1: not told, or
 * of another family than x86. */
static int width_of_cpu(double *clock_hz)
{
	char line[8192];
	const char *end;
	int widest = -1;
	FILE *f = fopen("/proc/cpuinfo", "r");
	*clock_hz = 0;
	while (f && (widest < 0 || !(*clock_hz > 0)) && fgets(line, sizeof line, f)) {
		char *colon = strchr(line, ':');
		if (colon && strncmp(line, "cpu MHz", 7) == 0)
			*clock_hz = 1e6 * berth_text_number(colon + 2, &end);
		if (!colon || strncmp(line, "flags", 5) != 0)
			continue;
		line[strcspn(line, "\n")] = ' ';
		for (int i = 0; i < N_WIDTHS; i++) {
			bool all = true;
			for (const char *const *flag = widths[i].flags; *flag; flag++) {
				char word[16];
				snprintf(word, sizeof word, " %s ", *flag);
				all = all && strstr(colon, word);
			}
			widest = all ? i : widest;
		}
	}
	if (f)
		fclose(f);
	return widest;
}

const char *berth_cpu_blas_kernel(void)
{
	double clock_hz;
	int width = width_of_cpu(&clock_hz);
	return width > 0 ? widths[width].kernel : NULL;
}

const char *berth_cpu_name(char name[128])
{
	char line[8192];
	FILE *f = fopen("/proc/cpuinfo", "r");
	snprintf(name, 128, "an unnamed CPU");
	while (f && fgets(line, sizeof line, f)) {
		const char *colon = strchr(line, ':');
		if (!colon || strncmp(line, "model name", 10) != 0)
			continue;
		const char *at = colon + 1 + strspn(colon + 1, " ");
		snprintf(name, 128, "%.*s", (int)strcspn(at, "\n"), at);
		break;
	}
	if (f)
		fclose(f);
	return name;
}

/* The peak, in a process of its own, which OpenBLAS is loaded into. */
typedef struct peak_work {
	const berth_cpu_team *team;
	const char *ask; /* for this kernel; NULL: the one that it chooses */
	berth_figure *out;
	char *kernel; /* [KERNEL] that it used */
} peak_work;
enum { KERNEL = 24 };

static berth_status multiply_apart(void *ctx, berth_err *err)
{
	static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", NULL};
	const size_t library = 64 << 20, buffer = 160 << 20; /* it takes one for each thread that calls it */
	const job products = {get_matrices, multiply, ROUNDS, false};
	const peak_work *w = ctx;
	const berth_cpu_team *team = w->team;
	sgemm_fn *sgemm;
	corename_fn *corename;
	void *blas;
	berth_cpu_rounds r;
	if (w->ask && setenv("OPENBLAS_CORETYPE", w->ask, 1) != 0)
		return berth_nomem(err);
	BERTH_TRY(berth_library_open_blas(names, "libopenblas0", library + (size_t)team->n_cores * buffer,
	                                  &blas, err));
	BERTH_TRY(berth_library_function(blas, "cblas_sgemm", &sgemm, err));
	BERTH_TRY(berth_library_function(blas, "openblas_get_corename", &corename, err));
	snprintf(w->kernel, KERNEL, "%s", corename());
	BERTH_TRY(run_job(team, NULL, &products, sgemm, 0, &r, err));
	*w->out = berth_figure_of(2.0 * SIZE * SIZE * SIZE * team->n_cores / r.best_s,
	                          BERTH_LEAST_FLOPS, BERTH_MOST_FLOPS, BERTH_ORIGIN_MEASURED,
	                          "products of matrices on %d core%s (OpenBLAS, %s)", (int)team->n_cores,
	                          team->n_cores == 1 ? "" : "s", corename());
	return BERTH_OK;
}

static berth_status multiply_with(const char *ask, const berth_cpu_team *team, berth_figure *out,
                                  char kernel[KERNEL], berth_err *err)
{
	static const double limit_s = 20;
	berth_err why = {0};
	berth_figure f = berth_figure_missing("OpenBLAS ended its process");
	const berth_apart_block blocks[] = {{&f, sizeof f}, {kernel, KERNEL}};
	peak_work w = {team, ask, &f, kernel};
	berth_apart_end how = BERTH_APART_ENDED;
	kernel[0] = '\0';
	berth_status st = berth_apart_within(limit_s, multiply_apart, &w, 2, blocks, &how, &why);
	if (st == BERTH_ENOMEM)
		return berth_nomem(err);
	if (st != BERTH_OK)
		f = berth_figure_missing(why.msg);
	else if (how == BERTH_APART_LATE)
		f = berth_figure_missing("products of matrices took more than 20 s");
	*out = f;
	return BERTH_OK;
}

/* Where OpenBLAS does not know the CPU it takes a kernel of 2004: it is asked for the one that the CPU's
 * flags allow. A peak far below the clock times the width says so. Without OpenBLAS that works the figure is
 * missing, and says why. */
static berth_status measure_peak(const berth_cpu_team *team, berth_figure *out, berth_err *err)
{
	char kernel[KERNEL] = "";
	double clock_hz;
	berth_figure wider;
	int width = width_of_cpu(&clock_hz);
	BERTH_TRY(multiply_with(NULL, team, out, kernel, err));
	if (width > 0 && *kernel && width_of_kernel(kernel) < width) {
		BERTH_TRY(multiply_with(widths[width].kernel, team, &wider, kernel, err));
		if (wider.value > out->value)
			*out = wider;
	}
	double most = width < 0 ? 0 : team->n_cores * clock_hz * widths[width].per_cycle;
	size_t n = strlen(out->how);
	if (out->value > 0 && out->value < LEAST_SHARE * most && out->how[n - 1] == ')')
		snprintf(out->how + n - 1, sizeof out->how - n + 1, "; only %.0f %% of %.1f GHz x %.0f)",
		         100 * out->value / most, clock_hz / 1e9, widths[width].per_cycle);
	return BERTH_OK;
}

static berth_status measure_copies(const berth_cpu_team *team, const berth_cpu_team *from, int rounds,
                                   double times_moved, berth_figure *out, berth_err *err)
{
	const job copies = {get_blocks, copy, rounds, false};
	size_t bytes = copy_bytes(team);
	double n = team->n_cores, whole = (double)bytes * n, cache = (double)team->cache_bytes;
	berth_cpu_rounds r;
	char held[40] = "", usual[48] = "";
	BERTH_TRY(run_job(team, from, &copies, NULL, bytes, &r, err));
	if (cache > whole)
		snprintf(held, sizeof held, ", held by caches of %.0f MiB", cache / (1 << 20));
	if (r.usual > BERTH_ROUNDS_DISAGREE)
		snprintf(usual, sizeof usual, "; usual round %.3g times as long", r.usual);
	*out = berth_figure_of(times_moved * PIECE * n / r.best_s, BERTH_LEAST_BANDWIDTH,
	                       BERTH_MOST_BANDWIDTH, BERTH_ORIGIN_MEASURED,
	                       "copies of %.0f MiB on %d core%s%s%s", whole / (1 << 20), (int)team->n_cores,
	                       team->n_cores == 1 ? "" : "s", held, usual);
	return BERTH_OK;
}

berth_status berth_cpu_measure(const berth_cpu_team *team, berth_cpu_figures *out, berth_err *err)
{
	const job empty = {get_nothing, only_meet, SHORT_ROUNDS, true},
		  fresh = {get_nothing, write_fresh, ROUNDS, false};
	berth_cpu_rounds r, fresh_r;
	BERTH_TRY(measure_peak(team, &out->peak_flops, err));
	BERTH_TRY(measure_copies(team, NULL, COPY_ROUNDS, 2, &out->mem_bandwidth, err));
	BERTH_TRY(run_job(team, NULL, &empty, NULL, 0, &r, err));
	BERTH_TRY(run_job(team, NULL, &fresh, NULL, 0, &fresh_r, err));
	out->fresh_bandwidth = berth_figure_of((double)PIECE * team->n_cores / fresh_r.best_s,
	                                       BERTH_LEAST_BANDWIDTH, BERTH_MOST_BANDWIDTH,
	                                       BERTH_ORIGIN_MEASURED,
	                                       "writing 4 MiB a core that it just asked for");
	out->overhead = berth_figure_of(r.best_s / (MEETINGS + 1), 1e-9, 1, BERTH_ORIGIN_MEASURED,
	                                "calling %d core%s with nothing to do", (int)team->n_cores,
	                                team->n_cores == 1 ? "" : "s");
	return BERTH_OK;
}

berth_status berth_cpu_measure_link(const berth_cpu_team *from, const berth_cpu_team *to,
                                    berth_figure *bandwidth, berth_figure *latency, berth_err *err)
{
	const job flags = {get_nothing, play, SHORT_ROUNDS, true};
	const int32_t cores[] = {from->core[0], to->core[0]};
	const berth_cpu_team pair = {cores, 2, 0, 0};
	berth_cpu_rounds r;
	BERTH_TRY(measure_copies(to, from, COPY_ROUNDS / 2, 1, bandwidth, err));
	BERTH_TRY(run_job(&pair, NULL, &flags, NULL, 0, &r, err));
	*latency = berth_figure_of(r.best_s / FLAGS / 2, 1e-10, 1, BERTH_ORIGIN_MEASURED,
	                           "a flag between a core of each");
	return BERTH_OK;
}
