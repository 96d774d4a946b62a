// SPDX-License-Identifier: Apache-2.0

package login

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// A password that was kept and is gone is no reason for another one, which would shut applications out: a person puts
// it back, or asks for another.
func TestAPasswordThatIsGoneIsNotMadeAnew(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Desired, *Observed)
		reason string
		steps  int
	}{
		"nobody has it yet": {func(_ *Desired, o *Observed) {
			o.Servers["tukpub"], o.Servers["quisec"] = Server{}, Server{}
		}, v1alpha1.ReasonLoginChanging, 1},
		"one server has the login": {func(_ *Desired, o *Observed) { o.Servers["tukpub"] = Server{} },
			v1alpha1.ReasonReferenceMissing, 0},
		"one does not say": {func(_ *Desired, o *Observed) {
			o.Servers["tukpub"], o.Servers["quisec"] = Server{}, Server{Err: errMute}
		}, v1alpha1.ReasonLoginUnknown, 0},
		"another one is asked for": {func(d *Desired, _ *Observed) {
			d.Login.Annotations = map[string]string{v1alpha1.RotateAnnotation: "u1/1"}
		}, v1alpha1.ReasonLoginChanging, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := declared()
			o := whole(d)
			d.Login.Spec.PasswordSecretRef, d.Password = nil, ""
			c.change(&d, &o)
			p := plan(d, o)
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Steps).To(HaveLen(c.steps))
		})
	}
}

// A Secret with the password that is missing holds up nothing else of a login that is there: rights are given and taken
// away, users are made. What has the password stays as it is.
func TestAPasswordThatIsMissingHoldsUpNothingElse(t *testing.T) {
	for name, change := range map[string]func(*Desired){
		"a Secret that is named": func(d *Desired) {
			d.Password, d.NoPassword = "", "Secret p with key password is needed"
		},
		"the one that the operator kept": func(d *Desired) {
			d.Login.Spec.PasswordSecretRef, d.Password = nil, ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := declared()
			o := whole(d)
			change(&d)
			o.Servers["tukpub"].Login.PasswordMatches, o.Servers["quisec"].Login.PasswordMatches = false, false
			p := plan(d, o)
			g.Expect(p.Steps).To(BeEmpty(), "the password that it has, and the Secrets with it, stay")
			g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonReferenceMissing),
				HaveField("Ready", metav1.ConditionFalse),
				HaveField("Message", ContainSubstring("keeps the password that it has"))))

			o.Servers["quisec"].Login.ConnectDenied = true
			p = plan(d, o)
			g.Expect(p.Steps).To(HaveLen(1))
			g.Expect(p.Steps[0].Describe()).To(ContainSubstring("grant CONNECT SQL"))
			o.Servers["quisec"] = Server{}
			p = plan(d, o)
			g.Expect(p.Steps).To(BeEmpty(), "without it no login is made")
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReferenceMissing))
		})
	}
}
