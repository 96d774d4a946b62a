// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"io"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/terminal"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func around() []client.Object {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }
	return []client.Object{&v1alpha1.BackupPolicy{ObjectMeta: meta("content")},
		&v1alpha1.SQLServer{ObjectMeta: meta("quirep")}, &v1alpha1.AvailabilityGroup{ObjectMeta: meta("news")}}
}

func flags() *createFlags {
	return &createFlags{policy: "content", database: "Content", server: "quirep", timeout: time.Minute}
}

// run makes a Restore of the flags with a hub in memory.
func run(t *testing.T, hub client.Client, f *createFlags) (string, error) {
	t.Helper()
	return terminal.Run(t, &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
		r, err := f.restore("before")
		if err != nil {
			return err
		}
		r.Namespace = "web"
		return create(look{cmd, hub, "web"}, r, f)
	}}, "")
}

// The flags are the Restore's fields, and what cannot be one is refused before anything is written.
func TestCreate(t *testing.T) {
	moment, none := metav1.NewTime(noon), v1alpha1.RestoreSpec{}
	for name, c := range map[string]struct {
		edit    func(*createFlags)
		want    v1alpha1.RestoreSpec
		refused string
	}{
		"the newest point": {func(*createFlags) {}, v1alpha1.RestoreSpec{
			Source: v1alpha1.RestoreSource{Policy: "content", Database: "Content"},
			Target: v1alpha1.RestoreTarget{Server: "quirep"}}, ""},
		"all of it": {func(f *createFlags) {
			f.policy, f.server, f.as, f.dryRunChain = "backuppolicy/content", "quirep-0", "Before", true
			f.toTime = "2026-03-01T13:00:00+01:00"
		}, v1alpha1.RestoreSpec{Source: v1alpha1.RestoreSource{Policy: "content", Database: "Content"},
			To:     &v1alpha1.RestorePoint{Time: &moment},
			Target: v1alpha1.RestoreTarget{Server: "quirep", Database: "Before"}, DryRun: true}, ""},
		"in place of one": {func(f *createFlags) { f.replace = "Content" }, v1alpha1.RestoreSpec{
			Source:  v1alpha1.RestoreSource{Policy: "content", Database: "Content"},
			Target:  v1alpha1.RestoreTarget{Server: "quirep", Database: "Content"},
			Replace: "Content"}, ""},
		"in place of a group's": {func(f *createFlags) {
			f.server, f.group, f.as, f.replace = "", "availabilitygroup/news", "News", "News"
		}, v1alpha1.RestoreSpec{Source: v1alpha1.RestoreSource{Policy: "content", Database: "Content"},
			Target:  v1alpha1.RestoreTarget{AvailabilityGroup: "news", Database: "News"},
			Replace: "News"}, ""},
		"in place of one not meant": {func(f *createFlags) { f.as, f.replace = "News", "Content" }, none,
			`--replace "Content" is not the name of the database that is made, which is "News"`},
		"in place, in other letters": {func(f *createFlags) { f.replace = "content" }, none, "letter by letter"},
		"another group":              {func(f *createFlags) { f.server, f.group = "", "other" }, none, "there are: news"},
		"no moment":                  {func(f *createFlags) { f.toTime = "yesterday" }, none, `"yesterday" is no moment`},
		"half a second":              {func(f *createFlags) { f.toTime = "2026-03-01T12:00:00.5Z" }, none, "whole seconds"},
		"another policy":             {func(f *createFlags) { f.policy = "other" }, none, "there are: content"},
		"another server":             {func(f *createFlags) { f.server = "other" }, none, "there are: quirep"},
		"a store instead":            {func(f *createFlags) { f.policy = "backupstore/s3" }, none, "is no BackupPolicy"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			hub, f := terminal.Hub(around()...).Build(), flags()
			c.edit(f)
			text, err := run(t, hub, f)
			var made v1alpha1.RestoreList
			g.Expect(hub.List(t.Context(), &made)).To(Succeed())
			if c.refused != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.refused)))
				g.Expect(made.Items).To(BeEmpty())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(text).To(Equal("restore.geosql.dev/before created\n" +
				"see how far it is: kubectl geosql restore show before -n web\n"))
			g.Expect(made.Items).To(HaveLen(1))
			got := made.Items[0].Spec
			if c.want.To != nil {
				g.Expect(got.To.Time.Time.Equal(noon)).To(BeTrue())
				got.To = c.want.To
			}
			g.Expect(got).To(Equal(c.want))
		})
	}
}

// A name is used once.
func TestARestoreIsCarriedOutOnce(t *testing.T) {
	g := NewWithT(t)
	hub := terminal.Hub(around()...).Build()
	_, err := run(t, hub, flags())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = run(t, hub, flags())
	g.Expect(err).To(MatchError(ContainSubstring("one is carried out once: use another name")))
}

func states(of ...v1alpha1.RestoreStatus) func(*v1alpha1.Restore) {
	i := 0
	return func(r *v1alpha1.Restore) {
		r.Status = of[min(i, len(of)-1)]
		i++
	}
}

