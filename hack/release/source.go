// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// source is the commit that is checked out, and the time of all that is made: the commit's own, or that of
// SOURCE_DATE_EPOCH. It is an error when files differ from the commit.
func (r *release) source(ctx context.Context) (commit string, at time.Time, err error) {
	if commit, err = r.git(ctx, "rev-parse", "HEAD"); err != nil {
		return "", at, err
	}
	if !r.changed {
		differing, err := r.git(ctx, "status", "--porcelain")
		if err != nil {
			return "", at, err
		}
		if differing != "" {
			return "", at, fmt.Errorf("a release is made of a commit; commit these first, or take them away:\n%s", differing)
		}
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = r.git(ctx, "show", "--no-patch", "--format=%ct", "HEAD"); err != nil {
			return "", at, err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 {
		return "", at, fmt.Errorf("SOURCE_DATE_EPOCH=%s are no seconds since 1970", seconds)
	}
	return commit, time.Unix(n, 0).UTC(), nil
}

// git runs git in the checkout and returns what it says, without space around.
func (r *release) git(ctx context.Context, arguments ...string) (string, error) {
	said, err := r.output(ctx, "git", arguments...)
	return strings.TrimSpace(said), err
}

// output runs a program in the checkout and returns what it says.
func (r *release) output(ctx context.Context, program string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Dir = r.root
	said, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s %s in %s: %w", program, strings.Join(arguments, " "), r.root, err)
	}
	return string(said), nil
}
