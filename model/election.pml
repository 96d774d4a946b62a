/* SPDX-License-Identifier: Apache-2.0
 *
 * The election of geosql-operator: three voters, three servers with an agent each. model/README.md says what is
 * modelled, what is not, and how time is treated. A run is made of one server's view of "what may happen next":
 * partitions, one-way or not, lost requests and lost answers are all the same thing here, an action that is not taken or
 * whose answer is not heard; so every reachability of every pair at every moment is covered without being stored.
 *
 * Names in capitals that are not defined here are given by run.sh: sizes, budgets of faults, MUT_... for mutations.
 */
#include "sizes.h"

#define B(s)       (1 << (s))
#define HAS(m, s)  (((m) >> (s)) & 1)
#define COUNT(m)   (((m) & 1) + (((m) >> 1) & 1) + (((m) >> 2) & 1))
#define MAX2(a, b) ((a) > (b) -> (a) : (b))
#define OTHER1(s)  (((s) + 1) % 3)
#define OTHER2(s)  (((s) + 2) % 3)
#define NOBODY     3

/* State of a vote: internal/election/votes State, and a Lease that is not there. */
#define ABSENT   0
#define RELEASED 1
#define CLAIMED  2
#define HELD     3
/* Role of a replica. */
#define RESOLVING 0
#define SECONDARY 1
#define PRIMARY   2
/* What an agent does. */
#define IDLE  0
#define CLAIM 1
#define HOLD  2
/* The one ALTER that an agent may have outstanding at its engine. */
#define NOTHING  0
#define RENEW    1
#define FAILOVER 2
#define FOLLOW   3
#define FORCED   4

/* The votes: one record per voter. age is the real time since the record last changed, up to D. */
byte vterm[3]; byte vholder[3]; byte vstate[3]; byte vrun[3]; byte age[3];

/* The engines. epoch and ver are the configuration's sequence_number, sync its replicas marked SYNCHRONIZED, eprom the
 * newest epoch promised by the engine's own register; all these and log are on disk. */
byte role[3]; byte epoch[3]; byte ver[3]; byte sync[3]; byte eprom[3]; byte log[3];
/* What only a primary has: the lease left, whether its configuration is committed, who accepted it, the write that waits
 * for acknowledgement, who hardened it, and the term in which it became primary. */
byte lease[3]; bit comm[3]; byte acc[3]; byte wr[3]; byte hard[3]; byte pterm[3];
/* life counts the engine's starts: it is the container id in the holder's identity. */
byte life[3];

/* The agents. prom and pcand are the promise, on the data volume; the rest is memory. alt is the outstanding ALTER,
 * altage the time since the start of the round that it belongs to, up to X + 1; without one, that since the start of a
 * candidate's last round. seen are the voters that were seen with a term above the first. */
byte phase[3]; byte ct[3]; byte rep[3]; bit better[3]; byte alt[3]; byte altage[3]; byte aterm[3];
byte prom[3]; byte pcand[3]; byte seen[3];

/* What the properties are about. */
byte nextw = 1; byte acked; byte newest; byte ackterm; byte ackserver;
/* Faults left. */
byte crashes = CRASHES; byte restarts = RESTARTS; byte restores = RESTORES; byte deletions = DELETIONS;
byte partials = PARTIALS; byte forces = FORCES; byte lones = LONES; byte made = MADE; byte byhand = BY_HAND; byte forgeries = FORGERIES;
bit forced; bit over;

/* ---- properties ---- */

/* One writable: no two replicas are PRIMARY with a lease that runs. */
#define SERVES(s) (role[s] == PRIMARY && lease[s] > 0)
inline check_one_writable(s) {
#ifdef P_ONE
	assert(!SERVES(OTHER1(s)) && !SERVES(OTHER2(s)));
#else
	skip
#endif
}

/* Terms: an acknowledgement of a term never comes after one of a later term, and a term has one server. */
inline check_terms(s) {
#ifdef P_TERMS
	assert(pterm[s] > ackterm || (pterm[s] == ackterm && s == ackserver));
#else
	skip
#endif
}

/* No loss: whoever becomes primary without allowDataLoss has every acknowledged write, and an older primary
 * acknowledges only what the newest one has, too. */
inline check_promoted(s) {
#ifdef P_LOSS
	assert((acked & ~log[s]) == 0);
#else
	skip
#endif
}
inline check_acknowledged(s) {
#ifdef P_LOSS
	assert(newest == s || forced || (log[newest] & B(wr[s]-1)));
#else
	skip
#endif
}

/* ---- votes ---- */

/* A term lower than one seen at this voter before counts as absent. A restored voter has the first term again. */
#define UNUSED(v) (vterm[v] == 0 && vstate[v] == RELEASED)
#define LOWERED(s, v) ((vterm[v] == 1 || UNUSED(v)) && HAS(seen[s], v))
/* A Lease that has never had a vote may stand where another one had some until a moment ago: it counts as absent, too. */
#ifdef MUT_NEW_GRANTS
#define NEW(v) (false)
#else
#define NEW(v) UNUSED(v)
#endif
/* The last term that a Lease takes: nothing can be claimed above it. One voter alone tells of it (FORGERIES), which no claim can
 * have come to for all that a majority knows: it counts as absent, too. */
