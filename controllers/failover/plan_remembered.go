// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/reconcile"
)

// rememberedMost is how many Failovers are noted: the newest ones.
const rememberedMost = 64

// specOf is a short hash of what a Failover asks for.
func specOf(f *v1alpha1.Failover) string {
	content, err := json.Marshal(f.Spec)
	if err != nil {
		// A spec is plain data.
		panic(fmt.Sprintf("encode the spec of a Failover: %v", err))
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

// hadEffect says of a Failover that agents have begun with it, as far as is known. What was refused may be asked for
// once more.
func hadEffect(s v1alpha1.FailoverStatus) bool {
	switch {
	case s.Requested == nil:
		return false
	case s.Phase == v1alpha1.FailoverRunning:
		return true
	case s.Phase != v1alpha1.FailoverCompleted:
		return false
	}
	return s.Outcome == v1alpha1.FailoverSucceeded || s.Outcome == v1alpha1.FailoverFailed ||
		s.Outcome == v1alpha1.FailoverUnknown
}

// planRemembered has every voter that answers note what was carried out.
func planRemembered(p *reconcile.Plan, o Observed, now []v1alpha1.FailoverStatus) {
	var done []votes.CarriedOut
	for i := range o.Failovers {
		if f := &o.Failovers[i]; f.Spec.RecordedTerm == nil && hadEffect(now[i]) {
			done = append(
				done,
				votes.CarriedOut{Name: f.Name, Spec: specOf(f), ID: string(f.UID), At: now[i].Requested.UTC()},
			)
		}
	}
	slices.SortStableFunc(done, func(a, b votes.CarriedOut) int { return a.At.Compare(b.At) })
	done = done[max(0, len(done)-rememberedMost):]
	for _, v := range o.Votes {
		if !o.Votes.Counts(v) {
			continue
		}
		missing := slices.DeleteFunc(slices.Clone(done), func(c votes.CarriedOut) bool {
			// Older ones than those that the voter has room for are not noted again.
			return slices.ContainsFunc(v.CarriedOut, func(o votes.CarriedOut) bool { return o.ID == c.ID }) ||
				len(v.CarriedOut) >= rememberedMost && c.At.Before(v.CarriedOut[0].At)
		})
		if len(missing) > 0 {
			p.Add(Remember{Voter: v.Site, CarriedOut: missing})
		}
	}
}
