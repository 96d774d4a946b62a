// SPDX-License-Identifier: Apache-2.0

// Package requests carries what people ask of a group's election to the Leases at its voters, where the agents read it,
// and brings back what came of it. It is used by the manager, for Failover objects, and by kubectl geosql, which needs
// no hub for it. It decides nothing: the agents do, in package keeper next door; the form of what it writes is that of
// package votes.
package requests

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/election/votes"
)

// Vote is what a group's Lease at one voter says, to people as well as to agents.
type Vote struct {
	// Site is the voter, empty when it was read without knowing its name.
	Site string
	// Err is why nothing is known of it; votes.ErrAbsent when there is no Lease.
	Err error
	// Record is the vote.
	Record votes.Record
	// Request is the newest one that was written there, nil when there is none.
	Request *votes.Request
	// Answer is the newest one that an agent wrote there, nil when there is none.
	Answer *votes.Answer
	// Timelines of the last terms, oldest first.
	Timelines []votes.Timeline
	// Paused forbids automatic elections.
	Paused bool
	// CarriedOut are the last Failovers that were carried out, oldest first.
	CarriedOut []votes.CarriedOut
}

// Read reads a group's Lease at one voter. reader must not be a cache: a request that was written must be seen.
func Read(ctx context.Context, reader client.Reader, namespace, group string) Vote {
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: namespace, Name: votes.LeaseName(group)}
	err := reader.Get(ctx, key, &lease)
	switch {
	case apierrors.IsNotFound(err):
		return Vote{Err: votes.ErrAbsent}
	case err != nil:
		return Vote{Err: fmt.Errorf("read Lease %s: %w", key, err)}
	}
	return Of(&lease)
}

// Of reads everything that a Lease has. What people wrote into an annotation and nobody can read is as if it were
// not there: it must not hide the vote.
func Of(lease *coordinationv1.Lease) Vote {
	var v Vote
	if v.Record, v.Err = votes.DecodeLease(lease); v.Err != nil {
		return v
	}
	if r, ok, err := votes.ParseRequest(lease.Annotations); ok && err == nil {
		v.Request = &r
	}
	if a, ok, err := votes.ParseAnswer(lease.Annotations); ok && err == nil {
		v.Answer = &a
	}
	if t, err := votes.ParseTimelines(lease.Annotations); err == nil {
		v.Timelines = t
	}
	if c, err := votes.ParseCarriedOut(lease.Annotations); err == nil {
		v.CarriedOut = c
	}
	v.Paused = lease.Annotations[votes.AnnotationPaused] == "true"
	return v
}

// ErrNewer means that the voter has a newer request, which must not be overwritten, or the answer to one: the agents
// begin with no older one then.
var ErrNewer = errors.New("a newer request is there")

// attempts bounds the swaps of one Write: the holder's agent changes the Lease about once per second, and over a WAN
// one swap in five meets such a change.
const attempts = 12

// Remember notes Failovers that were carried out on a group's Lease at one voter, by compare-and-swap. It changes
// nothing else.
func Remember(
	ctx context.Context,
	reader client.Reader,
	writer client.Writer,
	namespace, group string,
	carriedOut []votes.CarriedOut,
) error {
	return swap(
		ctx,
		reader,
		writer,
		namespace,
		group,
		"note what was carried out",
		func(annotations map[string]string) (bool, error) {
			return votes.NoteCarriedOut(annotations, carriedOut), nil
		},
	)
}

// Write writes a request on a group's Lease at one voter by compare-and-swap. A request of the same ID that is there is
// left alone, a newer one, or an answer to a newer one, is ErrNewer. It changes nothing else. reader must not be a
// cache. An error other than ErrNewer and votes.ErrAbsent leaves open whether the request was written; writing it again
// does no harm.
func Write(
	ctx context.Context,
	reader client.Reader,
	writer client.Writer,
	namespace, group string,
	request votes.Request,
) error {
	if err := request.Check(); err != nil {
		return err
	}
	return swap(
		ctx,
		reader,
		writer,
		namespace,
		group,
		"write the request",
		func(annotations map[string]string) (bool, error) {
			present, ok, err := votes.ParseRequest(annotations)
			if ok && err == nil {
				if present.ID == request.ID {
					return false, nil
				}
				if !present.Issued.Before(request.Issued) {
					return false, fmt.Errorf(
						"%s of %s by %s: %w",
						present.Kind,
						present.Issued.UTC().Format(time.RFC3339),
						present.By,
						ErrNewer,
					)
				}
			}
			if last, ok, err := votes.ParseAnswer(annotations); ok && err == nil && last.Overtakes(request.ID, request.Issued) {
				return false, fmt.Errorf("one of %s was answered: %w", last.Issued.UTC().Format(time.RFC3339), ErrNewer)
			}
			request.Annotate(annotations)
			return true, nil
		},
	)
}

// swap changes the annotations of a group's Lease at one voter, as change says: false is that there is nothing to
// change.
func swap(
	ctx context.Context,
	reader client.Reader,
	writer client.Writer,
	namespace, group, doing string,
	change func(map[string]string) (bool, error),
) error {
	key := client.ObjectKey{Namespace: namespace, Name: votes.LeaseName(group)}
	var last error
	for range attempts {
		var lease coordinationv1.Lease
		if err := reader.Get(ctx, key, &lease); err != nil {
			if apierrors.IsNotFound(err) {
				return fmt.Errorf("Lease %s: %w", key, votes.ErrAbsent)
			}
			return fmt.Errorf("read Lease %s: %w", key, err)
		}
		before := lease.DeepCopy()
		if lease.Annotations == nil {
			lease.Annotations = map[string]string{}
		}
		changed, err := change(lease.Annotations)
		if err != nil {
			return fmt.Errorf("Lease %s: %w", key, err)
		}
		if !changed {
			return nil
		}
		last = writer.Patch(ctx, &lease, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if last == nil {
			return nil
		}
		if !apierrors.IsConflict(last) {
			break
		}
	}
	return fmt.Errorf("%s on Lease %s: %w", doing, key, last)
}
