// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// confirmed wants a person to type a name; else nothing may be changed, also when the command is interrupted meanwhile.
func confirmed(ctx context.Context, cmd *cobra.Command, name string) error {
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

// unsure adds to the error of a write what it leaves open. A silence is no refusal, and neither is a proxy's word that the hub hung
// up: the object may be there, and the operator or the agents act on it.
func unsure(err error, look string) error {
	if silent(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) {
		return fmt.Errorf("%w; whether it was written is not known: look before you ask again: %s", err, look)
	}
	return err
}

// look reads an object that is waited for. A cluster that hangs is given up in time to say so.
func look(ctx context.Context, cluster client.Reader, object client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return cluster.Get(ctx, client.ObjectKeyFromObject(object), object)
}

// overdue says why a command does not wait any longer, whose context is over.
func overdue(ctx context.Context, patience time.Duration) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("within %s", patience)
	}
	return "before this command was interrupted"
}