#define FAR 200
#define FORGED(v) (vterm[v] == FAR)
#ifdef MUT_BELIEVES_FORGED
#define BELIEVED(v) (true)
#else
#define BELIEVED(v) (!FORGED(v))
#endif
#ifdef MUT_MISSING_IS_FREE
#define KNOWN(s, v)   (!LOWERED(s, v))
#else
#define KNOWN(s, v)   (vstate[v] != ABSENT && !NEW(v) && !LOWERED(s, v) && BELIEVED(v))
#endif
/* Evidence that the record at v is over: released; its own, of an engine that this agent sees not PRIMARY; unchanged for
 * D on anybody's clock; the kubelet's word that the recorded run of the engine has ended. */
#ifdef CLOCKS_BROKEN
#define EXPIRED(s, v) (true)
#else
#define EXPIRED(s, v) (vstate[v] == RELEASED || vstate[v] == ABSENT \
	|| (vholder[v] == s && role[s] != PRIMARY) \
	|| age[v] >= D || PROVEN(v))
#endif
#ifdef MUT_MISSING_POD_IS_PROOF
#define PROVEN(v) (true)
#else
#define PROVEN(v) (vholder[v] != NOBODY && vrun[v] != life[vholder[v]])
#endif
#define OWN(s, v)     (vstate[v] != ABSENT && vholder[v] == s && vterm[v] == ct[s] && vrun[v] == life[s])
#define GRANTS(s, v)  (KNOWN(s, v) && vstate[v] != ABSENT && (OWN(s, v) || vterm[v] < ct[s]))
/* What a holder's round may replace beside that: what a rival claimed in vain in the very term that is held. The code wants a
 * majority to have been its own when it last looked, which every holder here has had once; how old that look is does not
 * matter. */
#ifdef MUT_TAKES_OVER_HIGHER
#define IN_VAIN(s, v) (vstate[v] == CLAIMED && vterm[v] >= ct[s])
#else
#define IN_VAIN(s, v) (vstate[v] == CLAIMED && vterm[v] == ct[s])
#endif
#ifdef MUT_LEAVES_IN_VAIN
#define HOLDS(s, v)   GRANTS(s, v)
#else
#define HOLDS(s, v)   (GRANTS(s, v) || (KNOWN(s, v) && IN_VAIN(s, v)))
#endif
/* What a holder may go on from in a higher term: its own right before. */
#define MINE(s, v)    (KNOWN(s, v) && vstate[v] >= CLAIMED && vholder[v] == s && vrun[v] == life[s])
#ifdef MUT_OUTGROWS_WITH_ANY
#define GOES_ON(s, v) (MINE(s, v) || (KNOWN(s, v) && vstate[v] == CLAIMED))
#else
#define GOES_ON(s, v) MINE(s, v)
#endif
#ifdef MUT_CLAIM_OVERWRITES
#define CLAIMABLE(s, a, b) (KNOWN(s, a) && KNOWN(s, b) && (EXPIRED(s, a) || EXPIRED(s, b)))
#else
#define CLAIMABLE(s, a, b) (KNOWN(s, a) && KNOWN(s, b) && EXPIRED(s, a) && EXPIRED(s, b))
#endif
#define NEWTERM(s, a, b) (MAX2(MAX2(vterm[a], vterm[b]), prom[s]) + 1)

inline see(s, v) {
#if RESTORES > 0
	if :: vterm[v] > 1 -> seen[s] = seen[s] | B(v) :: else fi
#else
	skip
#endif
}

/* No action asks which voter is which, so three voters in another order are the same state: they are kept in one order,
 * the newest first. This is C because it is at the end of nearly every action. */
c_decl {
	extern void order_voters(void);
}
c_code {
	static int key(int v) {
		return (((((now.vterm[v] * 4 + now.vholder[v]) * 4 + now.vstate[v]) * 4 + now.vrun[v]) * 16 + now.age[v]) * 8)
			+ ((now.seen[0] >> v) & 1) * 4 + ((now.seen[1] >> v) & 1) * 2 + ((now.seen[2] >> v) & 1);
	}
	static void exchange(unsigned char *m, int a) { unsigned char was = m[a]; m[a] = m[a + 1]; m[a + 1] = was; }
	void order_voters(void) {
		static const int pairs[3] = {0, 1, 0};
		int i, s, a;
		for (i = 0; i < 3; i++) {
			a = pairs[i];
			if (key(a) >= key(a + 1)) continue;
			exchange(now.vterm, a); exchange(now.vholder, a); exchange(now.vstate, a); exchange(now.vrun, a); exchange(now.age, a);
			for (s = 0; s < 3; s++)
				if (((now.seen[s] >> a) ^ (now.seen[s] >> (a + 1))) & 1) now.seen[s] ^= 3 << a;
		}
	}
}
#define order_voters() c_code { order_voters(); }

