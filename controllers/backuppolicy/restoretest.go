// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/schedule"
)

const (
	// testStamp is how the time of a test is written in the names of its Restores.
	testStamp = "200601021504"
	// longestName is how long a database's name may be.
	longestName = 123
)

// Test makes the Restore of a database, to see that its backups can be restored.
type Test struct{ Restore *v1alpha1.Restore }

// Describe names it.
func (s Test) Describe() string { return "test the backups of a database by Restore " + s.Restore.Name }

// ForgetTest deletes the record of a test that is over.
type ForgetTest struct{ Restore *v1alpha1.Restore }

// Describe names it.
func (s ForgetTest) Describe() string {
	return "delete Restore " + s.Restore.Name + ", a record of a test: beyond the history limit"
}

// restoreTests reads the Restores of the policy's tests, and whether the server is one for tests.
func (r *Reconciler) restoreTests(ctx context.Context, d *Desired) error {
	test := d.Policy.Spec.RestoreTest
	if test == nil {
		return nil
	}
	var list v1alpha1.RestoreList
	if err := r.hub.List(ctx, &list, client.InNamespace(d.Policy.Namespace),
		client.MatchingLabels{v1alpha1.LabelRestoreTest: d.Policy.Name}); err != nil {
		return fmt.Errorf("list the Restores of namespace %s: %w", d.Policy.Namespace, err)
	}
	d.Tests = slices.DeleteFunc(list.Items, func(x v1alpha1.Restore) bool { return !ownedBy(&x, d.Policy) })
	var server v1alpha1.SQLServer
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: d.Policy.Namespace, Name: string(test.Server)}, &server)
	switch {
	case apierrors.IsNotFound(err):
		d.TestRefused = fmt.Sprintf("there is no SQLServer %s", test.Server)
		return nil
	case err != nil:
		return fmt.Errorf("read SQLServer %s/%s: %w", d.Policy.Namespace, test.Server, err)
	}
	var groups v1alpha1.AvailabilityGroupList
	if err := r.hub.List(ctx, &groups, client.InNamespace(d.Policy.Namespace)); err != nil {
		return fmt.Errorf("list the AvailabilityGroups of namespace %s: %w", d.Policy.Namespace, err)
	}
	for i := range groups.Items {
		if group := &groups.Items[i]; slices.ContainsFunc(group.Spec.Replicas,
			func(x v1alpha1.Replica) bool { return x.Server == test.Server }) {
			d.TestRefused = fmt.Sprintf("SQLServer %s is a replica of AvailabilityGroup %s: name a server that is of none "+
				"(spec.restoreTest.server)", test.Server, group.Name)
		}
	}
	return nil
}

// testOf is the Restore of a database in a test. Its name follows from both, so that none is made twice.
func (d Desired) testOf(due metav1.Time, database v1alpha1.DatabaseName) *v1alpha1.Restore {
	p, hash := d.Policy, fnv.New32a()
	_, _ = hash.Write([]byte(strings.ToLower(string(database))))
	scratch := string(database)
	scratch = strings.ToValidUTF8(scratch[:min(len(scratch), longestName-len(v1alpha1.RestoreTestSuffix))], "")
	return &v1alpha1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace,
			Name:   fmt.Sprintf("%s-test-%s-%08x", p.Name, due.UTC().Format(testStamp), hash.Sum32()),
			Labels: map[string]string{v1alpha1.LabelRestoreTest: p.Name},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BackupPolicy", Name: p.Name, UID: p.UID}}},
		Spec: v1alpha1.RestoreSpec{
			Source: v1alpha1.RestoreSource{Policy: v1alpha1.ObjectName(p.Name), Database: database},
			Target: v1alpha1.RestoreTarget{Server: p.Spec.RestoreTest.Server,
				Database: v1alpha1.DatabaseName(scratch + v1alpha1.RestoreTestSuffix)},
			Check: true, Discard: true},
	}
}

// test is the Restore of a database in a test, as it is there; nil while it is not.
func (d Desired) test(due metav1.Time, database v1alpha1.DatabaseName) *v1alpha1.Restore {
	name := d.testOf(due, database).Name
	at := slices.IndexFunc(d.Tests, func(x v1alpha1.Restore) bool { return x.Name == name })
	if at < 0 {
		return nil
	}
	return &d.Tests[at]
}

// underWay says that a test goes on.
func underWay(s *v1alpha1.RestoreTestStatus) bool { return s != nil && s.Due != nil && s.Outcome == "" }

// planTests makes the Restores of the test that is written down, one after the other, and deletes those of past ones
// that are too many and over.
func planTests(p *reconcile.Plan, d Desired, o Observed) {
	test, s := d.Policy.Spec.RestoreTest, d.Policy.Status.RestoreTest.DeepCopy()
	if test == nil || s == nil {
		return
	}
	if underWay(s) {
		followed(s, d, o)
		at := slices.IndexFunc(s.Databases, func(x v1alpha1.TestedDatabase) bool { return x.Outcome == "" })
		if at >= 0 && s.Databases[at].Restore == "" {
			p.Add(Test{d.testOf(*s.Due, s.Databases[at].Name)})
		}
	}
	var past []*v1alpha1.Restore
	for i := range d.Tests {
		if x := &d.Tests[i]; x.DeletionTimestamp == nil {
			past = append(past, x)
		}
	}
	slices.SortFunc(past, func(a, b *v1alpha1.Restore) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name))
	})
	for _, x := range past[min(len(past), cmp.Or(int(test.HistoryLimit), historyDefault)):] {
		newest := slices.ContainsFunc(s.Databases, func(t v1alpha1.TestedDatabase) bool { return t.Restore == x.Name })
		if x.Status.Phase == v1alpha1.RestoreCompleted && !newest {
			p.Add(ForgetTest{x})
		}
	}
}

