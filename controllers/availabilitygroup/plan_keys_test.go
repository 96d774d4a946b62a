// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// encrypt has a database encrypted at a server by a certificate that the server has.
func (e *environ) encrypt(server v1alpha1.ServerName, database, certificate, thumbprint string) {
	m := &e.servers[server].mirroring
	m.Encryptors = map[string]mssql.Encryptor{database: {Thumbprint: thumbprint, Certificate: true}}
	m.Certificates[certificate] = mssql.Certificate{Name: certificate, Thumbprint: thumbprint, PrivateKey: true}
}

// opens says whether a server has what a database of the primary is encrypted by.
func (e *environ) opens(s *engine, database string) bool {
	encryptor, encrypted := e.servers[e.group.primary].mirroring.Encryptors[database]
	have := key(s.mirroring, encryptor.Thumbprint)
	return !encrypted || have != nil && have.PrivateKey
}

// copyKey is the step of the name, by what an engine refuses.
func (e *environ) copyKey(s CopyKey) error {
	from, to := e.servers[s.From], e.servers[s.To]
	have := key(from.mirroring, s.Thumbprint)
	switch {
	case e.silent[s.From] || e.silent[s.To]:
		return errSilent
	case have == nil || !have.PrivateKey:
		return mssql.ErrNoKey
	case !to.mirroring.MasterKey:
		return fmt.Errorf("15581: no master key")
	case key(to.mirroring, s.Thumbprint) != nil || taken(to.mirroring, s.Name):
		return fmt.Errorf("15232: a certificate %s exists", s.Name)
	}
	to.mirroring.Certificates[s.Name] = mssql.Certificate{Name: s.Name, Thumbprint: s.Thumbprint, PrivateKey: true}
	return nil
}

const thumbprint = "A1B2C3D4E5F60718293A4B5C6D7E8F9001020304"

// A database that is encrypted before there is a group is seeded like another: its certificate goes first.
func TestTheKeyOfAnEncryptedDatabaseIsThereBeforeItIsSeeded(t *testing.T) {
	g := NewWithT(t)
	group := declared()
	group.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	e := newEnviron(t, group)
	e.servers["tukpub"].mirroring.Databases["Content"] = mssql.Database{Name: "Content", State: "ONLINE",
		RecoveryModel: "FULL", LogChain: true, Owner: "somebody", CompatibilityLevel: 160}
	e.encrypt("tukpub", "Content", "SalesKey", thumbprint)
	p := e.settle(everything)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), p.Outcome.Message)
	g.Expect(at(t, e.done, "on quisec-0: make certificate SalesKey (0x"+thumbprint+"), by which Content is encrypted, as "+
		"tukpub-0 has it")).To(BeNumerically("<", at(t, e.done, "CREATE AVAILABILITY GROUP")))
	g.Expect(e.done).NotTo(ContainElement(ContainSubstring("on dubcfg-0: make certificate")), "it has no databases")
	told, known := keysComplete(e.d, e.observe())
	g.Expect(known).To(BeTrue())
	g.Expect(told).To(HaveField("Reason", v1alpha1.ReasonKeysPresent))
}

// Who joins an encrypted group later gets the key before it joins.
func TestAReplicaThatJoinsHasTheKeyBefore(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.encrypt("tukpub", "Content", "SalesKey", thumbprint)
	e.encrypt("quisec", "Content", "SalesKey", thumbprint)
	e.d.Group.Spec.Replicas = three().Spec.Replicas
	p := e.settle(everything)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), p.Outcome.Message)
	g.Expect(at(t, e.done, "on dubthird-0: make certificate SalesKey")).
		To(BeNumerically("<", at(t, e.done, "on dubthird-0 as sa: join")))
}

// A database that is encrypted while it is in the group has its certificate copied beside everything else, whatever the
// manager's end interrupts.
func TestTheKeyOfADatabaseThatIsEncryptedLater(t *testing.T) {
	for _, steps := range []int{1, 1 << 20} {
		g := NewWithT(t)
		e := newEnviron(t, declared())
		e.settle(everything)
		told, known := keysComplete(e.d, e.observe())
		g.Expect(known).To(BeTrue())
		g.Expect(told).To(BeNil(), "nothing is encrypted")
		e.encrypt("tukpub", "Content", "SalesKey", thumbprint)
		p := plan(e.d, e.observe())
		g.Expect(p.Steps).To(BeEmpty())
		g.Expect(p.Aside).To(ConsistOf(HaveField("Step", CopyKey{From: "tukpub", To: "quisec", Thumbprint: thumbprint,
			Name: "SalesKey", Databases: []string{"Content"}})))
		g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonKeyMissing), HaveField("Progress", Not(BeEquivalentTo(
			"Stuck"))), HaveField("Message", ContainSubstring("it is copied from tukpub-0"))))
		p = e.settle(func() int { return steps })
		g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue))
		g.Expect(key(e.servers["quisec"].mirroring, thumbprint)).To(HaveField("Name", "SalesKey"))
	}
}

