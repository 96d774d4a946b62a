// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"errors"
	"testing"
	"time"
	"unicode/utf16"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

const aside = "Content_replaced_20260301120000"

// replacingOne is a Restore that replaces Content on quisec, of which the agent says that it is restored, beside what
// is there.
func replacingOne(t *testing.T) (Desired, Observed) {
	d, o := desired(), observed(t)
	d.Restore.Spec.Target.Database, d.Restore.Spec.Replace = "Content", "Content"
	d.Now, d.HeldKnown = noon, true
	says, _ := o.Says.Get()
	says.Database = "Content_restored_u1"
	says.Result = &restores.Result{Outcome: restores.Succeeded, Reason: v1alpha1.ReasonRestored, Message: "it is so",
		Finished: noon}
	o.Owner = reconcile.Read("geosql_agent")
	o.Stands = reconcile.Read(standing{Named: former("Content"), Restored: fresh("Content_restored_u1")})
	return d, o
}

func former(name string) *mssql.Standing {
	return &mssql.Standing{Name: name, State: "ONLINE", Access: "MULTI_USER", Owner: "geosql_operator", Fork: "f1"}
}

func fresh(name string) *mssql.Standing {
	return &mssql.Standing{Name: name, State: "ONLINE", Access: "MULTI_USER", Owner: "geosql_agent", Own: true, Fork: "f2"}
}

// inGroup makes it one into a group, whose primary is quisec, with copies on two others.
func inGroup(d *Desired, o *Observed) {
	toGroup(d)
	d.Restore.Spec.Target.Database = "Content"
	d.Copies = []v1alpha1.ServerName{"tukpub", "dubpub"}
	s, _ := o.Stands.Get()
	s.Role = "PRIMARY"
	if s.Named != nil && !s.Named.Own {
		s.Named.InGroup, s.Named.Group = true, "content"
	}
	o.Stands = reconcile.Read(s)
}

// makesRoom has the name of what makes way written down.
func makesRoom(d *Desired) { d.Restore.Status.Replaced = &v1alpha1.ReplacedDatabase{Database: aside} }

// taken is after the names were given.
func taken(d *Desired, o *Observed) {
	d.Restore.Status.Replaced = &v1alpha1.ReplacedDatabase{Database: aside, At: ptr.To(metav1.NewTime(noon))}
	s, _ := o.Stands.Get()
	s.Named, s.Restored, s.Aside = fresh("Content"), nil, former(aside)
	s.Named.Owner = "geosql_operator"
	o.Stands = reconcile.Read(s)
}

func restoring(fork string) reconcile.Reading[*mssql.Standing] {
	return reconcile.Read(&mssql.Standing{Name: "Content", State: "RESTORING", Fork: fork})
}

