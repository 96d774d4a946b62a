/* SPDX-License-Identifier: Apache-2.0
 *
 * A change of voters. Every vote carries a configuration: which sites vote, or, while the voters change, which did and which
 * will (joint), with a stamp, the term of the holder that made it and a number. Configurations of one stamp are one.
 *
 *   - Whoever reads a vote adopts its configuration if that is newer. No swap makes a vote's configuration older.
 *   - A round of votes in which that happens counts for nothing: what was granted before may be another's by now.
 *   - A joint configuration is relied on with a majority of both sets.
 *   - Only a holder makes configurations: from a simple one the joint one with the set that it is told; from a joint one of
 *     its own term, once a majority of both sets has this very configuration with its vote in one round, the simple one of
 *     the new set; from a joint one of another term the same with a stamp of its own first. It remembers it durably before
 *     it writes it anywhere.
 *
 *   - A vote that was never anybody's goes to nobody. Only a holder whose votes cannot have expired has its own at new voters before
 *     it makes a configuration that needs them.
 *   - A vote at a site that does not vote tells nobody of a configuration. A holder makes one that needs it only if it has, or may
 *     replace, what is there: anything may have been left there, by a former group of the name, say (LEFT).
 *
 * One writable: no two servers have a lease that runs. Replicas and their log are not here: what keeps acknowledged writes
 * does not ask who votes (election.pml, without clocks). Votes are read and swapped one by one, a round may end after any of
 * them, and agents are restarted at any time. Two servers are told different sets, as by orders of different age.
 */
#ifndef SERVERS
#define SERVERS 2
#endif
#ifndef LEASE
#define LEASE 1 /* X + W, from the start of a round */
#endif
#ifndef D
#define D 1
#endif
#ifndef X
#define X 0
#endif
#ifndef MAXTERM
#define MAXTERM 3
#endif
#ifndef CHANGES
#define CHANGES 4 /* configurations that are made */
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif
#ifndef LATE
#define LATE 0
#endif
#ifndef LEFT
#define LEFT 0 /* the highest term of votes that a former group has left at sites that do not vote */
#endif
#ifndef BEGIN
#define BEGIN 7 /* voters 0, 1 and 2 */
#endif
#ifndef WANT0
#define WANT0 8
#endif
#ifndef WANT1
#define WANT1 16
#endif
#ifndef VOTERS
#define VOTERS 5
#endif

#define B(v)       (1 << (v))
#define HAS(m, v)  (((m) >> (v)) & 1)
#define COUNT(m)   (((m) & 1) + (((m) >> 1) & 1) + (((m) >> 2) & 1) + (((m) >> 3) & 1) + (((m) >> 4) & 1))
#define MAJORITY(have, set) (COUNT((have) & (set)) * 2 > COUNT(set))
#define NONE 3

/* State of a vote, as in election.pml. */
#define RELEASED 1
#define CLAIMED  2
#define HELD     3
/* What an agent does. */
#define IDLE  0
#define CLAIM 1
#define HOLD  2

/* The votes; age as in election.pml. stamp is 4 * term + number; next is 0 in a simple configuration. */
byte vterm[VOTERS]; byte vholder[VOTERS]; byte vstate[VOTERS]; byte age[VOTERS];
byte vstamp[VOTERS]; byte vold[VOTERS]; byte vnew[VOTERS];
/* The agents: got are the votes of this round, wrote those with the present configuration, rage is the round's age; done says
 * that a round had a quorum since the configuration changed, comm that all of it wrote the configuration. counted says that no
 * vote of the last round with a quorum can have expired yet. mine is the newest configuration that was made here, on disk. */
byte phase[SERVERS]; byte ct[SERVERS]; byte got[SERVERS]; byte wrote[SERVERS]; byte rage[SERVERS]; byte lease[SERVERS];
byte stamp[SERVERS]; byte old[SERVERS]; byte next[SERVERS]; bit agreed[SERVERS]; bit done[SERVERS]; bit comm[SERVERS]; bit counted[SERVERS];
byte mstamp[SERVERS]; byte mold[SERVERS]; byte mnew[SERVERS];
/* The sites at which a holder has looked, and has found, or put, a vote that it may replace. */
byte fit[SERVERS];

byte changes = CHANGES; byte restarts = RESTARTS; byte late = LATE;

inline check_one_writable() { assert(!(lease[0] > 0 && lease[1] > 0)) }

#define MEMBER(s, v)  HAS(old[s] | next[s], v)
#define QUORUM(s, m)  (MAJORITY(m, old[s]) && (next[s] == 0 || MAJORITY(m, next[s])))
#define TERM_OF(x)    ((x) / 4)
/* Orders of different age; the first server gets the newer ones with a restart. */
#define WANT(s)       ((s) == 0 && restarts == RESTARTS -> WANT0 : WANT1)

