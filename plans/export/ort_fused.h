/* Pairs of operators that ONNX Runtime makes one kernel of. Inside of plans/export and
 * plans/import. */
#ifndef BERTH_ORT_FUSED_H
#define BERTH_ORT_FUSED_H

#include "exporters.h"

/* Are a and b such a pair, by their types? */
bool ort_fused_pair(const berth_graph *g, int32_t a, int32_t b);

/* Note how many such pairs the plan cuts: from optimisation level 1 on the first operator's device would have
 * both, or the fusion is lost. Fails: BERTH_ENOMEM. O(edges). */
berth_status ort_fused_note(const berth_export_source *x, berth_export_out *out, berth_err *err);

#endif
