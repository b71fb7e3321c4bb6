/* The number type of the network: float in the product. The gradient tests compile the same text with
 * -DNN_REAL=double, where finite differences are exact enough to find every slip. */
#ifndef NN_REAL_H
#define NN_REAL_H

#ifndef NN_REAL
#define NN_REAL float
#endif
typedef NN_REAL nn_real;

/* x, or 0 where it is closer to 0 than least. Products of numbers near the least float are slow (an operation
 * takes a hundred times as long), and gradients of a policy that is sure of itself come there. */
static inline nn_real nn_flush(nn_real x, nn_real least)
{
	return x > -least && x < least ? 0 : x;
}

/* A gradient closer to 0 than this moves no weight: Adam adds 1e-8 to its size. */
#define NN_TINY ((nn_real)1e-20)

/* Before a function whose inner loops have independent iterations: the build compiles it for several
 * instruction sets where it can. The same bits on all of them: nothing is contracted, no sum is reordered. */
#ifndef NN_CLONES
#define NN_CLONES
#endif

#endif
