/* A generation of covariance matrix adaptation: points drawn, ranked, and the mean, the step and the matrix
 * moved. Constants are those of the tutorial's table 1. */
#include "cma.h"

#include "array.h"

#include <math.h>

enum { SWEEPS = 30 };

berth_status cma_new(int32_t n, int32_t pop, const double *mean, double step, uint64_t seed,
                     berth_arena *mem, cma *out, berth_err *err)
{
	cma c = {.n = n, .pop = pop, .parents = pop / 2, .rng = berth_rng_seed(seed, 0), .step = step};
	size_t square = (size_t)n * (size_t)n;
	double sum = 0, squares = 0;
	BERTH_TRY_NEW(mem, n, err, c.mean, c.axis, c.path, c.step_path);
	BERTH_TRY_NEW(mem, c.parents, err, c.weight);
	BERTH_TRY_NEW(mem, square, err, c.cov, c.basis, c.work);
	BERTH_TRY_NEW(mem, (size_t)pop * (size_t)n, err, c.draws);
	BERTH_TRY_NEW(mem, pop, err, c.rank);
	BERTH_COPY(c.mean, mean, n);
	for (int32_t i = 0; i < n; i++)
		c.cov[i * n + i] = c.basis[i * n + i] = c.axis[i] = 1;
	for (int32_t i = 0; i < c.parents; i++)
		sum += c.weight[i] = log(pop / 2. + .5) - log(i + 1.);
	for (int32_t i = 0; i < c.parents; i++) {
		c.weight[i] /= sum;
		squares += c.weight[i] * c.weight[i];
	}
	c.mass = 1 / squares;
	*out = c;
	return BERTH_OK;
}

static double draw_normal(berth_rng *rng)
{
	double u = 1 - berth_rng_unit(rng), v = berth_rng_unit(rng);
	return sqrt(-2 * log(u)) * cos(8 * atan(1) * v);
}

void cma_draw(cma *c, double *point)
{
	int32_t n = c->n;
	BERTH_CLEAR(c->draws, c->pop * n);
	for (int32_t k = 0; k < c->pop; k++) {
		double *y = BERTH_ROW(c->draws, k, n);
		for (int32_t j = 0; j < n; j++) {
			double z = c->axis[j] * draw_normal(&c->rng);
			for (int32_t i = 0; i < n; i++)
				y[i] += z * c->basis[i * n + j];
		}
		for (int32_t i = 0; i < n; i++)
			BERTH_ROW(point, k, n)[i] = c->mean[i] + c->step * y[i];
	}
}

static void turn(double *x, double *y, double cosine, double sine)
{
	double was = *x;
	*x = cosine * was - sine * *y;
	*y = sine * was + cosine * *y;
}

/* A rotation that makes cov[p][q] zero, in work, which turns into a diagonal, and in the basis. */
static void rotate(cma *c, int32_t p, int32_t q)
{
	int32_t n = c->n;
	double *a = c->work, *v = c->basis;
	if (a[p * n + q] == 0)
		return;
	double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]),
	       t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)),
	       cosine = 1 / sqrt(t * t + 1), sine = t * cosine;
	for (int32_t k = 0; k < n; k++)
		turn(&a[k * n + p], &a[k * n + q], cosine, sine);
	for (int32_t k = 0; k < n; k++) {
		turn(&a[p * n + k], &a[q * n + k], cosine, sine);
		turn(&v[k * n + p], &v[k * n + q], cosine, sine);
	}
}

/* Eigenvectors and roots of eigenvalues of the covariance, by cyclic Jacobi rotations. */
static void take_apart(cma *c)
{
	int32_t n = c->n;
	BERTH_COPY(c->work, c->cov, n * n);
	BERTH_CLEAR(c->basis, n * n);
	for (int32_t i = 0; i < n; i++)
		c->basis[i * n + i] = 1;
	for (int sweep = 0; sweep < SWEEPS; sweep++)
		for (int32_t p = 0; p < n; p++)
			for (int32_t q = p + 1; q < n; q++)
				rotate(c, p, q);
	for (int32_t i = 0; i < n; i++)
		c->axis[i] = sqrt(fmax(c->work[i * n + i], 1e-14));
}

/* The path of the step follows the way in directions made alike. Returns its length. */
static double move_step_path(cma *c, double decay)
{
	int32_t n = c->n;
	double keep = sqrt(decay * (2 - decay) * c->mass), length = 0;
	for (int32_t i = 0; i < n; i++)
		c->step_path[i] *= 1 - decay;
	for (int32_t j = 0; j < n; j++) {
		double along = 0;
		for (int32_t i = 0; i < n; i++)
			along += c->basis[i * n + j] * c->work[i];
		for (int32_t i = 0; i < n; i++)
			c->step_path[i] += keep * c->basis[i * n + j] * along / c->axis[j];
	}
	for (int32_t i = 0; i < n; i++)
		length += c->step_path[i] * c->step_path[i];
	return sqrt(length);
}

static void move_cov(cma *c, bool moves)
{
	int32_t n = c->n;
	double dim = n, decay = (4 + c->mass / dim) / (dim + 4 + 2 * c->mass / dim),
	       one = 2 / ((dim + 1.3) * (dim + 1.3) + c->mass),
	       many = fmin(1, 2 * (c->mass - 2 + 1 / c->mass) / ((dim + 2) * (dim + 2) + c->mass)),
	       still = moves ? 0 : decay * (2 - decay);
	many = fmin(many, 1 - one);
	for (int32_t i = 0; i < n; i++)
		c->path[i] = (1 - decay) * c->path[i] +
		             (moves ? sqrt(decay * (2 - decay) * c->mass) * c->work[i] : 0);
	for (int32_t i = 0; i < n; i++)
		for (int32_t j = 0; j < n; j++) {
			double sum = 0, *x = &c->cov[i * n + j];
			for (int32_t k = 0; k < c->parents; k++) {
				const double *y = BERTH_ROW(c->draws, c->rank[k], n);
				sum += c->weight[k] * y[i] * y[j];
			}
			*x = (1 - one - many + one * still) * *x + one * c->path[i] * c->path[j] + many * sum;
		}
}

void cma_tell(cma *c, const double *value)
{
	double dim = c->n, decay = (c->mass + 2) / (dim + c->mass + 5),
	       damping = 1 + decay + 2 * fmax(0, sqrt((c->mass - 1) / (dim + 1)) - 1),
	       expected = sqrt(dim) * (1 - 1 / (4 * dim) + 1 / (21 * dim * dim));
	for (int32_t k = 0; k < c->pop; k++) {
		int32_t i = k;
		for (; i > 0 && value[c->rank[i - 1]] > value[k]; i--)
			c->rank[i] = c->rank[i - 1];
		c->rank[i] = k;
	}
	/* The mean goes where the best went; work [n]: by how much, in steps. */
	for (int32_t i = 0; i < c->n; i++) {
		c->work[i] = 0;
		for (int32_t k = 0; k < c->parents; k++)
			c->work[i] += c->weight[k] * BERTH_ROW(c->draws, c->rank[k], c->n)[i];
		c->mean[i] += c->step * c->work[i];
	}
	double length = move_step_path(c, decay),
	       age = 1 - pow(1 - decay, 2. * ++c->generation);
	move_cov(c, length / sqrt(age) < (1.4 + 2 / (dim + 1)) * expected);
	c->step *= exp(decay / damping * (length / expected - 1));
	take_apart(c);
}
