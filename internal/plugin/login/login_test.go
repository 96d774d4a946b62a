// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/terminal"
)

func webapp() *v1alpha1.Login {
	return &v1alpha1.Login{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "webapp", UID: "u1"},
		Status: v1alpha1.LoginStatus{ConnectionSecret: "webapp-connection"}}
}

// Nothing is asked for before a person says so, nor of a login whose password comes from a Secret.
func TestRotate(t *testing.T) {
	for _, c := range []struct {
		name, input    string
		flags          flags
		change         func(*v1alpha1.Login)
		texts, refused string
		asked          bool
	}{
		{name: "dry run", flags: flags{dryRun: true}, texts: "Nothing was changed."},
		{name: "not confirmed", texts: "Type the login's name", refused: "not confirmed, nothing was changed"},
		{name: "confirmed", input: "webapp\n", texts: "in the Secret webapp-connection of each site", asked: true},
		{name: "without a question", flags: flags{yes: true}, texts: "kubectl get login -n web webapp", asked: true},
		{name: "a Secret of somebody's", flags: flags{yes: true},
			change:  func(l *v1alpha1.Login) { l.Spec.PasswordSecretRef = &v1alpha1.SecretReference{Name: "mine"} },
			refused: "comes from the Secret mine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			l := webapp()
			if c.change != nil {
				c.change(l)
			}
			hub := terminal.Hub(l).Build()
			command := &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
				return rotate(cmd, hub, client.ObjectKeyFromObject(l), &c.flags)
			}}
			text, err := terminal.Run(t, command, c.input)
			if c.refused == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(c.refused)))
			}
			g.Expect(text).To(ContainSubstring(c.texts))
			var now v1alpha1.Login
			g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(l), &now)).To(Succeed())
			g.Expect(strings.HasPrefix(now.Annotations[v1alpha1.RotateAnnotation], "u1/2")).To(Equal(c.asked))
		})
	}
}

// A request that had no answer may be carried out.
func TestASilentRequestIsUnknown(t *testing.T) {
	terminal.ExpectUnsure(t, "kubectl get login -n web webapp -o yaml", func(err error) error {
		l := webapp()
		hub := terminal.Hub(l).WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return err
			}}).Build()
		command := &cobra.Command{}
		command.SetOut(io.Discard)
		command.SetContext(t.Context())
		return rotate(command, hub, client.ObjectKeyFromObject(l), &flags{yes: true})
	})
}