// The command says each step once and ends as the Restore does.
func TestCreateFollows(t *testing.T) {
	waiting := v1alpha1.RestoreStatus{Phase: v1alpha1.RestorePending, StatusBase: v1alpha1.StatusBase{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonReferenceMissing, Message: "there is no BackupStore s3"}}}}
	under := v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreRunning, Sets: 4, Bytes: 3 << 30, DownloadedBytes: 3 << 29,
		RestoredSets: 1}
	at := metav1.NewMicroTime(noon)
	done := v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreFinishing, Outcome: v1alpha1.RestoreSucceeded,
		Reason: v1alpha1.ReasonRestored, Database: "Content", RestoredTo: &v1alpha1.RestoredTo{Time: &at}}
	planned := *done.DeepCopy()
	planned.Sets, planned.Bytes, planned.Chain = 70, 1536, []v1alpha1.RestoredSet{{ID: "id", Type: "Full", FirstLSN: "1",
		LastLSN: "2", Finished: metav1.NewTime(noon), Bytes: 1024}}
	replaced := *done.DeepCopy()
	replaced.Replaced = &v1alpha1.ReplacedDatabase{Database: "Content_replaced_20260301120000"}
	refused := v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted, Outcome: v1alpha1.RestoreRefused,
		Reason: v1alpha1.ReasonDatabaseExists, Message: "quirep has a database Content"}
	failed := v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted, Outcome: v1alpha1.RestoreFailed,
		Reason: v1alpha1.ReasonSetDamaged, Message: "1.bak of id differs"}
	for name, c := range map[string]struct {
		states func(*v1alpha1.Restore)
		dryRun bool
		texts  string
		fails  string
	}{
		"it is restored": {states(v1alpha1.RestoreStatus{}, waiting, waiting, under, done), false,
			"the operator has not looked at it yet\nPending: there is no BackupStore s3\n" +
				"Running, 1.5 GiB of 3.0 GiB downloaded, 1 of 4 sets restored\n" +
				"database Content is ONLINE on quirep, as of 2026-03-01T12:00:00Z\n", ""},
		"in place of one": {states(replaced), false, "database Content is ONLINE on quirep, as of 2026-03-01T12:00:00Z\n" +
			"the former one is Content_replaced_20260301120000 there\n", ""},
		"a dry run": {states(planned), true, "70 sets, 1.5 KiB\n" +
			"  Full         2026-03-01T12:00:00Z  id  LSN 1 to 2  1.0 KiB\n" +
			"  and 69 between the first and the last of these\nthey lead to 2026-03-01T12:00:00Z\n", ""},
		"it is refused": {states(under, refused), false, "Running,",
			"refused, nothing was changed (DatabaseExists): quirep has"},
		"it fails":      {states(failed), false, "", "Failed (SetDamaged): 1.bak of id differs"},
		"it is deleted": {func(r *v1alpha1.Restore) { r.UID = "another" }, false, "", "somebody has deleted Restore before"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			hub := terminal.Hub(around()...).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, hub client.WithWatch, key client.ObjectKey, o client.Object,
					options ...client.GetOption) error {
					err := hub.Get(ctx, key, o, options...)
					if r, ok := o.(*v1alpha1.Restore); ok && err == nil {
						c.states(r)
					}
					return err
				}}).Build()
			f := flags()
			f.wait, f.dryRunChain = true, c.dryRun
			text, err := run(t, hub, f)
			g.Expect(text).To(ContainSubstring(c.texts))
			if c.fails != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.fails)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(text).To(Equal("restore.geosql.dev/before created\n" + c.texts))
		})
	}
}

// A Restore that takes longer than somebody waits goes on.
func TestCreateWaitsNoLongerThanAsked(t *testing.T) {
	f := flags()
	f.wait, f.timeout = true, time.Second
	_, err := run(t, terminal.Hub(around()...).Build(), f)
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("within 1s"), ContainSubstring("the agent goes on"))))
}

// A Restore that had no answer may be there.
func TestASilentCreateIsUnknown(t *testing.T) {
	terminal.ExpectUnsure(t, "kubectl geosql restore show before -n web", func(err error) error {
		hub := terminal.Hub(around()...).WithInterceptorFuncs(interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return err },
		}).Build()
		command := &cobra.Command{}
		command.SetOut(io.Discard)
		command.SetContext(t.Context())
		r, wrong := flags().restore("before")
		NewWithT(t).Expect(wrong).NotTo(HaveOccurred())
		return create(look{command, hub, "web"}, r, flags())
	})
}

// show says what is known of a Restore, of a policy or a folder alone, and is no error whatever came of it.
func TestShow(t *testing.T) {
	at := metav1.NewTime(noon)
	failed := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "before"},
		Spec: v1alpha1.RestoreSpec{Source: v1alpha1.RestoreSource{Policy: "content", Database: "Content"},
			To:     &v1alpha1.RestorePoint{Time: &at},
			Target: v1alpha1.RestoreTarget{Server: "quirep", Database: "Before"}},
		Status: v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted, Outcome: v1alpha1.RestoreFailed,
			Reason: v1alpha1.ReasonSetDamaged, Message: "1.bak differs"}}
	folder := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "folder"},
		Spec: v1alpha1.RestoreSpec{DryRun: true, Source: v1alpha1.RestoreSource{Store: "s3", Path: "web/server/a/Own"},
			To: &v1alpha1.RestorePoint{LSN: "34"}, Target: v1alpha1.RestoreTarget{Server: "quirep"}}}
	hub := terminal.Hub(failed, folder).Build()
	for name, want := range map[string]string{
		"restore/before": "Restore before: Completed\n" +
			"Content of BackupPolicy content, to 2026-03-01T12:00:00Z, as Before on quirep\n" +
			"Failed (SetDamaged): 1.bak differs\n",
		"folder": "Dry run of Restore folder: the operator has not looked at it yet\n" +
			"what is in web/server/a/Own of BackupStore s3, to LSN 34, as Own on quirep\n",
	} {
		text, err := terminal.Run(t, &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
			return show(look{cmd, hub, "web"}, name)
		}}, "")
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(text).To(Equal(want))
	}
	_, err := terminal.Run(t, &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
		return show(look{cmd, hub, "web"}, "other")
	}}, "")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("there are: before, folder")))
}