inline vote(s, v, t, st) {
	vterm[v] = t; vholder[v] = s; vstate[v] = st; vrun[v] = life[s]; age[v] = 0;
	see(s, v)
}

/* ---- engine ---- */

inline leave_primary(s, r) {
	role[s] = r; lease[s] = 0; comm[s] = 0; acc[s] = 0; wr[s] = 0; hard[s] = 0; pterm[s] = 0;
}

/* A replica takes configurations of the primary's epoch or newer. What OFFLINE means for its vote differs between the two
 * engines of this model: see README. */
#ifdef OFFLINE_SILENT
/* A RESOLVING replica answers nobody, not even who asks for FAILOVER. */
#define VOTES(s) (role[s] == SECONDARY)
#define HEARS(s) (role[s] != RESOLVING)
#else
#define HEARS(s) (true)
#ifdef ENGINE_REGISTER
#define VOTES(s) (role[s] != PRIMARY)
#else
#ifdef WHATIF_OFFLINE_VOTES
#define VOTES(s) (role[s] != PRIMARY)
#else
#define VOTES(s) (role[s] == SECONDARY)
#endif
#endif
#endif
#define TAKES(s, p) (VOTES(s) && eprom[s] <= epoch[p] && \
	(epoch[s] < epoch[p] || (epoch[s] == epoch[p] && ver[s] < ver[p])))
#define FOLLOWS(s, p) (role[s] == SECONDARY && epoch[s] == epoch[p] && eprom[s] <= epoch[p] && ver[s] <= ver[p])

/* May s be promoted, asking x? The register engine reads the newest configuration of the majority that it asks; the
 * local one believes its own, so that everything rests on the agents. */
#define NEWER(x, s) (epoch[x] > epoch[s] || (epoch[x] == epoch[s] && ver[x] > ver[s]))
#ifdef MUT_FORCE
#define READY(s, x) (true)
#else
#ifdef ENGINE_REGISTER
#define READY(s, x) (NEWER(x, s) -> HAS(sync[x], s) : HAS(sync[s], s))
#else
#define READY(s, x) (HAS(sync[s], s))
#endif
#endif
/* The epoch that s asks for: the register engine learns the others' promises first, the local one does not. */
#ifdef ENGINE_REGISTER
#define NEXTEPOCH(s, x) (MAX2(eprom[s], eprom[x]) + 1)
#else
#define NEXTEPOCH(s, x) (eprom[s] + 1)
#endif
#define PREPARED(s, x)  (eprom[x] < NEXTEPOCH(s, x))
#define MOREEPOCHS(s, x) (NEXTEPOCH(s, x) <= MAXEPOCH)

inline take_epoch(q, n, p) {
	eprom[q] = n; epoch[q] = n; ver[q] = 1; sync[q] = B(p);
	if :: role[q] == PRIMARY -> leave_primary(q, RESOLVING) :: else fi
}

/* A candidate that has sent an ALTER sends another one only under another round. */
#define SPENT(s) (phase[s] == CLAIM -> X + 1 : 0)
#ifdef MUT_OLD_ROUND
#define FRESH(s) (true)
#define SINCE(s) 0
#else
#define FRESH(s) (altage[s] <= X)
#define SINCE(s) altage[s]
#endif

inline forget(s) { phase[s] = IDLE; ct[s] = 0; rep[s] = 0; better[s] = 0; altage[s] = (alt[s] == NOTHING -> 0 : altage[s]) }
inline send(s, what, t) { alt[s] = what; altage[s] = 0; aterm[s] = t }
inline send_under(s, what, t) { alt[s] = what; altage[s] = SINCE(s); aterm[s] = t }
inline drop(s) { alt[s] = NOTHING; altage[s] = SPENT(s); aterm[s] = 0 }

inline promote(s, x, e) {
	e = NEXTEPOCH(s, x);
	take_epoch(s, e, s);
	take_epoch(x, e, s);
	role[s] = PRIMARY; lease[s] = W; comm[s] = 1; acc[s] = 0; wr[s] = 0; hard[s] = 0;
	pterm[s] = aterm[s]; newest = s; rep[s] = 0; better[s] = 0;
	if :: phase[s] == CLAIM && ct[s] == aterm[s] -> phase[s] = HOLD :: else fi;
	drop(s); e = 0
}

#define SEQOVER(p) (ver[p] >= MAXVER)
#define NEEDED     ((forced) -> 0 : REQUIRED)
#ifdef CONFIG_ONLY
#define DATA(s)    ((s) != 2)
#else
#define DATA(s)    (true)
#endif
#ifdef CLOCKS_BROKEN
#define OPEN(p)    (role[p] == PRIMARY)
#else
#define OPEN(p)    (SERVES(p))
#endif

