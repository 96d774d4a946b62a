// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
)

// shorts are the short names of kinds, as kubectl has them or had them.
var shorts = map[string][]string{"AvailabilityGroup": {"gag", "ag"}, "SQLServer": {"gsql"}, "Site": {"gsite"}}

// ObjectName is the name that a person gave for an object of a kind: alone, or as kubectl writes it, KIND/NAME.
func ObjectName(text, kind string) (string, error) {
	name := text
	if before, after, ok := strings.Cut(text, "/"); ok {
		given := strings.TrimSuffix(strings.ToLower(before), ".geosql.dev")
		lower := strings.ToLower(kind)
		plural := strings.TrimSuffix(lower, "y") + "s"
		if strings.HasSuffix(lower, "y") {
			plural = strings.TrimSuffix(lower, "y") + "ies"
		}
		if given != lower && given != plural && !slices.Contains(shorts[kind], given) {
			return "", fmt.Errorf("%q is no %s: this command takes the name of one, alone or as %s/NAME", text, kind, lower)
		}
		name = after
	}
	if why := validation.IsDNS1123Subdomain(name); len(why) > 0 {
		return "", fmt.Errorf("%q is no name of a %s: use lower-case letters, digits, hyphens and dots", name, kind)
	}
	return name, nil
}

// Family makes a command that has others and does nothing itself: without one it shows its help, and one that it does
// not know is an error.
func Family(command *cobra.Command) *cobra.Command {
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var known []string
		for _, c := range cmd.Commands() {
			known = append(known, c.Name())
		}
		return fmt.Errorf("unknown command %q for %q; there are: %s", args[0], cmd.CommandPath(), strings.Join(known, ", "))
	}
	return command
}
