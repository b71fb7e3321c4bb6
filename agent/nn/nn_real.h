/* The number type of the network: float in the product. The gradient tests compile the same text with
 * -DNN_REAL=double, where finite differences are exact enough to find every slip. */
#ifndef NN_REAL_H
#define NN_REAL_H

#ifndef NN_REAL
#define NN_REAL float
#endif
typedef NN_REAL nn_real;

/* Before a function whose inner loops have independent iterations: the build compiles it for several
 * instruction sets where it can. The same bits on all of them: nothing is contracted, no sum is reordered. */
#ifndef NN_CLONES
#define NN_CLONES
#endif

#endif