/* ---- the agent's rules ---- */
#ifdef MUT_QUORUM
#define QUORUM 1
#else
#define QUORUM 2 /* floor((synchronous + configuration-only) / 2) + 1 of 3 */
#endif
#define DECIDED(s) (COUNT(rep[s] | B(s)) >= QUORUM && !better[s])
#ifdef MUT_LATE_ALTER
#define INTIME(s)  (true)
#else
#ifdef CLOCKS_BROKEN
#define INTIME(s)  (true)
#else
#define INTIME(s)  (altage[s] <= X)
#endif
#endif
#ifdef MUT_REPORT_BEFORE_FENCE
#define FENCED(f)  (true)
#else
#ifdef BYSTANDERS_STAY /* roleAtFailover: Secondary */
#define FENCED(f)  (role[f] != PRIMARY)
#else
#define FENCED(f)  (role[f] == RESOLVING)
#endif
#endif
#ifdef MUT_OUTSTANDING
#define QUIET(f)   (true)
#else
#define QUIET(f)   (alt[f] == NOTHING)
#endif
#define PROMISES(f, c) (ct[c] > prom[f] || (ct[c] == prom[f] && pcand[f] == c))
#define HONOURS(f, h, t) (t > prom[f] || (t == prom[f] && pcand[f] == h) || prom[f] == 0)

inline claim(s, a, b, t) {
	t = NEWTERM(s, a, b);
	vote(s, a, t, CLAIMED); vote(s, b, t, CLAIMED);
	phase[s] = CLAIM; ct[s] = t; rep[s] = 0; better[s] = 0; prom[s] = t; pcand[s] = s; altage[s] = 0; t = 0;
	order_voters()
}

inline raise(s, a, b, t) {
	vote(s, a, t + 1, CLAIMED); vote(s, b, t + 1, CLAIMED);
	ct[s] = t + 1; rep[s] = 0; better[s] = 0; prom[s] = t + 1; pcand[s] = s; altage[s] = 0;
	order_voters()
}

inline release(s) {
	if :: OWN(s, 0) -> vstate[0] = RELEASED; age[0] = 0 :: else fi;
	if :: OWN(s, 1) -> vstate[1] = RELEASED; age[1] = 0 :: else fi;
	if :: OWN(s, 2) -> vstate[2] = RELEASED; age[2] = 0 :: else fi;
	forget(s);
	order_voters()
}

inline report(s, f) {
	rep[s] = rep[s] | B(f);
#ifndef MUT_SEQUENCE
	if :: NEWER(f, s) -> better[s] = 1 :: else fi
#endif
}

#ifdef CLOCKS_BROKEN
/* What a lease does is left out together with the clocks: a round only writes what is not written yet. */
#define ROUND(s, a, b)  (!OWN(s, a) || !OWN(s, b) || vstate[a] != HELD || vstate[b] != HELD)
#define SEND_RENEWAL(s) skip
#else
#define ROUND(s, a, b)  (true)
#define SEND_RENEWAL(s) send(s, RENEW, ct[s])
#endif
#define MAYCLAIM(s) (!over && DATA(s) && phase[s] == IDLE && role[s] != PRIMARY && alt[s] == NOTHING)

/* Actions of server s with the voters a and b. */
#define WITH_VOTERS(s, a, b) \
	:: atomic { MAYCLAIM(s) && CLAIMABLE(s, a, b) && NEWTERM(s, a, b) <= MAXTERM -> claim(s, a, b, tmp) } \
	:: atomic { /* the claim was granted, its answers were lost */ \
		partials > 0 && MAYCLAIM(s) && CLAIMABLE(s, a, b) && NEWTERM(s, a, b) <= MAXTERM -> \
		partials--; claim(s, a, b, tmp); forget(s) } \
	:: atomic { /* the agent finds its own claim, or its own primary, and goes on */ \
		!over && phase[s] == IDLE && DATA(s) && vstate[a] != ABSENT && vstate[b] != ABSENT && vholder[a] == s && vholder[b] == s && vterm[a] == vterm[b] \
		&& vrun[a] == life[s] && vrun[b] == life[s] && HONOURS(s, s, vterm[a]) && vstate[a] != RELEASED && vstate[b] != RELEASED \
		&& ((role[s] == PRIMARY && pterm[s] == vterm[a]) || (role[s] != PRIMARY && vstate[a] == CLAIMED)) -> \
		ct[s] = vterm[a]; prom[s] = ct[s]; pcand[s] = s; rep[s] = 0; better[s] = 0; \
		if :: role[s] == PRIMARY -> phase[s] = HOLD \
		:: else -> phase[s] = CLAIM; if :: alt[s] == NOTHING -> altage[s] = SPENT(s) :: else fi fi } \
	:: atomic { /* a round of the holder */ \
		!over && ROUND(s, a, b) && phase[s] == HOLD && role[s] == PRIMARY && alt[s] == NOTHING && HOLDS(s, a) && HOLDS(s, b) -> \
		vote(s, a, ct[s], HELD); vote(s, b, ct[s], HELD); SEND_RENEWAL(s); order_voters() } \
	:: atomic { /* a round of the candidate, whatever it has heard so far */ \
		!over && phase[s] == CLAIM && role[s] != PRIMARY && alt[s] == NOTHING && GRANTS(s, a) && GRANTS(s, b) -> \
		vote(s, a, ct[s], CLAIMED); vote(s, b, ct[s], CLAIMED); altage[s] = 0; order_voters() } \
	:: atomic { /* a person forces, with allowDataLoss */ \
		forces > 0 && !over && phase[s] == CLAIM && role[s] != PRIMARY && alt[s] == NOTHING && GRANTS(s, a) && GRANTS(s, b) -> \
		forces--; vote(s, a, ct[s], CLAIMED); vote(s, b, ct[s], CLAIMED); send(s, FORCED, ct[s]); order_voters() } \
	:: atomic { /* follow whom the votes name */ \
		!over && phase[s] == IDLE && role[s] == RESOLVING && alt[s] == NOTHING && KNOWN(s, a) && KNOWN(s, b) && vstate[a] == HELD && vholder[a] != s \
		&& vterm[a] >= vterm[b] && HONOURS(s, vholder[a], vterm[a]) -> see(s, a); see(s, b); send(s, FOLLOW, 0); order_voters() } \
	:: atomic { \
		!over && phase[s] == IDLE && role[s] == RESOLVING && alt[s] == NOTHING && KNOWN(s, a) && KNOWN(s, b) && vstate[b] == HELD && vholder[b] != s \
		&& vterm[b] > vterm[a] && HONOURS(s, vholder[b], vterm[b]) -> see(s, a); see(s, b); send(s, FOLLOW, 0); order_voters() }

