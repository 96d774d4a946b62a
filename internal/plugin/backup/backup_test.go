// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/terminal"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(-d)} }

func policy() *v1alpha1.BackupPolicy {
	return &v1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content", UID: "u1"},
		Spec: v1alpha1.BackupPolicySpec{Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"},
			Stores: []v1alpha1.ObjectName{"s3"}},
		Status: v1alpha1.BackupPolicyStatus{Restorable: ago(time.Minute),
			StatusBase: v1alpha1.StatusBase{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady,
				Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonBackedUp, Message: "every database can be restored"}}},
			Databases: []v1alpha1.BackedUpDatabase{
				{Name: "Content", Sets: 7, Bytes: 3 << 30, WaitingBytes: 1536, Damaged: 1, LastFull: ago(time.Hour),
					LastLog: ago(time.Minute), Windows: []v1alpha1.RestorableWindow{{From: *ago(time.Hour), To: *ago(time.Minute)},
						{From: *ago(9 * time.Hour), To: *ago(2 * time.Hour)}}},
				{Name: "Orders"}},
			Stores: []v1alpha1.BackupPlace{{Name: "s3", Listed: ago(0), Verified: ago(2 * time.Minute)}}}}
}

// run runs one of the commands with a hub in memory.
func run(t *testing.T, hub client.Client, do func(look) error) (string, error) {
	t.Helper()
	return terminal.Run(t, &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
		return do(look{cmd, hub, "web"})
	}}, "")
}

// What the status has is shown, all windows of each database, and of what is not known nothing is made up.
func TestListShowsTheStatus(t *testing.T) {
	g := NewWithT(t)
	hub := terminal.Hub(policy()).Build()
	for _, name := range []string{"content", "backuppolicy/content", ""} {
		text, err := run(t, hub, func(l look) error { return list(l, name, &listFlags{output: "text"}) })
		g.Expect(err).NotTo(HaveOccurred())
		lines := strings.Split(text, "\n")
		fields := func(i int) string { return strings.Join(strings.Fields(lines[i]), " ") }
		g.Expect(lines[0]).To(Equal("BackupPolicy content of group/content: BackedUp: every database can be restored"))
		g.Expect(fields(2)).To(Equal("Content 2026-03-01T11:00:00Z 2026-03-01T11:59:00Z 2026-03-01T11:00:00Z none " +
			"2026-03-01T11:59:00Z 7 3.0 GiB 1.5 KiB 1"))
		g.Expect(fields(3)).To(Equal("2026-03-01T03:00:00Z 2026-03-01T10:00:00Z"))
		g.Expect(fields(4)).To(Equal("Orders nothing none none none 0 0 B 0 B 0"))
		g.Expect(fields(6)).To(Equal("s3 2026-03-01T12:00:00Z 2026-03-01T11:58:00Z none"))
	}
	text, err := run(t, hub, func(l look) error { return list(l, "content", &listFlags{output: "json"}) })
	g.Expect(err).NotTo(HaveOccurred())
	var read struct{ Policies []policyShown }
	g.Expect(json.Unmarshal([]byte(text), &read)).To(Succeed())
	g.Expect(read.Policies).To(HaveLen(1))
	g.Expect(read.Policies[0].Databases).To(HaveLen(2))

	_, err = run(t, hub, func(l look) error { return list(l, "other", &listFlags{output: "text"}) })
	g.Expect(err).To(MatchError("no BackupPolicy other in namespace web; there are: content"))
	g.Expect(known("yaml")).To(MatchError(ContainSubstring("text and json are")))
}

