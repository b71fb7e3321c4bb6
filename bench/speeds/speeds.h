/* What the rows of docs/performance.md share. */
#pragma once

#include "entries.h"

void speed_row(const char *name, const char *graph, double value, const char *unit);

/* One group of rows each. */
void speed_simulate(void);
void speed_incremental(void);
void speed_threads(void);
void speed_growth(void);
void speed_heft(void);
void speed_list(void);
void speed_onnx(void);
void speed_gguf(void);
void speed_tasks(void);
void speed_import(void);
void speed_coarsen(void);
void speed_start(void);
void speed_pass(void);
void speed_learn(void);
void speed_policy(void);
void speed_gemm(void);
void speed_questions(void);
void speed_exact(void);
void speed_pbqp(void);
