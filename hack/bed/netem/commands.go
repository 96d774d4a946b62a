// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"geosql.dev/operator/hack/bed/netem/control"
	"geosql.dev/operator/hack/bed/netem/emulator"
	"geosql.dev/operator/hack/bed/netem/shape"
)

const about = `Netem shapes what leaves one network device: delay, jitter, loss, rate and
more, by destination. It works in user space and needs no sch_netem: Linux 6.6
or later with tun and BPF, and root in the device's network namespace.

The emulator is a process of its own per device. It starts with the first set
or apply, survives its caller, and ends when its device goes or at "stop"; then
traffic passes unshaped.`

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "netem",
		Short:         "Shape what leaves a network device",
		Long:          about,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(runCommand(), setCommand(), applyCommand(), clearCommand(), showCommand(), stopCommand())
	return root
}

func deviceFlag(c *cobra.Command) *string {
	return c.Flags().String("dev", "eth0", "the device to shape")
}

func runCommand() *cobra.Command {
	c := &cobra.Command{Use: "run", Short: "Start the emulator; no error if it runs", Args: cobra.NoArgs}
	device := deviceFlag(c)
	foreground := c.Flags().Bool("foreground", false, "stay in the foreground and log to standard error")
	announce := c.Flags().Bool("announce", false, "tell file descriptor 3 when the emulator is ready")
	_ = c.Flags().MarkHidden("announce")
	logFile := c.Flags().String("log", "", "file for the messages of the emulator in the background")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *foreground {
			return control.Run(*device, *announce, log.New(os.Stderr, "", log.LstdFlags|log.LUTC))
		}
		return control.Start(c.Context(), *device, *logFile)
	}
	return c
}

func setCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "set --to PREFIX[,PREFIX...] [rule]",
		Short: "Add or change one class of destinations",
		Long: `Add or change one class of destinations. The rule replaces the class's rule as
a whole; frames under way are delivered as they were accepted, except that
--cut drops them.`,
		Example: "  netem set --to 10.102.0.0/16,172.18.0.5 --delay 75ms --jitter 5ms --loss 1% --rate 1gbit",
		Args:    cobra.NoArgs,
	}
	device := deviceFlag(c)
	to := c.Flags().String("to", "", "destinations: IPv4 prefixes or addresses, separated by commas")
	name := c.Flags().String("name", "", "name of the class (default: its destinations)")
	rule := ruleFlags(c)
	_ = c.MarkFlagRequired("to")
	c.RunE = func(c *cobra.Command, _ []string) error {
		prefixes, err := emulator.ParseDestinations(*to)
		if err != nil {
			return fmt.Errorf("--to: %w", err)
		}
		class := emulator.Class{Name: *name, To: prefixes}
		if class.Name == "" {
			class.Name = emulator.NameOf(prefixes)
		}
		if class.Rule, err = rule(); err != nil {
			return err
		}
		return change(c, *device, control.Request{Operation: control.Set, Classes: []emulator.Class{class}})
	}
	return c
}

// ruleFlags adds the flags of a rule; the function reads them once parsed.
func ruleFlags(c *cobra.Command) func() (shape.Rule, error) {
	flags := c.Flags()
	delay := flags.String("delay", "0", "added to each frame: a number and us, ms or s, such as 75ms")
	jitter := flags.String("jitter", "0", "spread the delay evenly by so much to both sides; at most the delay")
	loss := flags.String("loss", "0", "share of packets lost, such as 0.5%")
	duplicate := flags.String("duplicate", "0", "share of packets sent twice")
	corrupt := flags.String("corrupt", "0", "share of packets with one flipped bit")
	reorder := flags.String("reorder", "0", "share of packets sent at once, before the delayed ones")
	rate := flags.String(
		"rate",
		"0",
		"speed of the link: a number and bit, kbit, mbit or gbit, such as 100mbit; 0 for no limit",
	)
	cut := flags.Bool("cut", false, "drop everything")
	return func() (shape.Rule, error) {
		rule := shape.Rule{Cut: *cut}
		var errs []error
		for _, field := range []struct {
			flag  string
			parse func() error
		}{
			{"delay", func() (err error) { rule.Delay, err = shape.ParseDelay(*delay); return }},
			{"jitter", func() (err error) { rule.Jitter, err = shape.ParseDelay(*jitter); return }},
			{"loss", func() (err error) { rule.Loss, err = shape.ParsePercent(*loss); return }},
			{"duplicate", func() (err error) { rule.Duplicate, err = shape.ParsePercent(*duplicate); return }},
			{"corrupt", func() (err error) { rule.Corrupt, err = shape.ParsePercent(*corrupt); return }},
			{"reorder", func() (err error) { rule.Reorder, err = shape.ParsePercent(*reorder); return }},
			{"rate", func() (err error) { rule.Rate, err = shape.ParseRate(*rate); return }},
		} {
			if err := field.parse(); err != nil {
				errs = append(errs, fmt.Errorf("--%s: %w", field.flag, err))
			}
		}
		if len(errs) == 0 {
			errs = append(errs, rule.Validate(), rule.JitterWithinDelay())
		}
		return rule, errors.Join(errs...)
	}
}

func applyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "apply",
		Short: "Make the classes on standard input the device's only ones",
		Long: `Make the classes on standard input the device's only ones: a JSON list as
"show -o json" has it under "classes". The status goes to standard output.`,
		Args: cobra.NoArgs,
	}
	device := deviceFlag(c)
	logFile := c.Flags().String("log", "", "file for the messages of an emulator that is started")
	c.RunE = func(c *cobra.Command, _ []string) error {
		var classes []emulator.Class
		if err := json.NewDecoder(c.InOrStdin()).Decode(&classes); err != nil {
			return fmt.Errorf("standard input is no JSON list of classes: %w", err)
		}
		if err := emulator.Validate(classes); err != nil {
			return err
		}
		if err := control.Renew(c.Context(), *device, *logFile); err != nil {
			return err
		}
		status, err := control.Call(c.Context(), *device, control.Request{Operation: control.Apply, Classes: classes})
		if err != nil {
			return err
		}
		return json.NewEncoder(c.OutOrStdout()).Encode(status)
	}
	return c
}

func change(c *cobra.Command, device string, request control.Request) error {
	if err := control.Start(c.Context(), device, ""); err != nil {
		return err
	}
	_, err := control.Call(c.Context(), device, request)
	return err
}

func clearCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "clear [--to PREFIX[,PREFIX...] | --name NAME]",
		Short: "Remove one class, or all of them",
		Long:  "Remove one class, or all of them. Frames under way are still delivered as they were accepted.",
		Args:  cobra.NoArgs,
	}
	device := deviceFlag(c)
	to := c.Flags().String("to", "", "the destinations the class was set with")
	name := c.Flags().String("name", "", "the name the class was set with")
	c.MarkFlagsMutuallyExclusive("to", "name")
	c.RunE = func(c *cobra.Command, _ []string) error {
		request := control.Request{Operation: control.Clear}
		if *name != "" {
			request.Names = []string{*name}
		}
		if *to != "" {
			prefixes, err := emulator.ParseDestinations(*to)
			if err != nil {
				return fmt.Errorf("--to: %w", err)
			}
			request.Names = []string{emulator.NameOf(prefixes)}
		}
		_, err := control.Call(c.Context(), *device, request)
		if errors.Is(err, control.ErrNotRunning) {
			return nil
		}
		return err
	}
	return c
}

func stopCommand() *cobra.Command {
	c := &cobra.Command{Use: "stop", Short: "End the emulator; no error if there is none", Args: cobra.NoArgs}
	device := deviceFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error { return control.StopAndWait(c.Context(), *device) }
	return c
}

func showCommand() *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show the classes in force and their counters", Args: cobra.NoArgs}
	device := deviceFlag(c)
	output := c.Flags().StringP("output", "o", "table", "form of the output: table or json")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *output != "table" && *output != "json" {
			return fmt.Errorf("--output %q is not supported: use table or json", *output)
		}
		status, err := control.Call(c.Context(), *device, control.Request{Operation: control.Show})
		if err != nil {
			return err
		}
		if *output == "json" {
			return json.NewEncoder(c.OutOrStdout()).Encode(status)
		}
		return printStatus(c.OutOrStdout(), status)
	}
	return c
}

func printStatus(out io.Writer, status control.Status) error {
	fmt.Fprintf(
		out,
		"device %s, process %d, scheduling %s, up %s\n",
		status.Device,
		status.PID,
		status.Scheduling,
		time.Since(status.Started).Round(time.Second),
	)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CLASS\tTO\tRULE\tSENT\tDROPPED\tREFUSED\tQUEUED\tLATE P99\tWORST")
	for _, class := range status.Classes {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", class.Name, emulator.NameOf(class.To), class.Rule,
			class.Sent, class.Dropped, class.Refused, class.Queued, class.LateP99, class.LateWorst)
	}
	return table.Flush()
}