// A database makes way once what takes its place is there, whatever a manager that ended has done by then.
func TestPlanReplace(t *testing.T) {
	away := errors.New("nobody answers")
	const (
		leaves = "ALTER AVAILABILITY GROUP [content] REMOVE DATABASE [Content]"
		way    = "ALTER DATABASE [Content] MODIFY NAME = [" + aside + "]"
		takes  = "ALTER DATABASE [Content_restored_u1] MODIFY NAME = [Content]"
		owner  = "ALTER AUTHORIZATION ON DATABASE::[Content_restored_u1] TO [geosql_operator]"
		drops  = "DROP DATABASE IF EXISTS [Content]"
		back   = "ALTER DATABASE [" + aside + "] MODIFY NAME = [Content]"
	)
	stand := func(edit func(*standing)) func(*Desired, *Observed) {
		return func(_ *Desired, o *Observed) {
			s, _ := o.Stands.Get()
			edit(&s)
			o.Stands = reconcile.Read(s)
		}
	}
	between := func(edit func(*standing)) []func(*Desired, *Observed) {
		return []func(*Desired, *Observed){func(d *Desired, _ *Observed) { makesRoom(d) }, stand(func(s *standing) {
			s.Named, s.Aside = nil, former(aside)
			edit(s)
		})}
	}
	for _, row := range []struct {
		why     string
		edits   []func(*Desired, *Observed)
		steps   []string
		reason  string
		says    string
		outcome v1alpha1.RestoreOutcome
		note    string
	}{
		{why: "the name of what makes way is written down first", reason: v1alpha1.ReasonReplacing, note: aside},
		{why: "then it makes way", edits: []func(*Desired, *Observed){func(d *Desired, _ *Observed) { makesRoom(d) }},
			steps: []string{owner, way, takes}, reason: v1alpha1.ReasonReplacing, says: "renamed to " + aside, note: aside},
		{why: "it leaves its group before", edits: []func(*Desired, *Observed){inGroup,
			func(d *Desired, _ *Observed) { makesRoom(d) }}, steps: []string{owner, leaves, way, takes},
			reason: v1alpha1.ReasonReplacing, note: aside},
		{why: "it has left its group", edits: []func(*Desired, *Observed){inGroup,
			func(d *Desired, _ *Observed) { makesRoom(d) }, stand(func(s *standing) { s.Named.InGroup = false })},
			steps: []string{owner, way, takes}, reason: v1alpha1.ReasonReplacing, note: aside},
		{why: "it has made way", edits: []func(*Desired, *Observed){func(d *Desired, _ *Observed) { makesRoom(d) },
			stand(func(s *standing) {
				s.Named, s.Aside, s.Restored.Owner = nil, former(aside), "geosql_operator"
			})}, steps: []string{takes}, reason: v1alpha1.ReasonReplacing, note: aside},
		{why: "there is none that makes way", edits: []func(*Desired, *Observed){stand(func(s *standing) {
			s.Named, s.Restored.Owner = nil, "sa"
		})}, steps: []string{takes}, reason: v1alpha1.ReasonReplacing},
		{why: "of a former one of somebody else sa owns it", edits: []func(*Desired, *Observed){
			func(d *Desired, _ *Observed) { makesRoom(d) }, stand(func(s *standing) { s.Named.Owner = "app" })},
			steps:  []string{"ALTER AUTHORIZATION ON DATABASE::[Content_restored_u1] TO [sa]", way, takes},
			reason: v1alpha1.ReasonReplacing, note: aside},
		{why: "of an owner on record the operator does", edits: []func(*Desired, *Observed){
			func(d *Desired, _ *Observed) { makesRoom(d); d.Owners = []string{"app"} },
			stand(func(s *standing) { s.Named.Owner = "app" })}, steps: []string{owner, way, takes},
			reason: v1alpha1.ReasonReplacing, note: aside},
		{why: "it has its name", edits: []func(*Desired, *Observed){taken}, reason: v1alpha1.ReasonRestoreFinishing,
			outcome: v1alpha1.RestoreSucceeded, says: "before is " + aside + " on quisec-0", note: aside},
		{why: "when it had is written down", edits: []func(*Desired, *Observed){taken, func(d *Desired, _ *Observed) {
			d.Restore.Status.Replaced.At = nil
		}}, reason: v1alpha1.ReasonReplacing, note: aside},
		{why: "the server ended within a name", edits: []func(*Desired, *Observed){taken, stand(func(s *standing) {
			s.Aside.Access = "SINGLE_USER"
		})}, steps: []string{"ALTER DATABASE [" + aside + "] SET MULTI_USER"}, reason: v1alpha1.ReasonReplacing, note: aside},
		{why: "copies that wait for its log go, no others", edits: []func(*Desired, *Observed){inGroup, taken,
			func(_ *Desired, o *Observed) {
				o.Copies = map[v1alpha1.ServerName]reconcile.Reading[*mssql.Standing]{"tukpub": restoring("f1"),
					"dubpub": restoring("f3")}
			}}, steps: []string{drops}, reason: v1alpha1.ReasonReplacing, note: aside},
		{why: "one of which nothing is known stays", edits: []func(*Desired, *Observed){inGroup, taken,
			func(_ *Desired, o *Observed) {
				o.Copies = map[v1alpha1.ServerName]reconcile.Reading[*mssql.Standing]{"tukpub": restoring(""),
					"dubpub": reconcile.Read(former("Content"))}
			}}, reason: v1alpha1.ReasonRestoreFinishing, outcome: v1alpha1.RestoreSucceeded, note: aside,
			says: "Content on tukpub-0 is RESTORING, and nothing shows that it is a copy"},
		{why: "the former one is gone, and with it what it has", edits: []func(*Desired, *Observed){inGroup, taken,
			stand(func(s *standing) { s.Aside = nil }), func(_ *Desired, o *Observed) {
				o.Copies = map[v1alpha1.ServerName]reconcile.Reading[*mssql.Standing]{"tukpub": restoring("f1"),
					"dubpub": restoring("f1")}
			}}, reason: v1alpha1.ReasonRestoreFinishing, outcome: v1alpha1.RestoreSucceeded, note: aside},
		{why: "a server of the group does not answer", edits: []func(*Desired, *Observed){inGroup, taken,
			func(_ *Desired, o *Observed) {
				o.Copies = map[v1alpha1.ServerName]reconcile.Reading[*mssql.Standing]{
					"tukpub": reconcile.NotRead[*mssql.Standing](away), "dubpub": reconcile.Read[*mssql.Standing](nil)}
			}}, reason: v1alpha1.ReasonReplacing, says: "what tukpub-0 has of it cannot be read: nobody answers", note: aside},
		{why: "it is not waited for without an end", edits: []func(*Desired, *Observed){inGroup, taken,
			func(d *Desired, o *Observed) {
				d.Now = noon.Add(copiesPatience)
				o.Copies = map[v1alpha1.ServerName]reconcile.Reading[*mssql.Standing]{
					"tukpub": reconcile.NotRead[*mssql.Standing](away), "dubpub": reconcile.Read(&mssql.Standing{InGroup: true})}
			}}, reason: v1alpha1.ReasonRestoreFinishing, outcome: v1alpha1.RestoreSucceeded, note: aside,
			says: "in the way of a seeding: what tukpub-0"},
		{why: "a Publication has it", edits: []func(*Desired, *Observed){func(d *Desired, _ *Observed) {
			d.Held, d.Refused = "Publication shop", "Publication shop"
		}}, reason: v1alpha1.ReasonRestoreFinishing, outcome: v1alpha1.RestoreFailed,
			says: "Publication shop. On quisec-0 Content is the former database, ONLINE; Content_restored_u1 is what was re"},
		{why: "a Publication that comes when it has made way changes nothing", edits: []func(*Desired, *Observed){
			func(d *Desired, _ *Observed) {
				makesRoom(d)
				d.Held, d.Refused = "Publication shop", "Publication shop"
			},
			stand(func(s *standing) { s.Named, s.Aside, s.Restored.Owner = nil, former(aside), "sa" })},
			steps: []string{takes}, reason: v1alpha1.ReasonReplacing, note: aside},
		{why: "whether one has it is not known", edits: []func(*Desired, *Observed){func(d *Desired, _ *Observed) {
			d.HeldKnown, d.Missing = false, "there is no AvailabilityGroup content"
		}}, reason: v1alpha1.ReasonReplacing, says: "not known yet; there is no AvailabilityGroup content"},
		{why: "it is published", edits: []func(*Desired, *Observed){stand(func(s *standing) { s.Named.Published = true })},
			reason: v1alpha1.ReasonRestoreFinishing, outcome: v1alpha1.RestoreFailed, says: "is published"},
		{why: "it is in a group, and the target is a server", edits: []func(*Desired, *Observed){
			stand(func(s *standing) { s.Named.InGroup, s.Named.Group = true, "content" })},
			reason: v1alpha1.ReasonRestoreFinishing, outcome: v1alpha1.RestoreFailed, says: "restore into that one"},
		{why: "it is in another group", edits: []func(*Desired, *Observed){inGroup,
			stand(func(s *standing) { s.Named.Group = "other" })},
			reason: v1alpha1.ReasonRestoreFinishing, outcome: v1alpha1.RestoreFailed, says: "in availability group other, not"},
		{why: "it is OFFLINE", edits: []func(*Desired, *Observed){stand(func(s *standing) { s.Named.State = "OFFLINE" })},
			reason: v1alpha1.ReasonReplacing, says: "is OFFLINE, and only one that is ONLINE can be renamed"},
		{why: "what was restored is gone", edits: []func(*Desired, *Observed){stand(func(s *standing) { s.Restored = nil })},
			reason: v1alpha1.ReasonRestoreFinishing, outcome: v1alpha1.RestoreFailed, says: "somebody dropped or renamed"},
		{why: "what has its name is somebody else's", edits: []func(*Desired, *Observed){
			stand(func(s *standing) { s.Restored.Own = false })},
			reason: v1alpha1.ReasonRestoreFinishing, outcome: v1alpha1.RestoreFailed, says: "somebody dropped or renamed"},
		{why: "what was restored is gone when the former one has made way: that gets its name back", edits: between(
			func(s *standing) { s.Restored = nil }), steps: []string{back}, reason: v1alpha1.ReasonReplacing, note: aside,
			says: "gets its name back"},
		{why: "which it cannot while it is OFFLINE", edits: between(func(s *standing) {
			s.Restored, s.Aside.State = nil, "OFFLINE"
		}), reason: v1alpha1.ReasonReplacing, note: aside, says: aside + " is OFFLINE"},
		{why: "who ended within a name leaves no database to one user", edits: []func(*Desired, *Observed){
			func(d *Desired, _ *Observed) { makesRoom(d); d.Held = "Publication shop" },
			stand(func(s *standing) { s.Named.Access, s.Restored.Access = "SINGLE_USER", "SINGLE_USER" })},
			steps:  []string{"ALTER DATABASE [Content] SET MULTI_USER", "ALTER DATABASE [Content_restored_u1] SET MULTI_USER"},
			reason: v1alpha1.ReasonReplacing, note: aside},
		{why: "what somebody else has for one user stays so", edits: []func(*Desired, *Observed){
			func(d *Desired, _ *Observed) { d.Held = "Publication shop" },
			stand(func(s *standing) { s.Named.Access = "SINGLE_USER" })}, reason: v1alpha1.ReasonRestoreFinishing,
			outcome: v1alpha1.RestoreFailed, says: "Publication shop"},
		{why: "nor when another became primary in the middle", edits: []func(*Desired, *Observed){inGroup,
			func(d *Desired, _ *Observed) { makesRoom(d); d.Moved = "tukpub" },
			stand(func(s *standing) { s.Named, s.Aside = nil, former(aside); s.Aside.Access = "SINGLE_USER" })},
			steps: []string{"ALTER DATABASE [" + aside + "] SET MULTI_USER"}, reason: v1alpha1.ReasonReplacing, note: aside},
		{why: "of one that the server declares the operator does", edits: []func(*Desired, *Observed){
			func(d *Desired, _ *Observed) { d.Kept = true }, stand(func(s *standing) { s.Named = nil })},
			steps: []string{owner, takes}, reason: v1alpha1.ReasonReplacing},
		{why: "it is not ONLINE any more", edits: []func(*Desired, *Observed){
			stand(func(s *standing) { s.Restored.State = "RECOVERING" })}, reason: v1alpha1.ReasonReplacing,
			says: "what was restored is RECOVERING"},
		{why: "somebody made one when it had made way", edits: []func(*Desired, *Observed){
			func(d *Desired, _ *Observed) { makesRoom(d) }, stand(func(s *standing) { s.Aside = former(aside) })},
			reason: v1alpha1.ReasonRestoreFinishing, outcome: v1alpha1.RestoreFailed, note: aside,
			says: "somebody made another database"},
		{why: "the server is not the primary by its own word", edits: []func(*Desired, *Observed){inGroup,
			stand(func(s *standing) { s.Role = "RESOLVING" })}, reason: v1alpha1.ReasonReplacing,
			says: "quisec-0 is RESOLVING in availability group content"},
		{why: "another became primary in the middle", edits: []func(*Desired, *Observed){inGroup,
			func(d *Desired, _ *Observed) { makesRoom(d); d.Moved = "tukpub" },
			stand(func(s *standing) { s.Named, s.Aside = nil, former(aside) })},
			reason: v1alpha1.ReasonRestoreFinishing, outcome: v1alpha1.RestoreFailed, note: aside,
			says: aside + " is the former database, ONLINE. Nothing was dropped"},
		{why: "the server does not answer", edits: []func(*Desired, *Observed){func(_ *Desired, o *Observed) {
			o.Stands = reconcile.NotRead[standing](away)
		}}, reason: v1alpha1.ReasonRestoreUnknown, says: "nobody answers"},
		{why: "a dry run shows it", edits: []func(*Desired, *Observed){inGroup, func(d *Desired, _ *Observed) {
			d.Restore.Spec.DryRun = true
		}}, reason: v1alpha1.ReasonRestoreFinishing, outcome: v1alpha1.RestoreSucceeded, says: "take the place of database " +
			"Content on quisec-0, which would leave availability group content, which would be renamed to one such as " + aside},
		{why: "a dry run shows what refuses it", edits: []func(*Desired, *Observed){func(d *Desired, _ *Observed) {
			d.Restore.Spec.DryRun = true
		}, stand(func(s *standing) { s.Named.Published = true })}, reason: v1alpha1.ReasonRestoreFinishing,
			outcome: v1alpha1.RestoreSucceeded, says: "it would be refused: database Content is published"},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			d, o := replacingOne(t)
			for _, edit := range row.edits {
				edit(&d, &o)
			}
			p := plan(d, o)
			g.Expect(p.Outcome.Reason).To(Equal(row.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(row.says))
			g.Expect(p.Steps).To(HaveLen(len(row.steps)), "%v", p.Steps)
			for i, s := range p.Steps {
				g.Expect(s.(mssql.Execute).Statement.Text).To(ContainSubstring(row.steps[i]))
			}
			s := reported(d, o, p, metav1.NewTime(noon))
			g.Expect(s.Outcome).To(Equal(row.outcome))
			g.Expect(s.Database).To(Equal("Content"))
			if row.note == "" {
				g.Expect(s.Replaced).To(BeNil())
			} else {
				g.Expect(s.Replaced.Database).To(Equal(row.note))
			}
		})
	}
}