#ifdef MUT_ROUND_GOES_ON /* what was granted before counts by the newer configuration */
#define ENDS_ROUND(s) wrote[s] = 0; fit[s] = 0
#else
#define ENDS_ROUND(s) got[s] = 0; wrote[s] = 0; rage[s] = 0; fit[s] = 0
#endif
inline adopt(s, v) {
#ifdef MUT_IGNORES_NEWER
	skip
#else
	if :: vstamp[v] > stamp[s] -> stamp[s] = vstamp[v]; old[s] = vold[v]; next[s] = vnew[v]; done[s] = 0; comm[s] = 0; ENDS_ROUND(s) :: else fi
#endif
}

#ifdef MUT_LOWERS
#define WRITES_CONFIGURATION(s, v) (true)
#define ADOPTS(s, v) skip
#else
#define WRITES_CONFIGURATION(s, v) (stamp[s] > vstamp[v])
#define ADOPTS(s, v) adopt(s, v)
#endif
inline put(s, v, st) {
	ADOPTS(s, v);
	vterm[v] = ct[s]; vholder[v] = s; vstate[v] = st; age[v] = 0;
	if :: WRITES_CONFIGURATION(s, v) -> vstamp[v] = stamp[s]; vold[v] = old[s]; vnew[v] = next[s] :: else fi;
	got[s] = got[s] | B(v); wrote[s] = wrote[s] | B(v)
}

inline begin(s) { got[s] = 0; wrote[s] = 0; rage[s] = 0 }
inline forget(s) { phase[s] = IDLE; agreed[s] = 0; done[s] = 0; comm[s] = 0; counted[s] = 0; fit[s] = 0; begin(s) }

/* made(s) comes after the configuration of s was changed. */
inline made(s) {
	changes--; done[s] = 0; comm[s] = 0; fit[s] = 0; begin(s);
#ifndef MUT_FORGETS_MADE
	mstamp[s] = stamp[s]; mold[s] = old[s]; mnew[s] = next[s]
#else
	skip
#endif
}
/* The next number of the holder's own term. */
#define NEXT(s)   (TERM_OF(stamp[s]) == ct[s] -> stamp[s] + 1 : ct[s] * 4 + 1)
#define ROOM(s)   (changes > 0 && (TERM_OF(stamp[s]) != ct[s] || stamp[s] % 4 < 3))

/* The word of any vote that counts that a run has released its term; its votes elsewhere are over, too. */
#define SAID(s, v, u) (MEMBER(s, u) && vstate[u] == RELEASED && vterm[u] == vterm[v] && vholder[u] == vholder[v])
#define OVER(s, v) (vstate[v] == RELEASED || age[v] >= D || (vholder[v] == s && lease[s] == 0) \
	|| SAID(s, v, 0) || SAID(s, v, 1) || SAID(s, v, 2) || SAID(s, v, VOTERS - 2) || SAID(s, v, VOTERS - 1))
#define OWN(s, v)  (vholder[v] == s && vterm[v] == ct[s] && vstate[v] != RELEASED)

/* A Lease that has never had a vote may have been another one, with a vote, until a moment ago: nobody gets it whose configuration
 * needs it. A holder has its vote there before. */
#define NEW(v)   (vterm[v] == 0)
#ifdef MUT_NEW_GRANTS
#define FREE(s, v) (true)
#else
#ifdef MUT_NEW_EXPIRES /* it does while the voters change, once it has been unchanged for D */
#define FREE(s, v) (!NEW(v) || (HAS(next[s] & ~old[s], v) && age[v] >= D))
#else
#define FREE(s, v) (!NEW(v))
#endif
#endif
#define ADMITTED(s, v) (!HAS(WANT(s) & ~old[s], v) || HAS(fit[s], v))
#define VISITS(s, v)   (phase[s] == HOLD && done[s] && next[s] == 0 && HAS(WANT(s), v) && !MEMBER(s, v))
#ifdef MUT_BELIEVES_LEFT /* what a site tells that does not vote is believed, whatever its vote */
#define FITS(s, v)   (true)
#define HEEDS(s, v)  adopt(s, v)
#else
#define FITS(s, v)   ((vterm[v] < ct[s] || OWN(s, v) || (vterm[v] == ct[s] && vstate[v] == CLAIMED)) \
	&& (TERM_OF(vstamp[v]) < ct[s] || vstamp[v] <= stamp[s]))
#define HEEDS(s, v)  skip
#endif