// Which key is missing where, and what nobody can copy.
func TestWhatIsSaidOfKeys(t *testing.T) {
	missing, unknown := v1alpha1.ReasonKeyMissing, metav1.ConditionUnknown
	for why, c := range map[string]struct {
		edit   func(e *environ)
		status metav1.ConditionStatus
		reason string
		says   string
		// copied is the step, empty for none.
		copied string
	}{
		"the primary has it to give": {status: metav1.ConditionFalse, reason: missing,
			says: "quisec-0 lacks the certificate with the thumbprint 0x" + thumbprint, copied: "make certificate SalesKey"},
		"a password protects it, not the master key": {edit: func(e *environ) {
			e.servers["tukpub"].mirroring.Certificates["SalesKey"] = mssql.Certificate{Name: "SalesKey", Thumbprint: thumbprint}
		}, status: metav1.ConditionFalse, reason: missing, says: "ALTER CERTIFICATE"},
		"it is without its private key there": {edit: func(e *environ) {
			e.servers["quisec"].mirroring.Certificates["Sales"] = mssql.Certificate{Name: "Sales", Thumbprint: thumbprint}
		}, status: metav1.ConditionFalse, reason: missing, says: "quisec-0 has the certificate with the thumbprint 0x" +
			thumbprint},
		"it is a server's own at its endpoint": {edit: func(e *environ) {
			delete(e.servers["tukpub"].mirroring.Certificates, "SalesKey")
			e.encrypt("tukpub", "Content", "geosql_other_1", thumbprint)
		}, status: metav1.ConditionFalse, reason: missing, says: "no replica that answers has it to give"},
		"another certificate has its name": {edit: func(e *environ) {
			e.servers["quisec"].mirroring.Certificates["saleskey"] = mssql.Certificate{Name: "saleskey", Thumbprint: "00"}
		}, status: metav1.ConditionFalse, reason: missing, copied: "make certificate SalesKey_" + thumbprint},
		"its name is as long as names get": {edit: func(e *environ) {
			long := strings.Repeat("k", longestName)
			delete(e.servers["tukpub"].mirroring.Certificates, "SalesKey")
			e.encrypt("tukpub", "Content", long, thumbprint)
			e.servers["quisec"].mirroring.Certificates[long] = mssql.Certificate{Name: long, Thumbprint: "00"}
		}, status: metav1.ConditionFalse, reason: missing,
			copied: "make certificate " + strings.Repeat("k", longestName-41) + "_" + thumbprint},
		"it is there": {edit: func(e *environ) { e.encrypt("quisec", "Content", "Other", thumbprint) },
			status: metav1.ConditionTrue, reason: v1alpha1.ReasonKeysPresent},
		"a replica does not answer": {edit: func(e *environ) { e.silent["quisec"] = true }, status: unknown,
			reason: v1alpha1.ReasonReplicaNotAnswering, says: "quisec"},
		"a configuration-only one does not": {edit: func(e *environ) {
			e.silent["dubcfg"] = true
			e.encrypt("quisec", "Content", "SalesKey", thumbprint)
		}, status: metav1.ConditionTrue, reason: v1alpha1.ReasonKeysPresent},
		"a provider has the key": {edit: func(e *environ) {
			e.servers["tukpub"].mirroring.Encryptors["Content"] = mssql.Encryptor{Thumbprint: thumbprint}
		}, status: unknown, reason: v1alpha1.ReasonKeyOfProvider, says: "Content"},
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.settle(everything)
			e.encrypt("tukpub", "Content", "SalesKey", thumbprint)
			if c.edit != nil {
				c.edit(e)
			}
			told, known := keysComplete(e.d, e.observe())
			g.Expect(known).To(BeTrue())
			g.Expect(told).To(And(HaveField("Status", c.status), HaveField("Reason", c.reason),
				HaveField("Message", ContainSubstring(c.says))))
			p := plan(e.d, e.observe())
			var aside []string
			for _, s := range p.All() {
				aside = append(aside, s.Describe())
			}
			if c.copied == "" {
				g.Expect(aside).NotTo(ContainElement(ContainSubstring("make certificate")))
			} else {
				g.Expect(aside).To(ContainElement(ContainSubstring(c.copied + " (0x")))
			}
			if c.status == metav1.ConditionFalse {
				g.Expect(p.Outcome).To(And(HaveField("Reason", missing), HaveField("Message", ContainSubstring(thumbprint))))
			}
		})
	}
}

// Without its key no seeding of a database is begun, as often as it would fail; the others go on.
func TestNothingIsSeededWithoutItsKey(t *testing.T) {
	g := NewWithT(t)
	group := declared()
	group.Spec.Databases = append(group.Spec.Databases, v1alpha1.Database{Name: "Orders"})
	e := newEnviron(t, group)
	e.settle(everything)
	e.encrypt("tukpub", "Content", "geosql_other_1", thumbprint)
	delete(e.servers["quisec"].mirroring.Databases, "Content")
	delete(e.servers["quisec"].mirroring.Databases, "Orders")
	for range 3 {
		p := plan(e.d, e.observe())
		g.Expect(steps(p)).NotTo(ContainSubstring("seed Content"))
		e.later(0)
	}
	g.Expect(e.servers["quisec"].mirroring.Databases).To(And(HaveKey("Orders"), Not(HaveKey("Content"))))
	g.Expect(plan(e.d, e.observe()).Outcome).To(And(HaveField("Reason", v1alpha1.ReasonKeyMissing),
		HaveField("Message", ContainSubstring("no replica that answers has it to give"))))
}