// What cannot make way refuses a Restore before anything is downloaded.
func TestPlanRefusesToReplace(t *testing.T) {
	for why, edit := range map[string]func(*mssql.Standing){
		"is published":              func(s *mssql.Standing) { s.Published = true },
		"is SUSPECT":                func(s *mssql.Standing) { s.State = "SUSPECT" },
		"in availability group":     func(s *mssql.Standing) { s.InGroup, s.Group = true, "content" },
		"":                          func(*mssql.Standing) {},
		"it is not refused, either": func(s *mssql.Standing) { s.State = "RECOVERING" },
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			d, o := replacingOne(t)
			o.Order, o.Says = reconcile.Read[[]byte](nil), reconcile.Read[*restores.Status](nil)
			s, _ := o.Stands.Get()
			s.Restored = nil
			edit(s.Named)
			o.Stands = reconcile.Read(s)
			p := plan(d, o)
			if why == "" || s.Named.State == "RECOVERING" {
				g.Expect(p.Steps).To(HaveExactElements(BeAssignableToTypeOf(Tell{})))
				return
			}
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Note).To(BeAssignableToTypeOf(end{}))
			g.Expect(p.Note.(end).outcome).To(Equal(v1alpha1.RestoreRefused))
			g.Expect(p.Note.(end).message).To(ContainSubstring(why))
		})
	}
}