/* A claim that one voter alone has granted, in whatever term its asker knew when it asked: it may have been long ago. */
#define LONE(s, v, t) \
	:: d_step { \
		lones > 0 && !over && DATA(s) && KNOWN(s, v) && vstate[v] != ABSENT && EXPIRED(s, v) && t <= MAXTERM -> \
		lones--; vote(s, v, t, CLAIMED); order_voters() }
#define WITH_VOTER(s, v) \
	LONE(s, v, vterm[v] + 1) \
	LONE(s, v, vterm[v] + 2)

/* A holder goes on above what it does not get: what was claimed in vain, or is another's in its own term. One voter alone may have
 * granted that when the next round comes. */
#define OUTGROWS(s, c) (!over && phase[s] == HOLD && role[s] == PRIMARY && alt[s] == NOTHING && vterm[c] < MAXTERM \
	&& (vterm[c] > ct[s] || (vterm[c] == ct[s] && vholder[c] != s)))
#define ABOVE(s, a, b, c) \
	:: atomic { OUTGROWS(s, c) && GOES_ON(s, a) && GOES_ON(s, b) && vterm[a] <= vterm[c] + 1 && vterm[b] <= vterm[c] + 1 -> \
		ct[s] = vterm[c] + 1; pterm[s] = ct[s]; vote(s, a, ct[s], HELD); vote(s, b, ct[s], HELD); SEND_RENEWAL(s); order_voters() } \
	:: d_step { lones > 0 && OUTGROWS(s, c) && MINE(s, a) && vterm[a] <= vterm[c] -> lones--; vote(s, a, vterm[c] + 1, HELD); order_voters() }

/* A holder takes back a restored vote, which counts as absent, while it has a majority without it. */
#if RESTORES > 0
#define REGAINS(s, a, b, c) \
	:: atomic { !over && phase[s] == HOLD && role[s] == PRIMARY && alt[s] == NOTHING && OWN(s, a) && OWN(s, b) && vstate[c] != ABSENT && LOWERED(s, c) -> \
		vote(s, c, ct[s], HELD); order_voters() }
#else
#define REGAINS(s, a, b, c)
#endif

/* And one that is not believed: its voter would be lost for good. */
#if FORGERIES > 0
#ifdef MUT_LEAVES_FORGED
#define MAY_TAKE_BACK (false)
#else
#define MAY_TAKE_BACK (true)
#endif
#define TAKES_BACK(s, a, b, c) \
	:: atomic { MAY_TAKE_BACK && !over && phase[s] == HOLD && role[s] == PRIMARY && alt[s] == NOTHING && OWN(s, a) && OWN(s, b) && !BELIEVED(c) -> \
		vote(s, c, ct[s], HELD); order_voters() }
#else
#define TAKES_BACK(s, a, b, c)
#endif

/* Somebody asks for a promise of the last term. */
#ifdef MUT_PROMISES_FORGED
#define FORGED_PROMISE(s) \
	:: d_step { forgeries > 0 && !over && prom[s] != FAR -> forgeries--; prom[s] = FAR; pcand[s] = NOBODY; forget(s) }
#else
#define FORGED_PROMISE(s)
#endif

/* An agent that finds its own claim at one voter alone, and a lower term at another one, goes on as if it had a majority. */
#ifdef MUT_GOES_ON_FROM_ONE
#define FROM_ONE(s, a, b) \
	:: atomic { \
		!over && phase[s] == IDLE && DATA(s) && role[s] != PRIMARY && KNOWN(s, a) && KNOWN(s, b) && vstate[a] == CLAIMED && vholder[a] == s \
		&& vrun[a] == life[s] && vstate[b] != ABSENT && vterm[b] < vterm[a] && HONOURS(s, s, vterm[a]) -> \
		ct[s] = vterm[a]; prom[s] = ct[s]; pcand[s] = s; rep[s] = 0; better[s] = 0; phase[s] = CLAIM }
