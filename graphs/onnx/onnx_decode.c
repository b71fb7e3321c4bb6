/* The passes from a file to a decoded model. */
#include "onnx_infer.h"

berth_status onnx_decode(onnx_model *m, const berth_read_options *opt, int32_t *n_weights, berth_err *err)
{
	BERTH_TRY(onnx_read_model(m, err));
	BERTH_TRY(onnx_resolve(m, opt, err));
	BERTH_TRY(onnx_infer_model(m, err));
	BERTH_TRY(onnx_find_weights(m, n_weights, err));
	return onnx_fold_model(m, err);
}
