/* What the bound by windows knows, as a certificate. */
#ifndef BERTH_CERTIFY_WINDOWS_H
#define BERTH_CERTIFY_WINDOWS_H

#include "bounds_proof.h"

/* A certificate while its windows are found. */
typedef struct berth_window_proof {
	const berth_problem *p;
	berth_bound_proof *x; /* its arena keeps all */
	berth_certificate c;
	size_t cap_windows, cap_prices;
} berth_window_proof;

/* Add a window, in the order of certificates.
 *   claim  without its prices
 *   price  [..][stride] price vectors in whole numbers
 *   told   by device of the first operator (from the beginning: 0) which of these it needs; -1: none
 * Fails: BERTH_ENOMEM. */
berth_status berth_window_proof_add(berth_window_proof *w, berth_window_claim claim, const double *price,
                                    int32_t stride, const int32_t *told, berth_err *err);

/* Offer it to x. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_window_proof_offer(berth_window_proof *w, berth_arena *tmp, berth_err *err);

#endif
