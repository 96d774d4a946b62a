// SPDX-License-Identifier: Apache-2.0

package login

import (
	"testing"

	. "github.com/onsi/gomega"

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
