// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/pflag"

	"geosql.dev/operator/internal/sites/join"
)

// MemberFlags say where the hub is and, beside it, a member cluster: two contexts of one kubeconfig, or two
// kubeconfigs.
type MemberFlags struct {
	kubeconfig, context       string
	hubKubeconfig, hubContext string
}

// Add adds --kubeconfig, --context, --hub-kubeconfig and --hub-context to a command.
func (f *MemberFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; KUBECONFIG or ~/.kube/config unless given")
	flags.StringVar(&f.context, "context", "", "context of the member cluster in that kubeconfig, as its administrator")
	flags.StringVar(&f.hubKubeconfig, "hub-kubeconfig", "",
		"kubeconfig file of the hub, where it is another than the member's; then --kubeconfig alone names the member, by "+
			"its current context unless --context is given")
	flags.StringVar(&f.hubContext, "hub-context", "", "context of the hub; the current one unless given")
}

// Said tells that a member cluster was named. A kubeconfig alone names the hub, unless that has one of its own. No
// cluster is a member by default: `site leave` would take rights away there.
func (f *MemberFlags) Said() bool {
	return f.context != "" || f.hubKubeconfig != "" && f.kubeconfig != ""
}

// Kubeconfig is the file that --kubeconfig names; empty unless given.
func (f *MemberFlags) Kubeconfig() string { return f.kubeconfig }

// Open makes clients of the hub and of the member, which is nil unless it was named. Nothing is asked of either.
func (f *MemberFlags) Open() (hub join.Cluster, member *join.Cluster, err error) {
	if hub, err = OpenCluster(cmp.Or(f.hubKubeconfig, f.kubeconfig), f.hubContext); err != nil {
		return hub, nil, fmt.Errorf("the hub: %w", err)
	}
	if !f.Said() {
		return hub, nil, nil
	}
	cluster, err := OpenCluster(f.kubeconfig, f.context)
	if err != nil {
		return hub, nil, fmt.Errorf("the member: %w", err)
	}
	return hub, &cluster, nil
}