#else
#define FROM_ONE(s, a, b)
#endif

/* A RESOLVING replica begins to follow a primary that reaches it, without a statement. */
#ifdef RESOLVING_FOLLOWS
#define DRAWN_IN(s, f) \
	:: d_step { !over && OPEN(s) && role[f] == RESOLVING && eprom[f] <= epoch[s] -> role[f] = SECONDARY }
#else
#define DRAWN_IN(s, f)
#endif

/* A replica that is RESOLVING is made SECONDARY for a candidate whose engine has refused FAILOVER. */
#ifdef BYSTANDERS_STAY
#define REVIVES(s, f) \
	:: d_step { !over && phase[s] == CLAIM && prom[f] == ct[s] && pcand[f] == s && role[f] == RESOLVING && alt[f] == NOTHING -> \
		role[f] = SECONDARY }
#else
#define REVIVES(s, f)
#endif

/* Actions of server s with another server f. */
#define WITH_SERVER(s, f) \
	DRAWN_IN(s, f) \
	REVIVES(s, f) \
	:: d_step { /* the agent of f promises, and gives up what it was about */ \
		!over && phase[s] == CLAIM && alt[s] == NOTHING && PROMISES(f, s) && !(prom[f] == ct[s] && pcand[f] == s) -> \
		prom[f] = ct[s]; pcand[f] = s; forget(f) } \
	:: d_step { !over && phase[s] == CLAIM && alt[s] == NOTHING && prom[f] == ct[s] && pcand[f] == s && FENCED(f) && QUIET(f) && !HAS(rep[s], f) -> report(s, f) } \
	:: atomic { /* refused: a higher term of one's own */ \
		!over && phase[s] == CLAIM && alt[s] == NOTHING && !PROMISES(f, s) && prom[f] < MAXTERM && prom[f] >= prom[s] && OWN(s, 0) && OWN(s, 1) -> raise(s, 0, 1, prom[f]) } \
	:: atomic { !over && phase[s] == CLAIM && alt[s] == NOTHING && !PROMISES(f, s) && prom[f] < MAXTERM && prom[f] >= prom[s] && OWN(s, 1) && OWN(s, 2) -> raise(s, 1, 2, prom[f]) } \
	:: atomic { !over && phase[s] == CLAIM && alt[s] == NOTHING && !PROMISES(f, s) && prom[f] < MAXTERM && prom[f] >= prom[s] && OWN(s, 0) && OWN(s, 2) -> raise(s, 0, 2, prom[f]) } \
	:: d_step { /* FAILOVER or FORCE is carried out, f making the majority */ \
		!over && (alt[s] == FAILOVER && READY(s, f) || alt[s] == FORCED) && INTIME(s) && role[s] != PRIMARY && HEARS(f) && PREPARED(s, f) && MOREEPOCHS(s, f) -> \
		check_one_writable(s); \
		if :: alt[s] == FORCED -> acked = acked & log[s]; forced = 1 :: else -> check_promoted(s) fi; \
		promote(s, f, tmp) } \
	:: d_step { /* log is sent, hardened, and the answer comes back */ \
		!over && OPEN(s) && DATA(f) && FOLLOWS(f, s) && (log[f] != log[s] || (wr[s] && HAS(sync[s] & ~hard[s], f))) -> \
		log[f] = log[s]; if :: wr[s] -> hard[s] = hard[s] | (B(f) & sync[s]) :: else fi } \
	:: d_step { /* the session with f is lost: it is to be marked NOT SYNCHRONIZED */ \
		!over && OPEN(s) && comm[s] && HAS(sync[s], f) && !SEQOVER(s) -> \
		sync[s] = sync[s] & ~B(f); ver[s]++; comm[s] = 0; acc[s] = B(s) } \
	:: d_step { /* f has caught up: it is to be marked SYNCHRONIZED */ \
		!over && OPEN(s) && comm[s] && DATA(f) && !HAS(sync[s], f) && FOLLOWS(f, s) && log[f] == log[s] && !SEQOVER(s) -> \
		sync[s] = sync[s] | B(f); ver[s]++; comm[s] = 0; acc[s] = B(s) } \
	:: d_step { /* f accepts the newest configuration */ \
		!over && role[s] == PRIMARY && TAKES(f, s) -> \
		eprom[f] = epoch[s]; epoch[f] = epoch[s]; ver[f] = ver[s]; sync[f] = sync[s]; \
		if :: !comm[s] -> acc[s] = acc[s] | B(f) :: else fi }

