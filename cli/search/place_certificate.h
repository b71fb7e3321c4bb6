/* The certificate of the bound that place tells. */
#pragma once

#include "budget.h"
#include "cli.h"
#include "result.h"
#include "solve.h"

typedef struct place_certificate {
	const char *path;  /* NULL: not asked for */
	int64_t told_ns;   /* the bound that is told, in whole nanoseconds */
	int64_t proven_ns; /* what the certificate proves of it; 0: nothing */
	const char *proof; /* its kind; NULL: none was made */
} place_certificate;

/* Before anything is done: certificates are of the latency or the throughput alone, and of one graph; copies:
 * several are placed, or one several times. Before the search: they are of the execution model. Both fail:
 * BERTH_EINVAL. */
berth_status place_certificate_check(const place_certificate *x, const berth_objective *o, bool copies,
                                     berth_err *err);
berth_status place_certificate_check_system(const place_certificate *x, const berth_system *s,
                                            berth_err *err);

/* Make and write it; nothing is written where there is none. Fails: BERTH_EUNSUPPORTED, BERTH_EIO,
 * BERTH_ENOMEM. */
berth_status place_certificate_write(cli *c, const cli_budget *b, const berth_problem *p,
                                     const berth_solution *r, place_certificate *x, berth_err *err);

extern const berth_result_kind certificate_kind;
/* NULL: not asked for. */
const berth_result *place_certificate_result(cli *c, const place_certificate *x);
/* A line. interrupted: was the search? */
void place_certificate_print(const place_certificate *x, bool interrupted);
