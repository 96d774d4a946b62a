// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// maxWorkers is how many users there may be at a time.
const maxWorkers = 200

// Stage is a time with a number of users.
type Stage struct {
	Users int
	Lasts time.Duration
}

// Stages are times that follow each other; the users of the last one stay.
type Stages []Stage

// String is what ParseStages reads: 10:30s,20:30s.
func (s Stages) String() string {
	var words []string
	for _, one := range s {
		words = append(words, fmt.Sprintf("%d:%s", one.Users, one.Lasts))
	}
	return strings.Join(words, ",")
}

// ParseStages reads stages as USERS:DURATION, divided by commas. Nothing gives none.
func ParseStages(text string) (Stages, error) {
	var list Stages
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		users, lasts, ok := strings.Cut(word, ":")
		n, err := strconv.Atoi(users)
		d, err2 := time.ParseDuration(lasts)
		if !ok || err != nil || err2 != nil || n < 1 || n > maxWorkers || d <= 0 {
			return nil, fmt.Errorf(
				"%q is no stage: write USERS:DURATION, such as 10:30s, with at most %d users",
				word,
				maxWorkers,
			)
		}
		list = append(list, Stage{n, d})
	}
	return list, nil
}

// most users of any stage.
func (s Stages) most() int {
	most := 0
	for _, one := range s {
		most = max(most, one.Users)
	}
	return most
}

// at is how many users there are that long after the start, and for how long yet; 0 when that does not change any more.
func (s Stages) at(elapsed time.Duration) (users int, left time.Duration) {
	for i, one := range s {
		if i == len(s)-1 {
			return one.Users, 0
		}
		if elapsed < one.Lasts {
			return one.Users, one.Lasts - elapsed
		}
		elapsed -= one.Lasts
	}
	return 0, 0
}

// startedFile in the folder of histories has the time at which the clients first started: stages count from there, also
// for a container that was restarted.
const startedFile = "started"

// startedAt is when clients of the folder first started.
func startedAt(folder string) (time.Time, error) {
	name := filepath.Join(folder, startedFile)
	data, err := os.ReadFile(name)
	if err == nil {
		var t time.Time
		if err := t.UnmarshalText(data); err != nil {
			return t, fmt.Errorf("read when the clients started: %w", err)
		}
		return t, nil
	}
	now := time.Now()
	text, err := now.MarshalText()
	if err == nil {
		err = os.WriteFile(name, text, 0o640)
	}
	if err != nil {
		return now, fmt.Errorf("note when the clients started: %w", err)
	}
	return now, nil
}

// away says that a user's time has not come, or is over.
func (s Stages) away(started time.Time, user int) bool {
	users, _ := s.at(time.Since(started))
	return user >= users
}

// present waits until a user's time has come. False: ctx ended, or it never comes.
func (s Stages) present(ctx context.Context, started time.Time, user int) bool {
	for {
		users, left := s.at(time.Since(started))
		if user < users {
			return ctx.Err() == nil
		}
		if left == 0 {
			<-ctx.Done()
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(left):
		}
	}
}
