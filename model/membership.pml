/* SPDX-License-Identifier: Apache-2.0
 *
 * A change of replicas: from three synchronous replicas to four and back to three (another one leaves), one change of
 * configuration at a time, while writes are acknowledged and primaries fail over at any moment. There are no clocks and
 * no votes here: an old primary never learns that it is one, unless its engine is asked. What election.pml shows of the
 * agents (a quorum of fenced reports before FAILOVER) is one step here.
 *
 * No loss: whoever becomes primary has every acknowledged write.
 * Majority: an acknowledged write is on a majority of the members that the acknowledging primary has committed.
 */
#ifndef WRITES
#define WRITES 2
#endif
#ifndef MAXEPOCH
#define MAXEPOCH 3
#endif
#ifndef MAXVER
#define MAXVER 4
#endif
#define B(s)      (1 << (s))
#define HAS(m, s) (((m) >> (s)) & 1)
#define COUNT(m)  (((m) & 1) + (((m) >> 1) & 1) + (((m) >> 2) & 1) + (((m) >> 3) & 1))
#define MAJORITY(have, set) (COUNT((have) & (set)) > COUNT(set) / 2)
/* internal/agent/orders: floor(n/2) of n synchronous replicas, as mssql-server-ha has it. */
#define NEEDED(n) ((n) / 2)

byte epoch[4]; byte ver[4]; byte sync[4]; byte members[4]; byte req[4]; byte eprom[4]; byte log[4];
bit primary[4]; bit comm[4]; byte acc[4]; byte wr[4]; byte hard[4]; byte before[4];
bit fenced[4];
byte nextw = 1; byte acked; byte newest;

#define NEWER(x, s)   (epoch[x] > epoch[s] || (epoch[x] == epoch[s] && ver[x] > ver[s]))
#define PROPOSES(s)   (primary[s] && comm[s] && ver[s] < MAXVER)
#define FOLLOWS(f, s) (!primary[f] && !fenced[f] && epoch[f] == epoch[s] && eprom[f] <= epoch[s] && ver[f] <= ver[s])

inline resign(s) { primary[s] = 0; comm[s] = 0; acc[s] = 0; wr[s] = 0; hard[s] = 0; before[s] = 0 }
inline propose(s) { before[s] = members[s]; ver[s]++; comm[s] = 0; acc[s] = B(s) }

inline accept(f, s) {
	eprom[f] = epoch[s]; epoch[f] = epoch[s]; ver[f] = ver[s]; sync[f] = sync[s]; members[f] = members[s]; req[f] = req[s]
}

/* The quorum is counted by the newest configuration among the reports, which is the target's own. */
#define ELECTABLE(s, q) (!primary[s] && HAS(q, s) && HAS(members[s], s) && HAS(sync[s], s) && MAJORITY(q, members[s]) \
	&& eprom[s] < MAXEPOCH \
	&& (!HAS(q, 0) || (!NEWER(0, s) && eprom[0] <= eprom[s])) && (!HAS(q, 1) || (!NEWER(1, s) && eprom[1] <= eprom[s])) \
	&& (!HAS(q, 2) || (!NEWER(2, s) && eprom[2] <= eprom[s])) && (!HAS(q, 3) || (!NEWER(3, s) && eprom[3] <= eprom[s])))

inline elect(s, q, e, i) {
	assert((acked & ~log[s]) == 0);
	e = eprom[s] + 1; i = 0;
	do
	:: i < 4 ->
		if
		:: HAS(q, i) ->
			if :: primary[i] -> resign(i) :: else fi;
			eprom[i] = e; epoch[i] = e; ver[i] = 1; sync[i] = B(s); members[i] = members[s]; req[i] = req[s]; fenced[i] = 0
		:: else
		fi;
		i++
	:: else -> break
	od;
	primary[s] = 1; comm[s] = 1; newest = s; e = 0; i = 0
}

#define WITH_QUORUM(s, q) :: d_step { ELECTABLE(s, q) -> elect(s, q, e, i) }

#define WITH_SERVER(s, f) \
	:: d_step { primary[s] && HAS(members[s], f) && FOLLOWS(f, s) && (log[f] != log[s] || (wr[s] && HAS(sync[s] & ~hard[s], f))) -> \
		log[f] = log[s]; if :: wr[s] -> hard[s] = hard[s] | (B(f) & sync[s]) :: else fi } \
	:: d_step { PROPOSES(s) && HAS(sync[s], f) -> propose(s); sync[s] = sync[s] & ~B(f) } \
	:: d_step { PROPOSES(s) && HAS(members[s], f) && !HAS(sync[s], f) && FOLLOWS(f, s) && log[f] == log[s] -> propose(s); sync[s] = sync[s] | B(f) } \
	:: d_step { primary[s] && HAS(members[s] | before[s], f) && !primary[f] && (!fenced[f] || epoch[f] < epoch[s]) && eprom[f] <= epoch[s] && NEWER(s, f) -> \
		accept(f, s); fenced[f] = 0; if :: !comm[s] -> acc[s] = acc[s] | B(f) :: else fi } \
	:: d_step { /* the agent of f promises a term to somebody: f leaves its primary */ !primary[f] && !fenced[f] -> fenced[f] = 1 }

