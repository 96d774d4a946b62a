// SPDX-License-Identifier: Apache-2.0

package check

import (
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// enforcing are DaemonSets that enforce NetworkPolicies, of networks or beside one; lax of those that do not.
var (
	enforcing = []string{"calico-node", "canal", "cilium", "anetd", "antrea-agent", "kube-router", "weave-net",
		"ovnkube-node", "azure-npm", "kube-network-policies"}
	lax = []string{"kube-flannel-ds", "kube-flannel"}
)

// enforce is what to change where they are not.
const enforce = "see that the network enforces NetworkPolicies; without them pods of other namespaces reach the " +
	"ports of servers, which ask for certificates and passwords"

// judgePolicies guesses by the network's DaemonSet whether NetworkPolicies are enforced. Whether the nodes' kernels
// have what it needs, such as nft_queue, no API server tells: a probe tries it.
func (c cluster) judgePolicies(f *findings) {
	if c.daemons.err != nil {
		f.unknown("network-policies", c.daemons.err)
		return
	}
	first := func(names ...string) *appsv1.DaemonSet {
		at := slices.IndexFunc(c.daemons.is, func(d appsv1.DaemonSet) bool { return slices.Contains(names, d.Name) })
		if at < 0 {
			return nil
		}
		return &c.daemons.is[at]
	}
	kindnet := first("kindnet")
	if yes := first(enforcing...); yes != nil {
		f.ok("network-policies", "%s enforces them", yes.Name)
		return
	}
	if no := first(lax...); no != nil {
		f.warn("network-policies", enforce, "%s does not enforce them", no.Name)
		return
	}
	if kindnet == nil {
		f.add(Unknown, "network-policies", enforce, "no DaemonSet tells which network the cluster has")
		return
	}
	switch version, from := kindnetVersion(kindnet); {
	case version == "":
		f.warn("network-policies", enforce, "kindnet: whether it enforces them its version would tell, which its image "+
			"does not name; that of kind 0.24 and later does")
	case from != "":
		f.warn("network-policies", enforce, "kindnet %s does not enforce them; from %s on it does", version, from)
	default:
		f.ok("network-policies", "kindnet %s enforces them", version)
	}
}

// kindnet's first images that enforce NetworkPolicies: that of kind 0.24 (github.com/kubernetes-sigs/kind/issues/842),
// and its author's own (github.com/kubernetes/minikube/issues/19871).
const firstOfKind, firstOfAuthor = "v20240813", "v1.3.0"

// datedTag is that of the images of kind: a day, and a commit.
var datedTag = regexp.MustCompile(`^v20[0-9]{6}-`)

// kindnetVersion is the version that the image of a DaemonSet names, empty where it names none, with the first one that
// enforces NetworkPolicies where this one does not.
func kindnetVersion(d *appsv1.DaemonSet) (version, from string) {
	for _, container := range d.Spec.Template.Spec.Containers {
		image, _, _ := strings.Cut(container.Image, "@")
		name, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
		if name != "kindnetd" {
			continue
		}
		if datedTag.MatchString(tag) {
			if tag[:len(firstOfKind)] < firstOfKind {
				from = firstOfKind
			}
			return tag, from
		}
		if is, err := utilversion.ParseSemantic(tag); err == nil {
			if is.LessThan(utilversion.MustParseSemantic(firstOfAuthor)) {
				from = firstOfAuthor
			}
			return tag, from
		}
	}
	return "", ""
}
