// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// Confirmed wants a person to type a name; else nothing may be changed, also when the command is interrupted meanwhile.
func Confirmed(ctx context.Context, cmd *cobra.Command, name string) error {
	typed := make(chan string, 1)
	go func() {
		// Nothing ends this but a line or the end of the input; the command does not wait for it.
		line, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
		typed <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return errors.New("interrupted, nothing was changed")
	case line := <-typed:
		switch line {
		case name:
			return nil
		case "":
			return errors.New("not confirmed, nothing was changed")
		}
		return fmt.Errorf("not confirmed, nothing was changed: %q is not %s", line, name)
	}
}

// Unsure adds to the error of a write what it leaves open, and where to look. A silence is no refusal, and neither is a
// proxy's word that the hub hung up: the object may be there, and the operator or the agents act on it.
func Unsure(err error, look string) error {
	if Silent(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err) ||
		apierrors.IsServiceUnavailable(err) {
		return fmt.Errorf("%w; whether it was written is not known: look before you ask again: %s", err, look)
	}
	return err
}

// Silent tells that an API server was not reached.
func Silent(err error) bool {
	var unreached *url.Error
	return errors.As(err, &unreached) || errors.Is(err, context.DeadlineExceeded)
}

// Look reads an object that is waited for. A cluster that hangs is given up in time to say so.
func Look(ctx context.Context, cluster client.Reader, object client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, ReadTimeout)
	defer cancel()
	return cluster.Get(ctx, client.ObjectKeyFromObject(object), object)
}

// Overdue says why a command does not wait any longer, whose context is over.
func Overdue(ctx context.Context, patience time.Duration) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("within %s", patience)
	}
	return "before this command was interrupted"
}

// ServerName is the SQLServer that is meant, whether its name or its instance's is given.
func ServerName(text string) v1alpha1.ServerName {
	return v1alpha1.ServerName(strings.TrimSuffix(strings.ToLower(text), "-0"))
}

// Moment is a time as text, in UTC.
func Moment(t *metav1.Time) string {
	if t == nil {
		return "not known"
	}
	return t.UTC().Format(time.RFC3339)
}
