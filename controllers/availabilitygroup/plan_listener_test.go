// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// Whether an engine takes an address that is none of its own is documented nowhere: the listener is made with what it
// takes, and the status tells where that is not what was meant.
func TestTheListenerIsMadeAsTheEngineTakesIt(t *testing.T) {
	const oneHost, subnet, none = "10.96.7.7/255.255.255.255", "10.96.7.7/255.255.255.0", "0.0.0.0/0.0.0.0"
	for name, c := range map[string]struct {
		refuses  map[string]int32
		declared string
		have     string
		told     string
	}{
		"as it is meant": {have: oneHost},
		"with the mask of a subnet": {refuses: map[string]int32{oneHost: 19483}, have: subnet,
			told: "; the engine takes the listener with address 10.96.7.7 and mask 255.255.255.0 alone"},
		"without an address of its own": {refuses: map[string]int32{oneHost: 19456, subnet: 19471}, have: none,
			told: "; the engine takes the listener with address 0.0.0.0 and mask 0.0.0.0 alone"},
		"a declared address": {refuses: map[string]int32{oneHost: 19456, subnet: 19456}, declared: "10.96.7.7", have: none,
			told: "mask 0.0.0.0 alone"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			group := declared()
			if c.declared != "" {
				group.Spec.Listener = &v1alpha1.Listener{IP: c.declared}
			}
			e := newEnviron(t, group)
			e.servers["tukpub"].refuses = c.refuses
			p := e.settle(everything)
			g.Expect(e.group.listeners).To(HaveLen(1))
			l := e.group.listeners[0]
			g.Expect(l.IP + "/" + l.Mask).To(Equal(c.have))
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue))
			if c.told == "" {
				g.Expect(p.Outcome.Message).NotTo(ContainSubstring("listener"))
			} else {
				g.Expect(p.Outcome.Message).To(ContainSubstring(c.told))
			}
			g.Expect(plan(e.d, e.observe()).Steps).To(BeEmpty(), "it stays as it is")
		})
	}
}

// An answer that is not about the address ends the step: that the lease has ended, say. The error has every answer.
func TestTheListenerIsNotMadeOtherwiseForOtherReasons(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	step := AddListener{Server: "tukpub", Group: "content", Name: "content", IP: "10.96.7.7", Port: 1433}
	for form, number := range map[int]int32{0: 19407, 1: 41190} {
		e.group.listeners = nil
		e.servers["tukpub"].refuses = map[string]int32{"10.96.7.7/255.255.255.255": 19456}
		for i, f := range []string{"10.96.7.7/255.255.255.255", "10.96.7.7/255.255.255.0"} {
			if i == form {
				e.servers["tukpub"].refuses[f] = number
			}
		}
		g.Expect(e.do(step)).To(MatchError(ContainSubstring(fmt.Sprint(number))))
		g.Expect(e.group.listeners).To(BeEmpty())
	}
	e.servers["tukpub"].refuses = map[string]int32{"10.96.7.7/255.255.255.255": 19471, "10.96.7.7/255.255.255.0": 19477}
	g.Expect(e.do(step)).To(Succeed(), "the first form has left it there")
}

// A listener is made anew only where the engine shows another address than the declared one.
func TestAListenerIsRemovedForAnotherAddressAlone(t *testing.T) {
	for name, c := range map[string]struct {
		shown []string
		other bool
	}{
		"nothing is shown":           {nil, false},
		"an empty one":               {[]string{""}, false},
		"one that cannot be read":    {[]string{"10.96.7"}, false},
		"an unspecified one":         {[]string{"0.0.0.0"}, false},
		"an unspecified one of IPv6": {[]string{"::"}, false},
		"the declared one":           {[]string{"10.96.7.7"}, false},
		"the declared one, mapped":   {[]string{"::ffff:10.96.7.7"}, false},
		"the declared one of two":    {[]string{"10.96.7.8", "10.96.7.7"}, false},
		"another, and an empty one":  {[]string{"10.96.7.8", ""}, false},
		"another":                    {[]string{"10.96.7.8"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			group := declared()
			group.Spec.Listener = &v1alpha1.Listener{IP: "10.96.7.7"}
			e := newEnviron(t, group)
			e.settle(everything)
			l := e.group.listeners[0]
			if e.group.listeners = nil; c.shown == nil {
				l.IP = ""
				c.shown = []string{""}
			}
			for _, ip := range c.shown {
				l.IP = ip
				e.group.listeners = append(e.group.listeners, l)
			}
			if p := plan(e.d, e.observe()); c.other {
				g.Expect(p.Steps).NotTo(BeEmpty())
				g.Expect(p.Steps[0].Describe()).To(ContainSubstring("remove listener"))
			} else {
				g.Expect(p.Steps).To(BeEmpty())
			}
		})
	}
}
