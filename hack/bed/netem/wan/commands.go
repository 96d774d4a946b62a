// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"geosql.dev/operator/hack/bed/netem/control"
	"geosql.dev/operator/hack/bed/netem/shape"
)

const about = `Shape the network between the bed's sites: delay, jitter, loss and rate of each
ordered pair, on the kind nodes of the site that sends, after service NAT. A
link covers the other site's pods and its nodes, API server included.

What is asked is kept in ${GEOSQL_BED_CACHE:-$HOME/.cache/geosql-bed}/wan.json;
"reapply" puts it in force again after nodes were restarted.

A node's rate is its own: a site of three nodes can send three times as much.

Where the node's kernel has sch_netem it is used - this is UNVERIFIED, no such
kernel was at hand - else an emulator in user space. GEOSQL_BED_NETEM=kernel or
user-space makes the choice.`

// patience is how long a command waits for another to finish, and work how
// long it may take itself.
const (
	patience = 30 * time.Second
	work     = 60 * time.Second
)

// bed is what the commands work on.
type bed struct {
	sites []Site
	store Store
	force Force
	out   io.Writer
}

// Command returns the wan command.
func Command() *cobra.Command {
	root := &cobra.Command{
		Use:           "hack/bed/wan",
		Short:         "Shape the network between the bed's sites",
		Long:          about,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(
		setCommand(),
		cutCommand(),
		healCommand(),
		resetCommand(),
		reapplyCommand(),
		clearCommand(),
		showCommand(),
	)
	return root
}

// serve opens the bed around a command's work.
func serve(do func(ctx context.Context, b bed, arguments []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, arguments []string) error {
		ctx, cancel := context.WithTimeout(c.Context(), patience+work)
		defer cancel()
		path := os.Getenv("GEOSQL_BED_SITES")
		if path == "" {
			return errors.New("GEOSQL_BED_SITES must name the table of sites: run hack/bed/wan, which sets it")
		}
		b := bed{out: c.OutOrStdout()}
		var err error
		if b.sites, err = ReadSites(path); err != nil {
			return err
		}
		if b.force, err = localForce(); err != nil {
			return err
		}
		directory, err := cacheDirectory()
		if err != nil {
			return err
		}
		var release func()
		if b.store, release, err = OpenStore(directory, patience); err != nil {
			return err
		}
		defer release()
		return do(ctx, b, arguments)
	}
}

func localForce() (Force, error) {
	choice, err := ParseEmulator(os.Getenv("GEOSQL_BED_NETEM"))
	if err != nil {
		return Force{}, fmt.Errorf("GEOSQL_BED_NETEM: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return Force{}, fmt.Errorf("find own program: %w", err)
	}
	hash, err := control.Build()
	if err != nil {
		return Force{}, err
	}
	return Force{Run: Docker, Program: program, ProgramHash: hash, Choice: choice}, nil
}

func cacheDirectory() (string, error) {
	if directory := os.Getenv("GEOSQL_BED_CACHE"); directory != "" {
		return directory, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the bed's cache: %w: set GEOSQL_BED_CACHE", err)
	}
	return filepath.Join(home, ".cache", "geosql-bed"), nil
}

// pair checks two site names.
func (b bed) pair(from, to string) error {
	for _, name := range []string{from, to} {
		if !slices.ContainsFunc(b.sites, func(s Site) bool { return s.Name == name }) {
			return fmt.Errorf("there is no site %q: the sites are %s", name, siteNames(b.sites))
		}
	}
	if from == to {
		return fmt.Errorf("a link needs two different sites, not %s twice", from)
	}
	return nil
}

// change keeps what is asked and puts it in force.
func (b bed) change(ctx context.Context, edit func(*Asked) error) error {
	asked, err := b.store.Read()
	if err != nil {
		return err
	}
	if err := edit(&asked); err != nil {
		return err
	}
	if err := b.store.Write(asked); err != nil {
		return err
	}
	return b.enforce(ctx, asked)
}

func (b bed) enforce(ctx context.Context, asked Asked) error {
	nodes, err := RunningNodes(ctx, Docker, b.sites)
	if err != nil {
		return fmt.Errorf("%w; what is asked is kept: run wan reapply when the nodes are up", err)
	}
	statuses := b.force.Apply(ctx, b.sites, nodes, Plan(b.sites, nodes, asked))
	if err := Errors(statuses); err != nil {
		return fmt.Errorf("%w; what is asked is kept: run wan reapply", err)
	}
	var problems []string
	for _, link := range Compare(b.sites, asked, statuses) {
		if link.Problem != "" {
			problems = append(problems, fmt.Sprintf("%s to %s: %s", link.From, link.To, link.Problem))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf(
			"not all links are as asked (what is asked is kept, wan reapply tries again):\n  %s",
			strings.Join(problems, "\n  "),
		)
	}
	return nil
}

// edges lists the directions that a command changes: from the first site to each of the others and, unless it is
// one-way, back.
func edges(sites []string, oneWay bool) [][2]string {
	var list [][2]string
	for _, to := range sites[1:] {
		list = append(list, [2]string{sites[0], to})
		if !oneWay {
			list = append(list, [2]string{to, sites[0]})
		}
	}
	return list
}

func setCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "set SITE SITE",
		Short: "Change the link between two sites",
		Long: `Change the link between two sites, both directions or with --one-way only from
the first to the second. What is not given stays as it is. Jitter, loss and
rate count for each direction. A cut link stays cut.`,
		Example: `  hack/bed/wan set tukwila dublin --rtt 150ms --jitter 5ms --loss 1% --rate 1gbit
  hack/bed/wan set tukwila dublin --one-way --delay 120ms`,
		Args: cobra.ExactArgs(2),
	}
	flags := c.Flags()
	roundTrip := flags.String("rtt", "", "round-trip time, half of it each way: a number and us, ms or s, such as 150ms")
	delay := flags.String("delay", "", "with --one-way: the delay from the first site to the second")
	jitter := flags.String("jitter", "", "spread each delay evenly by so much to both sides; at most the delay")
	loss := flags.String("loss", "", "share of packets lost, such as 0.5%")
	rate := flags.String("rate", "", "speed: a number and bit, kbit, mbit or gbit, such as 1gbit; 0 for no limit")
	oneWay := flags.Bool("one-way", false, "only from the first site to the second")
	c.RunE = serve(func(ctx context.Context, b bed, sites []string) error {
		if err := b.pair(sites[0], sites[1]); err != nil {
			return err
		}
		if *oneWay && *roundTrip != "" {
			return errors.New("--rtt is about both directions: with --one-way give --delay")
		}
		if !*oneWay && *delay != "" {
			return errors.New("--delay is about one direction: give --rtt, or --one-way too")
		}
		edit, err := parseEdit(
			map[string]string{"rtt": *roundTrip, "delay": *delay, "jitter": *jitter, "loss": *loss, "rate": *rate},
		)
		if err != nil {
			return err
		}
		return b.change(ctx, func(asked *Asked) error {
			for _, edge := range edges(sites, *oneWay) {
				link := asked.Link(edge[0], edge[1])
				edit(&link.Rule)
				if err := errors.Join(link.Rule.Validate(), link.Rule.JitterWithinDelay()); err != nil {
					return fmt.Errorf("%s to %s: %w", link.From, link.To, err)
				}
				asked.Put(link)
			}
			return nil
		})
	})
	return c
}

// parseEdit reads the flags that were given and returns what they do to a rule.
func parseEdit(given map[string]string) (func(*shape.Rule), error) {
	var edits []func(*shape.Rule)
	var errs []error
	note := func(flag string, err error, edit func(*shape.Rule)) {
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
		}
		edits = append(edits, edit)
	}
	if text := given["rtt"]; text != "" {
		value, err := shape.ParseDelay(text)
		note("rtt", err, func(r *shape.Rule) { r.Delay = value / 2 })
	}
	if text := given["delay"]; text != "" {
		value, err := shape.ParseDelay(text)
		note("delay", err, func(r *shape.Rule) { r.Delay = value })
	}
	if text := given["jitter"]; text != "" {
		value, err := shape.ParseDelay(text)
		note("jitter", err, func(r *shape.Rule) { r.Jitter = value })
	}
	if text := given["loss"]; text != "" {
		value, err := shape.ParsePercent(text)
		note("loss", err, func(r *shape.Rule) { r.Loss = value })
	}
	if text := given["rate"]; text != "" {
		value, err := shape.ParseRate(text)
		note("rate", err, func(r *shape.Rule) { r.Rate = value })
	}
	if len(edits) == 0 {
		return nil, errors.New("nothing to change: give --rtt, --jitter, --loss or --rate, or --one-way and --delay")
	}
	return func(rule *shape.Rule) {
		for _, edit := range edits {
			edit(rule)
		}
	}, errors.Join(errs...)
}

func cutCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "cut SITE SITE...",
		Short: "Drop everything between a site and others",
		Long: `Drop everything between the first site and each of the others, at once: pods
and API servers, also what is under way. With --one-way only what the first
sends.`,
		Args: cobra.MinimumNArgs(2),
	}
	oneWay := c.Flags().Bool("one-way", false, "only from the first site to the others")
	c.RunE = serve(func(ctx context.Context, b bed, sites []string) error {
		return b.setCut(ctx, sites, *oneWay, true)
	})
	return c
}

func healCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "heal SITE SITE...",
		Short: "Undo a cut between the first site and each of the others; the links have their shapes again",
		Args:  cobra.MinimumNArgs(2),
	}
	oneWay := c.Flags().Bool("one-way", false, "only from the first site to the others")
	c.RunE = serve(func(ctx context.Context, b bed, sites []string) error {
		return b.setCut(ctx, sites, *oneWay, false)
	})
	return c
}

func (b bed) setCut(ctx context.Context, sites []string, oneWay, cut bool) error {
	for _, to := range sites[1:] {
		if err := b.pair(sites[0], to); err != nil {
			return err
		}
	}
	return b.change(ctx, func(asked *Asked) error {
		for _, edge := range edges(sites, oneWay) {
			link := asked.Link(edge[0], edge[1])
			link.Cut = cut
			asked.Put(link)
		}
		return nil
	})
}

func resetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reset",
		Short: "Put the default matrix in force",
		Long: `Put the default matrix in force and heal all cuts: round trips of 4 ms between
tukwila and quincy, 146 ms between quincy and dublin, 150 ms between tukwila
and dublin, all at 1 Gbit/s.`,
		Args: cobra.NoArgs,
		RunE: serve(func(ctx context.Context, b bed, _ []string) error {
			return b.change(ctx, func(asked *Asked) error {
				*asked = DefaultMatrix(b.sites)
				return nil
			})
		}),
	}
}

func reapplyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reapply",
		Short: "Put what is asked in force again, after nodes were restarted",
		Args:  cobra.NoArgs,
		RunE: serve(func(ctx context.Context, b bed, _ []string) error {
			asked, err := b.store.Read()
			if err != nil {
				return err
			}
			return b.enforce(ctx, asked)
		}),
	}
}

func clearCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clear",
		Short: "Shape nothing any more and end the emulators",
		Args:  cobra.NoArgs,
		RunE: serve(func(ctx context.Context, b bed, _ []string) error {
			return b.change(ctx, func(asked *Asked) error {
				*asked = Asked{}
				return nil
			})
		}),
	}
}

func showCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "show",
		Short: "Show each link: what is asked and what is in force",
		Long: `Show each ordered pair of sites: what is asked, what is in force on the nodes
of the sending site, by which emulator, and frames sent and dropped since the
emulator was started. In JSON delays are nanoseconds and rates bit/s.`,
		Args: cobra.NoArgs,
	}
	output := c.Flags().StringP("output", "o", "table", "form of the output: table or json")
	check := c.Flags().Bool("check", false, "fail if a link is not as asked")
	c.RunE = serve(func(ctx context.Context, b bed, _ []string) error {
		if *output != "table" && *output != "json" {
			return fmt.Errorf("--output %q is not supported: use table or json", *output)
		}
		asked, err := b.store.Read()
		if err != nil {
			return err
		}
		nodes, err := RunningNodes(ctx, Docker, b.sites)
		if err != nil {
			return err
		}
		links := Compare(b.sites, asked, b.force.Show(ctx, b.sites, nodes))
		if *output == "json" {
			err = json.NewEncoder(b.out).Encode(links)
		} else {
			err = PrintTable(b.out, links)
		}
		if err == nil && *check && slices.ContainsFunc(links, func(l LinkStatus) bool { return l.Problem != "" }) {
			err = errors.New("not all links are as asked: run wan reapply")
		}
		return err
	})
	return c
}
