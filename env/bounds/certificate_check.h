/* What the kinds of certificates share. Inside the certificate room only. */
#pragma once

#include "certificate.h"

__extension__ typedef __int128 certificate_wide;

#define CERTIFICATE_NEVER (INT64_MAX / 4)

/* num / den in whole numbers, rounded up or down; 0 where it is below 0, CERTIFICATE_NEVER where it is
 * above. den > 0. */
int64_t certificate_quotient(certificate_wide num, certificate_wide den, bool up);

/* What a nanosecond of op on d costs at prices of devices and pools. */
certificate_wide certificate_charge(const berth_problem *p, const int64_t *price, int32_t op, int32_t d);

/* The kinds; *proven_ns as in berth_certificate_prove. */
berth_status certificate_path(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                              int64_t *proven_ns, berth_err *err);
berth_status certificate_load(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                              int64_t *proven_ns, berth_err *err);
berth_status certificate_relaxation(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                    int64_t *proven_ns, berth_err *err);
berth_status certificate_blocks(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                int64_t *proven_ns, berth_err *err);
berth_status certificate_windows(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                 int64_t *proven_ns, berth_err *err);
