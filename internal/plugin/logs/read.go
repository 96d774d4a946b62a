// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/internal/plugin/cli"
)

const (
	// readWithin bounds the reading of a log that is not followed.
	readWithin = time.Minute
	// maxLog bounds what is read of one container, in bytes. What is beyond is said.
	maxLog = 16 << 20
	// again is how long a log that ended or failed is left alone while it is followed.
	again = time.Second
)

// entry is one line.
type entry struct {
	// at is by the clock of the node; zero where the line does not tell.
	at   time.Time
	text string
}

// parse takes the time off a line.
func parse(line string) entry {
	line = strings.TrimRight(line, "\r\n")
	if stamp, text, ok := strings.Cut(line, " "); ok {
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
			return entry{at, text}
		}
	}
	if at, err := time.Parse(time.RFC3339Nano, line); err == nil {
		return entry{at: at} // an empty line
	}
	return entry{text: line}
}

// options say what is read of a container.
func (f *flags) options(s source) *corev1.PodLogOptions {
	o := &corev1.PodLogOptions{Container: s.container, Timestamps: true, Previous: f.previous, Follow: f.follow}
	if f.since > 0 {
		o.SinceSeconds = ptr.To(int64(max(f.since, time.Second) / time.Second))
	}
	if f.tail >= 0 {
		o.TailLines = ptr.To(f.tail)
	}
	if !f.follow {
		o.LimitBytes = ptr.To[int64](maxLog)
	}
	return o
}

// open begins to read a log.
func (s source) open(ctx context.Context, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	return s.cluster.CoreV1().Pods(s.namespace).GetLogs(s.pod, o).Stream(ctx)
}

// read reads a log whole. What came before an error is returned with it.
func (s source) read(ctx context.Context, o *corev1.PodLogOptions) ([]entry, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	stream, err := s.open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var entries []entry
	bytes := 0
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadString('\n')
		bytes += len(line)
		if line != "" {
			e := parse(line)
			if e.at.IsZero() && len(entries) > 0 {
				e.at = entries[len(entries)-1].at // it goes on the line before
			}
			entries = append(entries, e)
		}
		switch {
		case errors.Is(err, io.EOF) && bytes >= maxLog:
			return entries, fmt.Errorf("there is more than %s: ask for less with --since or --tail", cli.Bytes(maxLog))
		case errors.Is(err, io.EOF):
			return entries, nil
		case err != nil:
			return entries, err
		}
	}
}

// showAll shows logs in the order of time, and tells whether one of them could not be read.
func (f *flags) showAll(ctx context.Context, w *writer, sources []source) (failed bool) {
	type line struct {
		entry
		of source
	}
	all, errs := make([][]line, len(sources)), make([]error, len(sources))
	var reading sync.WaitGroup
	for i, s := range sources {
		reading.Go(func() {
			entries, err := s.read(ctx, f.options(s))
			for _, e := range entries {
				all[i] = append(all[i], line{e, s})
			}
			errs[i] = err
		})
	}
	reading.Wait()
	merged := slices.Concat(all...)
	slices.SortStableFunc(merged, func(a, b line) int { return a.at.Compare(b.at) })
	for _, l := range merged {
		if w.write(l.of, l.entry) != nil {
			return true // nobody reads any more
		}
	}
	for i, err := range errs {
		if err != nil {
			failed = true
			w.complain(sources[i], err)
		}
	}
	return failed
}

// followAll shows lines as they come, until ctx ends or nobody reads them.
func (f *flags) followAll(ctx context.Context, w *writer, sources []source) (failed bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var following sync.WaitGroup
	for _, s := range sources {
		following.Go(func() {
			if f.follow1(ctx, w, s) != nil {
				cancel()
			}
		})
	}
	following.Wait()
	return w.failed()
}

// follow1 follows one log over the containers that write it. The error is the writer's.
func (f *flags) follow1(ctx context.Context, w *writer, s source) error {
	o := f.options(s)
	var last time.Time
	complaint := ""
	for ctx.Err() == nil {
		stream, err := s.open(ctx, o)
		if err == nil {
			complaint = ""
			err = copyLines(stream, w, s, &last)
			_ = stream.Close()
			if w.failed() {
				return errClosed
			}
		}
		if err != nil && ctx.Err() == nil && err.Error() != complaint {
			complaint = err.Error()
			w.complain(s, fmt.Errorf("%w; it is tried again", err))
		}
		if !last.IsZero() {
			// By seconds: lines that were shown come again, and are not shown again.
			o.SinceTime, o.SinceSeconds, o.TailLines = ptr.To(metav1.NewTime(last)), nil, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
	return nil
}

// copyLines shows lines that are newer than the last one, until the stream ends.
func copyLines(stream io.Reader, w *writer, s source, last *time.Time) error {
	lines, before := bufio.NewReader(stream), *last
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			e := parse(line)
			if e.at.IsZero() || e.at.After(before) {
				if err := w.write(s, e); err != nil {
					return err
				}
			}
			if e.at.After(*last) {
				*last = e.at
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
