// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/terminal"
)

// kubeconfig writes a file with a context for each name, the first one the current; the clusters are named alike, and
// nobody answers there.
func kubeconfig(t *testing.T, contexts ...string) string {
	t.Helper()
	g := NewWithT(t)
	all := clientcmdapi.NewConfig()
	for _, name := range contexts {
		all.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + name + ".invalid"}
		all.Contexts[name] = &clientcmdapi.Context{Cluster: name}
	}
	all.CurrentContext = contexts[0]
	data, err := clientcmd.Write(*all)
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, data, 0o600)).To(Succeed())
	return file
}

// child is a command of the family with its flags read.
func child(t *testing.T, name string, arguments []string) *cobra.Command {
	t.Helper()
	g := NewWithT(t)
	command, _, err := NewCommand().Find([]string{name})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(command.ParseFlags(arguments)).To(Succeed())
	return command
}

// Which clusters are meant, from one kubeconfig or from two. Nobody's current context is taken for the member.
func TestWhichClustersAreMeant(t *testing.T) {
	one := kubeconfig(t, "hub", "quincy")
	hub, quincy := kubeconfig(t, "hub", "other"), kubeconfig(t, "quincy", "dublin")
	two := "--kubeconfig " + quincy + " --hub-kubeconfig " + hub
	t.Setenv("KUBECONFIG", one)
	for what, c := range map[string]struct {
		said, command string
		hub, member   string
		refused       bool
	}{
		"contexts of the default":    {said: "--context quincy", hub: "hub", member: "quincy"},
		"contexts of one file":       {said: "--kubeconfig " + one + " --context quincy", hub: "hub", member: "quincy"},
		"two files":                  {said: two, hub: "hub", member: "quincy"},
		"two files, contexts":        {said: two + " --context dublin --hub-context other", hub: "other", member: "dublin"},
		"the default and the hub's":  {said: "--context quincy --hub-kubeconfig " + hub, hub: "hub", member: "quincy"},
		"the hub":                    {said: "--hub", hub: "hub"},
		"the hub by its file":        {said: "--hub --hub-kubeconfig " + hub, hub: "hub"},
		"nothing":                    {refused: true},
		"a kubeconfig of which?":     {said: "--kubeconfig " + quincy, refused: true},
		"the hub's alone":            {said: "--hub-kubeconfig " + hub, refused: true},
		"the hub, and a member":      {said: "--hub --context quincy", refused: true},
		"the hub, and a file":        {said: "--hub " + two, refused: true},
		"leaving by the hub":         {command: "leave", hub: "hub"},
		"leaving by the hub's file":  {command: "leave", said: "--hub-kubeconfig " + hub, hub: "hub"},
		"leaving with rights":        {command: "leave", said: "--context quincy", hub: "hub", member: "quincy"},
		"leaving with two files":     {command: "leave", said: two, hub: "hub", member: "quincy"},
		"leaving by one file is hub": {command: "leave", said: "--kubeconfig " + hub, hub: "hub"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			name := c.command
			if name == "" {
				name = "join"
			}
			r, err := requested(t, name, strings.Fields(c.said))
			if c.refused {
				g.Expect(err).To(MatchError(ContainSubstring("say which cluster the site is")))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Hub.Config.Host).To(Equal("https://" + c.hub + ".invalid"))
			if c.member == "" {
				g.Expect(r.Member).To(BeNil())
				return
			}
			g.Expect(r.Member).NotTo(BeNil())
			g.Expect(r.Member.Config.Host).To(Equal("https://" + c.member + ".invalid"))
		})
	}
}

// requested is what a command would ask for with these arguments.
func requested(t *testing.T, name string, arguments []string) (join.Request, error) {
	t.Helper()
	f := &siteFlags{}
	command := &cobra.Command{Use: name}
	f.common(command)
	command.Flags().BoolVar(&f.hub, "hub", false, "")
	NewWithT(t).Expect(command.ParseFlags(arguments)).To(Succeed())
	return f.request(command, "quincy")
}

// What -o yaml cannot show is refused before a cluster is asked.
func TestWhatCannotBePrintedIsRefused(t *testing.T) {
	file := kubeconfig(t, "hub", "quincy")
	for said, refused := range map[string]string{
		"-o yaml":                       "say --dry-run, too",
		"--dry-run -o json":             "use yaml",
		"--of hub":                      "say --dry-run -o yaml, too",
		"--dry-run -o yaml --of quincy": "use hub or site",
		"--dry-run -o yaml --take-over": "run it without -o",
	} {
		t.Run(said, func(t *testing.T) {
			arguments := append([]string{"join", "quincy", "--kubeconfig", file, "--context", "quincy"}, strings.Fields(said)...)
			_, err := terminal.Run(t, NewCommand(), "", arguments...)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(refused)))
		})
	}
	NewWithT(t).Expect(child(t, "leave", nil).Flags().Lookup("output")).To(BeNil(), "leaving declares nothing")
}

// Each object tells in which cluster it belongs, and those of one can be had alone.
func TestObjectsAreShownByTheirCluster(t *testing.T) {
	object := func(kind, namespace string, hub bool) join.Manifest {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("v1")
		u.SetKind(kind)
		u.SetName("x")
		u.SetNamespace(namespace)
		return join.Manifest{Hub: hub, Object: u}
	}
	for of, kinds := range map[string][]string{"": {"A", "B"}, ofSite: {"A"}, ofHub: {"B"}} {
		t.Run("of "+of, func(t *testing.T) {
			g := NewWithT(t)
			m, out := &manifests{site: "quincy", of: of}, &bytes.Buffer{}
			g.Expect(m.add(object("A", "web", false))).To(Succeed())
			g.Expect(m.add(object("B", "", true))).To(Succeed())
			g.Expect(m.write(out)).To(Succeed())
			var found []string
			for _, document := range strings.Split(out.String(), "---\n")[1:] {
				var u unstructured.Unstructured
				g.Expect(yaml.Unmarshal([]byte(document), &u.Object)).To(Succeed())
				found = append(found, u.GetKind())
				where := map[string]string{"A": "# at site quincy\n", "B": "# in the hub\n"}[u.GetKind()]
				g.Expect(document).To(HavePrefix(where))
			}
			g.Expect(found).To(Equal(kinds))
		})
	}
	g := NewWithT(t)
	alone := &manifests{site: "hub", of: ofSite, alone: true}
	g.Expect(alone.add(object("A", "web", true))).To(Succeed())
	g.Expect(alone.add(object("B", "app", true))).To(Succeed())
	g.Expect(alone.namespaces).To(Equal([]string{"app", "web"}))
	g.Expect(strings.Count(alone.out.String(), "---\n")).To(Equal(2), "the hub is the site")
}
