// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/support/apiserver"
)

// sound is a server of which nobody is warned once its site is there.
var sound = with(server, "NAME", "a", "image: engine", "image: engine:1") + "  resources: {limits: {memory: 8Gi}}\n"

// warned are manifests that are let through, after setup has been applied, with each of the warnings.
var warned = []struct {
	name, setup, manifest string
	says                  [][]string
}{
	{"a sound server", with(site, "NAME", "tukwila"), sound, nil},
	{"a server at a site that is not there", with(site, "NAME", "quincy"), sound,
		[][]string{{"spec.site: there is no Site tukwila yet", "there are: quincy"}}},
	{"a server in a namespace that its site does not let in", with(site, "NAME", "tukwila", "[web]", "[shop]"), sound,
		[][]string{{"spec.site: Site tukwila does not let in namespace web", "--add-namespaces web", "lets in: shop"}}},
	{"a server without a limit, of any build", with(site, "NAME", "tukwila"), with(server, "NAME", "a"),
		[][]string{{"spec.resources.limits.memory is not given", "such as 8Gi"},
			{"spec.image: an image without a tag", "by its tag or by its digest"}}},
	{"servers that all lack a limit", with(site, "NAME", "tukwila"),
		with(topology, "NAME", "t", "image: engine", "image: engine:2022-latest"),
		[][]string{{"spec.serverDefaults.resources.limits.memory"}, {"spec.serverDefaults.image: the tag 2022-latest"}}},
	{"a group before its servers", with(site, "NAME", "tukwila"), with(group, "NAME", "g"),
		[][]string{{"spec.replicas[0].server: there is no SQLServer a yet", "there are: none"},
			{"spec.replicas[1].server"}, {"spec.replicas[2].server"}}},
	{"a publication before all", "", with(publication, "NAME", "p"),
		[][]string{{"spec.publisher.availabilityGroup"}, {"spec.distributor: there is no Distributor main"}}},
	{"a subscription before all", "", with(subscription, "NAME", "s"),
		[][]string{{"spec.publication"}, {"spec.subscriber.server"}}},
	{"a distributor before its server", "", with(distributor, "NAME", "d", "SERVER", "d"), [][]string{{"spec.server"}}},
	{"a login before its server", "", with(login, "NAME", "l"), [][]string{{"spec.target.server"}}},
	{"a policy before its target and store", "", with(backupPolicy, "NAME", "p") +
		"  stores: [s3]\n  retention: {fulls: 2}\n", [][]string{{"spec.target.availabilityGroup"},
		{"spec.stores[0]: there is no BackupStore s3"}}},
	{"a topology whose backups stay for ever", with(site, "NAME", "tukwila"),
		with(backedUp(entry("all", "")), ", retention: {fulls: 2}", "", "image: engine", "image: engine:1\n    "+
			"resources: {limits: {memory: 8Gi}}"), [][]string{{"spec.backupPolicies[0].retention: without it"}}},
	{"a restore before its group", "", with(restore, "NAME", "r", "server: x", "availabilityGroup: content"),
		[][]string{{"spec.target.availabilityGroup: there is no AvailabilityGroup content yet"}}},
	{"a restore of what a group is to have", with(group, "NAME", "content"),
		with(restore, "NAME", "r", "server: x", "availabilityGroup: content"), nil},
	{"a restore in place of what a group has", with(group, "NAME", "content") + hasContent, with(restore, "NAME", "r",
		"server: x", "availabilityGroup: content, database: Content", "}}", "}, replace: Content}"), nil},
	{"a restore of what a group does not declare", with(group, "NAME", "content") + hasContent,
		with(restore, "NAME", "r", "server: x", "availabilityGroup: content, database: Orders"),
		[][]string{{"AvailabilityGroup content does not declare database Orders"}}},
	{"a restore of what a server has made empty", with(server, "NAME", "s") + "  databases: [{name: content}]\n",
		with(restore, "NAME", "r", "server: x", "server: s"),
		[][]string{{"SQLServer s declares database content", "spec.databases[].from.restore"}}},
	{"a restore of what a server has from a source", with(server, "NAME", "s") +
		"  databases: [{name: content, from: {restore: {" + byPath + "}}}]\n",
		with(restore, "NAME", "r", "server: x", "server: s"), nil},
	{"a failover before its group", "", with(failover, "NAME", "f"), [][]string{{"spec.group"}}},
	{"a drill before its target", "", drill, [][]string{{"spec.target.availabilityGroup"}}},
	{"a drill of production", with(allowed, "{geosql.dev/drills: allowed}", "{geosql.dev/drills: allowed, env: prod}"),
		drill, [][]string{{"spec.target: by its label env=prod it looks like production"}}},
}

// sayings keeps what an API server warns of.
type sayings struct {
	sync.Mutex
	all []string
}

func (s *sayings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	s.Lock()
	defer s.Unlock()
	s.all = append(s.all, text)
}

// take returns what was said, and forgets it.
func (s *sayings) take() []string {
	s.Lock()
	defer s.Unlock()
	all := s.all
	s.all = nil
	return all
}

// warnedOf applies manifests that are let through with a warning, and one label.
func warnedOf(t *testing.T, hub *apiserver.Server, cached client.Reader) {
	heard := &sayings{}
	cfg := rest.CopyConfig(hub.Config)
	cfg.WarningHandlerWithContext = heard
	c, err := client.New(cfg, client.Options{Scheme: apiserver.Scheme})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, w := range warned {
		t.Run(w.name, func(t *testing.T) {
			g := NewWithT(t)
			defer clean(t, hub, cached)
			setUp(t, hub, cached, w.setup)
			g.Expect(apply(t.Context(), c, parseOne(t, w.manifest))).To(Succeed())
			all := heard.take()
			g.Expect(all).To(HaveLen(len(w.says)), strings.Join(all, "\n"))
			for i, fragments := range w.says {
				for _, fragment := range fragments {
					g.Expect(all[i]).To(ContainSubstring(fragment))
				}
			}
		})
	}
	t.Run("a label that lets drills break production", func(t *testing.T) {
		g := NewWithT(t)
		defer clean(t, hub, cached)
		live := with(three, "name: g", "name: prod-content")
		g.Expect(apply(t.Context(), c, parseOne(t, live))).To(Succeed())
		heard.take()
		labelled := with(live, "namespace: web}", "namespace: web, labels: {geosql.dev/drills: allowed}}")
		g.Expect(apply(t.Context(), c, parseOne(t, labelled))).To(Succeed())
		all := heard.take()
		g.Expect(slices.ContainsFunc(all, func(s string) bool {
			return strings.Contains(s, "metadata.labels[geosql.dev/drills]: drills may break this AvailabilityGroup")
		})).To(BeTrue(), strings.Join(all, "\n"))
	})
}
