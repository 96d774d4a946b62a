// SPDX-License-Identifier: Apache-2.0

// Package bed gives end-to-end tests the clusters that hack/bed/up made: clients per site, commands in pods and nodes,
// shell pods, the WAN between the sites, and waits that report what they wait for.
package bed

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/support/checkout"
)

// Bed is the running test bed.
type Bed struct {
	// Sites in the order of hack/bed/sites.env.
	Sites []*Site
	// Repo is the root of the repository.
	Repo string
	// Cache is the folder in which hack/bed keeps its binaries, kubeconfig and names of images.
	Cache string
}

// Site is one kind cluster of the bed.
type Site struct {
	// Name of the site and of its kind cluster, as in "tukwila".
	Name string
	// PodSubnet and ServiceSubnet are the cluster's ranges (CIDR).
	PodSubnet, ServiceSubnet string
	// Role is "hub" or "member".
	Role string
	// Region as in the nodes' label topology.kubernetes.io/region.
	Region string
	// Address of the API server, port 6443, from every site's pods and from the host.
	Address string
	// Nodes are the names of the nodes, control plane first; they are the names of the docker containers too.
	Nodes []string
	// Kubeconfig is a file with a context kind-NAME for each site of the bed.
	Kubeconfig string
	// Config, Client and Clientset talk to the site's API server from the host, past the WAN.
	Config    *rest.Config
	Client    client.Client
	Clientset *kubernetes.Clientset

	bed *Bed
}

// Open finds the bed and makes clients for it. The test fails at once, saying what to run, if there is none.
// Options are those of the controller-runtime clients, for a scheme that knows more than Kubernetes' own types. A test
// that fails leaves evidence of it from then on.
func Open(t testing.TB, options client.Options) *Bed {
	t.Helper()
	b := &Bed{Repo: checkout.Root(), Cache: cacheFolder(t)}
	b.readSites(t)
	kubeconfig := filepath.Join(b.Cache, "kubeconfig")
	kept := b.evidenceOf(t)
	for _, site := range b.Sites {
		site.bed = b
		rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
			&clientcmd.ConfigOverrides{CurrentContext: "kind-" + site.Name}).ClientConfig()
		if err != nil {
			t.Fatalf("no cluster %s in %s (%v): run `make bed` first", site.Name, kubeconfig, err)
		}
		config.QPS, config.Burst = 100, 200
		site.Config = config
		direct, err := client.New(config, options)
		if err != nil {
			t.Fatalf("the API server of %s does not answer (%v): run `make bed` first", site.Name, err)
		}
		site.Client = keeping{insistent{direct}, kept.keep}
		if site.Clientset, err = kubernetes.NewForConfig(config); err != nil {
			t.Fatalf("client for %s: %v", site.Name, err)
		}
		site.Kubeconfig = kubeconfig
	}
	kept.of(b.Hub())
	return b
}

// Site returns the site of that name and panics if there is none: its name is a constant in a test.
func (b *Bed) Site(name string) *Site {
	for _, site := range b.Sites {
		if site.Name == name {
			return site
		}
	}
	panic(fmt.Sprintf("the bed has no site %q", name))
}

// Hub returns the site that holds the operator's objects.
func (b *Bed) Hub() *Site {
	for _, site := range b.Sites {
		if site.Role == "hub" {
			return site
		}
	}
	panic("hack/bed/sites.env names no hub")
}

// Image returns the name under which an image is loaded into the nodes: SHELL_IMAGE, OPERATOR_IMAGE, STANDIN_IMAGE,
// STANDIN_NEXT_IMAGE. Variables of these names after GEOSQL_TEST_ name others than those that were built last.
func (b *Bed) Image(t testing.TB, variable string) string {
	t.Helper()
	if image := os.Getenv("GEOSQL_TEST_" + variable); image != "" {
		return image
	}
	file := filepath.Join(b.Cache, "images.env")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run `make bed` and `make load-images` first", err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if image, found := strings.CutPrefix(line, variable+"="); found {
			return image
		}
	}
	t.Fatalf("%s has no %s: run `make load-images` first", file, variable)
	return ""
}

