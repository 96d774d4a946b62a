// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Chaos is an object of Chaos Mesh at a site.
type Chaos struct {
	Site   *Site
	Object *unstructured.Unstructured
}

// NeedChaosMesh fails the test at once where a site has no Chaos Mesh.
func (b *Bed) NeedChaosMesh(t testing.TB) {
	t.Helper()
	for _, site := range b.Sites {
		if _, _, err := site.Kubectl(t.Context(), "-n", "chaos-mesh", "get", "daemonset", "chaos-daemon"); err != nil {
			t.Fatalf("Chaos Mesh is not at %s (%v): run hack/bed/chaos first", site.Name, err)
		}
	}
}

// NewChaos creates an object such as a NetworkChaos, and removes it after the test.
func (s *Site) NewChaos(t testing.TB, kind, namespace, name string, spec map[string]any) *Chaos {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "chaos-mesh.org", Version: "v1alpha1", Kind: kind})
	object.SetNamespace(namespace)
	object.SetName(name)
	if err := s.Client.Create(t.Context(), object); err != nil {
		t.Fatalf("%s %s/%s at %s: %v", kind, namespace, name, s.Name, err)
	}
	chaos := &Chaos{Site: s, Object: object}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		if err := chaos.remove(ctx); err != nil {
			t.Errorf("removal of %s %s at %s: %v", kind, name, s.Name, err)
		}
	})
	return chaos
}

// Inject creates the object and waits until Chaos Mesh says that the fault is in all its targets.
func (s *Site) Inject(t testing.TB, kind, namespace, name string, spec map[string]any) *Chaos {
	t.Helper()
	chaos := s.NewChaos(t, kind, namespace, name, spec)
	Wait(
		t,
		fmt.Sprintf("%s %s at %s is injected", kind, name, s.Name),
		90*time.Second,
		func(ctx context.Context) (bool, string, error) {
			injected, message, err := chaos.Condition(ctx, "AllInjected")
			return injected, message, err
		},
	)
	return chaos
}

// Condition tells whether a condition of the object is true, and the last message of its records, if there is one.
func (c *Chaos) Condition(ctx context.Context, name string) (bool, string, error) {
	if err := c.Site.Client.Get(ctx, client.ObjectKeyFromObject(c.Object), c.Object); err != nil {
		return false, "", err
	}
	holds := false
	conditions, _, _ := unstructured.NestedSlice(c.Object.Object, "status", "conditions")
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)
		holds = holds || condition["type"] == name && condition["status"] == "True"
	}
	return holds, strings.Join(c.messages(), "; "), nil
}

// messages are the newest of each record that has one: why a fault could not be injected.
func (c *Chaos) messages() []string {
	var messages []string
	records, _, _ := unstructured.NestedSlice(c.Object.Object, "status", "experiment", "containerRecords")
	for _, entry := range records {
		record, _ := entry.(map[string]any)
		events, _, _ := unstructured.NestedSlice(record, "events")
		for i := len(events) - 1; i >= 0; i-- {
			event, _ := events[i].(map[string]any)
			if message, _ := event["message"].(string); message != "" {
				messages = append(messages, message)
				break
			}
		}
	}
	return messages
}

// Remove deletes the object and waits until Chaos Mesh has taken the fault back.
func (c *Chaos) Remove(t testing.TB) {
	t.Helper()
	if err := c.remove(t.Context()); err != nil {
		t.Fatalf("removal of %s %s at %s: %v", c.Object.GetKind(), c.Object.GetName(), c.Site.Name, err)
	}
	Wait(
		t,
		fmt.Sprintf("%s %s at %s is taken back", c.Object.GetKind(), c.Object.GetName(), c.Site.Name),
		90*time.Second,
		func(ctx context.Context) (bool, string, error) {
			err := c.Site.Client.Get(ctx, client.ObjectKeyFromObject(c.Object), c.Object)
			if apierrors.IsNotFound(err) {
				return true, "", nil
			}
			return false, "it is still there: " + strings.Join(c.messages(), "; "), client.IgnoreNotFound(err)
		},
	)
}

func (c *Chaos) remove(ctx context.Context) error {
	return client.IgnoreNotFound(c.Site.Client.Delete(ctx, c.Object))
}