#define REQ_IS(s, n) (req[s] == NEEDED(n))
#ifdef MUT_MEMBERSHIP_REVERSED
#define MAYADD(s)    (true)
#define MAYRAISE(s)  (COUNT(members[s]) == 4)
#define MAYREMOVE(s) (REQ_IS(s, 3))
#define MAYLOWER(s)  (true)
#else
#ifdef RAISE_AFTER
#define MAYADD(s)    (true)
#define MAYRAISE(s)  (COUNT(members[s]) == 4)
#else
#define MAYADD(s)    (REQ_IS(s, 4))
#define MAYRAISE(s)  (true)
#endif
#define MAYREMOVE(s) (REQ_IS(s, 4))
#define MAYLOWER(s)  (COUNT(members[s]) == 3)
#endif
#ifdef LOWERING
#define GROWING (false)
#else
#define GROWING (true)
#endif

proctype server(byte s) {
	byte e; byte i;
	do
	WITH_SERVER(s, (s + 1) % 4)
	WITH_SERVER(s, (s + 2) % 4)
	WITH_SERVER(s, (s + 3) % 4)
	:: d_step { primary[s] && !comm[s] && MAJORITY(acc[s], members[s]) && MAJORITY(acc[s], before[s]) -> comm[s] = 1; acc[s] = 0; before[s] = 0 }
	:: d_step { primary[s] && wr[s] == 0 && nextw <= WRITES -> wr[s] = nextw; log[s] = log[s] | B(nextw - 1); hard[s] = 0; nextw++ }
	:: d_step { primary[s] && wr[s] && comm[s] && (sync[s] & ~B(s) & ~hard[s]) == 0 && COUNT(sync[s] & hard[s] & ~B(s)) >= req[s] ->
		assert(newest == s || HAS(log[newest], wr[s] - 1));
		assert(COUNT((hard[s] | B(s)) & members[s]) > COUNT(members[s]) / 2);
		acked = acked | B(wr[s] - 1); wr[s] = 0; hard[s] = 0 }
	/* the manager's orders, carried out by the primary: raise, add; remove, lower */
	:: d_step { GROWING && PROPOSES(s) && COUNT(members[s]) == 3 && !HAS(members[s], 3) && MAYADD(s) -> propose(s); members[s] = members[s] | B(3) }
	:: d_step { GROWING && PROPOSES(s) && req[s] < NEEDED(4) && MAYRAISE(s) -> propose(s); req[s] = NEEDED(4) }
	:: d_step { !GROWING && PROPOSES(s) && s != 2 && HAS(members[s], 2) && COUNT(members[s]) == 4 && MAYREMOVE(s) ->
		propose(s); members[s] = members[s] & ~B(2); sync[s] = sync[s] & ~B(2) }
	:: d_step { !GROWING && PROPOSES(s) && req[s] > NEEDED(3) && MAYLOWER(s) -> propose(s); req[s] = NEEDED(3) }
	/* the old primary's agent takes it OFFLINE */
	:: d_step { primary[s] -> resign(s); fenced[s] = 1 }
	WITH_QUORUM(s, 3)
	WITH_QUORUM(s, 5)
	WITH_QUORUM(s, 6)
	WITH_QUORUM(s, 7)
	WITH_QUORUM(s, 9)
	WITH_QUORUM(s, 10)
	WITH_QUORUM(s, 11)
	WITH_QUORUM(s, 12)
	WITH_QUORUM(s, 13)
	WITH_QUORUM(s, 14)
	WITH_QUORUM(s, 15)
	od
}

init {
	d_step {
		byte k;
		for (k : 0 .. 3) {
			epoch[k] = 1; ver[k] = 1; eprom[k] = 1;
			if :: GROWING -> members[k] = 7; sync[k] = 7; req[k] = NEEDED(3) :: else -> members[k] = 15; sync[k] = 15; req[k] = NEEDED(4) fi
		}
		/* A replica that was not added yet knows nothing. */
		if :: GROWING -> epoch[3] = 0; ver[3] = 0; members[3] = 0; sync[3] = 0; eprom[3] = 0 :: else fi;
		primary[0] = 1; comm[0] = 1; k = 0
	}
	atomic { run server(0); run server(1); run server(2); run server(3) }
}