// A request is written once; one that is under way is followed, and what came of it is the command's end.
func TestVerify(t *testing.T) {
	const before = "u1/2026-03-01T11:00:00Z"
	for _, c := range []struct {
		name           string
		edit           func(*v1alpha1.BackupPolicy)
		wait           bool
		texts, refused string
		asked          bool
	}{
		{name: "it is asked for", texts: "all backups are read back", asked: true},
		{name: "one is done: it is asked for once more", edit: func(p *v1alpha1.BackupPolicy) {
			p.Annotations = map[string]string{v1alpha1.VerifyBackupsAnnotation: before}
			p.Status.Verification = &v1alpha1.BackupVerificationStatus{Request: before, Completed: ago(0)}
		}, asked: true},
		{name: "one is under way", edit: func(p *v1alpha1.BackupPolicy) {
			p.Annotations = map[string]string{v1alpha1.VerifyBackupsAnnotation: before}
		}, texts: "was asked for before, and is under way"},
		{name: "one of another object is none", edit: func(p *v1alpha1.BackupPolicy) {
			p.Annotations = map[string]string{v1alpha1.VerifyBackupsAnnotation: "u0/2026-03-01T11:00:00Z"}
		}, asked: true},
		{name: "no store", edit: func(p *v1alpha1.BackupPolicy) { p.Spec.Stores = nil },
			refused: "has no store to read from"},
		{name: "suspended", edit: func(p *v1alpha1.BackupPolicy) { p.Spec.Suspend = true }, refused: "is suspended"},
		{name: "too slow", edit: func(p *v1alpha1.BackupPolicy) {
			p.Annotations = map[string]string{v1alpha1.VerifyBackupsAnnotation: before}
			p.Status.Verification = &v1alpha1.BackupVerificationStatus{Request: before, Left: ptr.To[int32](3),
				LeftBytes: 1 << 20}
		}, wait: true, texts: "to be read back: 3 backups, 1.0 MiB", refused: "within 1s; the agents go on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			p := policy()
			if c.edit != nil {
				c.edit(p)
			}
			was := p.Annotations[v1alpha1.VerifyBackupsAnnotation]
			hub := terminal.Hub(p).Build()
			text, err := run(t, hub, func(l look) error {
				return verify(l, "content", &verifyFlags{wait: c.wait, timeout: time.Second})
			})
			if c.refused == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(c.refused)))
			}
			g.Expect(text).To(ContainSubstring(c.texts))
			var now v1alpha1.BackupPolicy
			g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(p), &now)).To(Succeed())
			request := now.Annotations[v1alpha1.VerifyBackupsAnnotation]
			g.Expect(request != was).To(Equal(c.asked))
			if c.asked {
				g.Expect(request).To(HavePrefix("u1/2"))
			}
		})
	}
}

// The command ends when the operator says that nothing is left, and fails where something is damaged.
func TestVerifyFollows(t *testing.T) {
	for damaged, ends := range map[int32]string{0: "", 2: "2 backups are damaged"} {
		g := NewWithT(t)
		p := policy()
		hub := terminal.Hub(p).WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
				options ...client.GetOption) error {
				if err := c.Get(ctx, key, o, options...); err != nil {
					return err
				}
				if p, ok := o.(*v1alpha1.BackupPolicy); ok && p.Annotations[v1alpha1.VerifyBackupsAnnotation] != "" {
					p.Status.Verification = &v1alpha1.BackupVerificationStatus{
						Request: p.Annotations[v1alpha1.VerifyBackupsAnnotation], Damaged: damaged, Completed: ago(0)}
				}
				return nil
			}}).Build()
		text, err := run(t, hub, func(l look) error {
			return verify(l, "content", &verifyFlags{wait: true, timeout: time.Minute})
		})
		if ends == "" {
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(text).To(ContainSubstring("all backups are as they were written"))
			continue
		}
		g.Expect(err).To(MatchError(ContainSubstring(ends)))
	}
}

// A request that had no answer may be carried out.
func TestASilentRequestIsUnknown(t *testing.T) {
	terminal.ExpectUnsure(t, "kubectl get backuppolicy -n web content -o yaml", func(err error) error {
		hub := terminal.Hub(policy()).WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return err
			}}).Build()
		command := &cobra.Command{}
		command.SetOut(io.Discard)
		command.SetContext(t.Context())
		return verify(look{command, hub, "web"}, "content", &verifyFlags{})
	})
}
