// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// While something is missing that a Publication names its distributor is asked for the right that its log reader may
// have, and for nothing where no record tells of one. Of a Distributor that is gone status has the server.
func TestWhoIsAskedForTheRightWhileSomethingIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		distributor, publisher, secret bool
		change                         func(*v1alpha1.Publication)
		looks, passwords               bool
		server                         v1alpha1.ServerName
	}{
		"the publisher":               {true, false, true, func(*v1alpha1.Publication) {}, true, true, distributor},
		"the passwords, too":          {true, false, false, func(*v1alpha1.Publication) {}, true, false, distributor},
		"the Distributor":             {false, true, true, func(*v1alpha1.Publication) {}, true, true, distributor},
		"both":                        {false, false, true, func(*v1alpha1.Publication) {}, true, true, distributor},
		"the publisher, and no right": {true, false, true, withoutRecord, false, false, distributor},
		"the Distributor, and no right": {false, true, true, withoutRecord, false, false,
			""},
		"the Distributor, whose server nobody knows": {false, true, true, func(p *v1alpha1.Publication) {
			p.Status.DistributionFork = ""
		}, false, false, ""},
		"the Distributor, on somebody else's server": {false, true, true, func(p *v1alpha1.Publication) {
			p.Status.DistributionFork = "LEGACY 6F9619FF"
		}, false, false, ""},
		"the Distributor of one that is being deleted": {false, true, true, func(p *v1alpha1.Publication) {
			now := metav1.Now()
			p.DeletionTimestamp, p.Finalizers = &now, []string{v1alpha1.Finalizer}
		}, false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := declared(false).Publication
			p.Spec.Publisher = v1alpha1.ServerOrGroup{Server: publisher}
			p.Status.LogReaderRight, p.Status.DistributionFork = held(0), "dist-0 6F9619FF"
			c.change(p)
			objects := []client.Object{p}
			if c.distributor {
				objects = append(objects, &v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main"},
					Spec: v1alpha1.DistributorSpec{Server: distributor}})
			}
			if c.publisher {
				objects = append(objects, &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web",
					Name: string(publisher)}})
			}
			if c.secret {
				agreement, err := credentials.Agree(nil, nil, false)
				g.Expect(err).NotTo(HaveOccurred())
				certificate := map[string][]byte{credentials.KeyCA: []byte("ca")}
				for name, data := range map[string]map[string][]byte{credentials.PasswordsName(distributor): agreement.Passwords,
					credentials.CertificateName(distributor): certificate} {
					objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}, Data: data})
				}
			}
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
			d, err := (&Reconciler{access: mssql.SecretAccess{Reader: hub}, hub: hub}).desire(t.Context(), p)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(d.Missing).NotTo(BeEmpty())
			g.Expect(d.looksForRight()).To(Equal(c.looks))
			g.Expect(d.System.Server).To(Equal(c.server))
			if c.looks {
				g.Expect(d.System.SetUpLogin).To(Equal("geosql_replication_main_setup"))
				g.Expect(d.PasswordsErr == nil).To(Equal(c.passwords), "%v", d.PasswordsErr)
				g.Expect(d.System.AgentPassword != "").To(Equal(c.passwords))
			}
		})
	}
}

func withoutRecord(p *v1alpha1.Publication) { p.Status.LogReaderRight = nil }

// What is not known of the right while something is missing is said, and the record of it stays; so is that it is had.
func TestWhatIsSaidOfTheRightWhileSomethingIsMissing(t *testing.T) {
	g := NewWithT(t)
	w := reading(t)
	raise(w)
	w.o.Pending = 13
	w.d.Missing = []string{"SQLServer tukpub"}
	p := plan(w.d, w.look())
	g.Expect(described(p)).To(BeEmpty(), "its hour is not over")
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("SQLServer tukpub"),
		ContainSubstring("its log reader runs with login geosql_replication_main_setup")))

	w.d.Publication.Status.LogReaderRight = held(setUpFor)
	for _, o := range []Observed{{Now: start}, {Now: start, Servers: w.o.Servers, AtErr: errors.New("i/o timeout")}} {
		p = plan(w.d, o)
		g.Expect(described(p)).To(BeEmpty())
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReferenceMissing))
		g.Expect(p.Outcome.Message).To(ContainSubstring("is not known"))
		g.Expect(describe(w.d, o).LogReaderRight).To(Equal(held(setUpFor)))
	}

	w.d.PasswordsErr = errors.New("no Secret")
	g.Expect(described(plan(w.d, w.look()))).To(BeEmpty(), "a command line without passwords would end the log reader")
	w.d.PasswordsErr = nil
	p = plan(w.d, w.look())
	g.Expect(described(p)).To(HaveExactElements(ContainSubstring("sp_stop_job"), ContainSubstring("sp_update_jobstep")))
	g.Expect(describe(w.d, w.look()).LogReaderRight.Ended).NotTo(BeNil())
}
