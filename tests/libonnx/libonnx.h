/* libonnx's own shape inference (C++, Debian's libonnx-dev) behind a C interface. In tests only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor of the main graph; elem 0: type not known; rank -1: nothing known of the shape; a dimension -1:
 * not known. */
typedef void (*libonnx_visit)(void *ctx, const char *name, int32_t elem, int32_t rank, const int64_t *dim);

/* Read the model in data[size]; forget every shape and type that it declares for values inside the graph and
 * for its outputs; make the symbolic dimensions of its inputs 1; infer; show each value that a node makes to
 * inferred, and each declaration forgotten to declared. *stripped[*n] = the model without the declarations
 * and with the inputs as inferred, freed by the caller (free). inputs: a folder with the content of the
 * graph inputs (input_0.pb ...), which become initializers; NULL: none. Returns NULL, or why it could not be
 * done (freed by the caller). */
char *libonnx_infer(const unsigned char *data, size_t size, const char *inputs, libonnx_visit inferred,
                    libonnx_visit declared, void *ctx, unsigned char **stripped, size_t *n);

#ifdef __cplusplus
}
#endif