#define AWAITED(s) (pcand[s] < 3 && pcand[s] != s && phase[pcand[s]] == CLAIM && ct[pcand[s]] == prom[s])
#ifdef P_TERMS
#define NOTE_TERM(s) ackterm = pterm[s]; ackserver = s
#else
#define NOTE_TERM(s) skip
#endif
#ifdef STRANGER /* rejoining may take a secondary OFFLINE at any time, to let it follow anew */
#define LEAVES(s) (true)
#else
#ifdef BYSTANDERS_STAY
#define LEAVES(s) (false)
#else
#define LEAVES(s) AWAITED(s)
#endif
#endif
#define ALONE(s) \
	:: d_step { /* OFFLINE, for whatever reason */ \
		!over && role[s] != RESOLVING && alt[s] == NOTHING && (role[s] == PRIMARY || LEAVES(s)) -> leave_primary(s, RESOLVING) } \
	:: d_step { /* the engine acts on the end of its lease: a frozen one does so late, and serves nobody meanwhile */ \
		!over && role[s] == PRIMARY && lease[s] == 0 -> leave_primary(s, RESOLVING) } \
	:: d_step { !over && phase[s] != IDLE && role[s] != PRIMARY && alt[s] == NOTHING -> release(s) } \
	:: d_step { /* the candidate has decided: FAILOVER, under its last round, that of its claim or a later one */ \
		!over && phase[s] == CLAIM && role[s] != PRIMARY && alt[s] == NOTHING && FRESH(s) && DECIDED(s) -> send_under(s, FAILOVER, ct[s]) } \
	:: d_step { !over && alt[s] == RENEW && INTIME(s) && role[s] == PRIMARY -> drop(s); lease[s] = W; check_one_writable(s) } \
	:: d_step { !over && alt[s] == FOLLOW && INTIME(s) && role[s] == RESOLVING -> role[s] = SECONDARY; drop(s) } \
	:: d_step { /* it was refused, or its guard found the deadline past, or it was cancelled and the engine said so */ \
		!over && alt[s] != NOTHING -> drop(s) } \
	:: d_step { /* its lease ran out, so the agent holds nothing any more */ \
		!over && phase[s] == HOLD && role[s] != PRIMARY && alt[s] == NOTHING -> forget(s) } \
	:: d_step { /* a client writes */ \
		!over && OPEN(s) && wr[s] == 0 && nextw <= WRITES -> \
		wr[s] = nextw; log[s] = log[s] | B(nextw - 1); hard[s] = 0; nextw++ } \
	:: d_step { !over && role[s] == PRIMARY && !comm[s] && COUNT(acc[s]) >= 2 -> comm[s] = 1; acc[s] = 0 } \
	:: d_step { /* the client's answer */ \
		!over && OPEN(s) && wr[s] && comm[s] && ((sync[s] & ~B(s) & ~hard[s]) == 0) && COUNT(sync[s] & hard[s] & ~B(s)) >= NEEDED -> \
		check_terms(s); check_acknowledged(s); \
		acked = acked | B(wr[s] - 1); NOTE_TERM(s); wr[s] = 0; hard[s] = 0 } \
	:: d_step { /* the engine's container is restarted: a primary comes back RESOLVING */ \
		crashes > 0 && !over -> crashes--; life[s]++; drop(s); \
		if :: role[s] == PRIMARY -> leave_primary(s, RESOLVING) :: else fi; \
		if :: phase[s] == HOLD -> forget(s) :: else fi } \
	:: d_step { /* the agent is restarted; it ends the sessions of its former life first */ \
		restarts > 0 && !over && (phase[s] != IDLE || alt[s] != NOTHING || prom[s] > 1 || seen[s]) -> \
		restarts--; forget(s); drop(s); seen[s] = 0; FORGET_PROMISE(s) }

#ifdef MUT_FORGOTTEN_PROMISE
#define FORGET_PROMISE(s) prom[s] = 0; pcand[s] = 3
#else
#define FORGET_PROMISE(s) skip
#endif

proctype server(byte s) {
	byte tmp;
	do
	ALONE(s)
	WITH_VOTERS(s, 0, 1)
	WITH_VOTERS(s, 0, 2)
	WITH_VOTERS(s, 1, 2)
	ABOVE(s, 0, 1, 2)
	ABOVE(s, 2, 0, 1)
	ABOVE(s, 1, 2, 0)
	REGAINS(s, 0, 1, 2)
	REGAINS(s, 2, 0, 1)
	REGAINS(s, 1, 2, 0)
	TAKES_BACK(s, 0, 1, 2)
	TAKES_BACK(s, 2, 0, 1)
	TAKES_BACK(s, 1, 2, 0)
	FORGED_PROMISE(s)
	WITH_VOTER(s, 0)
	WITH_VOTER(s, 1)
	WITH_VOTER(s, 2)
	FROM_ONE(s, 0, 1)
	FROM_ONE(s, 1, 0)
	FROM_ONE(s, 0, 2)
	FROM_ONE(s, 2, 0)
	FROM_ONE(s, 1, 2)
	FROM_ONE(s, 2, 1)
	WITH_SERVER(s, OTHER1(s))
	WITH_SERVER(s, OTHER2(s))
	od
}

