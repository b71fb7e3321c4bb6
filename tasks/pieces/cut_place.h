/* Where the operators of a program stand. Inside the room. */
#ifndef BERTH_CUT_PLACE_H
#define BERTH_CUT_PLACE_H

#include "cut_making.h"

/* Set x->op_dev. Pieces and whole operators stand where their ways say, or, where they cannot run there,
 * where they run quickest. The i-th of k nodes between pieces stands with the i-th piece that takes from it,
 * else that gives to it. Others go where their work, and the way of what they take and make, are the
 * shortest. What a training step adds stands with what it is derived from, and colocation groups with their
 * first operator. tmp is scratch. Fails: BERTH_ENOMEM. O((operators + edges) * devices). */
berth_status cut_place(cut_making *m, berth_err *err);

#endif
