/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress: from any state that was reached with faults, all faults end, and every agent does each R what the protocol
 * tells it, in a fixed order of the servers (three orders are tried). Within ROUNDS ticks one replica is PRIMARY with a lease
 * and a committed configuration, all others follow it, no vote of its term is a rival's, and a new write is acknowledged by REQUIRED secondaries.
 */
#ifndef ROUNDS
#define ROUNDS 24
#endif
hidden byte hold0[3]; hidden byte best; hidden byte granted; hidden byte k; hidden byte f; hidden byte lead;
hidden byte round; hidden byte good; hidden byte topterm;

/* Votes that s can have: its own of this term, or lower ones, at the voters it knows. */
inline renew_all(s, st) {
	granted = 0;
	for (k : 0 .. 2) { if :: GRANTS(s, k) || (st == HELD && HOLDS(s, k)) -> vote(s, k, ct[s], st); granted++ :: else fi }
}

/* A holder with a majority without them takes back votes that are not believed. This is C since a d_step must not be too long. */
#if FORGERIES > 0
c_decl {
	extern void take_back(void);
}
c_code {
	void take_back(void) {
		int s, v, own;
		for (s = 0; s < 3; s++) {
			if (now.phase[s] != HOLD || now.role[s] != PRIMARY) continue;
			own = 0;
			for (v = 0; v < 3; v++)
				own += now.vstate[v] != ABSENT && now.vholder[v] == s && now.vterm[v] == now.ct[s] && now.vrun[v] == now.life[s];
			for (v = 0; v < 3; v++)
				if (own >= 2 && now.vterm[v] == FAR) {
					now.vterm[v] = now.ct[s]; now.vholder[v] = s; now.vstate[v] = HELD; now.vrun[v] = now.life[s]; now.age[v] = 0;
				}
		}
	}
}
#ifdef MUT_LEAVES_FORGED
#define take_back() skip
#else
#define take_back() c_code { take_back(); }
#endif
#else
#define take_back() skip
#endif

#define AGREE(s, v, u) (KNOWN(s, v) && KNOWN(s, u) && vstate[v] != ABSENT \
	&& vstate[v] == vstate[u] && vterm[v] == vterm[u] && vholder[v] == vholder[u] && vrun[v] == vrun[u])
inline leading(s) {
	lead = 3; granted = 0;
	for (k : 0 .. 2) {
		if
		:: KNOWN(s, k) && vstate[k] != ABSENT ->
			granted++; see(s, k);
			if :: lead == 3 || vterm[k] > vterm[lead] || (vterm[k] == vterm[lead] && vstate[lead] == RELEASED) -> lead = k :: else fi
		:: else
		fi
	}
	if /* a vote that a majority agrees on leads one of a higher term that does not */
	:: AGREE(s, 0, 1) || AGREE(s, 0, 2) -> lead = 0
	:: AGREE(s, 1, 2) -> lead = 1
	:: else
	fi
}

inline settle_claim(s) {
	topterm = prom[s]; granted = 0;
	for (k : 0 .. 2) {
		if
		:: KNOWN(s, k) && vstate[k] != ABSENT ->
			if :: vterm[k] > topterm -> topterm = vterm[k] :: else fi;
			if :: EXPIRED(s, k) -> granted++ :: else fi
		:: else
		fi
	}
	if
	:: granted >= 2 && hold0[s] == 0 && topterm < FAR ->
		topterm++;
		for (k : 0 .. 2) { if :: KNOWN(s, k) && vstate[k] != ABSENT && EXPIRED(s, k) -> vote(s, k, topterm, CLAIMED) :: else fi }
		phase[s] = CLAIM; ct[s] = topterm; rep[s] = 0; better[s] = 0; prom[s] = topterm; pcand[s] = s; altage[s] = 0
	:: else
	fi
}

/* A claim that cannot succeed is released, and the field is left to others for a while. */
inline give_up(s) {
#ifdef MUT_KEEPS_CLAIM
	skip
#else
	release(s); hold0[s] = D
#endif
}

/* Fence, decide, promote, in one R. */
inline settle_candidate(s) {
	topterm = 0;
	for (f : 0 .. 2) {
		if
		:: f != s && PROMISES(f, s) ->
			if :: alt[f] != NOTHING -> drop(f) :: else fi;
			if :: !(prom[f] == ct[s] && pcand[f] == s) -> prom[f] = ct[s]; pcand[f] = s; forget(f) :: else fi;
			if :: role[f] != RESOLVING -> leave_primary(f, RESOLVING) :: else fi;
			if :: !HAS(rep[s], f) -> report(s, f) :: else fi
		:: f != s && !PROMISES(f, s) -> if :: prom[f] > topterm -> topterm = prom[f] :: else fi
		:: else
		fi
	}
	if
	:: topterm > 0 && topterm < FAR && COUNT(rep[s] | B(s)) < QUORUM -> /* refused: a higher term, and fence again */
		granted = 0;
		for (k : 0 .. 2) { if :: OWN(s, k) -> granted++ :: else fi }
		if
		:: granted >= 2 ->
			for (k : 0 .. 2) { if :: OWN(s, k) -> vterm[k] = topterm + 1; age[k] = 0 :: else fi }
			ct[s] = topterm + 1; rep[s] = 0; better[s] = 0; prom[s] = ct[s]; pcand[s] = s
		:: else -> release(s)
		fi
	:: (topterm == 0 || COUNT(rep[s] | B(s)) >= QUORUM) && better[s] -> give_up(s)
	:: (topterm == 0 || COUNT(rep[s] | B(s)) >= QUORUM) && !better[s] && DECIDED(s) ->
		renew_all(s, CLAIMED);
		best = 3;
		for (f : 0 .. 2) { if :: f != s && HAS(rep[s], f) && PREPARED(s, f) && READY(s, f) -> best = f :: else fi }
		if
		:: granted < 2 -> forget(s)
		:: granted >= 2 && best == 3 -> give_up(s)
		:: granted >= 2 && best != 3 -> aterm[s] = ct[s]; check_one_writable(s); check_promoted(s); promote(s, best, tmp); renew_all(s, HELD)
		fi
	:: else -> give_up(s)
	fi
}