#define PASS(s) \
	if :: lease[s] > 0 -> lease[s]-- :: else fi; \
	if :: (alt[s] != NOTHING || phase[s] == CLAIM) && altage[s] <= X -> altage[s]++ :: else fi; \
	if :: age[s] < D -> age[s]++ :: else fi

inline set_vote(v, t, h, st) { vterm[v] = t; vholder[v] = h; vstate[v] = st; vrun[v] = 0; age[v] = 0 }
#define LOSE(v) set_vote(v, 0, 0, ABSENT)
/* One takes its place at once: by a Create of long ago that arrives only now, as in a new group; or, as the mutation has it, held as
 * the manager last saw the others. */
#ifdef MUT_MADE_AT_ONCE
#define MAKE(v) \
	:: d_step { made > 0 && !over && vterm[v] > 1 -> made--; set_vote(v, 1, 0, HELD); order_voters() }
#else
#define MAKE(v) \
	:: d_step { made > 0 && !over && !UNUSED(v) -> made--; set_vote(v, 0, NOBODY, RELEASED); order_voters() }
#endif

/* A person restores the Leases that are gone, once they are too many for a majority, as docs/runbooks/votes-lost.md says: claimed
 * by nobody, in a term that is higher than every one that is known. */
#ifdef MUT_BY_HAND_RELEASED
#define AS_TOLD RELEASED
#else
#define AS_TOLD CLAIMED
#endif
#ifdef LIVE
#define WORTH (true) /* settle.pml restores them */
#else
#define WORTH (HIGHEST + 1 < MAXTERM)
#endif
#define LOSE_TWO(v, w) \
	:: d_step { byhand > 0 && !over && WORTH && vstate[v] != ABSENT && vstate[w] != ABSENT -> LOSE(v); LOSE(w); order_voters() }
#define GONE(v) (vstate[v] == ABSENT -> 1 : 0)
#define LOST    (GONE(0) + GONE(1) + GONE(2) >= 2)
#define HIGHEST MAX2(MAX2(MAX2(vterm[0], vterm[1]), vterm[2]), MAX2(MAX2(prom[0], prom[1]), prom[2]))
inline restore_lost(t) {
	t = HIGHEST + 1;
	if :: GONE(0) -> set_vote(0, t, NOBODY, AS_TOLD) :: else fi;
	if :: GONE(1) -> set_vote(1, t, NOBODY, AS_TOLD) :: else fi;
	if :: GONE(2) -> set_vote(2, t, NOBODY, AS_TOLD) :: else fi;
	t = 0
}

#define VOTER_FAULTS(v) \
	:: d_step { /* etcd is restored to what it was at the beginning */ \
		restores > 0 && !over && (vterm[v] > 1 || vstate[v] == ABSENT) -> \
		restores--; vterm[v] = 1; vholder[v] = 0; vstate[v] = HELD; vrun[v] = 0; age[v] = 0; order_voters() } \
	:: d_step { /* the Lease is deleted */ \
		deletions > 0 && !over && vstate[v] != ABSENT -> \
		deletions--; LOSE(v); order_voters() } \
	:: d_step { /* somebody writes a vote that nobody has cast */ \
		forgeries > 0 && !over && vstate[v] != ABSENT && !FORGED(v) -> \
		forgeries--; set_vote(v, FAR, NOBODY, HELD); order_voters() } \
	MAKE(v)

#ifdef LIVE
#include "settle.pml"
#endif

proctype world() {
	byte tmp;
	do
#ifndef CLOCKS_BROKEN
	:: d_step { /* time passes */ !over -> PASS(0); PASS(1); PASS(2); order_voters() }
#endif
	VOTER_FAULTS(0)
	VOTER_FAULTS(1)
	VOTER_FAULTS(2)
	LOSE_TWO(0, 1)
	LOSE_TWO(0, 2)
	LOSE_TWO(1, 2)
	:: d_step { byhand > 0 && !over && LOST && WORTH -> byhand--; restore_lost(tmp); order_voters() }
#ifdef LIVE
	:: d_step { !over -> settle(0, 1, 2) }
	:: d_step { !over -> settle(2, 1, 0) }
	:: d_step { !over -> settle(1, 2, 0) }
#endif
	:: atomic { false -> skip }
	:: atomic { over -> break }
	od
}

init {
	d_step {
		byte i;
		for (i : 0 .. 2) {
			vterm[i] = 1; vholder[i] = 0; vstate[i] = HELD; vrun[i] = 0; age[i] = 0;
			role[i] = (i == 0 -> PRIMARY : SECONDARY); epoch[i] = 1; ver[i] = 1; eprom[i] = 1;
			sync[i] = ALLSYNC; pcand[i] = 3; prom[i] = 0
		}
		lease[0] = W; comm[0] = 1; pterm[0] = 1; phase[0] = HOLD; ct[0] = 1; prom[0] = 1; pcand[0] = 0; i = 0
	}
	atomic { run world(); run server(0); run server(1); run server(2) }
}
