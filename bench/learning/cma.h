/* Covariance matrix adaptation: the least of a function of some ten numbers that is noisy and has no gradient
 * (N. Hansen, "The CMA evolution strategy: a tutorial", arXiv 1604.00772, figure 6 and table 1). */
#pragma once

#include "arena.h"
#include "rng.h"

typedef struct cma {
	int32_t n, pop, parents;
	berth_rng rng;
	double step;              /* sigma */
	double *mean;             /* [n] */
	double *weight, mass;     /* [parents] of the best, falling, sum 1; mu_eff */
	double *cov, *basis;      /* [n][n] row by row: the covariance; its eigenvectors, a column each */
	double *axis;             /* [n] roots of its eigenvalues */
	double *path, *step_path; /* [n] evolution paths: of the covariance, of the step */
	double *draws;            /* [pop][n] of the generation, by (x - mean) / step */
	double *work;             /* [n][n] scratch */
	int32_t *rank;            /* [pop] scratch */
	int32_t generation;
} cma;

/* Start at mean [n], which is copied, with steps of that size in all directions. In mem. n, pop >= 2. Fails:
 * BERTH_ENOMEM. */
berth_status cma_new(int32_t n, int32_t pop, const double *mean, double step, uint64_t seed,
                     berth_arena *mem, cma *out, berth_err *err);

/* point [pop][n] out. */
void cma_draw(cma *c, double *point);

/* value [pop] of the points of the last draw; infinite is worst. O(pop n^2 + n^3). */
void cma_tell(cma *c, const double *value);
