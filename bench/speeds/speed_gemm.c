/* Products of the sizes that policies have, berth's and those of OpenBLAS, one core: "A B" of a layer's N
 * rows, and "A' B", the gradient of its weights. Both add to what is there. They are timed in turn, as other
 * work on the machine shows: medians of all rounds. */
#include "speeds.h"

#include "apart.h"
#include "cpu_measure.h"
#include "library.h"
#include "nn_gemm.h"

#include <stdlib.h>

/* What is called of OpenBLAS: cblas_sgemm, with its numbers for row-major order and transposition. */
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };
typedef void sgemm_fn(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* Of a layer: N rows of K numbers come in, of M go out. */
typedef struct layer {
	int N, K, M;
} layer;

static const layer layers[] = {{1000, 28, 32}, {1000, 32, 32}, {64, 32, 32}, {64, 64, 64}, {256, 64, 64}};
enum { N_LAYERS = BENCH_N(layers), N_PRODUCTS = 2 * N_LAYERS, MOST = 32000, ROUNDS = 5 };

/* c[rows, cols] += a[rows, inner] @ b[inner, cols] */
typedef struct product {
	int rows, inner, cols;
	nn_factor ta;
	sgemm_fn *sgemm;
	float a[MOST], b[MOST], c[MOST];
} product;

/* Of each product: berth's seconds, and those of OpenBLAS over them; 0 where there is none. */
typedef struct figures {
	double berth_s[N_PRODUCTS], ratio[N_PRODUCTS];
} figures;

/* Products are multiples of 1/256 and their sums exact: any order of them gives the same bits. */
static void set_product(product *p, int i)
{
	layer l = layers[i / 2];
	p->ta = i % 2 == 0 ? NN_AS_IS : NN_TRANSPOSED;
	p->rows = p->ta == NN_AS_IS ? l.N : l.K;
	p->inner = p->ta == NN_AS_IS ? l.K : l.N;
	p->cols = l.M;
	for (int j = 0; j < MOST; j++) {
		p->a[j] = (float)(j % 17 - 8) * 0.0625f;
		p->b[j] = (float)(j % 13 - 6) * 0.0625f;
		p->c[j] = 0;
	}
}

static void by_berth(void *ctx)
{
	product *p = ctx;
	nn_gemm_add((size_t)p->rows, (size_t)p->inner, (size_t)p->cols, p->c, p->ta, p->a, NN_AS_IS, p->b);
}

static void by_blas(void *ctx)
{
	product *p = ctx;
	bool as_is = p->ta == NN_AS_IS;
	p->sgemm(ROW_MAJOR, as_is ? NO_TRANSPOSE : TRANSPOSE, NO_TRANSPOSE, p->rows, p->cols, p->inner, 1,
	         p->a, as_is ? p->inner : p->rows, p->b, p->cols, 1, p->c, p->cols);
}

/* Both compute the same. */
static berth_status check_equal(product *p, int i, berth_err *err)
{
	float ours[MOST];
	set_product(p, i);
	by_berth(p);
	memcpy(ours, p->c, sizeof ours);
	set_product(p, i);
	by_blas(p);
	for (int j = 0; j < MOST; j++)
		if (p->c[j] != ours[j])
			return berth_fail(err, BERTH_EIO, "OpenBLAS has another product of matrices");
	return BERTH_OK;
}

static void measure_product(product *p, double *berth_s, double *ratio)
{
	double took_s[ROUNDS], beside[ROUNDS] = {0};
	for (int r = 0; r < ROUNDS; r++) {
		took_s[r] = bench_seconds(by_berth, p);
		if (p->sgemm)
			beside[r] = bench_seconds(by_blas, p) / took_s[r];
	}
	*berth_s = bench_median(took_s, ROUNDS);
	*ratio = bench_median(beside, ROUNDS);
}

/* sgemm: NULL where there is none. */
static berth_status measure(sgemm_fn *sgemm, figures *f, berth_err *err)
{
	product *p = calloc(1, sizeof *p);
	berth_status st = p ? BERTH_OK : berth_nomem(err);
	for (int i = 0; st == BERTH_OK && i < N_PRODUCTS; i++) {
		p->sgemm = sgemm;
		if (sgemm)
			st = check_equal(p, i, err);
		set_product(p, i);
		if (st == BERTH_OK)
			measure_product(p, &f->berth_s[i], &f->ratio[i]);
	}
	free(p);
	return st;
}

static berth_status measure_apart(void *ctx, berth_err *err)
{
	static const char *const names[] = {"libopenblas.so.0", NULL};
	const size_t library = 64 << 20, buffer = 160 << 20;
	sgemm_fn *sgemm;
	void *blas;
	const char *kernel = berth_cpu_blas_kernel();
	if (kernel && setenv("OPENBLAS_CORETYPE", kernel, 0) != 0)
		return berth_nomem(err);
	BERTH_TRY(berth_library_open_blas(names, "libopenblas0", library + buffer, &blas, err));
	BERTH_TRY(berth_library_function(blas, "cblas_sgemm", &sgemm, err));
	return measure(sgemm, ctx, err);
}

/* In a process of its own, which OpenBLAS is loaded into; where that fails, berth's products alone. */
static void measure_both(figures *f)
{
	const berth_apart_block block = {f, sizeof *f};
	berth_err err = {.msg = "OpenBLAS ended its process"};
	bool answered = false;
	if (berth_apart(NULL, measure_apart, f, 1, &block, &answered, &err) == BERTH_OK && answered)
		return;
	fprintf(stderr, "berth-bench: gemm: no comparison with OpenBLAS: %s\n", err.msg);
	bench_must(measure(NULL, f, &err), &err);
}

void speed_gemm(void)
{
	figures f;
	measure_both(&f);
	for (int i = 0; i < N_PRODUCTS; i++) {
		layer l = layers[i / 2];
		char of[64];
		snprintf(of, sizeof of, "%s, N x K x M of %d x %d x %d", i % 2 == 0 ? "A B" : "A' B", l.N,
		         l.K, l.M);
		speed_row("gemm", of, 2e-9 * l.N * l.K * l.M / f.berth_s[i], "GFLOP/s");
		if (f.ratio[i] > 0)
			speed_row("berth_gemm", of, f.ratio[i], "x OpenBLAS");
	}
}
