// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"geosql.dev/operator/internal/sites"
)

// UninstallOperator takes the releases of the operator away, as nobody should: the manager's first, though there are
// objects that it alone ends, and then those of all sites. The kinds stay, and so do all objects.
func (b *Bed) UninstallOperator(ctx context.Context) error {
	if err := b.Hub().uninstall(ctx, "geosql-operator"); err != nil {
		return err
	}
	var others errgroup.Group
	for _, site := range b.Sites {
		others.Go(func() error { return site.uninstall(ctx, "geosql-site") })
	}
	return others.Wait()
}

func (s *Site) uninstall(ctx context.Context, release string) error {
	if out, err := s.helmUninstall(ctx, release, "--no-hooks"); err != nil {
		return fmt.Errorf("helm uninstall %s at %s: %w: %s", release, s.Name, err, lastLine(out))
	}
	return nil
}

// UninstallRefused has Helm uninstall the manager's release as a person would, and returns what Helm says and what the
// log of the Job has that refuses it. It is an error when nothing refuses it.
func (b *Bed) UninstallRefused(ctx context.Context) (said, logged string, err error) {
	said, err = b.Hub().helmUninstall(ctx, "geosql-operator")
	if err == nil {
		return said, "", errors.New("helm uninstall geosql-operator was not refused")
	}
	logged, _, err = b.Hub().Kubectl(ctx, "-n", sites.OperatorNamespace, "logs", "job/geosql-operator-removal")
	return said, logged, err
}

// helmUninstall uninstalls a release at the site, and returns what Helm says.
func (s *Site) helmUninstall(ctx context.Context, release string, flags ...string) (said string, err error) {
	command := exec.CommandContext(ctx, filepath.Join(s.bed.Cache, "bin/helm"), append([]string{"uninstall", release,
		"--kubeconfig", s.Kubeconfig, "--kube-context", "kind-" + s.Name, "--namespace", sites.OperatorNamespace, "--wait",
		"--timeout", "3m"}, flags...)...)
	out, err := command.CombinedOutput()
	return string(out), err
}

// InstallOperator installs the operator of an image and joins the sites, as hack/install-operator does: with
// namespaces beside those that the sites allow already.
func (b *Bed) InstallOperator(ctx context.Context, image string, namespaces ...string) error {
	command := exec.CommandContext(ctx, filepath.Join(b.Repo, "hack/install-operator"), "--namespaces",
		strings.Join(append([]string{"web"}, namespaces...), ","))
	command.Env = append(os.Environ(), "OPERATOR_IMAGE="+image, "KUBECONFIG="+b.Hub().Kubeconfig,
		"PATH="+filepath.Join(b.Cache, "bin")+":"+os.Getenv("PATH"))
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("hack/install-operator: %w: %s", err, out)
	}
	return nil
}

// JoinAgain runs `kubectl geosql site join` of a site that is joined, with these flags; all else stays as it is.
func (s *Site) JoinAgain(ctx context.Context, flags ...string) error {
	arguments := []string{"site", "join", s.Name, "--kubeconfig", s.Kubeconfig,
		"--hub-context", "kind-" + s.bed.Hub().Name}
	if s.Role == "hub" {
		arguments = append(arguments, "--hub")
	} else {
		arguments = append(arguments, "--context", "kind-"+s.Name)
	}
	command := exec.CommandContext(ctx, filepath.Join(s.bed.Cache, "bin-project", "kubectl-geosql"),
		append(arguments, flags...)...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl geosql site join %s: %w: %s", s.Name, err, lastLine(string(out)))
	}
	return nil
}
