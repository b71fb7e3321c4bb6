/* A model whose nodes are labelled with devices, and the rules that give the labels to execution providers.
 */
#ifndef BERTH_SPREAD_LABEL_H
#define BERTH_SPREAD_LABEL_H

#include "ort_model.h"
#include "ort_provider.h"

#define SPREAD_NODE "berth/"

typedef struct spread_device {
	char name[32];
	ort_provider provider;
} spread_device;

/* Key and value of the session option: the label of device d is "d" and its number. The texts live in mem.
 * config [3]. Fails: BERTH_ENOMEM. */
berth_status spread_rules(const spread_device *dev, int32_t n_devs, berth_arena *mem, const char **config,
                          berth_err *err);

/* The providers of a session [n_devs], in the order of the devices. They live in mem. Fails: BERTH_ENOMEM. */
berth_status spread_providers(const spread_device *dev, int32_t n_devs, berth_arena *mem,
                              const ort_provider *const **out, berth_err *err);

/* The metadata field of a node with the label of device d. Fails: BERTH_ENOMEM. */
berth_status spread_label(int32_t d, berth_arena *mem, const char **field, size_t *size, berth_err *err);

/* The whole model, its nodes labelled by the placement of its operators [n_ops] (constants and shapes on
 * the CPU) and named SPREAD_NODE and their number in it: names of a model need not be unlike. The
 * bytes live in mem. Fails: BERTH_EFORMAT (it calls functions of its own), BERTH_ENOMEM. */
berth_status spread_model(ort_model *m, const spread_device *dev, int32_t n_devs, const int32_t *placement,
                          berth_arena *mem, ort_bytes *out, berth_err *err);

#endif