#define WITH_VOTER(s, v) \
	:: d_step { /* a claim is granted by v */ \
		phase[s] == CLAIM && !agreed[s] && MEMBER(s, v) && !HAS(got[s], v) && FREE(s, v) && vterm[v] < ct[s] && OVER(s, v) -> put(s, v, CLAIMED) } \
	:: d_step { /* a round of the holder, or of the candidate that goes on */ \
		(phase[s] == HOLD || agreed[s]) && MEMBER(s, v) && !HAS(got[s], v) && rage[s] <= X \
		&& (OWN(s, v) || (agreed[s] && vterm[v] < ct[s] && FREE(s, v)) || (agreed[s] && phase[s] == HOLD && vterm[v] == ct[s] && vstate[v] == CLAIMED)) -> \
		put(s, v, (phase[s] == HOLD -> HELD : CLAIMED)) } \
	:: d_step { /* reads, and learns of a configuration */ MEMBER(s, v) && vstamp[v] > stamp[s] -> adopt(s, v) } \
	:: d_step { /* OFFLINE has reached RESOLVING, and the term is given up */ \
		phase[s] == IDLE && lease[s] == 0 && OWN(s, v) && MEMBER(s, v) -> vstate[v] = RELEASED; age[v] = 0 } \
	:: d_step { /* the holder has its vote in a new Lease before that is needed */ \
		VISITS(s, v) && NEW(v) && counted[s] && FITS(s, v) -> \
		HEEDS(s, v); \
		if :: !MEMBER(s, v) -> vterm[v] = ct[s]; vholder[v] = s; vstate[v] = HELD; age[v] = 0; fit[s] = fit[s] | B(v); \
			if :: WRITES_CONFIGURATION(s, v) -> vstamp[v] = stamp[s]; vold[v] = old[s]; vnew[v] = next[s] :: else fi \
		:: else fi } \
	:: d_step { /* or finds one that it may replace */ VISITS(s, v) && !NEW(v) && !HAS(fit[s], v) && FITS(s, v) -> \
		fit[s] = fit[s] | B(v); HEEDS(s, v) } \
	:: d_step { /* the Lease is gone, and a Create that was sent before the voters changed arrives only now */ \
		s == 0 && late > 0 && !NEW(v) -> \
		late--; vterm[v] = 0; vholder[v] = NONE; vstate[v] = RELEASED; age[v] = 0; vstamp[v] = 0; vold[v] = BEGIN; vnew[v] = 0 }

#ifdef MUT_NEW_ALONE /* the new voters are enough */
#define COMMITTED(s, m) (next[s] == 0 || MAJORITY(m, next[s]))
#define RELIES(s, m) COMMITTED(s, m)
#else
#define COMMITTED(s, m) QUORUM(s, m)
#define RELIES(s, m) QUORUM(s, m)
#endif
#ifdef MUT_TAKES_OVER_UNSTAMPED /* a joint configuration that another term made is gone on from as it is */
#define STAMPED(s) (true)
#else
#define STAMPED(s) (TERM_OF(stamp[s]) == ct[s])
#endif
#ifdef MUT_NO_JOINT
#define FIRST_STEP(s) old[s] = WANT(s)
#else
#define FIRST_STEP(s) next[s] = WANT(s)
#endif
#ifdef MUT_BEFORE_OLD /* the new set is relied on once the new voters know */
#define MAYFINISH(s) (MAJORITY(wrote[s], next[s]))
#else
#define MAYFINISH(s) (comm[s])
#endif

#if VOTERS == 3
#define ADMITTED_ALL(s) (ADMITTED(s, 0) && ADMITTED(s, 1) && ADMITTED(s, 2))
#elif VOTERS == 4
#define ADMITTED_ALL(s) (ADMITTED(s, 0) && ADMITTED(s, 1) && ADMITTED(s, 2) && ADMITTED(s, 3))
#else
#define ADMITTED_ALL(s) (ADMITTED(s, 0) && ADMITTED(s, 1) && ADMITTED(s, 2) && ADMITTED(s, 3) && ADMITTED(s, 4))
#endif

