// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tail is how much of a history's end Latest reads, some hundred operations.
const tail = 64 << 10

// Newest is what the clients of a folder have come to.
type Newest struct {
	// Acknowledged is when the newest acknowledged insert or write was invoked, zero when there is none at the histories'
	// ends.
	Acknowledged Instant `json:"acknowledged"`
	// Answered is when the newest acknowledged operation of any kind was invoked, reads and queries too.
	Answered Instant `json:"answered"`
	// Reason of the newest operation that was not acknowledged, for people.
	Reason string `json:"reason,omitempty"`
	// Now is when that was looked at, by the clocks of the machine, and Boot the boot of it.
	Now  Instant `json:"now"`
	Boot string  `json:"boot,omitempty"`
}

// LastAnswered is the newer of both; clients of an earlier release tell of changes alone.
func (n Newest) LastAnswered() Instant {
	if n.Answered.Monotonic > n.Acknowledged.Monotonic {
		return n.Answered
	}
	return n.Acknowledged
}

// AnsweredBetween puts an answer on the clock of who asked, from when it was asked to when it was answered: the newest
// acknowledgements have the asker's wall clock, at the earliest that they can have been. The reading is empty where the
// answer does not tell the time.
func (n Newest) AnsweredBetween(sent, received time.Time) (Newest, ClockReading) {
	if n.Boot == "" {
		return n, ClockReading{}
	}
	for _, i := range []*Instant{&n.Acknowledged, &n.Answered} {
		if *i != (Instant{}) {
			i.Wall = sent.UnixNano() - (n.Now.Monotonic - i.Monotonic)
		}
	}
	return n, ClockReading{Boot: n.Boot, Monotonic: n.Now.Monotonic, Sent: sent.UnixNano(), Received: received.UnixNano()}
}

// BootID identifies the boot of this machine, whose monotonic clock Now reads.
func BootID() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read which boot this is: %w", err)
	}
	return strings.TrimSpace(string(boot)), nil
}

// Latest looks at the ends of all histories of a folder, however long they are. Clients may still be writing.
func Latest(folder string) (Newest, error) {
	var newest Newest
	boot, err := BootID()
	if err != nil {
		return newest, err
	}
	newest.Boot, newest.Now = boot, Now()
	names, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
	if err != nil {
		return newest, fmt.Errorf("list the histories: %w", err)
	}
	for _, name := range names {
		data, err := readTail(name)
		if err != nil {
			return newest, fmt.Errorf("read the end of a history: %w", err)
		}
		var invoked line
		for text := range bytes.Lines(data) {
			var l line
			if json.Unmarshal(text, &l) != nil {
				continue
			}
			switch l.Kind {
			case kindInvoke:
				invoked = l
			case string(OK):
				if l.Number == invoked.Number {
					newest.acknowledged(invoked)
				}
			case string(Fail), string(Unknown):
				newest.Reason = l.Reason
			}
		}
	}
	return newest, nil
}

// acknowledged takes the beginning of an operation that was acknowledged.
func (n *Newest) acknowledged(invoked line) {
	at := Instant{invoked.Monotonic, invoked.Wall}
	if at.Monotonic > n.Answered.Monotonic {
		n.Answered = at
	}
	if invoked.Function.Changes() && at.Monotonic > n.Acknowledged.Monotonic {
		n.Acknowledged = at
	}
}

func readTail(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(max(size-tail, 0), io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, tail))
}
