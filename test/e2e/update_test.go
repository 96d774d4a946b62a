// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/e2e/bed"
)

// All servers of a group declare another build of the engine. One of them goes by OnRequest, so that all wait, and say
// so; a command asks for the update. It reaches them one at a time, the secondaries first; the primary hands over
// before its own turn, and clients of the listener go on. The group is left with that build: nobody uses it afterwards.
func TestUpdateOfAGroup(t *testing.T) {
	onlyInAll(t)
	groupA.Beside(t, 9, 160)
	g := NewWithT(t)
	gt := inTurn(t, groupA)
	b := gt.b
	gt.backAt("tukwila")
	term, next := gt.group.Status.Term, b.Image(t, "STANDIN_NEXT_IMAGE")
	before, former := map[string]types.UID{}, ""
	for site, server := range gt.servers {
		pod, err := podOf(t.Context(), b.Site(site), server)
		g.Expect(err).NotTo(HaveOccurred())
		before[site] = pod.UID
		g.Expect(b.Hub().Client.Get(t.Context(), client.ObjectKeyFromObject(server), server)).To(Succeed())
		former = server.Status.Version
	}
	g.Expect(former).NotTo(BeEmpty())
	through := gt.wherever(shellAt(t, b.Site("tukwila"), namespace))
	w := gt.startWriting(through)
	var names string
	for site, server := range gt.servers {
		change := client.MergeFrom(server.DeepCopy())
		server.Spec.Image = next
		if site == "dublin" {
			server.Spec.UpdatePolicy = v1alpha1.UpdateOnRequest
		}
		g.Expect(b.Hub().Client.Patch(t.Context(), server, change)).To(Succeed())
		names += " " + server.Name
	}
	gt.imagesAre(v1alpha1.ReasonUpdateAwaitsRequest)
	for site, server := range gt.servers {
		pod, err := podOf(t.Context(), b.Site(site), server)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pod.UID).To(Equal(before[site]), "nobody is restarted before it is asked for")
	}

	began := time.Now()
	asAPerson(t, b, "kubectl geosql update"+names+" -n "+namespace)
	order := gt.replacedOneByOne(before)
	g.Expect(order).To(HaveLen(3))
	g.Expect(order[2]).To(Equal("tukwila"), "the first primary is the last to be updated")
	for _, server := range gt.servers {
		waitForServer(t, b, server, time.Minute)
		g.Expect(server.Status.Version).NotTo(Equal(former))
		g.Expect(server.Status.Image).To(Equal(next))
	}
	gt.imagesAre(v1alpha1.ReasonImageAsDeclared)
	gt.wait("the group is ready again", term+1, 2*time.Minute)
	t.Logf("updated from %s in the order %v within %.1f s; acknowledged %d rows meanwhile, the next one after %v", former,
		order, time.Since(began).Seconds(), w.count(), w.more(t, time.Minute))
	w.end()
	w.verify(t, through)
}

// imagesAre waits until the condition ImageCurrent of all servers has a reason.
func (gt *groupTest) imagesAre(reason string) {
	gt.t.Helper()
	bed.Wait(gt.t, "the images of all servers are "+reason, time.Minute, func(ctx context.Context) (bool, string, error) {
		for _, server := range gt.servers {
			if err := gt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(server), server); err != nil {
				return false, "", err
			}
			c := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionImageCurrent)
			switch {
			case c == nil || c.ObservedGeneration != server.Generation:
				return false, server.Name + " has not told", nil
			case c.Reason != reason:
				return false, fmt.Sprintf("%s is %s: %s", server.Name, c.Reason, c.Message), nil
			}
		}
		return true, "", nil
	})
}

