/* A session with its inputs and outputs where its providers want them: runs without copies from and to the
 * CPU. */
#ifndef BERTH_ORT_BIND_H
#define BERTH_ORT_BIND_H

#include "ort_provider.h"

typedef struct ort_binding ort_binding; /* OrtIoBinding */

/* A number that goes through the device behind the outputs: whoever waits for it on the CPU waits for all. A
 * model that is bound to a device that is `late` has this input and this output. */
#define ORT_FLAG_IN "berth flag in"
#define ORT_FLAG_OUT "berth flag out"

/* Inputs in[n_in] of the CPU are copied to where they are used; outputs [n_out] are made anew in each run, in
 * memory of their own device. flag_at: the memory that the flag goes to, for a device that is late. Fails:
 * BERTH_EFORMAT. */
berth_status ort_bind(ort_lib *lib, ort_session *s, const char *const *in_name, ort_value *const *in,
                      int32_t n_in, const char *const *out_name, int32_t n_out, const ort_provider *out_at,
                      const void *flag_at, ort_binding **out, berth_err *err);
void ort_bind_free(ort_lib *lib, ort_binding *b);

/* Run, and wait until the device is done. Fails: BERTH_EFORMAT. */
berth_status ort_bind_run(ort_lib *lib, ort_session *s, ort_binding *b, berth_err *err);

#endif