inline settle_agent(s) {
	if :: alt[s] != NOTHING -> drop(s) :: else fi;
	if :: hold0[s] > 0 -> hold0[s]-- :: else fi;
	if :: phase[s] == HOLD && role[s] != PRIMARY -> forget(s) :: else fi;
	leading(s);
	if
	:: phase[s] == HOLD ->
		renew_all(s, HELD);
		if :: granted >= 2 -> lease[s] = W :: else -> leave_primary(s, RESOLVING); forget(s) fi
	:: phase[s] == IDLE && role[s] == PRIMARY && lead != 3 && granted >= 2 ->
		if
		:: vholder[lead] == s && vterm[lead] == pterm[s] && vrun[lead] == life[s] && HONOURS(s, s, vterm[lead]) && vstate[lead] != RELEASED ->
			phase[s] = HOLD; ct[s] = pterm[s]; prom[s] = ct[s]; pcand[s] = s
		:: else -> leave_primary(s, RESOLVING)
		fi
	:: phase[s] == CLAIM -> settle_candidate(s)
	:: phase[s] == IDLE && role[s] != PRIMARY && lead != 3 && granted >= 2 ->
		if
		:: vstate[lead] == HELD && vholder[lead] != s && HONOURS(s, vholder[lead], vterm[lead]) && role[s] == RESOLVING -> role[s] = SECONDARY
		:: else
		fi;
		if :: DATA(s) && MAYCLAIM(s) -> settle_claim(s) :: else fi
	:: else
	fi
}

inline settle_engine(s) {
	if
	:: OPEN(s) ->
		for (f : 0 .. 2) {
			if
			:: f != s && (TAKES(f, s) || FOLLOWS(f, s)) ->
				if :: TAKES(f, s) -> eprom[f] = epoch[s]; epoch[f] = epoch[s]; ver[f] = ver[s]; sync[f] = sync[s] :: else fi;
				acc[s] = acc[s] | B(f);
				if :: role[f] == SECONDARY && DATA(f) -> log[f] = log[s]; hard[s] = hard[s] | B(f) :: else fi
			:: else
			fi
		}
		acc[s] = acc[s] | B(s);
		if :: !comm[s] && COUNT(acc[s]) >= 2 -> comm[s] = 1 :: else fi;
		if
		:: comm[s] ->
			best = sync[s];
			for (f : 0 .. 2) {
				if :: f != s && DATA(f) && HAS(best, f) && role[f] != SECONDARY -> best = best & ~B(f)
				:: f != s && DATA(f) && !HAS(best, f) && FOLLOWS(f, s) && log[f] == log[s] -> best = best | B(f)
				:: else fi
			}
			if :: best != sync[s] -> sync[s] = best; ver[s]++; comm[s] = 0; acc[s] = B(s) :: else fi
		:: else
		fi
	:: else
	fi
}

#define EXPIRE(s) if :: role[s] == PRIMARY && lease[s] == 0 -> leave_primary(s, RESOLVING) :: else fi

#define LEFT(s, v) (FORGED(v) || KNOWN(s, v) && IN_VAIN(s, v) && vholder[v] != s)
inline settled(s) {
	if
	:: OPEN(s) && !LEFT(s, 0) && !LEFT(s, 1) && !LEFT(s, 2) && comm[s] && phase[s] == HOLD && COUNT(sync[s] & ~B(s)) >= NEEDED && role[OTHER1(s)] == SECONDARY && role[OTHER2(s)] == SECONDARY && (sync[s] & ~B(s) & ~hard[s]) == 0 -> good = 1
	:: else
	fi
}

inline clear() {
	for (k : 0 .. 2) {
		vterm[k] = 0; vholder[k] = 0; vstate[k] = 0; vrun[k] = 0; age[k] = 0; role[k] = 0; epoch[k] = 0; ver[k] = 0; sync[k] = 0; eprom[k] = 0;
		log[k] = 0; lease[k] = 0; comm[k] = 0; acc[k] = 0; wr[k] = 0; hard[k] = 0; pterm[k] = 0; life[k] = 0; phase[k] = 0; ct[k] = 0; rep[k] = 0;
		better[k] = 0; alt[k] = 0; altage[k] = 0; aterm[k] = 0; prom[k] = 0; pcand[k] = 0; seen[k] = 0
	}
	nextw = 0; acked = 0; newest = 0; ackterm = 0; ackserver = 0; crashes = 0; restarts = 0; restores = 0; deletions = 0; partials = 0; forces = 0; lones = 0; made = 0; byhand = 0; forgeries = 0; forced = 0
}

inline settle(x, y, z) {
	if :: LOST -> restore_lost(tmp) :: else fi;
	round = 0; good = 0; hold0[0] = 0; hold0[1] = 0; hold0[2] = 0;
	do
	:: round < ROUNDS && !good ->
		settle_agent(x); settle_engine(x);
		settle_agent(y); settle_engine(y);
		settle_agent(z); settle_engine(z);
		take_back();
		settled(0); settled(1); settled(2);
		PASS(0); PASS(1); PASS(2);
		EXPIRE(0); EXPIRE(1); EXPIRE(2);
		round++
	:: else -> break
	od;
	assert(good);
	clear(); over = 1; tmp = 0
}
