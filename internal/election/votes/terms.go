// SPDX-License-Identifier: Apache-2.0

package votes

// Terms grow by one with every claim, and never end: a Lease takes 31 bits of one. Whoever may write one Lease, or has
// one server's key, could name the last of them at once, and no claim would be made above it any more. So a term counts
// only up to a step above what is known of the group: the highest that a majority of the votes has reached. A majority
// is believed whatever it says, so who was away for long learns of all that was so meanwhile by reading it; and nobody
// claims above what others believe, so a vote beyond that is nobody's claim.
const (
	// TermStep is how far above what is known a term may be promised. It is more elections than a group has in its life,
	// and 2^14 of such steps come to the last term.
	TermStep int64 = 1 << 16
	// claimStep is how far above it a term may be claimed: above what may have been promised.
	claimStep = 2 * TermStep
	// MaxTerm is the last term.
	MaxTerm int64 = 1 << 30
)

// Promisable is the highest term that may be promised where a term is known.
func Promisable(known int64) int64 { return min(known+TermStep, MaxTerm) }

// Claimable is the highest term that may be claimed where a term is known; a vote above it is not believed.
func Claimable(known int64) int64 { return min(known+claimStep, MaxTerm) }

// Believed says whether what a vote tells of terms may be so where a term is known: its own, and that of those who
// vote.
func (r Record) Believed(known int64) bool {
	most := Claimable(known)
	return r.Term <= most && r.Configuration().Term <= most
}

// Reached is the highest term that votes of a majority have reached, 0 where fewer are known. term tells that of a
// site's vote.
func (c Configuration) Reached(term func(site string) (term int64, known bool)) (reached int64) {
	for _, site := range c.Sites() {
		t, known := term(site)
		if !known || t <= reached || t > MaxTerm {
			continue
		}
		if c.Quorum(func(site string) bool { o, known := term(site); return known && o >= t && o <= MaxTerm }) {
			reached = t
		}
	}
	return reached
}

// Believed are the records, by site, without those that tell of terms which nobody can have claimed for all that a
// majority of a configuration tells.
func (c Configuration) Believed(records map[string]Record) map[string]Record {
	known := c.Reached(func(site string) (int64, bool) { r, ok := records[site]; return r.Term, ok })
	believed := map[string]Record{}
	for site, r := range records {
		if r.Believed(known) {
			believed[site] = r
		}
	}
	return believed
}