// replacedOneByOne waits until all pods are other ones than before, and ends the test when two of them are down at
// once. It returns the sites in the order in which their pods were back.
func (gt *groupTest) replacedOneByOne(before map[string]types.UID) (order []string) {
	gt.t.Helper()
	bed.Wait(gt.t, "all pods are replaced", 6*time.Minute, func(ctx context.Context) (bool, string, error) {
		var down, old []string
		for site, server := range gt.servers {
			pod, err := podOf(ctx, gt.b.Site(site), server)
			if client.IgnoreNotFound(err) != nil {
				return false, "", err
			}
			switch {
			case err != nil || !bed.Ready(pod):
				down = append(down, site)
			case pod.UID == before[site]:
				old = append(old, site)
			case !slices.Contains(order, site):
				order = append(order, site)
			}
		}
		if len(down) > 1 {
			gt.t.Fatalf("%v are down at once", down)
		}
		return len(order) == len(gt.servers) && len(down) == 0, fmt.Sprintf("old %v, down %v", old, down), nil
	})
	return order
}

// A tag of the nodes is moved to another build, and the server's pod is lost: it comes back with the build that it had,
// and says that the tag has moved. What the tag names now comes when somebody asks for it.
func TestATagThatMoves(t *testing.T) {
	onlyInAll(t)
	bed.Beside(t, 120)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	site := b.Site("quincy")
	const moving = "geosql-e2e-moving"
	first := nameInNodes(t, b, site, b.Image(t, "STANDIN_IMAGE"), moving)
	server := declareServer(t, b, "e2equtag", "quincy", func(s *v1alpha1.SQLServerSpec) {
		s.Image, s.ImagePullPolicy = moving+":1", corev1.PullIfNotPresent
	})
	waitForServer(t, b, server, 3*time.Minute)
	former := server.Status.Version
	g.Expect(server.Status.ImageID).To(HaveSuffix("@" + first))
	second := nameInNodes(t, b, site, b.Image(t, "STANDIN_NEXT_IMAGE"), moving)
	g.Expect(second).NotTo(Equal(first))

	pod, err := podOf(t.Context(), site, server)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(site.Client.Delete(t.Context(), pod)).To(Succeed())
	bed.Wait(t, "the pod is back and the tag is known to have moved", 3*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			now, err := podOf(ctx, site, server)
			if err != nil || now.UID == pod.UID {
				return false, "the pod is not back", client.IgnoreNotFound(err)
			}
			if err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(server), server); err != nil {
				return false, "", err
			}
			ready, text := describeServer(server)
			c := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionImageCurrent)
			return ready && c != nil && c.Reason == v1alpha1.ReasonTagMoved, fmt.Sprintf("%s; %+v", text, c), nil
		})
	g.Expect(server.Status.Version).To(Equal(former))
	g.Expect(server.Status.ImageID).To(HaveSuffix("@" + first))

	asAPerson(t, b, "kubectl geosql update "+server.Name+" -n "+namespace)
	bed.Wait(t, "the server runs what the tag names now", 2*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(server), server)
			ready, text := describeServer(server)
			return ready && server.Status.Version != former && strings.HasSuffix(server.Status.ImageID, "@"+second), text, err
		})
}

// nameInNodes names an image that is loaded by a repository's tag 1 and by its digest in all nodes of a site, as if a
// kubelet had pulled it, and returns the digest. The names go when the test ends.
func nameInNodes(t *testing.T, b *bed.Bed, site *bed.Site, image, repository string) (digest string) {
	t.Helper()
	for _, node := range site.Nodes {
		ctr := func(arguments ...string) string {
			return b.NodeExec(t, node, append([]string{"ctr", "-n", "k8s.io", "images"}, arguments...)...)
		}
		loaded := "docker.io/library/" + image
		digest = digestOf(ctr("ls"), loaded)
		if digest == "" {
			t.Fatalf("node %s has no %s: run `make load-images`", node, loaded)
		}
		for _, name := range []string{"docker.io/library/" + repository + ":1",
			"docker.io/library/" + repository + "@" + digest} {
			ctr("tag", "--force", loaded, name)
			t.Cleanup(func() { ctr("rm", name) })
		}
	}
	return digest
}

// digestOf is what `ctr images ls` says of a name, in its third column.
func digestOf(listed, name string) string {
	for _, line := range strings.Split(listed, "\n") {
		if columns := strings.Fields(line); len(columns) > 2 && columns[0] == name {
			return columns[2]
		}
	}
	return ""
}
