// SPDX-License-Identifier: Apache-2.0

// Package login has the commands for logins of applications.
package login

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
)

type flags struct {
	cli.HubFlags
	dryRun, yes bool
}

// NewCommand makes `kubectl geosql login`.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Have a login's password made anew",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRotateCommand())
	return cmd
}

func newRotateCommand() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "rotate LOGIN",
		Short: "Make another password of a login whose password the operator makes",
		Long: `Asks for another password of a Login that names no Secret for it. The operator makes one, keeps it in the Secret
<name>-password, gives it to the login on every server, and writes it into the connection Secret in the hub and at every
site. A login has one password at a time: sessions that are open go on, and who connects with the old one is refused
(18456) from then on. Where an application may not be refused, declare a second Login with the same users, let the
application change over, and delete the first.

A Login that names a Secret gets its new password from there: change the Secret.`,
		Example: `  kubectl geosql login rotate webapp -n web`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			return rotate(cmd, hub, client.ObjectKey{Namespace: namespace, Name: args[0]}, f)
		},
	}
	f.Add(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be done, and change nothing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask for confirmation")
	return cmd
}

func rotate(cmd *cobra.Command, hub client.Client, key client.ObjectKey, f *flags) error {
	ctx := cmd.Context()
	l, err := read(ctx, hub, key)
	if err != nil {
		return err
	}
	say(cmd, "Another password of login %s is made. Who connects with the old one is refused from then on; the new one "+
		"is in the Secret %s of each site.", l.Name, l.Status.ConnectionSecret)
	if f.dryRun {
		say(cmd, "Nothing was changed.")
		return nil
	}
	if !f.yes {
		say(cmd, "Type the login's name to go on (--yes leaves this question out):")
		if err := cli.Confirmed(ctx, cmd, l.Name); err != nil {
			return err
		}
	}
	if err := ask(ctx, hub, l); err != nil {
		return err
	}
	say(cmd, "login.geosql.dev/%s: another password is asked for", l.Name)
	say(cmd, "see how far it is: kubectl get login -n %s %s", l.Namespace, l.Name)
	return nil
}

// read finds a Login whose password the operator makes.
func read(ctx context.Context, hub client.Client, key client.ObjectKey) (*v1alpha1.Login, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	l := &v1alpha1.Login{}
	if err := hub.Get(ctx, key, l); err != nil {
		return nil, fmt.Errorf("read Login %s in the hub: %w", key, err)
	}
	if l.DeletionTimestamp != nil {
		return nil, errors.New("refused, nothing was changed: the Login is being deleted")
	}
	if ref := l.Spec.PasswordSecretRef; ref != nil {
		return nil, fmt.Errorf("refused, nothing was changed: the password of login %s comes from the Secret %s, and one "+
			"that is changed there is taken over on every server", l.Name, ref.Name)
	}
	return l, nil
}

// ask writes the request, with the object's UID: it asks for nothing of one that is declared anew.
func ask(ctx context.Context, hub client.Client, l *v1alpha1.Login) error {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	before := client.MergeFrom(l.DeepCopy())
	if l.Annotations == nil {
		l.Annotations = map[string]string{}
	}
	l.Annotations[v1alpha1.RotateAnnotation] = fmt.Sprintf("%s/%s", l.UID,
		time.Now().UTC().Format("20060102T150405.000000000Z"))
	if err := hub.Patch(ctx, l, before); err != nil {
		return cli.Unsure(fmt.Errorf("annotate Login %s in the hub: %w", l.Name, err),
			fmt.Sprintf("kubectl get login -n %s %s -o yaml", l.Namespace, l.Name))
	}
	return nil
}

func say(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...)
}
