/* Tensors that travel packed: numbers of 32 bits as 16, 8 or 4 bits on links where that is quicker. */
#ifndef BERTH_PACKED_H
#define BERTH_PACKED_H

#include "system.h"

/* Seconds of a hop over link l, cuts aside: as it is, or packed where that is less. 0 bytes go as they are.
 */
double berth_hop_s(const berth_system *s, int32_t l, double bytes);
/* Does a tensor of so many bytes go packed over link l? */
bool berth_hop_packed(const berth_system *s, int32_t l, double bytes);

/* From now on tensors may go packed to 1 / factor of their bytes over all links of s. The sender reads the
 * tensor and writes the packed one, the receiver the other way round, at their mem_bandwidth, before and
 * after the hop; both take their op_overhead_s. factor: 2, 4 or 8. The figures are made of those that s has
 * now. In mem. Fails: BERTH_ENOMEM. */
berth_status berth_system_pack(berth_system *s, int factor, berth_arena *mem, berth_err *err);

/* The most by which a packed number is off. 2: of 32 bits as 16 (10 of fraction, rounded to nearest), as a
 * part of the number. 4, 8: whole steps from -127 or -7 to 127 or 7 of a tensor's largest number, as a part
 * of that largest one: half a step. */
double berth_packed_error(int factor);

#endif
