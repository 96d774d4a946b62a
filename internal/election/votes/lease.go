// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// Annotations of a group's Lease, beside holderIdentity and leaseTransitions (the term).
const (
	annotationState          = "geosql.dev/vote-state"
	annotationInitialPrimary = "geosql.dev/initial-primary"
)

// LeaseName is the name of a group's Lease at every voter, in the group's namespace.
func LeaseName(group string) string { return leasePrefix + group }

// leasePrefix precedes a group's name in its Lease's.
const leasePrefix = "geosql-"

// GroupOf is the group whose Lease has a name; false when it is no group's. Other Leases of the operator may have such
// a name, too: DecodeLease tells.
func GroupOf(lease string) (group string, ok bool) { return strings.CutPrefix(lease, leasePrefix) }

// NewLease is the Lease of a voter that has never voted. The manager creates it at every voter before anybody may claim
// the first term, with no configuration of voters, and at one that is to vote later with the newest configuration that
// it knows: who has an older one must meet it there. An agent never creates one.
func NewLease(namespace, group, initialPrimary string, configuration Configuration) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: LeaseName(group)}}
	encode(lease, Record{State: StateReleased, InitialPrimary: initialPrimary, Voters: configuration.Encode()})
	return lease
}

// LeaseVoter keeps a vote in a coordination.k8s.io/v1 Lease. renewTime is written for people to read and never trusted.
type LeaseVoter struct {
	site   string
	leases coordinationclient.LeaseInterface
	name   string
	// labels, annotations and UID as last read: an update replaces the former two, and must not create a Lease that was
	// deleted since. API servers let an update create a Lease, unless it names the UID of the one that it means.
	labels, annotations map[string]string
	uid                 types.UID
}

// NewLeaseVoter makes the voter of one site for one group.
func NewLeaseVoter(site string, leases coordinationclient.LeaseInterface, group string) *LeaseVoter {
	return &LeaseVoter{site: site, leases: leases, name: LeaseName(group)}
}

// Name implements Voter.
func (v *LeaseVoter) Name() string { return v.site }

// Read implements Voter. It reads from the API server's storage, not from a cache.
func (v *LeaseVoter) Read(ctx context.Context) (Record, string, error) {
	lease, err := v.leases.Get(ctx, v.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Record{}, "", ErrAbsent
	}
	if err != nil {
		return Record{}, "", fmt.Errorf("reading lease %s at %s: %w", v.name, v.site, err)
	}
	record, err := DecodeLease(lease)
	if err != nil {
		return Record{}, "", fmt.Errorf("lease %s at %s: %w", v.name, v.site, err)
	}
	v.labels, v.annotations, v.uid = lease.Labels, lease.Annotations, lease.UID
	return record, lease.ResourceVersion, nil
}

// Swap implements Voter by an update that carries the resourceVersion, in one round trip.
func (v *LeaseVoter) Swap(ctx context.Context, version string, r Record) (string, error) {
	if v.uid == "" {
		return "", fmt.Errorf("updating lease %s at %s: it has not been read: %w", v.name, v.site, ErrAbsent)
	}
	if r.Term < 0 || r.Term > math.MaxInt32 {
		// It would be written as another term, which nobody could read.
		return "", fmt.Errorf("updating lease %s at %s: a Lease holds no term %d", v.name, v.site, r.Term)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: v.name, UID: v.uid, ResourceVersion: version,
		Labels: v.labels, Annotations: maps.Clone(v.annotations)}}
	encode(lease, r)
	updated, err := v.leases.Update(ctx, lease, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return "", ErrConflict
	}
	if err != nil {
		return "", fmt.Errorf("updating lease %s at %s: %w", v.name, v.site, err)
	}
	return updated.ResourceVersion, nil
}

func encode(lease *coordinationv1.Lease, r Record) {
	holder, term, now := r.Holder.String(), int32(r.Term), metav1.NowMicro() //nolint:gosec // Swap has looked
	lease.Spec.HolderIdentity = &holder
	lease.Spec.LeaseTransitions = &term
	lease.Spec.RenewTime = &now
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[annotationState] = string(r.State)
	lease.Annotations[annotationInitialPrimary] = r.InitialPrimary
	lease.Annotations[annotationGeneration] = r.Configuration().generation()
	delete(lease.Annotations, annotationVoters)
	if r.Voters != "" {
		lease.Annotations[annotationVoters] = r.Voters
	}
	for name, text := range r.Notes.fields() {
		if *text == "" {
			delete(lease.Annotations, name)
		} else {
			lease.Annotations[name] = *text
		}
	}
}

// DecodeLease reads a vote from its Lease. A Lease that this package did not write is an error: it grants nothing.
func DecodeLease(lease *coordinationv1.Lease) (Record, error) {
	var r Record
	switch r.State = State(lease.Annotations[annotationState]); r.State {
	case StateReleased, StateClaimed, StateHeld:
	default:
		return Record{}, fmt.Errorf("annotation %s is %q, not Released, Claimed or Held", annotationState, r.State)
	}
	configuration, err := parseConfiguration(lease.Annotations[annotationGeneration], lease.Annotations[annotationVoters])
	if err != nil {
		return Record{}, err
	}
	r.Voters = configuration.Encode()
	r.InitialPrimary = lease.Annotations[annotationInitialPrimary]
	for name, text := range r.Notes.fields() {
		*text = lease.Annotations[name]
	}
	if lease.Spec.LeaseTransitions == nil || *lease.Spec.LeaseTransitions < 0 {
		return Record{}, fmt.Errorf("spec.leaseTransitions is not a term")
	}
	r.Term = int64(*lease.Spec.LeaseTransitions)
	if lease.Spec.HolderIdentity != nil {
		if r.Holder, err = ParseHolder(*lease.Spec.HolderIdentity); err != nil {
			return Record{}, err
		}
	}
	return r, nil
}
