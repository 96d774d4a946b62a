// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/test/support/terminal"
)

func TestObjectsAreNamedAsKubectlDoes(t *testing.T) {
	g := NewWithT(t)
	for text, kind := range map[string]string{"content": "AvailabilityGroup", "ag/content": "AvailabilityGroup",
		"gag/content": "AvailabilityGroup", "gsql/content": "SQLServer",
		"availabilitygroup/content":             "AvailabilityGroup",
		"availabilitygroups.geosql.dev/content": "AvailabilityGroup", "Topology/content": "Topology",
		"topologies/content": "Topology"} {
		name, err := cli.ObjectName(text, kind)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(name).To(Equal("content"), text)
	}
	_, err := cli.ObjectName("sqlserver/nw1", "AvailabilityGroup")
	g.Expect(err).
		To(MatchError(`"sqlserver/nw1" is no AvailabilityGroup: ` +
			"this command takes the name of one, alone or as availabilitygroup/NAME"))
	_, err = cli.ObjectName("Bad_Name", "Drill")
	g.Expect(err).To(MatchError(ContainSubstring(`"Bad_Name" is no name of a Drill`)))
}

// A family of commands shows its help, and does not take a command that it does not have for one.
func TestAnUnknownCommandIsAnError(t *testing.T) {
	g := NewWithT(t)
	family := func() *cobra.Command {
		command := cli.Family(&cobra.Command{Use: "drill", Short: "Break a target"})
		command.AddCommand(
			&cobra.Command{Use: "run", Run: func(*cobra.Command, []string) {}},
			&cobra.Command{Use: "list", Run: func(*cobra.Command, []string) {}},
		)
		root := &cobra.Command{Use: "kubectl-geosql"}
		root.AddCommand(command)
		return root
	}
	text, err := terminal.Run(t, family(), "", "drill")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(ContainSubstring("Break a target"))
	_, err = terminal.Run(t, family(), "", "drill", "foo")
	g.Expect(err).To(MatchError(And(ContainSubstring("foo"), ContainSubstring("list"), ContainSubstring("run"))))
}
