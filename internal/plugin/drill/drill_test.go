// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/terminal"
)

// A run that had no answer may begin its faults: who asked must not take it for refused, and ask twice.
func TestASilentDrillIsUnknown(t *testing.T) {
	declared := &v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "lose-tukwila"}}
	manifest := "apiVersion: geosql.dev/v1alpha1\nkind: Drill\nmetadata: {name: lose-tukwila, namespace: web}\n"
	for name, c := range map[string]struct {
		there     []client.Object
		flags     runFlags
		arguments []string
	}{
		"by name":         {[]client.Object{declared}, runFlags{}, []string{"lose-tukwila"}},
		"a new manifest":  {nil, runFlags{file: "-"}, nil},
		"a manifest anew": {[]client.Object{declared}, runFlags{file: "-"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			terminal.ExpectUnsure(t, "kubectl geosql drill describe lose-tukwila -n web", func(err error) error {
				hub := terminal.Hub(c.there...).WithInterceptorFuncs(interceptor.Funcs{
					Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return err },
					Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return err },
				}).Build()
				command := &cobra.Command{}
				command.SetContext(t.Context())
				command.SetIn(strings.NewReader(manifest))
				_, err = c.flags.take(command, hub, "web", c.arguments)
				return err
			})
		})
	}
}