proctype server(byte s) {
	do
	:: d_step { phase[s] == IDLE && lease[s] == 0 && ct[s] < MAXTERM -> forget(s); ct[s]++; phase[s] = CLAIM }
	:: d_step { phase[s] == IDLE && lease[s] == 0 && ct[s] + 1 < MAXTERM -> forget(s); ct[s] = ct[s] + 2; phase[s] = CLAIM }
	:: d_step { /* claimed */ phase[s] == CLAIM && !agreed[s] && QUORUM(s, got[s]) -> agreed[s] = 1; begin(s) }
	:: d_step { /* the lease is renewed by the round, or FAILOVER carried out */
		(phase[s] == HOLD || agreed[s]) && RELIES(s, got[s]) && rage[s] <= X ->
		lease[s] = LEASE - rage[s]; check_one_writable(); phase[s] = HOLD; agreed[s] = 1; counted[s] = 1;
		done[s] = 1; if :: COMMITTED(s, wrote[s]) -> comm[s] = 1 :: else fi; begin(s) }
	:: d_step { /* a round comes to nothing */ phase[s] != IDLE && (got[s] || rage[s]) && (phase[s] == HOLD || agreed[s]) -> begin(s) }
	:: d_step { /* it gives up, or loses its lease and its term with it */ phase[s] != IDLE -> lease[s] = 0; forget(s) }
	:: d_step { phase[s] == HOLD && done[s] && next[s] == 0 && old[s] != WANT(s) && ADMITTED_ALL(s) && ROOM(s) -> stamp[s] = NEXT(s); FIRST_STEP(s); made(s) }
	:: d_step { phase[s] == HOLD && done[s] && next[s] != 0 && !STAMPED(s) && ROOM(s) -> stamp[s] = NEXT(s); made(s) }
	:: d_step { phase[s] == HOLD && next[s] != 0 && STAMPED(s) && MAYFINISH(s) && ROOM(s) -> stamp[s] = NEXT(s); old[s] = next[s]; next[s] = 0; made(s) }
	:: d_step { /* the agent is restarted and goes on in its term: it knows what it made in that, or what the group began with */
		restarts > 0 && phase[s] == HOLD -> restarts--; agreed[s] = 0; done[s] = 0; comm[s] = 0; counted[s] = 0; fit[s] = 0; begin(s);
		if :: TERM_OF(mstamp[s]) == ct[s] -> stamp[s] = mstamp[s]; old[s] = mold[s]; next[s] = mnew[s]
		:: else -> stamp[s] = 0; old[s] = BEGIN; next[s] = 0 fi }
	:: d_step { /* or it holds none any more, and knows what the group began with */
		restarts > 0 -> restarts--; forget(s); stamp[s] = 0; old[s] = BEGIN; next[s] = 0 }
	WITH_VOTER(s, 0)
	WITH_VOTER(s, 1)
	WITH_VOTER(s, 2)
#if VOTERS > 3
	WITH_VOTER(s, 3)
#endif
#if VOTERS > 4
	WITH_VOTER(s, 4)
#endif
	od
}

#ifdef MUT_NEW_EXPIRES
#define AGES(v) (vstate[v] != RELEASED || NEW(v))
#else
#define AGES(v) (vstate[v] != RELEASED)
#endif
#define PASS_VOTE(v) if :: age[v] < D && AGES(v) -> age[v]++ :: else fi
#define PASS(s) counted[s] = 0; if :: lease[s] > 0 -> lease[s]-- :: else fi; if :: (got[s] || rage[s]) && rage[s] <= X -> rage[s]++ :: else fi

proctype world() {
	do
	:: d_step { true -> PASS_VOTE(0); PASS_VOTE(1); PASS_VOTE(2);
#if VOTERS > 3
		PASS_VOTE(3);
#endif
#if VOTERS > 4
		PASS_VOTE(4);
#endif
		PASS(0); PASS(1) }
	od
}

#if LEFT > 0
/* What may be left of a former group at a site that is to vote: whatever it was, and told. */
inline leave(v) {
	if
	:: true /* nothing */
	:: true ->
		if :: vterm[v] = 1 :: LEFT > 1 -> vterm[v] = LEFT fi;
		if :: vholder[v] = NONE :: vholder[v] = 0 :: vholder[v] = 1 fi;
		if :: vstate[v] = HELD :: vstate[v] = CLAIMED :: vstate[v] = RELEASED fi;
		if :: true :: age[v] = D fi;
		if :: true :: vstamp[v] = 5; vold[v] = B(v) :: vstamp[v] = vterm[v] * 4 + 1; vold[v] = (B(VOTERS) - 1) & ~BEGIN fi
	fi
}
#define LEAVE(v) if :: HAS((WANT0 | WANT1) & ~BEGIN, v) -> leave(v) :: else fi
#endif

init {
	atomic {
		d_step {
			byte i;
			for (i : 0 .. VOTERS - 1) {
				vold[i] = BEGIN;
				if :: HAS(BEGIN, i) -> vterm[i] = 1; vholder[i] = 0; vstate[i] = HELD :: else -> vholder[i] = NONE; vstate[i] = RELEASED fi
			}
			for (i : 0 .. SERVERS - 1) { old[i] = BEGIN; mold[i] = BEGIN; ct[i] = 1 }
			lease[0] = LEASE; phase[0] = HOLD; agreed[0] = 1; done[0] = 1; counted[0] = 1; i = 0
		}
#if LEFT > 0
		LEAVE(1);
		LEAVE(2);
#if VOTERS > 3
		LEAVE(3);
#endif
#if VOTERS > 4
		LEAVE(4);
#endif
#endif
		run world(); run server(0); run server(1)
	}
}
