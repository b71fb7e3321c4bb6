/* See ort_bind.h. */
#include "ort_bind.h"

#include "ort_table.h"

static berth_status bind_all(ort_lib *lib, ort_binding *b, const char *const *in_name, ort_value *const *in,
                             int32_t n_in, const char *const *out_name, int32_t n_out,
                             const ort_provider *out_at, const void *flag_at, berth_err *err)
{
	for (int32_t i = 0; i < n_in; i++)
		BERTH_TRY(ort_check(lib,
		                    CALL(lib, BIND_INPUT, (ort_binding *, const char *, const ort_value *), b,
		                         in_name[i], in[i]),
		                    "input", err));
	for (int32_t i = 0; i < n_out; i++)
		BERTH_TRY(ort_check(lib,
		                    CALL(lib, BIND_OUTPUT_TO, (ort_binding *, const char *, const void *), b,
		                         out_name[i], out_at->memory),
		                    "output", err));
	if (out_at->late)
		BERTH_TRY(ort_check(lib,
		                    CALL(lib, BIND_OUTPUT_TO, (ort_binding *, const char *, const void *), b,
		                         ORT_FLAG_OUT, flag_at),
		                    "output", err));
	return ort_check(lib, CALL(lib, SYNCHRONIZE_INPUTS, (ort_binding *), b), "input", err);
}

berth_status ort_bind(ort_lib *lib, ort_session *s, const char *const *in_name, ort_value *const *in,
                      int32_t n_in, const char *const *out_name, int32_t n_out, const ort_provider *out_at,
                      const void *flag_at, ort_binding **out, berth_err *err)
{
	ort_binding *b = NULL;
	BERTH_TRY(ort_check(lib, CALL(lib, CREATE_BINDING, (ort_session *, ort_binding **), s, &b), "binding",
	                    err));
	berth_status st = bind_all(lib, b, in_name, in, n_in, out_name, n_out, out_at, flag_at, err);
	if (st != BERTH_OK)
		ort_bind_free(lib, b);
	else
		*out = b;
	return st;
}

void ort_bind_free(ort_lib *lib, ort_binding *b)
{
	if (b)
		RELEASE(lib, RELEASE_BINDING, b);
}

berth_status ort_bind_run(ort_lib *lib, ort_session *s, ort_binding *b, berth_err *err)
{
	BERTH_TRY(ort_check(
		lib, CALL(lib, RUN_BOUND, (ort_session *, const void *, const ort_binding *), s, NULL, b),
		"run", err));
	return ort_check(lib, CALL(lib, SYNCHRONIZE_OUTPUTS, (ort_binding *), b), "run", err);
}