// tested is the newest test: the one that is written down as far as it is now, or the next one, which is due. One that
// is written down is begun with afterwards; no other is while it goes on.
func tested(d Desired, o Observed) *v1alpha1.RestoreTestStatus {
	test, before := d.Policy.Spec.RestoreTest, d.Policy.Status.RestoreTest
	switch {
	case test == nil:
		return nil
	case d.Missing != "" || d.First != "":
		return before
	}
	s := before.DeepCopy()
	if s == nil {
		s = &v1alpha1.RestoreTestStatus{}
	}
	times, err := schedule.Parse(test.Schedule, test.TimeZone)
	if err != nil {
		s.Next = nil
		return s
	}
	if underWay(s) {
		followed(s, d, o)
	}
	edited := d.Policy.Status.ObservedGeneration != d.Policy.Generation
	next := reconcile.Moment(times.Next(o.Now))
	switch {
	case s.Next == nil || edited || underWay(s) && !s.Next.After(o.Now):
		s.Next = next
	case s.Next.After(o.Now):
	default:
		begin(s, d, o, next)
	}
	return s
}

// begin writes a test down that is due. One of nothing waits until there is something.
func begin(s *v1alpha1.RestoreTestStatus, d Desired, o Observed, next *metav1.Time) {
	names := d.Policy.Spec.RestoreTest.Databases
	if len(names) == 0 {
		names = o.covered(d)
	}
	if len(names) == 0 {
		return
	}
	s.Due, s.Started, s.Next = s.Next, reconcile.Moment(o.Now), next
	s.Finished, s.Outcome, s.Databases = nil, "", nil
	for _, name := range names[:min(len(names), maxDatabases)] {
		s.Databases = append(s.Databases, v1alpha1.TestedDatabase{Name: name})
	}
}

// followed is how far a test is.
func followed(s *v1alpha1.RestoreTestStatus, d Desired, o Observed) {
	outcome := v1alpha1.RestoreTestPassed
	for i := range s.Databases {
		t := &s.Databases[i]
		if t.Outcome == "" {
			follow(t, d.test(*s.Due, t.Name), d.TestRefused)
		}
		switch t.Outcome {
		case "":
			return
		case v1alpha1.RestoreTestFailed:
			outcome = v1alpha1.RestoreTestFailed
		}
	}
	s.Outcome, s.Finished = outcome, reconcile.Moment(o.Now)
	if outcome == v1alpha1.RestoreTestPassed {
		s.LastPassed = s.Finished
	}
}

// follow is how far a database's part is, by its Restore. What was made and is no more somebody has deleted.
func follow(t *v1alpha1.TestedDatabase, x *v1alpha1.Restore, refused string) {
	failed := func(reason, message string) {
		t.Outcome, t.Reason, t.Message = v1alpha1.RestoreTestFailed, reason, message
	}
	switch {
	case x == nil && t.Restore != "":
		failed(v1alpha1.ReasonRestoreTestGone, "Restore "+t.Restore+" was deleted before its end was seen")
		return
	case x == nil && refused != "":
		failed(v1alpha1.ReasonRestoreRefused, refused)
		return
	case x == nil:
		return
	}
	t.Restore = x.Name
	if x.Status.Phase != v1alpha1.RestoreCompleted {
		return
	}
	if from, to := x.Status.Started, x.Status.Finished; from != nil && to != nil {
		t.Duration = &metav1.Duration{Duration: to.Sub(from.Time)}
	}
	if to := x.Status.RestoredTo; to != nil {
		t.RestoredTo = to.Time
	}
	if x.Status.Outcome == v1alpha1.RestoreSucceeded && x.Status.Checked {
		t.Outcome, t.Reason = v1alpha1.RestoreTestPassed, x.Status.Reason
		return
	}
	failed(x.Status.Reason, x.Status.Message)
}

// makeTest makes a Restore. One of the policy that is there counts as made: a manager ended before it could see that.
func (r *Reconciler) makeTest(ctx context.Context, x *v1alpha1.Restore) error {
	err := r.hub.Create(ctx, x.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var there v1alpha1.Restore
	if err := r.fresh.Get(ctx, client.ObjectKeyFromObject(x), &there); err != nil {
		return fmt.Errorf("look at Restore %s/%s, which is there already: %w", x.Namespace, x.Name, err)
	}
	if !slices.ContainsFunc(there.OwnerReferences,
		func(o metav1.OwnerReference) bool { return o.UID == x.OwnerReferences[0].UID }) {
		return fmt.Errorf("a Restore %s/%s is there, and is not of the policy: delete it", x.Namespace, x.Name)
	}
	return nil
}
