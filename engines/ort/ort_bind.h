/* A session with its inputs and outputs where its providers want them: runs without copies from and to the
 * CPU. */
#ifndef BERTH_ORT_BIND_H
#define BERTH_ORT_BIND_H

#include "ort_provider.h"

typedef struct ort_binding ort_binding; /* OrtIoBinding */

/* Inputs in[n_in] of the CPU are copied to where they are used; outputs [n_out] are made anew in each run, in
 * memory of their own device. Fails: BERTH_EFORMAT. */
berth_status ort_bind(ort_lib *lib, ort_session *s, const char *const *in_name, ort_value *const *in,
                      int32_t n_in, const char *const *out_name, int32_t n_out, const ort_provider *out_at,
                      ort_binding **out, berth_err *err);
void ort_bind_free(ort_lib *lib, ort_binding *b);

/* Run, and wait until the device is done. Fails: BERTH_EFORMAT. */
berth_status ort_bind_run(ort_lib *lib, ort_session *s, ort_binding *b, berth_err *err);

#endif
