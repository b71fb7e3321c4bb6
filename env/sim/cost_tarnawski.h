/* The cost model "tarnawski" (Tarnawski et al. 2020, section 3 and appendix): accelerators of kind "acc"
 * beside a common memory in which CPUs, all other kinds, work. A tensor costs an accelerator c = bytes /
 * (bandwidth of its link to a CPU, else of its first link) once on the way in and once on the way out.
 *
 * Throughput: the largest load. Of an accelerator: its operator times, c of each tensor that it takes in,
 * and c of each of its tensors that somebody else takes; nothing overlaps. Of a CPU: its operator times.
 * Latency of one sample: a CPU operator starts when its inputs exist; CPUs are as many as needed. An
 * accelerator works in visits: it takes in all inputs when the last of them exists, computes, moves out, and
 * all operators of the visit end together. Operators share a visit unless one needs, through another device,
 * what the other makes; visits of one accelerator follow one another. The published program allows as many
 * visits as it is told (1 for contiguous placements); here each further visit pays its own way. Where joint
 * visits wait for each other in a circle, visits are cut in topological order instead. Memory: sizes of the
 * operators on an accelerator (parameters, state, shared parameters), nothing else. Energy is not defined. */
#ifndef BERTH_COST_TARNAWSKI_H
#define BERTH_COST_TARNAWSKI_H

#include "problem.h"

typedef struct berth_tarnawski berth_tarnawski;

/* Scratch of one thread, in mem. Fails: BERTH_ENOMEM. */
berth_status berth_tarnawski_new(const berth_problem *p, berth_arena *mem, berth_tarnawski **out,
                                 berth_err *err);

/* Both values of op_dev [n_ops], where every operator can run; in seconds. starts and ends [n_ops] of the
 * one sample, peaks [n_devs]; NULL: not asked for. O((ops + edges) * accelerators). */
void berth_tarnawski_run(berth_tarnawski *t, const int32_t *op_dev, double *latency_s, double *load_s,
                         int64_t *start_ns, int64_t *end_ns, int64_t *peak_bytes);

/* Seconds of op on dev where it can run: the measured time as it was given, else the compiled one. And what
 * a byte in or out costs accelerator dev, in seconds; below 0: dev is a CPU. */
double berth_tarnawski_seconds(const berth_problem *p, int32_t op, int32_t dev);
double berth_tarnawski_s_per_byte(const berth_problem *p, int32_t dev);

/* Lower bound of the latency: the longest path by least times, without transfers. Every operator of a path
 * waits for the one before it, or shares its visit, which lasts as long as both. */
berth_status berth_tarnawski_path(const berth_problem *p, berth_arena *tmp, double *seconds, berth_err *err);

#endif