// A Restore that is deleted between the two names leaves the database its own.
func TestADeletedRestoreLeavesTheNameToSomebody(t *testing.T) {
	g := NewWithT(t)
	d, o := replacingOne(t)
	makesRoom(&d)
	s, _ := o.Stands.Get()
	s.Named, s.Aside, s.Restored.Owner = nil, former(aside), "sa"
	o.Stands, o.Owner = reconcile.Read(s), reconcile.Read("sa")
	last := planDelete(d, o).Steps
	g.Expect(last[len(last)-1].(mssql.Execute).Statement.Text).
		To(ContainSubstring("ALTER DATABASE [Content_restored_u1] MODIFY NAME = [Content]"))
	s.Named = former("Content")
	o.Stands = reconcile.Read(s)
	g.Expect(planDelete(d, o).Steps).To(HaveLen(len(last) - 1))
	o.Stands = reconcile.NotRead[standing](errors.New("nobody answers"))
	g.Expect(planDelete(d, o).Done).To(BeFalse())
}

// Names are names, however long the database's is.
func TestNamesBeside(t *testing.T) {
	g := NewWithT(t)
	r := v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{UID: "6f9619ff-8b86-d011-b42d-00c04fc964ff"}}
	r.Spec.Replace = "Content"
	g.Expect(r.RestoredName()).To(Equal("Content_restored_6f9619ff"))
	g.Expect(r.ReplacedName(noon.Add(time.Second))).To(Equal("Content_replaced_20260301120001"))
	long := ""
	for range 40 {
		long += "ä𝔸"
	}
	r.Spec.Replace = v1alpha1.DatabaseName(long)
	g.Expect(utf16.Encode([]rune(r.ReplacedName(noon)))).To(HaveLen(123), "as sysname counts")
	g.Expect(r.ReplacedName(noon)).To(HaveSuffix("_replaced_20260301120000"))
}
