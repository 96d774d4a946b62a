// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
)

// maxRequests is how many are told at once: so many answers status takes.
const maxRequests = 64

// backups are those of the policy, the oldest first.
func (r *Reconciler) backups(ctx context.Context, p *v1alpha1.BackupPolicy) ([]v1alpha1.Backup, error) {
	var list v1alpha1.BackupList
	if err := r.hub.List(ctx, &list, client.InNamespace(p.Namespace)); err != nil {
		return nil, fmt.Errorf("list the Backups of namespace %s: %w", p.Namespace, err)
	}
	return ofPolicy(p, list.Items), nil
}

func ofPolicy(p *v1alpha1.BackupPolicy, all []v1alpha1.Backup) []v1alpha1.Backup {
	all = slices.DeleteFunc(slices.Clone(all), func(b v1alpha1.Backup) bool { return string(b.Spec.Policy) != p.Name })
	slices.SortStableFunc(all, func(a, b v1alpha1.Backup) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// asks are the requests of Backups that have no outcome yet. A record of what was taken asks for nothing.
func asks(all []v1alpha1.Backup) []orders.BackupRequest {
	var requests []orders.BackupRequest
	for i := range all {
		b := &all[i]
		if b.Spec.Record != nil || b.Status.Outcome != "" || b.DeletionTimestamp != nil {
			continue
		}
		for _, d := range b.Status.Databases {
			if len(requests) < maxRequests {
				requests = append(requests, orders.BackupRequest{ID: b.Request(d.Name), Kind: string(b.Spec.Type),
					Database: string(d.Name), CopyOnly: b.Spec.CopyOnly})
			}
		}
	}
	return requests
}

// answered are the sets that answer them, and those of records that have no outcome yet. Of a set that several servers
// tell of a store has it, and has it verified or damaged, if any of them says so: each has looked at another moment.
// Where nobody tells, what was told last stays.
func answered(d Desired, o Observed) []v1alpha1.BackupAnswer {
	var all []v1alpha1.BackupAnswer
	add := func(request string, set *backups.PastSet) {
		before := slices.IndexFunc(d.Policy.Status.Answers,
			func(b v1alpha1.BackupAnswer) bool { return b.Request == request })
		switch {
		case len(all) == maxRequests:
		case set != nil:
			all = append(all, v1alpha1.BackupAnswer{Request: request, Set: described(*set)})
		case before >= 0:
			all = append(all, d.Policy.Status.Answers[before])
		}
	}
	for _, asked := range d.Order.Requests {
		a := answer(d, o, asked.ID)
		if a == nil {
			add(asked.ID, nil)
			continue
		}
		set := backups.PastOf(a.Description, a.In)
		add(asked.ID, &set)
	}
	told, _ := past(d, o)
	for i := range d.Backups {
		b := &d.Backups[i]
		if b.Spec.Record == nil || b.Status.Outcome != "" || b.DeletionTimestamp != nil {
			continue
		}
		at := slices.IndexFunc(told, func(s backups.PastSet) bool { return s.ID == b.Spec.Record.Set })
		for _, database := range b.Spec.Databases {
			if at < 0 {
				add(b.Request(database), nil)
				continue
			}
			add(b.Request(database), &told[at])
		}
	}
	return all
}

func answer(d Desired, o Observed, request string) *backups.Answer {
	var first *backups.Answer
	for _, name := range d.Servers {
		says, err := o.Servers[name].Says.Get()
		if err != nil || says == nil {
			continue
		}
		for _, a := range says.Answers {
			switch {
			case a.Request != request:
			case first == nil || a.ID != first.ID && a.Finished.Before(first.Finished):
				copied := a
				copied.In = slices.Clone(a.In)
				first = &copied
			case a.ID == first.ID:
				first.In = together(first.In, a.In)
			}
		}
	}
	return first
}

func together(a, b []backups.AnswerPlace) []backups.AnswerPlace {
	for _, place := range b {
		at := slices.IndexFunc(a, func(p backups.AnswerPlace) bool { return p.Store == place.Store })
		if at < 0 {
			a = append(a, place)
			continue
		}
		a[at].Verified, a[at].Damaged = a[at].Verified || place.Verified, a[at].Damaged || place.Damaged
	}
	return a
}

// described is a set as status has it.
func described(a backups.PastSet) v1alpha1.BackupSet {
	took := a.Finished.Sub(a.Begun)
	s := v1alpha1.BackupSet{ID: a.ID, Type: v1alpha1.BackupType(a.Kind), CopyOnly: a.CopyOnly, Folder: a.Folder,
		Server: a.Server, FirstLSN: string(a.FirstLSN), LastLSN: string(a.LastLSN), Begun: metav1.NewTime(a.Begun),
		Finished: metav1.NewTime(a.Finished), Duration: metav1.Duration{Duration: took}, Bytes: a.Bytes,
		StoredBytes: a.Stored}
	if s.StoredBytes > 0 && s.Bytes > 0 {
		s.Ratio = fmt.Sprintf("%.1f", float64(s.Bytes)/float64(s.StoredBytes))
	}
	if seconds := took.Seconds(); seconds > 0 {
		s.BytesPerSecond = int64(float64(s.Bytes) / seconds)
	}
	for _, p := range a.In {
		s.Places = append(s.Places, v1alpha1.BackupSetPlace{Store: v1alpha1.ObjectName(p.Store), Verified: p.Verified,
			Damaged: p.Damaged})
	}
	return s
}
