// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// bare is a publisher that lives, with rules on a table of which the copy has the rows alone, and part of another
// table.
func bare() (Desired, Observed) {
	d, o := living()
	o.Comparison = equal
	d.Move.Spec.Approved, d.Move.Status.Estimate = false, nil
	d.Publication.Spec.Articles = []v1alpha1.Article{
		{Table: "dbo.Purchase"},
		{Table: "dbo.Part", Columns: []string{"Id", "Amount"}, Filter: "Id > 7"},
	}
	o.FormerRules = reconcile.Read([]mssql.TableRule{
		{
			Table: "dbo.Purchase",
			Kind:  "Identity",
			Name:  "Id",
			Last:  "41",
		}, {Table: "dbo.Purchase", Kind: "Default", Name: "Status"},
		{Table: "dbo.Purchase", Kind: "Default", Name: "Since"}, {Table: "dbo.Purchase", Kind: "Check", Name: "CK_Amount"},
		{
			Table: "dbo.Purchase",
			Kind:  "ForeignKey",
			Name:  "FK_Customer",
		}, {Table: "dbo.Purchase", Kind: "Trigger", Name: "Audit"},
		{
			Table: "dbo.Purchase",
			Kind:  "RowVersion",
			Name:  "Version",
		}, {Table: "dbo.Elsewhere", Kind: "Check", Name: "CK_Not_published"},
	})
	return d, o
}

func lack(table string, kind v1alpha1.MoveLackKind, names string) v1alpha1.MoveLack {
	return v1alpha1.MoveLack{Table: table, Kind: kind, Names: names}
}

// The estimate says what writers will miss at the new publisher, by the catalogues of both.
func TestWhatACopyLacks(t *testing.T) {
	parts := []any{lack("dbo.Part", v1alpha1.LackColumns, "Amount, Id"), lack("dbo.Part", v1alpha1.LackRows, "Id > 7")}
	rules := func(o *Observed) []mssql.TableRule { all, _ := o.FormerRules.Get(); return all }
	for name, c := range map[string]struct {
		edit func(*Observed)
		want []any
	}{
		"all of it": {func(*Observed) {},
			[]any{lack("dbo.Purchase", v1alpha1.LackCheck, "CK_Amount"),
				lack("dbo.Purchase", v1alpha1.LackDefault, "Since, Status"),
				lack("dbo.Purchase", v1alpha1.LackForeignKey, "FK_Customer"), lack("dbo.Purchase", v1alpha1.LackIdentity, "Id"),
				lack("dbo.Purchase", v1alpha1.LackRowVersion, "Version"), lack("dbo.Purchase", v1alpha1.LackTrigger, "Audit")}},
		"nothing": {func(o *Observed) { o.NewRules = o.FormerRules }, nil},
		"the next value of an identity": {func(o *Observed) {
			have := append([]mssql.TableRule{}, rules(o)...)
			have[0].Last = "7"
			o.NewRules = reconcile.Read(have)
		}, []any{lack("dbo.Purchase", v1alpha1.LackIdentityValue, "Id")}},
		"any value of an identity": {func(o *Observed) {
			have := append([]mssql.TableRule{}, rules(o)...)
			have[0].Last = ""
			o.NewRules = reconcile.Read(have)
		}, []any{lack("dbo.Purchase", v1alpha1.LackIdentityValue, "Id")}},
		"nothing, and its identity is ahead": {func(o *Observed) {
			have := append([]mssql.TableRule{}, rules(o)...)
			have[0].Last, have[0].Table = "1000", "DBO.purchase"
			o.NewRules = reconcile.Read(have)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := bare()
			c.edit(&o)
			g.Expect(estimate(d, o).Lacks).To(ConsistOf(append(c.want, parts...)...))
		})
	}
	g := NewWithT(t)
	d, o := bare()
	g.Expect(estimate(d, o).Summary).
		To(And(HavePrefix("No published row is lost"), ContainSubstring("Identity (1 tables)"),
			ContainSubstring("Rows (1 tables)")))
	d.Publication.Spec.Articles, o.NewRules = d.Publication.Spec.Articles[:1], o.FormerRules
	g.Expect(estimate(d, o).Summary).
		To(And(HavePrefix("Nothing that is published is lost"), Not(ContainSubstring("lack"))))

	// A publisher that is gone says nothing: what the declaration does not tell is not known.
	d, o = bare()
	o.ReadOnly, o.FormerRules, o.NewRules = "", reconcile.Reading[[]mssql.TableRule]{},
		reconcile.Reading[[]mssql.TableRule]{}
	g.Expect(estimate(d, o)).
		To(And(HaveField("Lacks", ConsistOf(parts...)),
			HaveField("Summary", ContainSubstring("could not be compared: look there before writers come"))))
}

