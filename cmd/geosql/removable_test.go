// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
)

// removed judges whether the operator may be removed from a hub with these objects.
func removed(t *testing.T, fails interceptor.Funcs, objects ...client.Object) (string, error) {
	t.Helper()
	hub := fake.NewClientBuilder().WithScheme(hubScheme()).WithObjects(objects...).WithInterceptorFuncs(fails).Build()
	var out bytes.Buffer
	err := removal{namespace: "geosql-system", release: "sql", revision: "4"}.judge(t.Context(), hub, &out)
	return out.String(), err
}

// object is what an object has in a hub whose manager works, by the Topology that declares it.
func object(namespace, name, topology string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: []string{v1alpha1.Finalizer}}
	if topology != "" {
		m.Labels = map[string]string{v1alpha1.LabelTopology: topology}
	}
	return m
}

func TestTheOperatorIsRemovedOnceNothingWaitsForIt(t *testing.T) {
	g := NewWithT(t)
	said, err := removed(t, interceptor.Funcs{},
		&v1alpha1.Failover{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "record"}},
		&v1alpha1.AgentProfile{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "slow",
			Finalizers: []string{"example.com/other"}}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(said).To(BeEmpty())

	gone := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Topology"}}
	_, err = removed(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList,
		...client.ListOption) error {
		return gone
	}})
	g.Expect(err).NotTo(HaveOccurred(), "the definitions are gone, and with them all objects")

	_, err = removed(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList,
		...client.ListOption) error {
		return errors.New("no answer")
	}})
	g.Expect(err).To(MatchError(ContainSubstring("no answer")), "what nobody can say is no consent")
}

func TestWhatIsLeftIsNamedWithTheCommandsToGoOn(t *testing.T) {
	g := NewWithT(t)
	server := &v1alpha1.SQLServer{ObjectMeta: object("shop", "orphan", "gone")}
	server.Finalizers = []string{"geosql.dev/names"}
	objects := []client.Object{
		&v1alpha1.Site{ObjectMeta: object("", "dublin", "")},
		&v1alpha1.Site{ObjectMeta: object("", "quincy", ""), Spec: v1alpha1.SiteSpec{
			KubeconfigSecretRef: &v1alpha1.SecretReference{Name: "quincy"}}},
		&v1alpha1.Topology{ObjectMeta: object("web", "msdn", "")},
		&v1alpha1.SQLServer{ObjectMeta: object("web", "tukpub", "msdn")},
		&v1alpha1.Login{ObjectMeta: object("web", "app", "")},
		&v1alpha1.Login{ObjectMeta: object("web", "report", "")},
		&v1alpha1.Drill{ObjectMeta: object("web", "weekly", "")},
		server,
	}
	for i := range most {
		objects = append(objects, &v1alpha1.Login{ObjectMeta: object("many", fmt.Sprintf("l%02d", i), "")})
	}
	objects = append(objects, &v1alpha1.Login{ObjectMeta: object("many", "last", "")})
	said, err := removed(t, interceptor.Funcs{}, objects...)
	g.Expect(err).To(MatchError("29 objects are left that only a manager ends"))
	g.Expect(said).To(And(
		ContainSubstring("  in no namespace: site/dublin, site/quincy\n"),
		ContainSubstring("  in namespace web: drill/weekly, login/app, login/report, sqlserver/tukpub, topology/msdn\n"),
		MatchRegexp(`  in namespace many: login/l00, .* and 1 more\n`),
		ContainSubstring(`
  kubectl delete login.geosql.dev --all -n many
  kubectl delete sqlserver.geosql.dev --all -n shop
  kubectl delete topology.geosql.dev,drill.geosql.dev,login.geosql.dev --all -n web
  helm uninstall geosql-site -n geosql-system
  kubectl geosql site leave dublin
  helm uninstall geosql-site -n geosql-system --kube-context CONTEXT
  kubectl geosql site leave quincy --context CONTEXT
  helm uninstall sql -n geosql-system
`),
		ContainSubstring("  helm rollback sql 4 -n geosql-system\n"),
		ContainSubstring("--no-hooks"),
	))
}
