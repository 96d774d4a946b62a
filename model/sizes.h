/* SPDX-License-Identifier: Apache-2.0
 * Sizes, and the budget of every fault. run.sh sets what differs.
 */
#ifndef X
#define X 1
#endif
#ifndef W
#define W 2
#endif
#ifndef D
#define D 3 /* X + W + G + K <= D(1-e), in ticks; G, K and e are the rest of a tick */
#endif
#ifndef MAXTERM
#define MAXTERM 3
#endif
#ifndef MAXEPOCH
#define MAXEPOCH 3
#endif
#ifndef MAXVER
#define MAXVER 2
#endif
#ifndef WRITES
#define WRITES 2
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef RESTORES
#define RESTORES 0
#endif
#ifndef DELETIONS
#define DELETIONS 0
#endif
#ifndef MADE
#define MADE 0
#endif
#ifndef BY_HAND
#define BY_HAND 0
#endif
#ifndef PARTIALS
#define PARTIALS 0
#endif
#ifndef FORCES
#define FORCES 0
#endif
#ifndef LONES
#define LONES 0
#endif
#ifndef FORGERIES
#define FORGERIES 0
#endif
#ifdef CONFIG_ONLY
#define REQUIRED 0
#define ALLSYNC 3
#endif
#ifndef REQUIRED
#define REQUIRED 1
#endif
#ifndef ALLSYNC
#define ALLSYNC 7
#endif