// What the copy lacks costs whoever writes there: each kind of it is accepted by name before anything is changed.
func TestLacksAreAccepted(t *testing.T) {
	g := NewWithT(t)
	d, o := bare()
	look := func() reconcile.Plan {
		p := plan(d, o)
		d.Move.Status = describe(d, o, p)
		return plan(d, o)
	}
	p := look()
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonAwaitingApproval))
	g.Expect(p.Outcome.Message).
		To(And(ContainSubstring("lacks Check, Columns, Default"), ContainSubstring("spec.acceptLacking")))
	d.Move.Spec.Approved = true
	o.Now = noon.Add(estimateFor)
	p = look()
	g.Expect(phaseOf(p)).To(Equal(v1alpha1.MoveEstimated), "an approval is not about what it does not name")
	g.Expect(p.Steps).To(BeEmpty())
	d.Move.Spec.AcceptLacking = []v1alpha1.MoveLackKind{
		v1alpha1.LackCheck,
		v1alpha1.LackColumns,
		v1alpha1.LackDefault,
		v1alpha1.LackForeignKey,
		v1alpha1.LackIdentity,
		v1alpha1.LackRows,
		v1alpha1.LackRowVersion,
	}
	g.Expect(look().Outcome.Message).To(ContainSubstring("lacks Trigger,"))
	d.Move.Spec.AcceptLacking = append(d.Move.Spec.AcceptLacking, v1alpha1.LackTrigger)
	g.Expect(phaseOf(look())).To(Equal(v1alpha1.MoveSwitching))
	d.Move.Spec.AcceptLacking = nil
	g.Expect(phaseOf(look())).To(Equal(v1alpha1.MoveSwitching), "what was begun goes on")
}

// No estimate is made of what was not read: it would say that nothing is lacking.
func TestLacksThatAreNotKnown(t *testing.T) {
	for name, edit := range map[string]func(*Observed, reconcile.Reading[[]mssql.TableRule]){
		"the former publisher's": func(o *Observed, r reconcile.Reading[[]mssql.TableRule]) { o.FormerRules = r },
		"the copy's":             func(o *Observed, r reconcile.Reading[[]mssql.TableRule]) { o.NewRules = r },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := bare()
			edit(&o, reconcile.NotRead[[]mssql.TableRule](errors.New("i/o timeout")))
			p := plan(d, o)
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionUnknown))
			g.Expect(p.Outcome.Message).To(ContainSubstring("i/o timeout"))
			g.Expect(describe(d, o, p).Estimate).To(BeNil())
		})
	}
}

// What is lacking is compared item by item: another order or case, and less of it, ask nobody again.
func TestLacksAreComparedItemByItem(t *testing.T) {
	lack := func(kind v1alpha1.MoveLackKind, names string) v1alpha1.MoveLack {
		return v1alpha1.MoveLack{Table: "dbo.Article", Kind: kind, Names: names}
	}
	seen := lack(v1alpha1.LackCheck, "CK_A")
	seen.SeenAt = "quisub"
	for name, c := range map[string]struct {
		before, now []v1alpha1.MoveLack
		more        []string
	}{
		"the same": {[]v1alpha1.MoveLack{lack(v1alpha1.LackCheck, "CK_A, CK_B")},
			[]v1alpha1.MoveLack{lack(v1alpha1.LackCheck, "CK_A, CK_B")}, nil},
		"another order": {[]v1alpha1.MoveLack{lack(v1alpha1.LackCheck, "CK_A, CK_B")},
			[]v1alpha1.MoveLack{lack(v1alpha1.LackCheck, "ck_b,CK_A")}, nil},
		"less": {[]v1alpha1.MoveLack{lack(v1alpha1.LackCheck, "CK_A, CK_B"), lack(v1alpha1.LackTrigger, "T")},
			[]v1alpha1.MoveLack{lack(v1alpha1.LackCheck, "CK_B")}, nil},
		"one more": {[]v1alpha1.MoveLack{lack(v1alpha1.LackCheck, "CK_A")},
			[]v1alpha1.MoveLack{lack(v1alpha1.LackCheck, "CK_A, CK_B")}, []string{"dbo.Article lacks Check (CK_B)"}},
		"another kind": {[]v1alpha1.MoveLack{lack(v1alpha1.LackCheck, "A")},
			[]v1alpha1.MoveLack{lack(v1alpha1.LackForeignKey, "A")}, []string{"dbo.Article lacks ForeignKey (A)"}},
		"a filter with other spaces": {[]v1alpha1.MoveLack{lack(v1alpha1.LackRows, "Id > 7,  or so")},
			[]v1alpha1.MoveLack{lack(v1alpha1.LackRows, "Id > 7, or so")}, nil},
		"another filter": {[]v1alpha1.MoveLack{lack(v1alpha1.LackRows, "Id > 7")},
			[]v1alpha1.MoveLack{lack(v1alpha1.LackRows, "Id > 8")}, []string{"dbo.Article lacks Rows (Id > 8)"}},
		"more columns are published": {[]v1alpha1.MoveLack{lack(v1alpha1.LackColumns, "Id")},
			[]v1alpha1.MoveLack{lack(v1alpha1.LackColumns, "Id, Text")}, nil},
		"fewer are": {[]v1alpha1.MoveLack{lack(v1alpha1.LackColumns, "Id, Text")},
			[]v1alpha1.MoveLack{lack(v1alpha1.LackColumns, "Id")}, []string{"dbo.Article lacks Columns (Text)"}},
		"seen elsewhere alone": {nil, []v1alpha1.MoveLack{seen}, nil},
		"seen elsewhere before": {[]v1alpha1.MoveLack{seen}, []v1alpha1.MoveLack{lack(v1alpha1.LackCheck, "CK_A")},
			[]string{"dbo.Article lacks Check (CK_A)"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, _ := estimatedSite()
			worse := worsened(d, &v1alpha1.MoveEstimate{Lacks: c.before}, &v1alpha1.MoveEstimate{Lacks: c.now})
			g.Expect(worse).To(Equal(strings.Join(c.more, "; ")))
		})
	}
}