// Wan runs hack/bed/wan, as in Wan(t, "set", "tukwila", "dublin", "--rtt", "150ms"), and returns what it printed.
func (b *Bed) Wan(t testing.TB, arguments ...string) string {
	t.Helper()
	return b.mustRun(t, filepath.Join(b.Repo, "hack/bed/wan"), arguments...)
}

// ResetWan puts the default matrix in force now and again when the test is over.
func (b *Bed) ResetWan(t testing.TB) {
	t.Helper()
	b.Wan(t, "reset")
	t.Cleanup(func() { b.Wan(t, "reset") })
}

// Docker runs the docker client, as in Docker(t, "restart", "quincy-control-plane").
func (b *Bed) Docker(t testing.TB, arguments ...string) string {
	t.Helper()
	return b.mustRun(t, "docker", arguments...)
}

// NodeExec runs a command in a node as its root.
func (b *Bed) NodeExec(t testing.TB, node string, command ...string) string {
	t.Helper()
	return b.mustRun(t, "docker", append([]string{"exec", node}, command...)...)
}

// RestartNode stops a node's container and starts it again, as a power cut would, then waits until its kubelet has
// the pods running and gives the node its part of the WAN back (a restarted node sends unshaped).
func (b *Bed) RestartNode(t testing.TB, node string) {
	t.Helper()
	b.Docker(t, "kill", node)
	b.Docker(t, "start", node)
	Wait(
		t,
		"hack/bed/up finds nothing amiss after the restart of "+node,
		5*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			output, err := exec.CommandContext(ctx, filepath.Join(b.Repo, "hack/bed/up")).CombinedOutput()
			return err == nil, lastLine(string(output)), nil
		},
	)
}

// AdminKubeconfig is the kubeconfig of the site's administrator that works from the pods of every site.
func (s *Site) AdminKubeconfig(t testing.TB) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(s.bed.Repo, "hack/bed/kubeconfig"), s.Name)
	kubeconfig, err := command.Output()
	if err != nil {
		t.Fatalf("hack/bed/kubeconfig %s: %v", s.Name, err)
	}
	return kubeconfig
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func (b *Bed) mustRun(t testing.TB, name string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, name, arguments...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

func cacheFolder(t testing.TB) string {
	t.Helper()
	if folder := os.Getenv("GEOSQL_BED_CACHE"); folder != "" {
		return folder
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatalf("home folder: %v", err)
	}
	return filepath.Join(home, ".cache", "geosql-bed")
}

// readSites reads the table in hack/bed/sites.env: seven columns between the quotes of BED_SITES.
func (b *Bed) readSites(t testing.TB) {
	t.Helper()
	name := filepath.Join(b.Repo, "hack/bed/sites.env")
	file, err := os.Open(name)
	if err != nil {
		t.Fatalf("table of sites: %v", err)
	}
	defer file.Close()
	inside := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, `BED_SITES="`):
			inside = true
		case strings.HasPrefix(line, `"`):
			inside = false
		case inside:
			columns := strings.Fields(line)
			if len(columns) != 7 {
				t.Fatalf("%s: %q has %d columns, not 7", name, line, len(columns))
			}
			site := &Site{
				Name:          columns[0],
				PodSubnet:     columns[1],
				ServiceSubnet: columns[2],
				Role:          columns[4],
				Region:        columns[5],
				Address:       columns[6],
			}
			site.Nodes = nodeNames(t, site.Name, columns[3])
			b.Sites = append(b.Sites, site)
		}
	}
	if len(b.Sites) == 0 {
		t.Fatalf("%s names no sites", name)
	}
}

// nodeNames follows kind: NAME-control-plane, NAME-worker, NAME-worker2 and so on.
func nodeNames(t testing.TB, site, workers string) []string {
	t.Helper()
	var count int
	if _, err := fmt.Sscanf(workers, "%d", &count); err != nil {
		t.Fatalf("workers of %s: %q is no number", site, workers)
	}
	names := []string{site + "-control-plane"}
	for i := 1; i <= count; i++ {
		name := site + "-worker"
		if i > 1 {
			name = fmt.Sprintf("%s%d", name, i)
		}
		names = append(names, name)
	}
	return names
}
