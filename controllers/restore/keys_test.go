// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// A certificate that the server lacks is made there where the stores keep it and its Secret is known; else the
// condition says which it is, and a person makes it.
func TestWhatIsDoneAboutAMissingKey(t *testing.T) {
	kept := &backup.SealedKey{Thumbprint: "A1B2"}
	for why, c := range map[string]struct {
		edit func(d *Desired, o *Observed)
		made bool
		says string
	}{
		"a store keeps it": {made: true, says: "quisec-0 lacks the certificate with the thumbprint 0xA1B2"},
		"no store keeps it": {edit: func(_ *Desired, o *Observed) {
			o.Kept["A1B2"] = reconcile.Read[*backup.SealedKey](nil)
		}, says: "make it there by hand"},
		"what is kept in its place is another one": {edit: func(_ *Desired, o *Observed) {
			o.Kept["A1B2"] = reconcile.Read(&backup.SealedKey{Thumbprint: "00"})
		}, says: "make it there by hand"},
		"the stores do not answer": {edit: func(_ *Desired, o *Observed) {
			o.Kept["A1B2"] = reconcile.NotRead[*backup.SealedKey](errors.New("no answer"))
		}, says: "no answer"},
		"nobody says which Secret opens it": {edit: func(d *Desired, _ *Observed) {
			d.Seal, d.Sealed = nil, "neither the Restore nor its policy has spec.keys"
		}, says: "has spec.keys"},
		"what names the Secret is gone": {edit: func(d *Desired, _ *Observed) { d.Seal = nil }, says: "is not known"},
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			d, o := desired(), observed(t)
			d.Seal = []byte("what the user alone holds")
			o.Kept = map[string]reconcile.Reading[*backup.SealedKey]{"A1B2": reconcile.Read(kept)}
			says, err := o.Says.Get()
			g.Expect(err).NotTo(HaveOccurred())
			says.Lacks = []string{"A1B2"}
			if c.edit != nil {
				c.edit(&d, &o)
			}
			p := plan(d, o)
			g.Expect(p.Steps).To(BeEmpty())
			if c.made {
				g.Expect(p.Aside).To(ConsistOf(HaveField("Step", MakeKey{Server: "quisec", Sealed: kept})))
			} else {
				g.Expect(p.Aside).To(BeEmpty())
			}
			g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonKeyAwaited), HaveField("Message",
				And(ContainSubstring("0xA1B2"), ContainSubstring(c.says)))))
			says.Result = &restores.Result{Outcome: restores.Refused, Reason: v1alpha1.ReasonDatabaseExists, Finished: noon}
			g.Expect(plan(d, o).Aside).To(BeEmpty(), "it has ended")
		})
	}
}

// A store on a server's volume keeps no keys, and is not asked.
func TestAServersVolumeKeepsNoKeys(t *testing.T) {
	g := NewWithT(t)
	d, o := desired(), observed(t)
	d.Order.Folder, d.Order.Stores = "web/group/content/Content", []orders.BackupStore{{Name: "quincy", Host: "quirep-0"}}
	says, err := o.Says.Get()
	g.Expect(err).NotTo(HaveOccurred())
	says.Lacks = []string{"A1B2"}
	keys(t.Context(), d, &o)
	kept, err := o.Kept["A1B2"].Get()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(BeNil())
	g.Expect(plan(d, o).Outcome.Message).To(ContainSubstring("no store keeps it"))
}

func TestWhatAKeyIsCalled(t *testing.T) {
	has := mssql.Encryption{Certificates: map[string]mssql.Certificate{"SalesKey": {}}}
	for name, called := range map[string]string{"Other": "Other", "saleskey": "key_saleskey_A1B2",
		"geosql_tukpub_1": "key_geosql_tukpub_1_A1B2"} {
		NewWithT(t).Expect(named(backup.Key{Name: name, Thumbprint: "A1B2"}, has)).To(Equal(called))
	}
}
