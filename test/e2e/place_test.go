// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/e2e/bed"
)

// place is a namespace of the hub and of all sites that a test has for itself, and may lose with the operator.
type place struct {
	t     *testing.T
	b     *bed.Bed
	name  string
	image string
}

func (p *place) of(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.name, Name: name}
}

// make makes the namespace everywhere, and installs the operator with it allowed at the sites.
func (p *place) make() {
	p.t.Helper()
	for _, site := range p.b.Sites {
		p.begin(site)
	}
	NewWithT(p.t).Expect(p.b.InstallOperator(p.t.Context(), p.image, p.name)).To(Succeed())
}

// begin makes the namespace at a site.
func (p *place) begin(site *bed.Site) {
	p.t.Helper()
	NewWithT(p.t).Expect(client.IgnoreAlreadyExists(site.Client.Create(p.t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: p.name, Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted", "app.kubernetes.io/part-of": "geosql-e2e"}}}))).
		To(Succeed(), "at %s", site.Name)
}

// allow makes the namespace at some sites, and has them allow it until the test ends. Their processes begin anew for
// that, and names follow nobody meanwhile: the test is alone by then.
func (p *place) allow(sites ...string) {
	p.t.Helper()
	p.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		for _, name := range sites {
			if err := p.forbid(ctx, p.b.Site(name)); err != nil {
				p.t.Error(err)
			}
		}
		// Last: a site answers in all namespaces that it allows, or not at all.
		if err := p.gone(ctx, 3*time.Minute); err != nil {
			p.t.Error(err)
		}
	})
	for _, name := range sites {
		p.begin(p.b.Site(name))
		NewWithT(p.t).Expect(p.b.Site(name).JoinAgain(p.t.Context(), "--add-namespaces", p.name)).To(Succeed())
	}
	for _, name := range sites {
		waitForSite(p.t, p.b, name, answering, time.Minute)
	}
}

// forbid has a site allow the namespace no more.
func (p *place) forbid(ctx context.Context, site *bed.Site) error {
	now, _, err := readSite(ctx, p.b, site.Name)
	if err != nil {
		return fmt.Errorf("read Site %s: %w", site.Name, err)
	}
	return site.JoinAgain(ctx, "--namespaces", strings.Join(p.others(now), ","))
}

// others are the namespaces that a site allows besides.
func (p *place) others(site *v1alpha1.Site) []string {
	return slices.DeleteFunc(slices.Clone(site.Spec.AllowedNamespaces), func(ns string) bool { return ns == p.name })
}

// lose loses everything that is there: the operator and the sites' own processes first, so that nobody takes anything
// away in good order or puts it back; then all objects, and the volumes with what was on them. Helm refuses to
// uninstall the operator for whoever does not insist on it, and says what is left.
func (p *place) lose() {
	p.t.Helper()
	g := NewWithT(p.t)
	said, logged, err := p.b.UninstallRefused(p.t.Context())
	g.Expect(err).NotTo(HaveOccurred(), said)
	here := "  in namespace " + p.name + ": "
	g.Expect(logged).To(And(ContainSubstring(here), ContainSubstring("  in no namespace: site/")))
	g.Expect(said).To(ContainSubstring(here), "Helm prints the Job's log")
	g.Expect(p.b.UninstallOperator(p.t.Context())).To(Succeed())
	began := time.Now()
	if err := p.gone(p.t.Context(), 4*time.Minute); err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("everything in namespace %s was gone %.1f s after its deletion", p.name, time.Since(began).Seconds())
}

// gone kills what runs in the namespace, deletes it at all sites, and waits until nothing is left of it, also of its
// volumes.
func (p *place) gone(ctx context.Context, within time.Duration) error {
	p.t.Helper()
	for _, site := range p.b.Sites {
		if err := client.IgnoreNotFound(site.Client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(p.name),
			&client.DeleteAllOfOptions{DeleteOptions: client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}})); err != nil {
			return fmt.Errorf("kill what runs in namespace %s at %s: %w", p.name, site.Name, err)
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name}}
		if err := client.IgnoreNotFound(site.Client.Delete(ctx, namespace)); err != nil {
			return fmt.Errorf("delete namespace %s at %s: %w", p.name, site.Name, err)
		}
	}
	return bed.Until(p.t, "nothing is left of namespace "+p.name, within,
		func(ctx context.Context) (bool, string, error) {
			if err := p.dropFinalizers(ctx); err != nil {
				return false, "", err
			}
			left, err := p.left(ctx)
			return left == "", left, err
		})
}

