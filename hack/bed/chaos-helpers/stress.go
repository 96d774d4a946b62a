// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// parseFlags reads flags and nothing else.
func parseFlags(flags *flag.FlagSet, arguments []string) error {
	flags.SetOutput(io.Discard)
	if err := flags.Parse(arguments); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: unknown argument %q", errUsage, flags.Arg(0))
	}
	return nil
}

// within bounds the context by a duration; 0 is no bound.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// stressCPU keeps processors busy, with the part of stress-ng(1)'s options
// that Chaos Mesh gives it (api/v1alpha1, Stressors.Normalize).
func stressCPU(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("stress-ng", flag.ContinueOnError)
	workers := flags.Int("cpu", 0, "how many processors to keep busy; 0 for all")
	load := flags.Int("cpu-load", 100, "percentage of the time that each is busy")
	slice := flags.Int("cpu-load-slice", 10, "milliseconds that a worker is busy at a time")
	flags.String("cpu-method", "sqrt", "what is computed: always square roots")
	limit := flags.Duration("timeout", 0, "how long; 0 for ever")
	if err := parseFlags(flags, arguments); err != nil {
		return err
	}
	if *load < 0 || *load > 100 || *slice <= 0 || *workers < 0 {
		return fmt.Errorf("%w: --cpu-load is from 0 to 100, --cpu-load-slice above 0, --cpu not below 0", errUsage)
	}
	if *workers == 0 {
		*workers = runtime.NumCPU()
	}
	ctx, cancel := within(ctx, *limit)
	defer cancel()
	// One more, for the timers.
	runtime.GOMAXPROCS(*workers + 1)
	var all sync.WaitGroup
	for range *workers {
		all.Go(func() { keepBusy(ctx, *load, time.Duration(*slice)*time.Millisecond) })
	}
	all.Wait()
	return nil
}

// keepBusy computes for a slice and sleeps in proportion. The balance carries
// over: a sleep that took too long makes the next one shorter.
func keepBusy(ctx context.Context, load int, slice time.Duration) {
	if load == 0 {
		<-ctx.Done()
		return
	}
	var owed time.Duration
	for value := 2.0; ctx.Err() == nil; {
		since := time.Now()
		for time.Since(since) < slice {
			for range 1000 {
				value = math.Sqrt(value) + 1
			}
		}
		owed += time.Since(since) * time.Duration(100-load) / time.Duration(load)
		if owed <= 0 {
			continue
		}
		asleep := time.Now()
		select {
		case <-ctx.Done():
		case <-time.After(owed):
		}
		owed -= time.Since(asleep)
	}
}

// stressMemory holds memory, with the options of Chaos Mesh's memStress.
func stressMemory(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("memStress", flag.ContinueOnError)
	workers := flags.Int("workers", 1, "how many times the size is held")
	size := flags.String(
		"size",
		"100%",
		"bytes per worker with B, KB, KiB and so on, or a percentage of the machine's memory",
	)
	growth := flags.Duration("time", 0, "how long to take until all is held")
	if err := parseFlags(flags, arguments); err != nil {
		return err
	}
	bytes, err := parseSize(*size, machineMemory)
	if err != nil {
		return err
	}
	if *workers < 1 {
		return fmt.Errorf("%w: --workers is at least 1", errUsage)
	}
	held, err := hold(ctx, bytes*int64(*workers), *growth)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return release(held)
}

// chunk in bytes is what is taken at a time.
const chunk = 16 << 20

// hold takes memory and writes to every page, so that it is really there. What
// it has taken when the context ends is returned as well.
func hold(ctx context.Context, bytes int64, growth time.Duration) ([][]byte, error) {
	var held [][]byte
	pause := time.Duration(float64(growth) * chunk / float64(max(bytes, chunk)))
	for left := bytes; left > 0 && ctx.Err() == nil; left -= chunk {
		memory, err := unix.Mmap(
			-1,
			0,
			int(min(left, chunk)),
			unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS,
		)
		if err != nil {
			return held, fmt.Errorf("take %d bytes more, %d to go: %w", min(left, chunk), left, err)
		}
		for at := 0; at < len(memory); at += unix.Getpagesize() {
			memory[at] = 1
		}
		held = append(held, memory)
		if pause > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}
	return held, nil
}

func release(held [][]byte) error {
	for _, memory := range held {
		if err := unix.Munmap(memory); err != nil {
			return fmt.Errorf("give memory back: %w", err)
		}
	}
	return nil
}

// sizeUnits are those of Chaos Mesh's MemoryStressor.Size; the empty one is
// bytes.
var sizeUnits = map[string]int64{
	"": 1, "b": 1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// parseSize reads "256MiB", or "25%" of what total returns, in bytes.
func parseSize(text string, total func() (int64, error)) (int64, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ% ")
	number, err := strconv.ParseFloat(digits, 64)
	if err != nil || number <= 0 || math.IsInf(number, 0) || math.IsNaN(number) {
		return 0, fmt.Errorf("%w: size %q is no number above 0 with a unit", errUsage, text)
	}
	unit := strings.ToLower(strings.TrimSpace(text[len(digits):]))
	if unit == "%" {
		whole, err := total()
		return int64(float64(whole) * number / 100), err
	}
	factor, known := sizeUnits[unit]
	if !known {
		return 0, fmt.Errorf(
			"%w: size %q has an unknown unit; there are %%, B, KB, MB, GB, TB, KiB, MiB, GiB and TiB",
			errUsage,
			text,
		)
	}
	return int64(number * float64(factor)), nil
}

func machineMemory() (int64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, fmt.Errorf("ask for the machine's memory: %w", err)
	}
	return int64(info.Totalram) * int64(info.Unit), nil
}
