// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"geosql.dev/operator/internal/sites"
)

// TagImage gives an image that is loaded into the nodes another tag in all of them, and returns the name with it. The
// next hack/bed/load takes the name away again.
func (b *Bed) TagImage(t testing.TB, image, tag string) string {
	t.Helper()
	repository, _ := splitImage(image)
	tagged := repository + ":" + tag
	for _, site := range b.Sites {
		for _, node := range site.Nodes {
			b.NodeExec(t, node, "ctr", "-n", "k8s.io", "images", "tag", "--force", imageInNode(image), imageInNode(tagged))
		}
	}
	return tagged
}

// imageInNode is the name that containerd gives an image.
func imageInNode(image string) string {
	if strings.Contains(image, "/") {
		return "docker.io/" + image
	}
	return "docker.io/library/" + image
}

func splitImage(image string) (repository, tag string) {
	at := strings.LastIndex(image, ":")
	return image[:at], image[at+1:]
}

// UpgradeOperator upgrades the releases of the operator to an image as a person would, the manager's first and then
// those of all sites, whose values stay else as they are. It returns when they run.
func (b *Bed) UpgradeOperator(ctx context.Context, image string) error {
	if err := b.Hub().upgrade(ctx, "geosql-operator", image); err != nil {
		return err
	}
	var others errgroup.Group
	for _, site := range b.Sites {
		others.Go(func() error { return site.upgrade(ctx, "geosql-site", image) })
	}
	return others.Wait()
}

// upgrade upgrades a Helm release of the chart at the site.
func (s *Site) upgrade(ctx context.Context, release, image string) error {
	repository, tag := splitImage(image)
	command := exec.CommandContext(
		ctx,
		filepath.Join(s.bed.Cache, "bin/helm"),
		"upgrade",
		release,
		filepath.Join(s.bed.Repo, "charts/geosql-operator"),
		"--kubeconfig",
		s.Kubeconfig,
		"--kube-context",
		"kind-"+s.Name,
		"--namespace",
		sites.OperatorNamespace,
		"--reuse-values",
		"--set",
		"image.repository="+repository,
		"--set-string",
		"image.tag="+tag,
		"--wait",
		"--timeout",
		"2m",
	)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("helm upgrade %s to %s at %s: %w: %s", release, image, s.Name, err, lastLine(string(out)))
	}
	return nil
}