// left says what there is of the namespace still.
func (p *place) left(ctx context.Context) (string, error) {
	for _, site := range p.b.Sites {
		var namespace corev1.Namespace
		if err := site.Client.Get(ctx, client.ObjectKey{Name: p.name}, &namespace); !apierrors.IsNotFound(err) {
			return "it is there at " + site.Name, err
		}
		var volumes corev1.PersistentVolumeList
		if err := site.Client.List(ctx, &volumes); err != nil {
			return "", err
		}
		for _, v := range volumes.Items {
			if claim := v.Spec.ClaimRef; claim != nil && claim.Namespace == p.name {
				return fmt.Sprintf("the volume of %s is there at %s", claim.Name, site.Name), nil
			}
		}
	}
	return "", nil
}

// dropFinalizers lets objects go that wait for an operator which is no more.
func (p *place) dropFinalizers(ctx context.Context) error {
	hub := p.b.Hub()
	kinds, _, err := hub.Kubectl(ctx, "api-resources", "--api-group", v1alpha1.GroupVersion.Group, "--namespaced", "-o",
		"name")
	if err != nil {
		return err
	}
	names, _, err := hub.Kubectl(ctx, "get", strings.Join(strings.Fields(kinds), ","), "-n", p.name, "-o", "name")
	if err != nil || strings.TrimSpace(names) == "" {
		return err
	}
	// Those that are gone meanwhile are no fault; what is left is seen by the next look.
	_, _, _ = hub.Kubectl(ctx, append([]string{"patch", "-n", p.name, "--type", "merge", "-p",
		`{"metadata":{"finalizers":null}}`}, strings.Fields(names)...)...)
	return nil
}

// keep has all as it was when the test ends: the operator there, the namespace gone and allowed nowhere.
func (p *place) keep() {
	allowed := map[string][]string{}
	for _, site := range p.b.Sites {
		now, _, err := readSite(p.t.Context(), p.b, site.Name)
		NewWithT(p.t).Expect(err).NotTo(HaveOccurred())
		allowed[site.Name] = p.others(now)
	}
	p.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		if _, err := operatorImage(ctx, p.b); err != nil {
			if err := p.b.InstallOperator(ctx, p.image); err != nil {
				p.t.Errorf("bring the operator back: %v", err)
			}
		}
		p.remove(ctx)
		for _, site := range p.b.Sites {
			if err := site.JoinAgain(ctx, "--namespaces", strings.Join(allowed[site.Name], ",")); err != nil {
				p.t.Error(err)
			}
		}
		// Last: a site answers in all namespaces that it allows, or not at all.
		if err := p.gone(ctx, 3*time.Minute); err != nil {
			p.t.Error(err)
		}
	})
}

// remove has the operator take the Topologies away as it does when nothing is lost.
func (p *place) remove(ctx context.Context) {
	hub := p.b.Hub().Client
	var all v1alpha1.TopologyList
	if err := hub.List(ctx, &all, client.InNamespace(p.name)); err != nil {
		p.t.Errorf("list Topologies of namespace %s: %v", p.name, err)
	}
	for i := range all.Items {
		x := &all.Items[i]
		if p.t.Failed() {
			status, _ := json.Marshal(x.Status)
			p.t.Logf("Topology %s: %s", x.Name, status)
		}
		if err := client.IgnoreNotFound(hub.Delete(ctx, x)); err != nil {
			p.t.Errorf("delete Topology %s: %v", x.Name, err)
			continue
		}
		if err := bed.Until(p.t, "Topology "+x.Name+" is gone", 4*time.Minute,
			func(ctx context.Context) (bool, string, error) {
				err := hub.Get(ctx, client.ObjectKeyFromObject(x), x)
				return apierrors.IsNotFound(err), "", client.IgnoreNotFound(err)
			}); err != nil {
			p.t.Error(err)
		}
	}
}
