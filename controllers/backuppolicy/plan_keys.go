// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// KeptKey is a certificate in a store.
type KeptKey struct{ Store, Thumbprint string }

// KeepKey has a store keep a certificate of the primary's with its private key, sealed.
type KeepKey struct {
	Server            v1alpha1.ServerName
	Store, Thumbprint string
}

// Describe names server, store and certificate.
func (s KeepKey) Describe() string {
	return fmt.Sprintf("keep the certificate of %s with the thumbprint 0x%s in store %s, sealed",
		credentials.HostName(s.Server), s.Thumbprint, s.Store)
}

// encryptors are what encrypts the target's databases: certificates by thumbprint, with the databases, and the
// databases whose key a provider outside of the server has.
func (o Observed) encryptors(d Desired) (certificates map[string][]string, outside []string) {
	encryption, err := o.Encryption.Get()
	if err != nil {
		return nil, nil
	}
	certificates = map[string][]string{}
	for _, database := range o.covered(d) {
		by, encrypted := encryption.EncryptorOf(string(database))
		switch {
		case !encrypted:
		case by.Certificate:
			certificates[by.Thumbprint] = append(certificates[by.Thumbprint], string(database))
		default:
			outside = append(outside, string(database))
		}
	}
	return certificates, outside
}

// keyStores are the stores that keep keys: buckets. The sidecar that keeps one on a server's volume answers other
// sidecars alone.
func keyStores(d Desired) (all []orders.BackupStore) {
	for _, s := range d.Order.Stores {
		if s.Host == "" {
			all = append(all, s)
		}
	}
	return all
}

// keyless says of the stores that keep no keys why; empty where there is none.
func keyless(d Desired) string {
	var all []string
	for _, s := range d.Order.Stores {
		if s.Host != "" {
			all = append(all, fmt.Sprintf("store %s is on a server's volume, which keeps no keys", s.Name))
		}
	}
	return strings.Join(all, "; ")
}

// lackedKeys are the keys that stores lack, or have by another Secret than the present one; unread is why it is not
// known of others.
func (o Observed) lackedKeys(d Desired) (lacked []KeptKey, unread []string) {
	certificates, _ := o.encryptors(d)
	for _, s := range keyStores(d) {
		for _, thumbprint := range slices.Sorted(maps.Keys(certificates)) {
			is := KeptKey{s.Name, thumbprint}
			kept, err := o.Kept[is].Get()
			switch {
			case err != nil:
				unread = append(unread, fmt.Sprintf("store %s: %v", s.Name, err))
			case kept == nil || kept.SealedBy != d.Seal.By:
				lacked = append(lacked, is)
			}
		}
	}
	return lacked, unread
}

// planKeys has the stores keep what encrypts the target's databases, beside everything else. A folder that is another
// hub's is left alone: two that seal by different Secrets would do so for ever.
func planKeys(p *reconcile.Plan, d Desired, o Observed) {
	if d.Policy.Spec.Keys == nil || d.Seal.Missing != "" || len(foreign(d, o)) > 0 {
		return
	}
	encryption, _ := o.Encryption.Get()
	lacked, _ := o.lackedKeys(d)
	for _, l := range lacked {
		if c := encryption.Certificate(l.Thumbprint); c != nil && c.PrivateKey {
			p.Beside(KeepKey{Server: d.Primary, Store: l.Store, Thumbprint: l.Thumbprint}, v1alpha1.ReasonKeysNotKept)
		}
	}
}

// keysKept says whether every store has the keys of the target's encrypted databases; nil where none is encrypted. It
// is not known while the primary does not tell.
func keysKept(d Desired, o Observed) (*metav1.Condition, bool) {
	encryption, err := o.Encryption.Get()
	if err != nil {
		return nil, false
	}
	certificates, outside := o.encryptors(d)
	if len(certificates)+len(outside) == 0 {
		return nil, true
	}
	var encrypted []string
	for _, thumbprint := range slices.Sorted(maps.Keys(certificates)) {
		encrypted = append(encrypted, fmt.Sprintf("%s by the certificate with the thumbprint 0x%s",
			strings.Join(certificates[thumbprint], ", "), thumbprint))
	}
	for _, database := range outside {
		encrypted = append(encrypted, database+" by a key of a provider outside of the server, which nobody keeps")
	}
	c := &metav1.Condition{Type: v1alpha1.ConditionKeysKept, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonKeysNotKept, Message: "encrypted are " + strings.Join(encrypted, "; ")}
	lacked, unread := o.lackedKeys(d)
	without := keyless(d)
	if without != "" && d.Policy.Spec.Keys != nil {
		c.Message += ". Of the policy's stores, " + without
	}
	switch {
	case d.Policy.Spec.Keys == nil || len(d.Order.Stores) == 0:
		c.Reason = v1alpha1.ReasonKeysNotDeclared
		c.Message += ". The policy keeps no certificates: with the servers lost nobody restores these. Declare spec.keys, " +
			"with a store, or save them yourself"
	case d.Seal.Missing != "":
		c.Message += ". " + d.Seal.Missing
	case len(lacked) > 0:
		c.Message += ". Not kept yet, or by another Secret: " + lackedIn(lacked)
		for _, l := range lacked {
			if have := encryption.Certificate(l.Thumbprint); have == nil || !have.PrivateKey {
				c.Message += fmt.Sprintf("; %s does not give 0x%s, since its master key does not open the private key",
					credentials.HostName(d.Primary), l.Thumbprint)
			}
		}
	case without != "":
		if len(unread) > 0 {
			c.Message += ". " + strings.Join(unread, "; ")
		}
	case len(unread) > 0:
		c.Status, c.Reason = metav1.ConditionUnknown, v1alpha1.ReasonKeysNotRead
		c.Message += ". " + strings.Join(unread, "; ")
	case len(outside) == 0:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonKeysKept
		c.Message += "; every store has it, sealed by Secret " + d.Policy.Spec.Keys.SealSecretRef.Name
	}
	return c, true
}

func lackedIn(lacked []KeptKey) string {
	var all []string
	for _, l := range lacked {
		all = append(all, fmt.Sprintf("0x%s in store %s", l.Thumbprint, l.Store))
	}
	return strings.Join(all, ", ")
}
