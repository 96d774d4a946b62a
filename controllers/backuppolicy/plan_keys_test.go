// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// encrypted is a primary whose database is encrypted by a certificate that it gives, and a store that keeps it.
func encrypted(t *testing.T) (Desired, Observed) {
	d, o := desired(), observed(t, noon)
	d.Policy.Spec.Stores = []v1alpha1.ObjectName{"bucket"}
	d.Policy.Spec.Keys = &v1alpha1.SealedKeys{SealSecretRef: v1alpha1.SecretReference{Name: "seal"}}
	d.Seal = Seal{Secret: []byte("what the user alone holds"), By: "7/42"}
	o.Encryption = reconcile.Read(mssql.Encryption{
		Encryptors: map[string]mssql.Encryptor{"content": {Thumbprint: "A1B2", Certificate: true},
			"Other": {Thumbprint: "C3"}},
		Certificates: map[string]mssql.Certificate{"SalesKey": {Name: "SalesKey", Thumbprint: "A1B2", PrivateKey: true}}})
	o.Kept = map[KeptKey]reconcile.Reading[*backup.SealedKey]{
		{"bucket", "A1B2"}: reconcile.Read(&backup.SealedKey{Thumbprint: "A1B2", SealedBy: "7/42"})}
	return d, o
}

// What encrypts the target's databases is kept in every store, and whatever keeps it from that is said, by thumbprint.
func TestKeysAreKept(t *testing.T) {
	kept := KeptKey{"bucket", "A1B2"}
	for why, c := range map[string]struct {
		edit   func(d *Desired, o *Observed)
		status metav1.ConditionStatus
		reason string
		says   string
		keeps  bool
	}{
		"they are": {status: metav1.ConditionTrue, reason: v1alpha1.ReasonKeysKept, says: "sealed by Secret seal"},
		"a store has none": {edit: func(_ *Desired, o *Observed) {
			o.Kept[kept] = reconcile.Read[*backup.SealedKey](nil)
		}, status: metav1.ConditionFalse, reason: v1alpha1.ReasonKeysNotKept, says: "0xA1B2 in store bucket", keeps: true},
		"another Secret sealed it": {edit: func(d *Desired, _ *Observed) { d.Seal.By = "7/43" },
			status: metav1.ConditionFalse, reason: v1alpha1.ReasonKeysNotKept, says: "by another Secret", keeps: true},
		"a store does not answer": {edit: func(_ *Desired, o *Observed) {
			o.Kept[kept] = reconcile.NotRead[*backup.SealedKey](errors.New("no answer"))
		}, status: metav1.ConditionUnknown, reason: v1alpha1.ReasonKeysNotRead, says: "no answer"},
		"nothing is declared": {edit: func(d *Desired, o *Observed) { d.Policy.Spec.Keys, o.Kept = nil, nil },
			status: metav1.ConditionFalse, reason: v1alpha1.ReasonKeysNotDeclared, says: "Content by the certificate with the " +
				"thumbprint 0xA1B2. The policy keeps no certificates"},
		"there is no store": {edit: func(d *Desired, _ *Observed) { d.Order.Stores = nil },
			status: metav1.ConditionFalse, reason: v1alpha1.ReasonKeysNotDeclared, says: "0xA1B2"},
		"a store is on a server's volume": {edit: func(d *Desired, _ *Observed) {
			d.Order.Stores = append(d.Order.Stores, orders.BackupStore{Name: "quincy", Host: "quirep-0"})
		}, status: metav1.ConditionFalse, reason: v1alpha1.ReasonKeysNotKept,
			says: "store quincy is on a server's volume, which keeps no keys"},
		"the bucket lacks it, and a store is on a server's volume": {edit: func(d *Desired, o *Observed) {
			d.Order.Stores = append(d.Order.Stores, orders.BackupStore{Name: "quincy", Host: "quirep-0"})
			o.Kept[kept] = reconcile.Read[*backup.SealedKey](nil)
		}, status: metav1.ConditionFalse, reason: v1alpha1.ReasonKeysNotKept, says: "0xA1B2 in store bucket", keeps: true},
		"the Secret is missing": {edit: func(d *Desired, o *Observed) {
			d.Seal = Seal{Missing: "Secret seal is not there"}
			o.Kept[kept] = reconcile.Read[*backup.SealedKey](nil)
		}, status: metav1.ConditionFalse, reason: v1alpha1.ReasonKeysNotKept, says: "Secret seal is not there"},
		"the primary does not give it": {edit: func(_ *Desired, o *Observed) {
			has, _ := o.Encryption.Get()
			has.Certificates["SalesKey"] = mssql.Certificate{Thumbprint: "A1B2"}
			o.Kept[kept] = reconcile.Read[*backup.SealedKey](nil)
		}, status: metav1.ConditionFalse, reason: v1alpha1.ReasonKeysNotKept, says: "tukpub-0 does not give 0xA1B2"},
		"the folder is another hub's": {edit: func(_ *Desired, o *Observed) {
			says, _ := o.Servers["tukpub"].Says.Get()
			says.Stores = []backups.StoreStatus{{Name: "bucket", Listed: noon, OtherHub: &backup.Owner{Hub: "other"}}}
			o.Kept[kept] = reconcile.Read[*backup.SealedKey](nil)
		}, status: metav1.ConditionFalse, reason: v1alpha1.ReasonKeysNotKept, says: "0xA1B2"},
		"a provider has the key": {edit: func(_ *Desired, o *Observed) {
			has, _ := o.Encryption.Get()
			has.Encryptors["content"] = mssql.Encryptor{Thumbprint: "A1B2"}
		}, status: metav1.ConditionFalse, reason: v1alpha1.ReasonKeysNotKept, says: "Content by a key of a provider outside"},
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			d, o := encrypted(t)
			if c.edit != nil {
				c.edit(&d, &o)
			}
			told, known := keysKept(d, o)
			g.Expect(known).To(BeTrue())
			g.Expect(told).To(And(HaveField("Status", c.status), HaveField("Reason", c.reason),
				HaveField("Message", ContainSubstring(c.says))))
			g.Expect(told.Message).NotTo(ContainSubstring("store quincy: "), "it is not asked")
			p := plan(d, o)
			if c.keeps {
				g.Expect(p.Aside).To(ConsistOf(HaveField("Step", KeepKey{Server: "tukpub", Store: "bucket", Thumbprint: "A1B2"})))
			} else {
				g.Expect(p.Aside).To(BeEmpty())
			}
		})
	}
}

// Of a target without encrypted databases nothing is said, and of one that does not answer nothing anew.
func TestNothingIsSaidOfKeysThatNobodyNeeds(t *testing.T) {
	g := NewWithT(t)
	d, o := encrypted(t)
	o.Encryption = reconcile.Read(mssql.Encryption{})
	told, known := keysKept(d, o)
	g.Expect(known).To(BeTrue())
	g.Expect(told).To(BeNil())
	o.Encryption = reconcile.NotRead[mssql.Encryption](errors.New("no answer"))
	_, known = keysKept(d, o)
	g.Expect(known).To(BeFalse())
	g.Expect(plan(d, o).Aside).To(BeEmpty())
}
